"""Every public name is in the reference, and its parameters are explained."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import subbundle

LISTED = {
    name
    for page in (Path(__file__).parents[1] / "docs" / "reference").glob("*.md")
    for block in re.findall(r"autosummary::\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    for name in re.findall(r"^   ([\w.]+)$", block, re.MULTILINE)
}


def found(name):
    """The object under a dotted name inside the package."""
    where, _, last = name.rpartition(".")
    return getattr(import_module(f"subbundle.{where}") if where else subbundle, last)


def public_names(module):
    """Names that a module offers: its ``__all__``, or the functions and classes that it defines itself."""
    loaded = import_module(f"subbundle.{module}")
    own = [name for name, value in vars(loaded).items() if getattr(value, "__module__", "") == loaded.__name__]
    return [f"{module}.{name}" for name in getattr(loaded, "__all__", own) if not name.startswith("_")]


def parameters(target):
    """Names in the signature, and those that the section of parameters explains."""
    section = re.split(r"\n(?:Returns|Attributes|Notes|Examples|See Also)\n-+\n", inspect.getdoc(target) or "")[0]
    heads = re.findall(r"^(\S[^:\n]*?)(?: : .*)?$", section, re.MULTILINE)
    explained = {word.strip(" *`") for head in heads for word in head.split(",")}
    return [name for name in inspect.signature(target).parameters if name not in ("args", "kwargs")], explained


def test_listed_names_exist_and_have_docstrings():
    targets = {name: found(name) for name in LISTED}
    assert [name for name, target in targets.items() if callable(target) and not (target.__doc__ or "").strip()] == []


def test_every_public_name_is_in_the_reference():
    documented = {id(found(name)) for name in LISTED}
    offered = [*subbundle._PUBLIC, *subbundle._RECORDS]
    offered += [name for module in subbundle._MODULES for name in public_names(module)]
    assert len(offered) > 100
    assert [name for name in offered if name not in LISTED and id(found(name)) not in documented] == []


def test_parameters_of_the_front_page_are_explained():
    missing = {}
    for name in subbundle._PUBLIC:
        target = found(name)
        # Errors and statuses are not called with arguments of ours; a mesh explains its fields as attributes.
        if name in ("Mesh", "Status", "Subbundle", "SubbundleError", "SubbundleWarning"):
            continue
        given, explained = parameters(target)
        missing[name] = [parameter for parameter in given if parameter not in explained]
    assert {name: left for name, left in missing.items() if left} == {}
