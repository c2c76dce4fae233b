"""The command from end to end: exit codes, one-line errors, files."""

from __future__ import annotations

import subprocess
import sys
import types
import warnings
from importlib.metadata import version

import pytest
import trimesh

import subbundle as sb
from subbundle.cli import main


def run_and_fail(arguments, capsys):
    """Exit code and standard error of a command that must not succeed."""
    try:
        code = main(arguments)
    except SystemExit as exit_:
        code = exit_.code
    return code, capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"subbundle {version('subbundle')}\n"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["demo", "--help"], ["paper", "--help"], ["paper", "sphere", "--help"]]
)
def test_help(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 0
    assert "usage: subbundle" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dream"], "invalid choice: 'dream'"),
        (["demo", "--n", "many"], "argument --n: must be a positive integer; got 'many'"),
        (["demo", "--n", "0"], "argument --n: must be a positive integer; got '0'"),
        (["demo", "--seed", "-1"], "argument --seed: must be an integer >= 0; got '-1'"),
        (["paper"], "the following arguments are required: EXPERIMENT"),
        (["paper", "cube"], "invalid choice: 'cube'"),
        (["paper", "sphere", "--seeds", "0"], "argument --seeds: must be a positive integer; got '0'"),
        (["demo", "--colour", "red"], "unrecognized arguments: --colour red"),
    ],
)
def test_wrong_input_is_one_line_and_code_2(arguments, message, capsys):
    code, error = run_and_fail(arguments, capsys)
    assert code == 2
    assert message in error
    assert error.count("\n") == 1


def test_without_a_command_all_are_listed(capsys):
    assert main([]) == 2
    assert "reconstruct" in capsys.readouterr().err


def test_errors_of_the_library_are_one_line_and_code_2(tmp_path, capsys):
    code, error = run_and_fail(["demo", "--n", "10", "--out", str(tmp_path)], capsys)
    assert code == 2
    assert error.splitlines()[-1].startswith("subbundle: error: n must be an integer >= 1000")


def test_an_output_folder_that_is_a_file(tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    code, error = run_and_fail(["demo", "--out", str(tmp_path / "taken")], capsys)
    assert code == 2
    assert "taken" in error.splitlines()[-1]


def test_a_missing_matplotlib_names_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, error = run_and_fail(["demo", "--out", str(tmp_path / "out")], capsys)
    assert code == 2
    assert 'pip install "subbundle[plot]"' in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_interrupt_is_no_traceback(tmp_path, capsys, monkeypatch):
    from subbundle.experiments import demo

    def interrupt(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", interrupt)
    code, error = run_and_fail(["demo", "--out", str(tmp_path)], capsys)
    assert code == 130
    assert error.strip() == "subbundle: interrupted"


def test_help_and_import_load_nothing_heavy():
    # A fresh interpreter: in this one everything is loaded already.
    script = (
        "import sys, subbundle, subbundle.cli\n"
        "try: subbundle.cli.main(['--version'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'numba', 'scipy', 'matplotlib', 'trimesh'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_demo_writes_the_files_it_prints(tmp_path, capsys):
    folder = tmp_path / "new" / "folder"
    assert main(["demo", "--n", "1000", "--seed", "3", "--out", str(folder)]) == 0
    captured = capsys.readouterr()
    files = {file.name for file in folder.iterdir()}
    assert files == {"cloud.ply", "surface.ply", "demo.png"}
    for name in files:
        assert name in captured.out
    assert "noisy observations" in captured.out
    assert "240 reached" in captured.out
    mesh = trimesh.load(folder / "surface.ply", process=False)
    assert mesh.euler_number == 1
    assert mesh.is_winding_consistent
    assert len(trimesh.load(folder / "cloud.ply").vertices) == 1000


def test_a_warning_is_a_note_without_a_place_in_the_source(monkeypatch, capsys):
    module = types.SimpleNamespace(
        run=lambda **_: warnings.warn("the cloud is thin", sb.SubbundleWarning, stacklevel=1)
    )
    monkeypatch.setattr("subbundle.cli.import_module", lambda name: module)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["demo"]) == 0
    assert capsys.readouterr().err == "note: the cloud is thin\n"
