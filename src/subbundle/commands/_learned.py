"""What the commands that learn from a table do first: read it, and fit a model or load one."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from subbundle import saving
from subbundle._progress import Progress
from subbundle._types import FloatArray, SubbundleWarning
from subbundle.commands._options import check_rows
from subbundle.commands._tables import read_table

Model = TypeVar("Model")


def read_values(path: Path, progress: Progress) -> FloatArray:
    """The columns of numbers of ``path``, [n, d]; others are named."""
    progress.stage(f"reading {path}")
    table = read_table(path)
    if table.left_out:
        progress.note(f"left out, not numbers: {', '.join(table.left_out)}")
    return table.values


@contextmanager
def unwarned() -> Iterator[None]:
    """For what is said again in a summary."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SubbundleWarning)
        yield


def fitted_or_loaded(
    options: argparse.Namespace,
    values: FloatArray,
    progress: Progress,
    kind: type[Model],
    make: Callable[[FloatArray | None], Any],
) -> Model:
    """The model of ``--model``, or ``make(base point or None)`` fitted to ``values`` [n, d]."""
    if options.model is not None:
        progress.stage(f"loading {options.model}")
        model = saving.load(options.model)
        if not isinstance(model, kind):
            held = type(model).__name__
            raise ValueError(f"{options.model} must hold a model of the kind {kind.__name__}; it holds a {held}.")
        return model
    base = None
    if options.base_row is not None:
        check_rows([options.base_row], len(values), "--base-row")
        base = values[options.base_row]
    count = "" if options.dim == "auto" else f"{options.dim} "
    progress.stage(f"learning {count}coordinates from {values.shape[0]} rows of {values.shape[1]} features")
    fitted: Model = make(base).fit(values)
    return fitted
