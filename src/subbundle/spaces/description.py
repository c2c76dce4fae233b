"""Spaces as descriptions for files, and back: ``{"space": "SPD", "arguments": [3]}``."""

from __future__ import annotations

from typing import Any

from subbundle.spaces.base import Space
from subbundle.spaces.euclidean import Euclidean
from subbundle.spaces.hyperbolic import Hyperbolic
from subbundle.spaces.kendall import Kendall
from subbundle.spaces.product import Product
from subbundle.spaces.rotations import SO
from subbundle.spaces.spd import SPD
from subbundle.spaces.sphere import Sphere

# Arguments of each space, by the names of its attributes.
_ARGUMENTS: dict[type[Any], tuple[str, ...]] = {
    Euclidean: ("dim",),
    Sphere: ("dim",),
    Hyperbolic: ("dim",),
    SPD: ("n",),
    SO: ("n",),
    Kendall: ("landmarks", "landmark_dim"),
}


def describe(space: Space) -> dict[str, Any]:
    """``space`` as a dictionary of names and numbers; only built-in spaces have one."""
    if isinstance(space, Product):
        return {"space": "Product", "arguments": [describe(factor) for factor in space.factors]}
    names = _ARGUMENTS.get(type(space))
    if names is None:
        known = ", ".join([*(kind.__name__ for kind in _ARGUMENTS), "Product"])
        raise ValueError(
            f"space must be one of {known} to be written to a file; got {space!r}. Keep the data and fit again instead."
        )
    return {"space": type(space).__name__, "arguments": [int(getattr(space, name)) for name in names]}


def restore(description: Any) -> Space:
    """The inverse of `describe`."""
    kinds = {kind.__name__: kind for kind in _ARGUMENTS}
    name, arguments = description["space"], description["arguments"]
    if name == "Product":
        return Product(*(restore(factor) for factor in arguments))
    if name not in kinds:
        raise ValueError(f"space must be one of {', '.join(kinds)}, Product; got {name!r}.")
    space: Space = kinds[name](*arguments)
    return space
