"""Which rows are shown: the finite ones, and of very many an even subset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle._validation import as_real

# Points up to which everything is shown: a file of 25 MB holds a million with a few quantities and a mesh beside them.
MOST_POINTS = 1_000_000
# Rows that are enough to learn a shape, its principal components or its neighbours from while someone waits: more take
# minutes, and change nothing that can be seen. A search through a graph of so many takes 20 ms in a browser.
ENOUGH = 20_000
# Points of a curve: corners cannot be seen between so many.
CURVE_POINTS = 121


@dataclass(frozen=True, slots=True)
class Shown:
    """``points`` [n, d] that are shown, their ``rows`` [n] in what was given, and ``notes`` about the others."""

    points: FloatArray
    rows: IntArray
    n_total: int
    notes: tuple[str, ...]


def shown_rows(points: Any, name: str) -> Shown:
    """The rows of ``points`` [n, d] to show; raises when there is none.

    Of more than `MOST_POINTS` one row is taken from each of as many equal stretches, at a place that a fixed seed
    chose, before anything is copied: neither the order nor a period in the rows is taken for structure.
    """
    given = np.asarray(points) if not hasattr(points, "shape") else points
    if len(given.shape) != 2 or given.shape[1] == 0:
        raise ValueError(
            f"{name} must be a 2-D array of points, shape (n_points, dim); got shape {tuple(given.shape)}."
        )
    total = int(given.shape[0])
    if total == 0:
        raise ValueError(f"{name} must hold at least one point; it is empty.")
    notes = []
    rows = np.arange(total)
    if total > MOST_POINTS:
        edges = np.arange(MOST_POINTS + 1) * total // MOST_POINTS
        places = np.random.default_rng(0).random(MOST_POINTS)
        rows = edges[:-1] + (places * np.diff(edges)).astype(np.int64)
        notes.append(f"showing {MOST_POINTS:,} of {total:,} points of {name}")
    values = as_real(np.asarray(given[rows] if total > MOST_POINTS else given), name)
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        missing = int(np.count_nonzero(~finite))
        if missing == len(values):
            raise ValueError(f"{name} must hold at least one finite point; all {missing:,} rows have NaN or infinity.")
        notes.append(f"{missing:,} rows of {name} with NaN or infinity are not shown")
        rows, values = rows[finite], values[finite]
    return Shown(values, rows, total, tuple(notes))
