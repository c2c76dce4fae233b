"""What the commands that learn from a table do first: read it, and fit a model or load one."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from subbundle import saving
from subbundle._progress import Progress
from subbundle._types import FloatArray, SubbundleWarning
from subbundle.commands._options import check_rows
from subbundle.commands._tables import read_table

Model = TypeVar("Model")
# Fraction of the variance in one column, of three or more, that is worth a word; fraction of rows that repeat others.
_OUTWEIGHS, _REPEATED = 0.9, 0.01


@dataclass(frozen=True, slots=True)
class Rows:
    """What is learned from a table.

    Attributes
    ----------
    values : [n, d]
        Rows, standardised where that was asked for; NaN where numbers are missing and rows stay with what they have.
    complete : [N]
        Which rows of the file these are.
    labels : dict of [N]
        Columns to carry to the output.
    notes : list of str
        What the user should know.
    """

    values: FloatArray
    complete: NDArray[np.bool_]
    labels: dict[str, NDArray[Any]]
    notes: list[str]

    def everywhere(self, column: NDArray[Any], absent: Any) -> NDArray[Any]:
        """``column`` [n] as one of all rows of the file [N], ``absent`` for those that were left out."""
        if self.complete.all():
            return column
        whole = np.full(len(self.complete), absent, dtype=np.result_type(column, type(absent)))
        whole[self.complete] = column
        return whole


def read_rows(options: argparse.Namespace, progress: Progress) -> Rows:
    """The rows of ``options.data`` as the options for columns say."""
    progress.stage(f"reading {options.data}")
    missing = getattr(options, "missing", "refuse")
    table = read_table(
        options.data, drop=options.drop, label=getattr(options, "label", None), categorical=options.categorical,
        missing=missing != "refuse",
    )  # fmt: skip
    if table.left_out:
        first = table.left_out[0]
        progress.note(
            f"left out, not numbers: {', '.join(table.left_out)} (--drop {first} to leave it out in silence, "
            f"--categorical {first} to learn from it)"
        )
    complete: NDArray[np.bool_] = np.asarray(np.isfinite(table.values).all(axis=1))
    if np.isinf(table.values).any():
        raise ValueError(f"every number of {options.data.name} must be finite; some are infinite. Leave them empty.")
    values = table.values[complete]
    if len(values) < 2:
        raise ValueError(f"at least 2 rows of {options.data} must be complete; {len(values)} are. Write --drop NAMES.")
    if getattr(options, "base_row", None) is not None and not complete.all():
        raise ValueError("--base-row cannot go with --missing drop where rows are left out: leave one of them out.")
    what = "placed by those they have, and not learned from" if missing == "local" else "left out"
    notes = [] if complete.all() else [f"{np.count_nonzero(~complete)} rows lack numbers and were {what}"]
    notes += _notes(values, table.names, options.standardize)
    middle, spread = values.mean(axis=0), values.std(axis=0)
    if missing == "local":
        values, complete = table.values, np.ones(len(complete), bool)
    if options.standardize:
        values = (values - middle) / np.where(spread > 0.0, spread, 1.0)
    return Rows(values, complete, table.labels, notes)


def _notes(values: FloatArray, names: list[str], standardize: bool) -> list[str]:
    """What is odd about the columns and rows of a table with names."""
    if not names:
        return []
    notes = []
    variance = values.var(axis=0)
    heaviest = int(np.argmax(variance))
    if len(names) > 2 and not standardize and variance[heaviest] > _OUTWEIGHS * variance.sum():
        notes.append(
            f"the column {names[heaviest]} holds {variance[heaviest] / variance.sum():.0%} of the variance, and its "
            "units decide nearly everything: write --standardize to give all columns the same weight"
        )
    repeated = len(values) - len(np.unique(values, axis=0))
    if repeated > _REPEATED * len(values):
        notes.append(f"{repeated} of {len(values)} rows repeat another one exactly")
    return notes


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
