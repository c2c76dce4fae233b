"""The surface of oriented seeds on the scene's grid, brick by brick, with names that all tiles agree on.

The indicator at a grid point is l − w: the winding number of `mesh_sides` and its level, the mean of w at the seeds
within some ten cells. The level follows what w drifts by where the surface is open or its areas are wrong, as the
screening of `surface.screening` does. It must not follow single seeds, whose noise would perforate thin walls, nor the
next sheet, if that looks the same way: then its level is higher or lower by one. Grid points within the reach of a seed
are known. Where seeds cover half of a sheet or more, their planes tell the sign from a cell and two standard deviations
of their heights on, at the latest from two cells; only nearer w is asked for. Dual marching cubes finds the zero set in
bricks of 32 cells that do not depend on the tiles; a vertex is named by its cell and the loop there, a quad belongs to
the grid point where its edge begins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.distributed._mesh_kernels import blend
from subbundle.distributed.mesh_average import averaged
from subbundle.distributed.mesh_scale import Scale, names_of
from subbundle.distributed.mesh_seeds import TileSeeds
from subbundle.distributed.mesh_sides import FINE, Nodes, Winding
from subbundle.surface import extract

# Cells of a brick, and within which blocks of seeds tell the level.
BRICK, LEVEL_REACH = 32, 12.0
# Part of a full sheet that seeds must cover, and cells from which on their planes tell the side however much they
# differ. Levels that differ by that part of what w jumps by through a sheet are those of two.
_HALF, _AWAY = 0.5, 2.0


def zero_set(
    seeds: TileSeeds, areas: FloatArray, scene: Nodes, box: FloatArray, scale: Scale
) -> tuple[IntArray, FloatArray, IntArray]:
    """The zero set within `Scale.margin` cells of ``box`` [2, 3], from all ``seeds`` two blocks further, turned alike.

    ``areas`` [n] are those that the seeds stand for, in cells; ``scene`` is what lies further away. Returns names [v]
    of the vertices, sorted, their places [v, 3], and quads [q, 4] of their rows, sorted.
    """
    ends = scale.cells(np.asarray(box)) + np.array([[-scale.margin - 2], [scale.margin + 3]])
    low, high = ends // BRICK
    places = (seeds.points - scale.corner) / scale.cell
    sides = Winding(places, areas, areas[:, None] * seeds.normals, scene)
    wide = 2.0 * LEVEL_REACH
    near = np.flatnonzero(((places > ends[0] - wide) & (places < ends[1] + wide)).all(axis=1))
    places, normals, areas = places[near], seeds.normals[near], areas[near]
    levels = _levels(places, areas, sides.at(places))
    names, points, quads = [], [], []
    for brick, rows in _bricks(places, low, high, scale.reach + 1.0):
        base = brick * BRICK - 1
        sums = np.zeros((*(BRICK + 2,) * 3, 4))
        blend(places[rows] - base, normals[rows], areas[rows], levels[rows], scale.reach, sums)
        field = _field(sums, sides, base, ends, scale.reach)
        found, corners, cells = extract.extract_with_cells(field)
        # Vertices of the brick's own cells; others that its quads need are those of the brick before.
        own = (cells[:, :3] > 0).all(axis=1)
        label = names_of(cells[:, :3] + base, cells[:, 3])
        names.append(label[own])
        points.append(scale.corner + scale.cell * (found[own] + base))
        quads.append(label[corners])
    if not names:
        return np.empty(0, np.int64), np.empty((0, 3)), np.empty((0, 4), np.int64)
    label, place = np.concatenate(names), np.concatenate(points)
    order = np.argsort(label, kind="stable")
    label, place = label[order], place[order]
    named = np.concatenate(quads)
    rows = np.minimum(np.searchsorted(label, named), max(len(label) - 1, 0))
    whole = (label[rows] == named).all(axis=1) if len(label) else np.zeros(len(named), np.bool_)
    rows = rows[whole]
    return label, place, rows[np.lexsort(rows.T[::-1])]


def _levels(places: FloatArray, areas: FloatArray, values: FloatArray) -> FloatArray:
    """The mean [n] of the ``values`` [n] of w around every seed, on its own sheet."""
    # Two sheets that look the same way may share a block.
    sheet = np.floor(values).astype(np.int64) & 15
    group = np.unique(names_of(np.floor(places / FINE).astype(np.int64), sheet), return_inverse=True)[1]
    total: FloatArray = np.bincount(group, areas).astype(np.float64)
    means = np.column_stack([np.bincount(group, areas * column) / total for column in (*places.T, values)])
    middles, level = np.ascontiguousarray(means[:, :3]), means[:, 3]
    smooth: FloatArray = averaged(
        middles, middles, LEVEL_REACH, level[:, None], weights=total,
        alike=lambda one, other: np.abs(level[one] - level[other]) < _HALF,
    )[group, 0]  # fmt: skip
    return smooth


def _field(sums: FloatArray, sides: Winding, base: IntArray, ends: IntArray, reach: float) -> NDArray[np.float32]:
    """The indicator [X, Y, Z] of a brick that begins at grid point ``base``, positive outside; NaN where unknown."""
    field = np.full(sums.shape[:3], np.nan, np.float32)
    known = sums[..., 0] > 0.0
    for axis in range(3):
        grid = base[axis] + np.arange(known.shape[axis])
        np.moveaxis(known, axis, 0)[(grid < ends[0, axis]) | (grid > ends[1, axis])] = False
    where = np.nonzero(known)
    weight, height, square, level = sums[where].T
    height, square, level = height / weight, square / weight, level / weight
    fade = np.maximum(1.0 - (height / reach) ** 2, 0.0)
    # Squares are products; other powers may round otherwise when there are other rows.
    sheet = np.pi * reach**2 / 5.0 * fade * (fade**2) ** 2
    spread = np.sqrt(np.maximum(square - height**2, 0.0))
    told = (weight > _HALF * sheet) & (np.abs(height) > np.minimum(1.0 + 2.0 * spread, _AWAY))
    value = np.clip(height * (_HALF / _AWAY), -_HALF, _HALF)
    asked = np.flatnonzero(~told)
    value[asked] = level[asked] - sides.at((np.column_stack(where)[asked] + base).astype(np.float64))
    field[where] = value
    return field


def _bricks(places: FloatArray, low: IntArray, high: IntArray, reach: float) -> list[tuple[IntArray, IntArray]]:
    """Bricks from ``low`` to ``high`` [3] with the rows of the seeds that reach them, ascending."""
    found: list[IntArray] = []
    rows: list[IntArray] = []
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
