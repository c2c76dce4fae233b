"""The examples in docstrings run, and print what they show."""

import doctest
import importlib
from pathlib import Path

import pytest

import subbundle

PACKAGE = Path(subbundle.__path__[0])


def module_name(path):
    """Dotted name of the module in the file ``path``."""
    return ".".join(("subbundle", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


WITH_EXAMPLES = sorted(path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))


def test_there_are_examples():
    assert len(WITH_EXAMPLES) > 20


# geomstats, where it is the first to be imported, warns of its own way of importing.
@pytest.mark.filterwarnings("ignore:BackendImporter:ImportWarning")
@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=module_name)
def test_examples(path):
    module = importlib.import_module(module_name(path))
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0
    assert result.failed == 0
