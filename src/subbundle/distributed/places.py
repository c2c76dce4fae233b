"""What lies around some places of a cloud on disk, gathered by the workers, tile by tile."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from subbundle._sampling import in_share
from subbundle._types import FloatArray, IntArray
from subbundle.distributed.runner import Call, run_all
from subbundle.distributed.tiles import TilePlan, inside

# Trees leave out what is as far as the bound; rows on it belong to those within.
_NEARLY = 1.0 + 1e-12


def around(
    plan: TilePlan, places: FloatArray, radius: float, *, share: float = 1.0, client: Any = None
) -> tuple[IntArray, FloatArray]:
    """Rows [n] and points [n, d] within ``radius`` of any of the ``places`` [m, d] along every axis, in their order.

    Of these only the ``share`` with the smallest hashes is taken.
    """
    calls = []
    for tile in range(len(plan)):
        low, high = plan.boxes[tile]
        here = ((places >= low - radius) & (places <= high + radius)).all(axis=1)
        if here.any():
            calls.append(Call(plan.describe(tile), (plan.folder, tile, places[here], radius, share)))
    found = run_all(client, _around_in, calls, "gathering points around places")
    rows = np.concatenate([np.empty(0, np.int64), *(one[0] for one in found)])
    points = np.concatenate([np.empty((0, plan.dim)), *(one[1] for one in found)])
    order = np.argsort(rows, kind="stable")
    return rows[order], points[order]


def _around_in(folder: str, tile: int, places: FloatArray, radius: float, share: float) -> tuple[IntArray, FloatArray]:
    found = TilePlan.open(folder).tile(tile)
    rows, points = found.rows, found.points
    if share < 1.0:
        kept = in_share(rows, share)
        rows, points = rows[kept], points[kept]
    low, high = places.min(axis=0) - radius, places.max(axis=0) + radius
    near = np.flatnonzero(inside(points, low, high))
    apart = cKDTree(places).query(points[near], distance_upper_bound=radius * _NEARLY, p=np.inf)[0]
    near = near[np.isfinite(apart)]
    return rows[near], points[near]
