"""Denoising of one tile by a worker: each observation projected to the ridge of the whole cloud, exactly.

The iteration of a row reads observations within `Ridge.support_radius` of its start: within the support R a of the
kernel around all its iterates. A halo of (R + 1) a is enough for rows that move by less than a bandwidth. A row that
read beyond the tile and its halo is repeated with all observations within twice that distance, and so on, until they
include all that it reads. Steps are at most 20 and at most a bandwidth long, and the windows of the continuation end at
3.8 a, so this terminates.

Sums over neighbours are in the order of the search tree, which depends on the points of a tile: results of two
divisions differ by rounding. The tree is built from coordinates relative to the centre of the tile, so that rounding
is relative to the size of the tile.

The orientation of normals is computed once, from a few rows of the scene, the same for every division. In each voxel,
by *input* position, the row with the smallest hash among those that have a normal is a seed. Voxels are as fine as in
memory (0.7 bandwidths) where the scene has few of them, and wider by powers of two where it has many, so that all
seeds fit into one process. `surface.orient` determines their signs; every other row takes that of the nearest seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._groups import best_of
from subbundle._sampling import row_hash, smallest
from subbundle._types import FloatArray, IntArray
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.distributed.mesh_places import names_of
from subbundle.distributed.sample import around, read_sample
from subbundle.distributed.tiles import TilePlan
from subbundle.distributed.tuning import SIGN_VOXEL
from subbundle.kernels import reach_of
from subbundle.local.frames import completed
from subbundle.surface.orient import oriented_points

# Rows at a time, a kilobyte of intermediate results each.
_BATCH = 50_000
# Rows of the sample that are added to a tile with too few observations for a bundle.
_OTHERS = 64
# Rows that are repeated at a time, with the observations around them.
_AGAIN = 5_000
# Most seeds that one process orients: 400 MB.
_MOST_SEEDS = 200_000

Arrays = dict[str, NDArray[Any]]


def halo_of(rank: int, dim: int, bandwidth: float) -> float:
    """(R + 1) a: the width of the halo of a tile. At moderate noise one row in 1000 reads further."""
    return float((np.sqrt(reach_of("compact", rank, dim)) + 1.0) * bandwidth)


def denoised_tile(plan: TilePlan, tile: int, settings: dict[str, Any]) -> Arrays:
    """The rows that ``tile`` owns on the ridge: ``rows``, ``points``, ``normals``, ``noise``, ``scores``, ``status``;
    and the seeds among them that determine the orientation of normals (`_seeds_of`)."""
    halo = halo_of(settings["rank"], plan.dim, settings["bandwidth"])
    found = plan.tile(tile, halo)
    start, rows = found.points[found.owned], found.rows[found.owned]
    out, read = _projected(plan, found.rows, found.points, start, settings)
    low, high = found.box - [[halo], [-halo]]
    known = np.minimum(start - low, high - start).min(axis=1)
    del found
    radius = 2.0 * halo
    while len(unsure := np.flatnonzero(read > known)):
        for some in np.array_split(unsure, -(-len(unsure) // _AGAIN)):
            again, read[some] = _projected(plan, *around(plan, start[some], radius), start[some], settings)
            for name, values in again.items():
                out[name][some] = values
        known[unsure] = radius
        radius *= 2.0
    seeds = _seeds_of(plan, rows, start, out, settings["cell"]) if out["normals"].shape[1] else {}
    return {"rows": rows, **out, **seeds}


def _projected(
    plan: TilePlan, rows: IntArray, points: FloatArray, start: FloatArray, settings: dict[str, Any]
) -> tuple[Arrays, FloatArray]:
    """Projections of ``start`` [n, d] to the ridge of ``points``, and the support radius of each row."""
    rank = settings["rank"]
    bundle = PrincipalSubbundle(
        _padded(plan, rows, points, rank), rank, settings["bandwidth"], typical_mass=settings["typical_mass"], n_jobs=1
    )
    n, dim = start.shape
    surface = (dim, rank) == (3, 2)
    out: Arrays = {
        "points": np.empty((n, dim)), "normals": np.empty((n, dim if surface else 0)), "noise": np.empty(n),
        "scores": np.empty(n), "status": np.empty(n, np.int8),
    }  # fmt: skip
    read = np.empty(n)
    for i in range(0, n, _BATCH):
        some = slice(i, i + _BATCH)
        ridge = ridge_project(bundle, start[some], order=settings["order"])
        out["points"][some], out["noise"][some], out["scores"][some] = ridge.points, ridge.noise, ridge.outlier_scores
        out["status"][some], read[some] = ridge.status, ridge.support_radius
        if surface:
            out["normals"][some] = _upward(completed(ridge.tangents)[:, :, 2])
    return out, read


def _padded(plan: TilePlan, rows: IntArray, points: FloatArray, rank: int) -> FloatArray:
    """``points``; where they are too few for a bundle, with other rows of the cloud, outside their support."""
    if len(points) >= 8 * (rank + 1) and (points != points[0]).any():
        return points
    others, there = read_sample(plan.folder)
    some = np.union1d(smallest(others, _OTHERS), [there[:, 0].argmin(), there[:, 0].argmax()])
    some = some[~np.isin(others[some], rows)]
    return np.concatenate([points, there[some]])


def _upward(normals: FloatArray) -> FloatArray:
    """Unit ``normals`` [n, 3], zero where there is none, with the last nonzero coordinate positive."""
    known = np.nan_to_num(normals)
    leading = np.where(known[:, 2] != 0.0, known[:, 2], np.where(known[:, 1] != 0.0, known[:, 1], known[:, 0]))
    return np.where(leading[:, None] < 0.0, -known, known)


def cell_for(sample: FloatArray, bandwidth: float) -> float:
    """Side of the voxels, so that at most `_MOST_SEEDS` are occupied, estimated from the ``sample`` [n, 3]."""
    side = SIGN_VOXEL * bandwidth
    while len(np.unique(_keys(sample, sample.min(axis=0), side))) > _MOST_SEEDS:
        side *= 2.0
    return side


def _seeds_of(plan: TilePlan, rows: IntArray, start: FloatArray, found: Arrays, cell: float) -> Arrays:
    """The seeds among ``rows`` of a tile, whose input positions are ``start``: keys, rows, points and normals."""
    good = np.flatnonzero(found["normals"].any(axis=1))
    keys = _keys(start[good], plan.boxes[:, 0].min(axis=0), cell)
    first = _first_of(keys, rows[good])
    chosen = good[first]
    return {
        "seed_keys": keys[first], "seed_rows": rows[chosen], "seed_points": found["points"][chosen],
        "seed_normals": found["normals"][chosen],
    }  # fmt: skip


def oriented_seeds(parts: Sequence[Arrays], cell: float) -> tuple[FloatArray, FloatArray, bool]:
    """Points [m, 3] and outward normals [m, 3] of all seeds; and whether a consistent orientation exists."""
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    chosen = _first_of(whole["seed_keys"], whole["seed_rows"])
    chosen = chosen[np.argsort(whole["seed_rows"][chosen])]
    points, normals = whole["seed_points"][chosen], whole["seed_normals"][chosen]
    if len(points) < 2:
        return points, normals, True
    return points, *oriented_points(points, normals, cell)


def _keys(points: FloatArray, origin: FloatArray, side: float) -> IntArray:
    """One integer per row: its voxel."""
    return names_of(np.floor((points - origin) / side).astype(np.int64))


def _first_of(keys: IntArray, rows: IntArray) -> IntArray:
    """For each key, the index of the row with the smallest hash."""
    return best_of(keys, row_hash(rows))
