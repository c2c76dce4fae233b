"""A sample of the rows that is the same for every division into pieces and tiles: those with the smallest hash.

The hash of a row is SplitMix64 of its number, so whether a row is taken depends on nothing else. Of up to `SAMPLE` rows
all are taken, and what is chosen from the sample is what one machine would choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._atomic import atomic_path
from subbundle._types import FloatArray, IntArray
from subbundle.distributed.sources import Piece
from subbundle.distributed.tiles import TilePlan

# Rows of a sample: as many as one machine chooses a bandwidth from in seconds.
SAMPLE = 1_000_000
_FILE = "sample.npz"


@dataclass(frozen=True, slots=True)
class Survey:
    """What a piece is like: finite rows, their extent, and those of them in the sample, with their hashes."""

    count: int
    low: FloatArray
    high: FloatArray
    rows: IntArray
    points: FloatArray


def row_hash(rows: Any) -> NDArray[np.uint64]:
    """SplitMix64 of row numbers [n]: uniform over 0..2⁶⁴ − 1."""
    with np.errstate(over="ignore"):
        z = (np.asarray(rows).astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def smallest(rows: IntArray, count: int) -> IntArray:
    """Places in ``rows`` of the ``count`` rows with the smallest hash, in the order of the rows."""
    if len(rows) <= count:
        return np.argsort(rows, kind="stable")
    chosen = np.argsort(row_hash(rows), kind="stable")[:count]
    return np.asarray(chosen[np.argsort(rows[chosen], kind="stable")])


def survey_piece(piece: Piece, share: float, box: FloatArray | None) -> Survey:
    """Measure a piece; ``share`` is the part of all rows that the sample is."""
    from subbundle.distributed._binning import within

    points = piece.read()
    good = within(points, box)
    rows, points = piece.first + np.flatnonzero(good), points[good]
    empty = np.full(points.shape[1], np.nan)
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (empty, empty)
    # A little more than the share, so that the smallest of all are among them.
    taken = row_hash(rows) <= np.uint64(min(1.1 * share, 1.0) * (2**64 - 2**11))
    if share >= 1.0:
        taken[:] = True
    return Survey(len(rows), low, high, rows[taken], points[taken])


def keep_sample(folder: Path, surveys: list[Survey]) -> None:
    """Write the sample of all pieces."""
    rows = np.concatenate([one.rows for one in surveys])
    points = np.concatenate([one.points for one in surveys])
    kept = smallest(rows, SAMPLE)
    with atomic_path(folder / _FILE) as temporary, open(temporary, "wb") as stream:
        np.savez(stream, rows=rows[kept], points=points[kept])


def read_sample(plan: TilePlan, count: int = SAMPLE) -> tuple[IntArray, FloatArray]:
    """Rows [n] and points [n, d] of at most ``count`` rows with the smallest hash, in the order of the rows."""
    with np.load(Path(plan.folder) / _FILE, allow_pickle=False) as file:
        rows, points = file["rows"], file["points"]
    kept = smallest(rows, count)
    return rows[kept], points[kept]
