"""The surface of oriented seeds on the scene's grid, brick by brick, with names that all tiles agree on.

At every grid point within `_REACH` cells of a seed the signed distances to the planes of the seeds around are averaged
(a partition of unity). Dual marching cubes finds the zero set in bricks of 32 cells that do not depend on the tiles; a
vertex is named by its cell and the loop there, a quad belongs to the grid point where its edge begins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.distributed._mesh_kernels import blend_planes
from subbundle.distributed.mesh_scale import Scale, names_of
from subbundle.distributed.mesh_seeds import TileSeeds
from subbundle.surface import extract

# Cells of a brick, and cells within which a seed's plane counts.
BRICK, _REACH = 32, 5.0
# Least weight of a seed, as a fraction of that of a sure one.
_UNSURE = 0.05


@dataclass(frozen=True, slots=True)
class GridMesh:
    """Quads of the zero set.

    Attributes
    ----------
    names : [n] of int
        Of the vertices, sorted.
    points : [n, 3]
    quads : [m, 4]
        Rows of the vertices, sorted.
    """

    names: IntArray
    points: FloatArray
    quads: IntArray


def zero_set(seeds: TileSeeds, box: FloatArray, scale: Scale, margin: float) -> GridMesh:
    """The zero set within ``margin`` cells of ``box`` [2, 3], from all ``seeds`` a reach further, turned alike."""
    low, high = scale.cells(np.asarray(box) + [[-margin * scale.cell], [margin * scale.cell]])
    low, high = low // BRICK, high // BRICK
    places = (seeds.points - scale.corner) / scale.cell
    weights = _UNSURE + (1.0 - _UNSURE) * seeds.reliability
    names, points, quads = [], [], []
    for brick, rows in _bricks(places, low, high):
        base = brick * BRICK - 1
        field = np.empty((BRICK + 2,) * 3, np.float32)
        blend_planes(places[rows] - base, seeds.normals[rows], weights[rows], _REACH, field)
        found, corners, cells = extract.extract_with_cells(field)
        # Vertices of the brick's own cells; others that its quads need are those of the brick before.
        own = (cells[:, :3] > 0).all(axis=1)
        label = names_of(cells[:, :3] + base, cells[:, 3])
        names.append(label[own])
        points.append(scale.corner + scale.cell * (found[own] + base))
        quads.append(label[corners])
    if not names:
        return GridMesh(np.empty(0, np.int64), np.empty((0, 3)), np.empty((0, 4), np.int64))
    label, place = np.concatenate(names), np.concatenate(points)
    order = np.argsort(label, kind="stable")
    label, place = label[order], place[order]
    named = np.concatenate(quads)
    rows = np.minimum(np.searchsorted(label, named), max(len(label) - 1, 0))
    whole = (label[rows] == named).all(axis=1) if len(label) else np.zeros(len(named), np.bool_)
    rows = rows[whole]
    return GridMesh(label, place, rows[np.lexsort(rows.T[::-1])])


def _bricks(places: FloatArray, low: IntArray, high: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Bricks from ``low`` to ``high`` [3] with the rows of the seeds that reach them, ascending."""
    found: list[IntArray] = []
    rows: list[IntArray] = []
    reach = _REACH + 1.0
    first = np.floor((places - reach) / BRICK).astype(np.int64)
    last = np.floor((places + reach) / BRICK).astype(np.int64)
    for corner in np.ndindex(2, 2, 2):
        brick = np.where(np.array(corner) == 1, last, first)
        # A corner in the same brick as a former one would count the seed twice.
        fresh = ((np.array(corner) == 0) | (last > first)).all(axis=1) & ((brick >= low) & (brick <= high)).all(axis=1)
        found.append(brick[fresh])
        rows.append(np.flatnonzero(fresh))
    bricks, seeds = np.concatenate(found), np.concatenate(rows)
    if len(bricks) == 0:
        return []
    order = np.lexsort((seeds, bricks[:, 2], bricks[:, 1], bricks[:, 0]))
    bricks, seeds = bricks[order], seeds[order]
    begin = np.flatnonzero(np.concatenate([[True], np.any(bricks[1:] != bricks[:-1], axis=1)]))
    return list(zip(bricks[begin], np.split(seeds, begin[1:]), strict=True))
