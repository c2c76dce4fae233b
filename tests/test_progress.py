"""Progress: lines and a bar in terminals and notebooks, nothing elsewhere."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest

import subbundle as sb
from subbundle import _progress
from subbundle._parallel import run_rows
from subbundle._progress import Progress, silenced


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    """Bars at once, and every change of them written."""
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    monkeypatch.setenv("TQDM_MININTERVAL", "0")


def test_a_terminal_sees_stages_and_the_rows_done(impatient):
    pytest.importorskip("tqdm")
    stream = Terminal()
    with silenced(False):
        progress = Progress(stream)
        progress.stage("counting")
        run_rows(lambda start, stop: time.sleep(0.001 * (stop - start)), 300, 2)
        assert progress._bar.n == progress._bar.total == 300
        run_rows(lambda start, stop: None, 100, 1)
        assert progress._bar.n == progress._bar.total == 400
        progress.stage("done")
    text = stream.getvalue()
    assert "s] counting\n" in text
    assert "rows" in text
    assert text.endswith("s] done\n")


def test_pipes_receive_notes_only():
    stream = io.StringIO()
    with silenced(False):
        progress = Progress(stream)
        progress.stage("counting")
        run_rows(lambda start, stop: None, 300, 2)
        progress.note("left out: 3 rows")
    assert stream.getvalue() == "left out: 3 rows\n"


def test_quiet_means_quiet():
    stream = Terminal()
    with silenced(True):
        progress = Progress(stream)
        progress.stage("counting")
        progress.note("left out: 3 rows")
    assert stream.getvalue() == ""


def test_nothing_watches_after_the_block(impatient, capsys):
    with sb.progress("geodesics"):
        pass
    assert _progress.watcher_of(1000) is None
    assert capsys.readouterr().err == ""


def test_results_do_not_depend_on_who_watches(impatient):
    pytest.importorskip("tqdm")
    points = sb.datasets.torus(800, seed=0).points
    bundle = sb.PrincipalSubbundle(points, 2, 0.3)
    alone = bundle.frame(points).vectors
    with silenced(False):
        Progress(Terminal())
        watched = bundle.frame(points).vectors
    assert np.array_equal(alone, watched)
