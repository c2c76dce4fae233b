"""Benchmarks read names of the library that exist: they are not run by the tests, and would fail after minutes."""

import ast
import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


def imported(tree):
    """``{name: object}`` of what a benchmark imports from the library, wherever it does."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "subbundle":
            module = importlib.import_module(node.module)
            for alias in node.names:
                try:
                    value = getattr(module, alias.name)
                except AttributeError:
                    value = importlib.import_module(f"{node.module}.{alias.name}")
                found[alias.asname or alias.name] = value
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "subbundle":
                    found[alias.asname or alias.name] = importlib.import_module(alias.name)
    return found


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_names_of_the_library_exist(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known = imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            value = known.get(node.value.id)
            if type(value).__name__ == "module":
                assert hasattr(value, node.attr), f"{path.name}:{node.lineno} reads {node.value.id}.{node.attr}"
