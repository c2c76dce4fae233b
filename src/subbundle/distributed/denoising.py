"""What a worker does to denoise a tile: each observation projected to the ridge of the whole cloud, exactly.

A row of a walk reads observations no further from its start than `Ridge.looked`: the reach of the kernel, R a, around
all places that it passes. A halo of (R + `_DISPLACEMENT`) a is enough for rows that move by less; where a row near the
border of the tile looked further than the tile and its halo are known, it is done again with all that lies around it,
twice as far, until it looked no further than that. Steps are at most a bandwidth long and at most 20, and wider windows
of the continuation end at 3.8 a, so this ends.

Sums over neighbours are in the order of the search tree, which depends on the points that a tile holds: results of two
divisions differ by rounding. The tree is built from coordinates relative to the middle of the tile, so that this is
rounding relative to the tile, not to the whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._sampling import smallest
from subbundle._types import FloatArray, IntArray
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.distributed.places import around
from subbundle.distributed.sample import read_sample
from subbundle.distributed.sides import seeds_of
from subbundle.distributed.tiles import TilePlan
from subbundle.kernels import reach_of
from subbundle.local.frames import completed

# Bandwidths that rows move before they look further than the halo: 1 in 1000 does on clouds of moderate noise.
_DISPLACEMENT = 1.0
# Rows at a time: what is known of a row takes a kilobyte while it is worked on.
_BATCH = 50_000
# Rows of the sample that stand for the rest of the cloud where a tile has next to nothing around it.
_OTHERS = 64
# Rows that are done again at a time, with their own surroundings.
_AGAIN = 5_000

Arrays = dict[str, NDArray[Any]]


def halo_of(rank: int, dim: int, bandwidth: float) -> float:
    """(R + `_DISPLACEMENT`) a: the width of the halo of a tile."""
    return float((np.sqrt(reach_of("compact", rank, dim)) + _DISPLACEMENT) * bandwidth)


def denoised_tile(plan: TilePlan, tile: int, settings: dict[str, Any]) -> Arrays:
    """The rows that ``tile`` owns on the ridge: ``rows``, ``points``, ``normals``, ``noise``, ``scores``, ``status``;
    and the seeds among them that decide on which side normals are (`sides.seeds_of`)."""
    halo = halo_of(settings["rank"], plan.dim, settings["bandwidth"])
    found = plan.tile(tile, halo)
    start, rows = found.points[found.owned], found.rows[found.owned]
    out, looked = _projected(plan, found.rows, found.points, start, settings)
    low, high = found.box - [[halo], [-halo]]
    known = np.minimum(start - low, high - start).min(axis=1)
    del found
    radius = 2.0 * halo
    while len(unsure := np.flatnonzero(looked > known)):
        for some in np.array_split(unsure, -(-len(unsure) // _AGAIN)):
            again, looked[some] = _projected(plan, *around(plan, start[some], radius), start[some], settings)
            for name, values in again.items():
                out[name][some] = values
        known[unsure] = radius
        radius *= 2.0
    seeds = seeds_of(plan, rows, start, out, settings["cell"]) if out["normals"].shape[1] else {}
    return {"rows": rows, **out, **seeds}


def _projected(
    plan: TilePlan, rows: IntArray, points: FloatArray, start: FloatArray, settings: dict[str, Any]
) -> tuple[Arrays, FloatArray]:
    """What the ridge of ``points`` is like for ``start`` [n, d], and how far each row looked."""
    rank = settings["rank"]
    bundle = PrincipalSubbundle(
        _enough(plan, rows, points, rank), rank, settings["bandwidth"], typical_mass=settings["typical_mass"], n_jobs=1
    )
    n, dim = start.shape
    surface = (dim, rank) == (3, 2)
    out: Arrays = {
        "points": np.empty((n, dim)), "normals": np.empty((n, dim if surface else 0)), "noise": np.empty(n),
        "scores": np.empty(n), "status": np.empty(n, np.int8),
    }  # fmt: skip
    looked = np.empty(n)
    for i in range(0, n, _BATCH):
        some = slice(i, i + _BATCH)
        ridge = ridge_project(bundle, start[some], order=settings["order"])
        out["points"][some], out["noise"][some], out["scores"][some] = ridge.points, ridge.noise, ridge.outlier_scores
        out["status"][some], looked[some] = ridge.status, ridge.looked
        if surface:
            out["normals"][some] = _upward(completed(ridge.tangents)[:, :, 2])
    return out, looked


def _enough(plan: TilePlan, rows: IntArray, points: FloatArray, rank: int) -> FloatArray:
    """``points``; where they are too few for a bundle, with other rows of the cloud, which are out of their reach."""
    if len(points) >= 8 * (rank + 1) and (points != points[0]).any():
        return points
    others, there = read_sample(plan)
    some = np.union1d(smallest(others, _OTHERS), [there[:, 0].argmin(), there[:, 0].argmax()])
    some = some[~np.isin(others[some], rows)]
    return np.concatenate([points, there[some]])


def _upward(normals: FloatArray) -> FloatArray:
    """Unit ``normals`` [n, 3], zero where there is none, with the last coordinate that is not nil above zero."""
    known = np.nan_to_num(normals)
    leading = np.where(known[:, 2] != 0.0, known[:, 2], np.where(known[:, 1] != 0.0, known[:, 1], known[:, 0]))
    return np.where(leading[:, None] < 0.0, -known, known)
