"""Commands choose parameters that are not given, and print the choices."""

import numpy as np
import pytest

from subbundle import datasets
from subbundle.cli import main


@pytest.fixture
def cloud(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("cloud.npy", datasets.s_surface(400, noise=0.02, seed=0).points)
    return "cloud.npy"


def said(capsys, *words):
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_embed(cloud, capsys):
    out = said(capsys, "embed", cloud, "-o", "out.csv", "--dim", "auto", "--radius", "auto", "--method", "chart")
    assert "dimension: 2 (estimated from the data)\nbandwidth: 0." in out
    assert "radius: " in out
    out = said(capsys, "embed", cloud, "-o", "out.csv", "--dim", "auto")
    assert "dimension: 2 (estimated from the data)\nchart size: " in out


def test_distance_denoise_and_diagnose(cloud, capsys):
    out = said(capsys, "distance", cloud, "-o", "d.npy", "--rank", "auto", "--from", "0", "--to", "1,2")
    assert "dimension 2, bandwidth 0." in out
    out = said(capsys, "denoise", cloud, "-o", "clean.npy", "--dim", "auto")
    assert "400 points in R^3, dimension 2, bandwidth 0." in out
    out = said(capsys, "diagnose", cloud, "--rank", "auto")
    assert "rank                  2 (chosen" in out
