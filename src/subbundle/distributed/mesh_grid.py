"""The surface of oriented seeds on the scene's grid, brick by brick, with the same vertex names in all tiles.

The indicator at a grid point is l − w: the winding number w of `mesh_sides` and its level l, the mean of w at the seeds
within the side of a block. The level corrects the drift of w where the surface is open or its areas are wrong, as the
screening of `surface.screening` does. It is not fitted to single seeds, whose noise would perforate thin walls, nor to
the next sheet of the same orientation, whose level differs by one. The indicator is defined within the reach of a seed.
Where seeds cover half of a sheet or more, their planes determine the sign from two cells on; w is computed only nearer.
Dual marching cubes extracts the zero set in bricks of 32 cells that do not depend on the tiles; a vertex is named by
its cell and the loop there, a quad belongs to the grid point where its edge begins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subbundle._compiled import kernel
from subbundle._groups import changes, summed
from subbundle._types import FloatArray, IntArray
from subbundle.distributed.mesh_places import averaged, names_of
from subbundle.distributed.mesh_scale import BLOCK, Scale
from subbundle.distributed.mesh_seeds import TileSeeds
from subbundle.distributed.mesh_sides import Nodes, Winding
from subbundle.distributed.tuning import FINE, SHEET_COVERED
from subbundle.surface import extract
from subbundle.surface.tuning import SMOOTH_CELLS

# Cells of a brick.
_BRICK = 32
# The winding number jumps by 1 through a sheet.
_HALF = 0.5


def zero_set(
    seeds: TileSeeds, areas: FloatArray, scene: Nodes, box: FloatArray, scale: Scale
) -> tuple[IntArray, FloatArray, IntArray]:
    """The zero set within `Scale.margin` cells of ``box`` [2, 3], from all oriented ``seeds`` two blocks further.

    ``areas`` [n] are those of the seeds, in cells; ``scene`` has the seeds further away. Returns names [v]
    of the vertices, sorted, their positions [v, 3], and quads [q, 4] of their rows, sorted.
    """
    ends = scale.cells(np.asarray(box)) + np.array([[-scale.margin - 2], [scale.margin + 3]])
    places = (seeds.points - scale.corner) / scale.cell
    sides = Winding(places, areas, areas[:, None] * seeds.normals, scene)
    wide = 2.0 * BLOCK
    near = np.flatnonzero(((places > ends[0] - wide) & (places < ends[1] + wide)).all(axis=1))
    places, normals, areas = places[near], seeds.normals[near], areas[near]
    levels = _levels(places, areas, sides.at(places))
    names, points, quads = [np.empty(0, np.int64)], [np.empty((0, 3))], [np.empty((0, 4), np.int64)]
    for brick, rows in _bricks(places, ends // _BRICK, scale.reach + 1.0):
        base = brick * _BRICK - 1
        sums = np.zeros((*(_BRICK + 2,) * 3, 3))
        _blend(places[rows] - base, normals[rows], areas[rows], levels[rows], scale.reach, sums)
        found, corners, cells = extract.extract_with_cells(_field(sums, sides, base, ends, scale.reach))
        # Vertices of the brick's own cells; the others of its quads are those of the brick before.
        own = (cells[:, :3] > 0).all(axis=1)
        label = names_of(cells[:, :3] + base, cells[:, 3])
        names.append(label[own])
        points.append(scale.corner + scale.cell * (found[own] + base))
        quads.append(label[corners])
    label, named = np.concatenate(names), np.concatenate(quads)
    order = np.argsort(label, kind="stable")
    label = label[order]
    rows = np.minimum(np.searchsorted(label, named), max(len(label) - 1, 0))
    rows = rows[(label[rows] == named).all(axis=1)] if len(label) else rows[:0]
    return label, np.concatenate(points)[order], rows[np.lexsort(rows.T[::-1])]


def _levels(places: FloatArray, areas: FloatArray, values: FloatArray) -> FloatArray:
    """The mean [n] of the ``values`` [n] of w around every seed, on its own sheet."""
    # Two sheets of the same orientation may share a block.
    sheet = np.floor(values).astype(np.int64) & 15
    names, group = np.unique(names_of(np.floor(places / FINE).astype(np.int64), sheet), return_inverse=True)
    sums = summed(group, areas[:, None] * np.column_stack([np.ones(len(areas)), places, values]), len(names))
    total, means = sums[:, 0], sums[:, 1:] / sums[:, :1]
    middles, level = np.ascontiguousarray(means[:, :3]), means[:, 3]
    smooth: FloatArray = averaged(
        middles, middles, float(BLOCK), level[:, None], weights=total,
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
    weight, height, level = sums[where].T
    height, level = height / weight, level / weight
    fade = np.maximum(1.0 - (height / reach) ** 2, 0.0)
    # Squares are products; other powers may round otherwise when there are other rows.
    sheet = np.pi * reach**2 / 5.0 * fade * (fade**2) ** 2
    # The slope of w through a plane; where it saturates, w is not needed.
    steep = 1.0 / (np.sqrt(2.0 * np.pi) * SMOOTH_CELLS)
    value = np.clip(height * steep, -_HALF, _HALF)
    near = np.flatnonzero((weight < SHEET_COVERED * sheet) | (np.abs(value) < _HALF))
    value[near] = level[near] - sides.at((np.column_stack(where)[near] + base).astype(np.float64))
    field[where] = value
    return field


def _bricks(places: FloatArray, ends: IntArray, reach: float) -> list[tuple[IntArray, IntArray]]:
    """Bricks between ``ends`` [2, 3] with the rows of the seeds that reach them, ascending."""
    first, last = (np.floor((places + way) / _BRICK).astype(np.int64) for way in (-reach, reach))
    found, rows = [np.empty((0, 3), np.int64)], [np.empty(0, np.int64)]
    for corner in np.ndindex(2, 2, 2):
        brick = np.where(np.array(corner) == 1, last, first)
        # A corner in the same brick as a former one would count the seed twice.
        fresh = ((np.array(corner) == 0) | (last > first)) & (brick >= ends[0]) & (brick <= ends[1])
        rows.append(np.flatnonzero(fresh.all(axis=1)))
        found.append(brick[rows[-1]])
    bricks, seeds = np.concatenate(found), np.concatenate(rows)
    order = np.lexsort((seeds, bricks[:, 2], bricks[:, 1], bricks[:, 0]))
    bricks, seeds = bricks[order], seeds[order]
    begin = changes(bricks)
    return list(zip(bricks[begin[:-1]], np.split(seeds, begin[1:-1]), strict=True)) if len(bricks) else []


@kernel
def _blend(
    places: FloatArray, normals: FloatArray, areas: FloatArray, levels: FloatArray, reach: float, sums: FloatArray
) -> None:
    """``sums`` [X, Y, Z, 3] over the seeds within ``reach`` R of every grid point of a brick: of A, A h and A l.

    ``places`` [n, 3] are in cells of the brick, and may lie outside of it; A are ``areas`` [n], l ``levels`` [n] and h
    heights over the planes of the seeds, weighted by (1 − r²/R²)⁴. Sums follow the order of the seeds alone.
    """
    nx, ny, nz, _ = sums.shape
    scale = 1.0 / (reach * reach)
    for n in range(places.shape[0]):
        p0, p1, p2 = places[n, 0], places[n, 1], places[n, 2]
        for a in range(max(int(np.ceil(p0 - reach)), 0), min(int(np.floor(p0 + reach)) + 1, nx)):
            x = a - p0
            for b in range(max(int(np.ceil(p1 - reach)), 0), min(int(np.floor(p1 + reach)) + 1, ny)):
                y = b - p1
                far = 1.0 - (x * x + y * y) * scale
                if far <= 0.0:
                    continue
                over = normals[n, 0] * x + normals[n, 1] * y
                for c in range(max(int(np.ceil(p2 - reach)), 0), min(int(np.floor(p2 + reach)) + 1, nz)):
                    z = c - p2
                    q = far - z * z * scale
                    if q > 0.0:
                        q = areas[n] * (q * q) * (q * q)
                        sums[a, b, c, 0] += q
                        sums[a, b, c, 1] += q * (over + normals[n, 2] * z)
                        sums[a, b, c, 2] += q * levels[n]
