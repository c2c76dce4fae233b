"""``--report``: the page of every command has input, choices, results, and how to reproduce them."""

from __future__ import annotations

import numpy as np
import pytest

import subbundle as sb
from subbundle.cli import main
from subbundle.viewer.report import Account, Choice, report

HEADINGS = ("Input", "Choices and reasons", "Results", "Interactive view", "How to reproduce")


@pytest.fixture
def files(tmp_path):
    pytest.importorskip("k3d", reason="needs k3d: pip install -e '.[view]'")
    data = tmp_path / "data.npy"
    np.save(data, sb.datasets.s_surface(400, noise=0.02, seed=1).points)
    return data, tmp_path / "page.html"


@pytest.mark.parametrize(
    ("arguments", "output", "words"),
    [
        (["embed", "--method", "atlas"], "out.csv", ["distortion of lengths"]),
        (["embed"], "out.csv", ["rows inside the chart"]),
        (["distance", "--from", "0,1", "--to", "2,3,4"], "out.npy", ["2 × 3"]),
        (
            ["denoise"],
            "out.ply",
            ["along each normal direction", 'alt="a slice through the cloud, before and after"'],
        ),
        (
            ["reconstruct"],
            "out.ply",
            ["Euler characteristic", 'alt="the mesh from three sides, coloured by standard error"'],
        ),
    ],
)
def test_the_page_of_every_command(files, tmp_path, capsys, arguments, output, words):
    data, page = files
    command, *rest = arguments
    assert main([command, str(data), "-o", str(tmp_path / output), *rest, "--report", str(page)]) == 0
    assert f"wrote {page}" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    for heading in HEADINGS:
        assert f"<h2>{heading}</h2>" in text
    for word in words:
        assert word in text
    assert f"subbundle {command} " in text
    assert f"subbundle {sb.__version__}" in text


def test_a_page_that_cannot_be_written_is_reported_before_any_work(files, tmp_path, capsys):
    data, _ = files
    assert main(["embed", str(data), "-o", str(tmp_path / "a.csv"), "--report", str(tmp_path / "page.pdf")]) == 2
    assert "--report must end in .html; got 'page.pdf'" in capsys.readouterr().err
    assert not (tmp_path / "a.csv").exists()


def test_text_is_escaped_and_warnings_come_first():
    account = Account("<b>", [("file", "<i>")], [Choice("width", "1", "a < b")], warnings=["beware of <u>"])
    text = report(account, command="subbundle embed '<x>'")
    for tag in ("<b>", "<i>", "<u>", "<x>"):
        assert tag not in text
    assert text.index("beware of &lt;u&gt;") < text.index("Input")
