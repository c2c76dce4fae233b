"""Packages that only the benchmarks need, with a message how to install them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class MissingExtraError(RuntimeError):
    """A package of the ``bench`` extra is not installed."""


def require(name: str) -> Any:
    """Import a package of the ``bench`` extra."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"this benchmark needs the package {name!r}, which is not installed. "
            "Install the bench extra: pip install -e '.[bench]'"
        ) from error


def jax_in_double() -> tuple[Any, Any]:
    """JAX and its NumPy with float64 switched on: the comparison is between methods, not between precisions."""
    jax = require("jax")
    jax.config.update("jax_enable_x64", True)
    return jax, require("jax.numpy")
