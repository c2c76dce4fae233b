"""Optional packages: each is named where it is missing, by an extra that exists."""

import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import subbundle
from subbundle.cli import main

PACKAGE = Path(subbundle.__path__[0])
PROJECT = PACKAGE.parents[1] / "pyproject.toml"


@pytest.mark.skipif(not PROJECT.exists(), reason="not in the source tree")
def test_every_extra_that_a_message_names_exists():
    extras = set(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"])
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    named = {
        name for text in texts for names in re.findall(r"subbundle\[([\w,]+)\]", text) for name in names.split(",")
    }
    assert named
    assert named <= extras


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [
        (["reconstruct", "cloud.laz", "--out", "mesh.ply"], "laspy", "las"),
        (["diagnose", "cloud.parquet"], "pyarrow", "parquet"),
        (["reconstruct", "cloud.las", "--out", "mesh.ply"], "laspy", "las"),
        (["reconstruct", "cloud.e57", "--out", "mesh.ply"], "pye57", "e57"),
        (["reconstruct", "cloud.csv", "--out", "mesh.ply", "--faces", "9"], "fast_simplification", "simplify"),
        (["embed", "cloud.parquet", "--out", "table.csv"], "pyarrow", "parquet"),
        (["embed", "cloud.csv", "--out", "table.parquet"], "pyarrow", "parquet"),
        (["distance", "cloud.parquet", "--out", "table.csv"], "pyarrow", "parquet"),
        (["diagnose", "cloud.csv"], "matplotlib", "plot"),
        (["demo", "--out", "folder"], "matplotlib", "plot"),
        (["paper", "sphere", "--out", "folder"], "matplotlib", "plot"),
    ],
)
def test_commands_name_the_extra_that_is_missing(arguments, package, extra, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    for name in ("cloud.las", "cloud.laz", "cloud.e57", "cloud.parquet"):
        Path(name).write_bytes(b"LASF" + bytes(400))
    np.savetxt("cloud.csv", np.random.default_rng(0).normal(size=(30, 3)), delimiter=",")
    assert main(arguments) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("subbundle: error: ")
    assert f'pip install "subbundle[{extra}]"' in last
