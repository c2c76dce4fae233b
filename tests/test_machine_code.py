"""Kept machine code: never older than its sources, and whatever happens to the files, results are right."""

import ast
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from numba import typeof

import subbundle
from subbundle import _machine_code, _sources

PACKAGE = Path(subbundle.__path__[0])
# A kernel that calls a kernel of another module, which takes a number from a third.
TINY = """
from subbundle._compiled import kernel
from subbundle.kernels import gaussian_reach
from subbundle.numbers import SHIFT

@kernel
def shifted(dim):
    return gaussian_reach(dim) + SHIFT
"""
ASK = "from subbundle.tiny import shifted; print(shifted(3), sum(shifted.stats.cache_hits.values()))"


@pytest.fixture
def tiny(tmp_path):
    """A package with the real way of compiling and two kernels; ``tiny.ask(**environment)`` runs `ASK` on it."""
    return Tiny(tmp_path)


class Tiny:
    def __init__(self, root):
        self.root, self.package = root, root / "subbundle"
        self.package.mkdir()
        for name in ("__init__", "_compiled", "_machine_code", "_sources", "_types", "kernels"):
            shutil.copy(PACKAGE / f"{name}.py", self.package)
        self.write("tiny.py", TINY)
        self.write("numbers.py", "SHIFT = 0.5\n")

    def write(self, name, text):
        (self.package / name).write_text(text, encoding="utf-8")

    def start(self, code=ASK, **environment):
        kept = {key: value for key, value in os.environ.items() if "CACHE_DIR" not in key}
        # Python's own cache takes a source for unchanged that changes within a second and keeps its length.
        kept |= {"PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.Popen(
            [sys.executable, "-c", code],
            env={**kept, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, **environment):
        """Result and number of kernels found on disk, and standard error."""
        process = self.start(**environment)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        value, hits = out.split()
        return (float(value), int(hits)), err

    def files(self, pattern="*-*.*"):
        return sorted((self.package / "__pycache__").rglob(pattern))


def test_code_is_kept_until_a_source_changes_or_its_file_is_damaged(tiny):
    # Processes that compile at once do not disturb each other.
    processes = [tiny.start() for _ in range(2)]
    outs = [process.communicate(timeout=120)[0] for process in processes]
    assert [out.split()[0] for out in outs] == ["46.5"] * 2
    assert tiny.files("*.tmp") == []
    whole = {file: file.read_bytes() for file in tiny.files()}
    # Machine code of the kernel that Python calls, and what it inlined of the other.
    assert sorted(file.suffix for file in whole) == [".code", ".part"]
    text = (tiny.package / "kernels.py").read_text(encoding="utf-8")
    tiny.write("kernels.py", text.replace("return 46.0 if", "return 36.0 if"))
    assert tiny.ask()[0] == (36.5, 0)
    tiny.write("numbers.py", "SHIFT = 0.25\n")
    assert tiny.ask()[0] == (36.25, 0)
    # Back to what was: that code is still there.
    tiny.write("kernels.py", text)
    tiny.write("numbers.py", "SHIFT = 0.5\n")
    assert tiny.ask()[0] == (46.5, 1)
    # Damaged files are compiled anew and mended.
    for i, (file, content) in enumerate(whole.items()):
        cut = len(content) // 2
        file.write_bytes(content[:cut] if i else content[:cut] + b"?" + content[cut + 1 :])
    assert tiny.ask()[0] == (46.5, 0)
    assert tiny.ask()[0] == (46.5, 1)


# What is called first: the caller, the callee, or both with several types.
CALLS = [
    ["shifted(3)", "gaussian_reach(3)", "shifted(3)"],
    ["gaussian_reach(3)", "shifted(3)", "gaussian_reach(3)"],
    ["shifted(3)", "gaussian_reach(3.0)", "shifted(3.0)"],
]


def test_kernels_can_be_called_by_python_and_by_kernels_in_any_order(tiny):
    ask = ""
    for i, calls in enumerate(CALLS):  # each with kernels of its own, which nothing has called before
        shutil.copy(PACKAGE / "kernels.py", tiny.package / f"kernels{i}.py")
        tiny.write(f"tiny{i}.py", TINY.replace("subbundle.kernels", f"subbundle.kernels{i}"))
        ask += f"from subbundle.tiny{i} import shifted; from subbundle.kernels{i} import gaussian_reach\n"
        ask += f"print({', '.join(calls)})\n"
    expected = [46.5 if "shifted" in call else 46.0 for calls in CALLS for call in calls]
    for _ in range(2):  # compiled, then from disk
        process = tiny.start(ask)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert [float(word) for word in out.split()] == expected


def test_without_a_folder_to_write_to_it_runs_and_warns_once(tiny):
    tiny.write("__pycache__", "a file, where the folder should be")
    nowhere = {"HOME": os.devnull, "XDG_CACHE_HOME": ""}
    result, said = tiny.ask(**nowhere)
    assert result == (46.5, 0)
    assert said.count("SubbundleWarning") == 1
    assert "Set the environment variable SUBBUNDLE_CACHE_DIR" in said
    # One of the places suffices.
    assert tiny.ask(**nowhere | {"XDG_CACHE_HOME": str(tiny.root / "mine")}) == ((46.5, 0), "")
    assert len(list((tiny.root / "mine").rglob("*-*.*"))) == 2


def test_the_folder_can_be_given_and_the_compiler_switched_off(tiny):
    assert tiny.ask(SUBBUNDLE_CACHE_DIR=str(tiny.root / "named"))[0] == (46.5, 0)
    assert len(list((tiny.root / "named" / "subbundle-kernels").rglob("*-*.*"))) == 2
    assert tiny.files() == []
    process = tiny.start(NUMBA_DISABLE_JIT="1")
    assert "AttributeError: 'function' object has no attribute 'stats'" in process.communicate(timeout=120)[1]


def test_code_that_nobody_used_for_a_month_is_removed(tmp_path):
    month = 31 * 86400
    names = ["kernels-old", "kernels-recent", "kernels-new", "local.kernels-old"]
    for name, age in zip(names, [month, 86400, None, month], strict=True):
        folder = tmp_path / name
        if age is None:
            _machine_code._make(folder, "kernels")
            continue
        folder.mkdir()
        for file, file_age in (("f.code", age), ("f.code.1.tmp", age), ("g.code.2.tmp", 0)):
            (folder / file).touch()
            os.utime(folder / file, (time.time() - file_age,) * 2)
        os.utime(folder, (time.time() - age,) * 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[1:])
    assert sorted(path.name for path in (tmp_path / "kernels-recent").iterdir()) == ["f.code", "g.code.2.tmp"]


class Near(NamedTuple):
    low: float
    high: float


class Swapped(NamedTuple):
    high: float
    low: float


Swapped.__name__ = "Near"


def test_the_order_of_fields_belongs_to_the_types():
    # Numba names both types alike; a kernel that reads .low would take another entry.
    kept, other = (_machine_code._described((typeof(kind(0.0, 1.0)),)) for kind in (Near, Swapped))
    assert kept != other
    assert _machine_code._described((typeof((Near(0.0, 1.0), 2)),)) != _machine_code._described(
        (typeof((Swapped(0.0, 1.0), 2)),)
    )


def imported(path):
    """Files of the package that a file imports, by Python's own parser."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
        for module in modules:
            if module.partition(".")[0] == "subbundle":
                place = PACKAGE.joinpath(*module.split(".")[1:])
                yield from (place.with_suffix(".py"), place / "__init__.py", *(place / f"{name}.py" for name in names))
                yield from (place / name / "__init__.py" for name in names)


def test_import_statements_are_found_as_the_parser_finds_them():
    # The front names all modules, for type checkers only; the keeper of the code makes none.
    others = {PACKAGE / "__init__.py", PACKAGE / "_machine_code.py"}
    for path in set(PACKAGE.rglob("*.py")) - others:
        assert {place for place in imported(path) if place.is_file()} - others <= set(_sources._read(path)[1]), path
