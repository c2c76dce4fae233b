"""Dask, which the extra ``dask`` brings: named in one sentence where it is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, extra: str = "dask") -> Any:
    """The ``module``, or an error that says which extra of this package has it."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise ImportError(f'{name} is needed and not installed. Write: pip install "subbundle[{extra}]"') from error
