"""Reading the table that a command learns from, and collecting the warnings of the fit."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._progress import Progress
from subbundle._types import BoolArray, FloatArray, SubbundleWarning
from subbundle.commands._tables import quoted, read_table
from subbundle.commands.messages import translated
from subbundle.commands.tuning import DOMINANT_VARIANCE


@dataclass(frozen=True, slots=True)
class Rows:
    """What is learned from a table.

    Attributes
    ----------
    values : [n, d]
        Rows, standardised if requested; NaN where numbers are missing and rows are kept.
    complete : [N]
        Which rows of the file these are.
    labels : dict of [N]
        Columns to copy to the output.
    notes : list of str
        Remarks on the table.
    names : list of str
        Of the columns of ``values``.
    """

    values: FloatArray
    complete: BoolArray
    labels: dict[str, NDArray[Any]]
    notes: list[str]
    names: list[str]


def read_rows(options: argparse.Namespace, progress: Progress) -> Rows:
    """The rows of ``options.data`` according to the options for columns."""
    progress.stage(f"reading {options.data}")
    missing = getattr(options, "missing", "refuse")
    table = read_table(
        options.data, drop=options.drop, label=getattr(options, "label", None), categorical=options.categorical,
        missing=missing != "refuse",
    )  # fmt: skip
    if table.left_out:
        first = quoted(table.left_out[:1])
        progress.note(
            f"left out, not numbers: {', '.join(table.left_out)} (--drop {first} to leave it out without this note, "
            f"--categorical {first} to encode it)"
        )
    if table.ours:
        progress.note(f"left out, written by subbundle beside the coordinates: {', '.join(table.ours)}")
    complete: BoolArray = np.asarray(np.isfinite(table.values).all(axis=1))
    if len(table.names) < 2:
        raise ValueError(
            f"{options.data.name} must hold at least 2 columns of numbers; it has {', '.join(table.names)} alone. "
            "Numbers have a decimal point, or a comma where columns are separated otherwise, and no other marks."
        )
    values = table.values[complete]
    if len(values) < 2:
        gaps = "" if complete.all() else " Write --drop NAMES to leave out columns with missing numbers."
        raise ValueError(
            f"{options.data} must hold at least 2 rows without missing numbers; it has {len(values)}.{gaps}"
        )
    if getattr(options, "base_row", None) is not None and not complete.all():
        raise ValueError("--base-row cannot be combined with --missing drop where rows are left out. Omit one of them.")
    what = "located by their observed features, and not fitted" if missing == "local" else "left out"
    notes = [] if complete.all() else [f"{np.count_nonzero(~complete)} rows lack numbers and were {what}"]
    notes += _notes(values, table.names, options.standardize)
    middle, spread = values.mean(axis=0), values.std(axis=0)
    if missing == "local":
        values, complete = table.values, np.ones(len(complete), bool)
    if options.standardize:
        values = (values - middle) / np.where(spread > 0.0, spread, 1.0)
    return Rows(values, complete, table.labels, notes, table.names)


def _notes(values: FloatArray, names: list[str], standardize: bool) -> list[str]:
    """Remarks on the columns and rows of a table with names."""
    from subbundle.diagnostics.tuning import WORTH_NOTING

    if not names:
        return []
    notes = []
    variance = values.var(axis=0)
    heaviest = int(np.argmax(variance))
    if len(names) > 2 and not standardize and variance[heaviest] > DOMINANT_VARIANCE * variance.sum():
        notes.append(
            f"the column {names[heaviest]} holds {variance[heaviest] / variance.sum():.0%} of the variance, and its "
            f"units dominate the result: write --standardize to give all columns the same weight, or "
            f"--drop {quoted([names[heaviest]])} if it is no measurement"
        )
    repeated = len(values) - len(np.unique(values, axis=0))
    if repeated > WORTH_NOTING * len(values):
        notes.append(f"{repeated} of {len(values)} rows are duplicates")
    return notes


def check_rows(rows: list[int], count: int, name: str) -> None:
    """Raise when a row does not exist."""
    wrong = [row for row in rows if not 0 <= row < count]
    if wrong:
        raise ValueError(f"{name} must name rows 0..{count - 1} of the data; got {wrong[0]}.")


@contextmanager
def collected() -> Iterator[list[str]]:
    """The messages of the warnings issued inside, each once, `translated`; the list is filled at the end."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SubbundleWarning)
        yield messages
    messages += dict.fromkeys(translated(str(warning.message)) for warning in caught)
