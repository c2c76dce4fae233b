"""A sample of the rows that is the same for every division into pieces and tiles: those with the smallest hash.

The hash of a row is one of its number alone (`subbundle._sampling`). Of up to `SAMPLE` rows
all are taken, and what is chosen from the sample is what one machine would choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from subbundle._atomic import atomic_path
from subbundle._sampling import in_share, smallest
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


def survey_piece(piece: Piece, share: float, box: FloatArray | None) -> Survey:
    """Measure a piece; ``share`` of all rows, at least, are the sample."""
    from subbundle.distributed._binning import within

    points = piece.read()
    good = within(points, box)
    rows, points = piece.first + np.flatnonzero(good), points[good]
    empty = np.full(points.shape[1], np.nan)
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (empty, empty)
    taken = in_share(rows, share)
    return Survey(len(rows), low, high, rows[taken], points[taken])


def keep_sample(folder: Path, surveys: list[Survey]) -> None:
    """Write the sample of all pieces."""
    rows = np.concatenate([one.rows for one in surveys])
    points = np.concatenate([one.points for one in surveys])
    kept = smallest(rows, SAMPLE)
    with atomic_path(folder / _FILE) as temporary, open(temporary, "wb") as stream:
        np.savez(stream, rows=rows[kept], points=points[kept])


def read_sample(plan: TilePlan) -> tuple[IntArray, FloatArray]:
    """Rows [n] and points [n, d] of the sample, in the order of the rows."""
    with np.load(Path(plan.folder) / _FILE, allow_pickle=False) as file:
        return file["rows"], file["points"]
