"""Compiling ahead: parts run, failures are reported, and a second process is started only when it helps."""

import pytest

from subbundle import compiling
from subbundle.bundles.hamiltonian import field_batch
from subbundle.cli import main


def test_a_part_compiles_its_kernels(capsys):
    assert main(["compile", "geodesics", "--here"]) == 0
    assert "compiled geodesics, kept beside" in capsys.readouterr().out
    assert field_batch.signatures
    assert field_batch._cache.is_kept()


@pytest.mark.parametrize("name", compiling.PARTS)
def test_every_part_is_a_job_that_runs(name):
    compiling.compile_part(name)


def test_an_unknown_part_is_named(capsys):
    assert main(["compile", "surface"]) == 2
    assert "PART must be one of geodesics, ridge" in capsys.readouterr().err


def test_a_part_that_fails_is_reported(monkeypatch, capsys):
    monkeypatch.setattr(compiling, "compile_parts", lambda parts, n_jobs: {"ridge": 0, "charts": 1})
    assert main(["compile", "ridge", "charts"]) == 2
    assert "charts did not. See why: subbundle compile charts --here" in capsys.readouterr().err


def test_processes_report_their_codes():
    # A name that no part has ends the process with 2; `--here` is what it is called with.
    assert compiling.compile_parts(["nothing", "at-all"], n_jobs=2) == {"nothing": 2, "at-all": 2}


@pytest.mark.parametrize(("cores", "missing", "started"), [(2, True, 1), (2, False, 0), (1, True, 0)])
def test_a_process_is_started_only_when_it_helps(monkeypatch, cores, missing, started):
    waited = []

    class Process:
        def wait(self):
            waited.append("end")

        def poll(self):
            return 0

    monkeypatch.setattr(compiling, "resolve_jobs", lambda n_jobs: cores)
    monkeypatch.setattr(compiling, "_is_missing", lambda kernel: missing)
    monkeypatch.setattr(compiling, "_process", lambda name: Process())
    with compiling.compiled_beside("ridge", field_batch):
        assert waited == []
    assert bool(waited) == bool(started)
