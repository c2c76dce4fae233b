"""On which side the normals of a whole scene are: decided once, by few rows of it, the same for every division.

In each voxel, by *input* position, the row with the smallest hash among those that have a normal is a seed. Its voxels
are as fine as on one machine (0.7 bandwidths) where the scene has few of them, and wider by powers of two where it has
many, so that one process can hold all seeds. `surface.orient` votes on their signs; every other row follows the seed
next to it on the ridge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._sampling import row_hash
from subbundle._types import FloatArray, IntArray
from subbundle.distributed.tiles import TilePlan
from subbundle.surface.orient import orient
from subbundle.surface.seeds import Seeds

# Side of a voxel in bandwidths, where there are few.
_VOXEL = 0.7
# Seeds that one process votes on: 400 MB.
_MOST = 200_000
# Cells along an axis that a key has room for.
_BITS = 21

Arrays = dict[str, NDArray[Any]]


def cell_for(sample: FloatArray, bandwidth: float) -> float:
    """Side of the voxels: at most `_MOST` of them should be occupied, as far as the ``sample`` [n, 3] shows."""
    side = _VOXEL * bandwidth
    origin = sample.min(axis=0)
    while len(np.unique(_keys(sample, origin, side))) > _MOST:
        side *= 2.0
    return side


def seeds_of(plan: TilePlan, rows: IntArray, start: FloatArray, found: Arrays, cell: float) -> Arrays:
    """The seeds among ``rows`` of a tile, whose input positions are ``start``: keys, rows, points and normals."""
    good = np.flatnonzero(found["normals"].any(axis=1))
    keys = _keys(start[good], plan.boxes[:, 0].min(axis=0), cell)
    first = _first_of(keys, rows[good])
    chosen = good[first]
    return {
        "seed_keys": keys[first], "seed_rows": rows[chosen], "seed_points": found["points"][chosen],
        "seed_normals": found["normals"][chosen],
    }  # fmt: skip


def turned(parts: Sequence[Arrays], cell: float) -> tuple[FloatArray, FloatArray, bool]:
    """Points [m, 3] and normals [m, 3] of all seeds, turned to one side, outward; and whether they could agree."""
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    chosen = _first_of(whole["seed_keys"], whole["seed_rows"])
    chosen = chosen[np.argsort(whole["seed_rows"][chosen])]
    points, normals = whole["seed_points"][chosen], whole["seed_normals"][chosen]
    if len(points) < 2:
        return points, normals, True
    ones = np.ones(len(points))
    found = orient(Seeds(points, normals, ones, ones), cell)
    return points, normals * found.signs[:, None], found.orientable


def follow(points: FloatArray, normals: FloatArray, seeds: tuple[FloatArray, FloatArray]) -> FloatArray:
    """``normals`` [n, 3] on the side of those of the seed next to each of the ``points`` [n, 3]."""
    if len(seeds[0]) == 0:
        return normals
    nearest = cKDTree(seeds[0]).query(points)[1]
    flip = np.einsum("ni,ni->n", normals, seeds[1][nearest]) < 0.0
    return np.where(flip[:, None], -normals, normals)


def _keys(points: FloatArray, origin: FloatArray, side: float) -> IntArray:
    """One integer per row: its voxel."""
    cells = np.floor((points - origin) / side).astype(np.int64) & (2**_BITS - 1)
    keys: IntArray = (cells[:, 0] << 2 * _BITS) | (cells[:, 1] << _BITS) | cells[:, 2]
    return keys


def _first_of(keys: IntArray, rows: IntArray) -> IntArray:
    """For each key, the place of the row with the smallest hash."""
    order = np.lexsort((row_hash(rows), keys))
    return np.asarray(order[np.flatnonzero(np.diff(keys[order], prepend=-1))])
