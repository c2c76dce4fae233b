"""Importing: light, complete, and pointing downward only."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import subbundle

PACKAGE = Path(subbundle.__path__[0])

# The order of the data flow. A file may import from its own layer and from those before it.
LAYERS = (
    ("_types", "_numbers", "_progress", "_sources", "_machine_code", "_compiled"),
    ("_validation", "_memory", "_elementwise", "_atomic", "_groups", "_archives", "_html", "_sampling"),
    ("formats",),
    ("_parallel", "io"),
    ("triangles",),
    ("kernels", "_jacobi", "_closest", "_scene", "_head"),
    ("cloud", "bins"),
    ("spaces",),
    ("local",),
    ("graph",),
    ("bundles",),
    ("flow",),
    ("geodesics",),
    ("charts",),
    ("atlas",),
    ("selection", "datasets", "comparisons"),
    ("embedding",),
    ("scans", "surface"),
    ("plot", "testing"),
    ("diagnostics",),
    ("estimators",),
    ("saving",),
    ("experiments",),
    ("distributed",),
    ("commands", "viewer", "cli", "__main__"),
)
HEIGHT = {name: height for height, layer in enumerate(LAYERS) for name in layer}
# What is not listed may use results and be used by experiments and commands.
UNLISTED = HEIGHT["saving"]


def run(script):
    """Standard output of ``script`` in a new interpreter."""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


def test_importing_the_package_loads_nothing_heavy():
    script = (
        "import json, sys, subbundle; subbundle.__version__; dir(subbundle); print(json.dumps(sorted(sys.modules)))"
    )
    loaded = {name.partition(".")[0] for name in json.loads(run(script))}
    assert not loaded & {"numba", "scipy", "matplotlib", "trimesh", "sklearn", "geomstats", "jax", "numpy"}


def test_a_bundle_needs_no_plotting_and_no_meshes():
    script = "import json, sys, subbundle; subbundle.PrincipalSubbundle; print(json.dumps(sorted(sys.modules)))"
    loaded = {name.partition(".")[0] for name in json.loads(run(script))}
    assert not loaded & {"matplotlib", "trimesh", "sklearn", "geomstats", "jax"}


def test_every_public_name_is_there():
    assert len(set(subbundle.__all__)) == len(subbundle.__all__)
    assert dir(subbundle) == sorted(subbundle.__all__)
    for name in subbundle.__all__:
        value = getattr(subbundle, name)
        if isinstance(value, type) or callable(value):
            assert value.__doc__, name
            assert value.__name__ == name


def test_names_stay_what_they_are_whatever_is_imported():
    # `log` and `exp` are functions of the package and also modules of a subpackage.
    script = """
import importlib, pkgutil, subbundle
before = {name: getattr(subbundle, name) for name in subbundle.__all__}
for module in pkgutil.walk_packages(subbundle.__path__, "subbundle."):
    if "geomstats" not in module.name and "__main__" not in module.name and ".viewer" not in module.name:
        importlib.import_module(module.name)
print([name for name, value in before.items() if getattr(subbundle, name) is not value])
"""
    assert run(script).strip() == "[]"


def test_an_unknown_name_raises():
    with pytest.raises(AttributeError, match="module 'subbundle' has no attribute 'nonsense'"):
        _ = subbundle.nonsense


def height_of(part):
    """Height of the layer of a module or folder directly below the package."""
    return HEIGHT.get(part, UNLISTED)


def imported_names(path):
    """Dotted names, split, of everything that a file imports from the package, with the line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write imports in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "subbundle" and len(parts) > 1:
                yield parts, node.lineno


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downward(path):
    own = height_of(path.relative_to(PACKAGE).parts[0].removesuffix(".py"))
    for (_, part, *_), line in imported_names(path):
        is_module = (PACKAGE / part).is_dir() or (PACKAGE / f"{part}.py").exists()
        # A name of the package's front comes from above everything but experiments and commands.
        height = height_of(part) if is_module else HEIGHT["experiments"]
        assert height <= own, f"line {line} imports {part}, which lies above"


def test_the_order_of_the_layers_names_no_module_twice():
    names = [name for layer in LAYERS for name in layer]
    assert len(names) == len(set(names))


def test_private_modules_are_imported_by_their_own_folder_only():
    shared = {
        f"{parts[1]}.{parts[2]}"
        for path in FILES
        for parts, _ in imported_names(path)
        if len(parts) > 2
        and (PACKAGE / parts[1]).is_dir()
        and parts[2].startswith("_")
        and parts[1] != path.relative_to(PACKAGE).parts[0]
    }
    assert not shared


def test_records_are_reachable_without_being_listed():
    for name in subbundle._RECORDS:
        assert name not in dir(subbundle)
        assert getattr(subbundle, name).__doc__, name
