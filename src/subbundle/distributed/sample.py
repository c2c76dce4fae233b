"""A sample of the rows, the same for every division into chunks and tiles, and the points around given positions.

The sample has the rows with the smallest hash of the row's number (`subbundle._sampling`). Of up to `SAMPLE` rows all
are taken, and choices from the sample are those from all points in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from subbundle._atomic import atomic_path
from subbundle._sampling import in_fraction, smallest
from subbundle._types import FloatArray, IntArray
from subbundle.distributed.runner import Call, run_all
from subbundle.distributed.sources import Chunk
from subbundle.distributed.tiles import TilePlan, inside, within

# Rows of a sample: as many as allow choosing a bandwidth in seconds.
SAMPLE = 1_000_000
_FILE = "sample.npz"
# Search trees exclude points at the bound; here these are included.
_NEARLY = 1.0 + 1e-12


@dataclass(frozen=True, slots=True)
class Survey:
    """Finite rows of a chunk, their extent, and those of them in the sample, with their hashes."""

    count: int
    low: FloatArray
    high: FloatArray
    rows: IntArray
    points: FloatArray


def survey_chunk(chunk: Chunk, fraction: float, box: FloatArray | None) -> Survey:
    """Measure a chunk; the sample is at least the ``fraction`` of all rows."""
    points = chunk.read()
    good = within(points, box)
    rows, points = chunk.first + np.flatnonzero(good), points[good]
    empty = np.full(points.shape[1], np.nan)
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (empty, empty)
    taken = in_fraction(rows, fraction)
    return Survey(len(rows), low, high, rows[taken], points[taken])


def keep_sample(folder: Path, surveys: list[Survey]) -> None:
    """Write the sample of all chunks."""
    rows = np.concatenate([one.rows for one in surveys])
    points = np.concatenate([one.points for one in surveys])
    kept = smallest(rows, SAMPLE)
    with atomic_path(folder / _FILE) as temporary, open(temporary, "wb") as stream:
        np.savez(stream, rows=rows[kept], points=points[kept])


def read_sample(folder: str | Path) -> tuple[IntArray, FloatArray]:
    """Rows [n] and points [n, d] of the sample in the ``folder`` of a plan, in the order of the rows."""
    with np.load(Path(folder) / _FILE, allow_pickle=False) as file:
        return file["rows"], file["points"]


def around(
    plan: TilePlan, places: FloatArray, radius: float, *, fraction: float = 1.0, client: Any = None
) -> tuple[IntArray, FloatArray]:
    """Rows [n] and points [n, d] within ``radius`` of any of the ``places`` [m, d] along every axis, in their order.

    Of these only the ``fraction`` with the smallest hashes is taken.
    """
    calls = []
    for tile in range(len(plan)):
        low, high = plan.boxes[tile]
        here = ((places >= low - radius) & (places <= high + radius)).all(axis=1)
        if here.any():
            calls.append(Call(plan.describe(tile), (plan.folder, tile, places[here], radius, fraction)))
    found = run_all(client, _around_in, calls, "gathering points around samples")
    rows = np.concatenate([np.empty(0, np.int64), *(one[0] for one in found)])
    points = np.concatenate([np.empty((0, plan.dim)), *(one[1] for one in found)])
    order = np.argsort(rows, kind="stable")
    return rows[order], points[order]


def _around_in(
    folder: str, tile: int, places: FloatArray, radius: float, fraction: float
) -> tuple[IntArray, FloatArray]:
    found = TilePlan.open(folder).tile(tile)
    rows, points = found.rows, found.points
    if fraction < 1.0:
        kept = in_fraction(rows, fraction)
        rows, points = rows[kept], points[kept]
    low, high = places.min(axis=0) - radius, places.max(axis=0) + radius
    near = np.flatnonzero(inside(points, low, high))
    apart = cKDTree(places).query(points[near], distance_upper_bound=radius * _NEARLY, p=np.inf)[0]
    near = near[np.isfinite(apart)]
    return rows[near], points[near]
