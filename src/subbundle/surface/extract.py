"""Dual marching cubes on a band: a mesh of quads from a grid of signed values.

In every cell the crossed edges fall into loops: two crossed edges of a face belong to one loop, and where all four
edges of a face are crossed, those around its lowest corner do, and those around its highest. That rule depends on the
face alone, so neighbouring cells agree and the polygons of the loops form a surface without gaps; it is symmetric in
the sign, so it applies to non-orientable surfaces. Its dual has one vertex per loop and one quad per
crossed edge: half as many vertices as marching cubes, and no slivers. Cells with an unknown corner (NaN) have no
vertex; that is where the mesh ends.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.surface._cube_kernels import count_loops, join_quads, place_vertices


def extract(field: NDArray[np.float32], gauge: NDArray[np.float32] | None = None) -> tuple[FloatArray, IntArray]:
    """Vertices [n, 3], in cells, and quads [m, 4] of the zero set of ``field`` [X, Y, Z]; NaN is unknown.

    Quads are turned so that their normals point to where the field is positive. With a ``gauge`` [X, Y, Z, 3] the field
    is positive on the side that the gauge points to, which may vary with position.
    """
    vertices, quads, _ = extract_with_cells(field, gauge)
    return vertices, quads


def extract_with_cells(
    field: NDArray[np.float32], gauge: NDArray[np.float32] | None = None
) -> tuple[FloatArray, IntArray, IntArray]:
    """`extract`, and the cell of every vertex with the number of its loop there, [n, 4], which identify it."""
    sides = np.empty((0, 0, 0, 3), np.float32) if gauge is None else gauge
    loop_of, loops_of = tables()
    first = np.empty(field.shape, np.int32)
    vertices = np.zeros((count_loops(field, sides, loops_of, first), 3))
    cells = np.column_stack(np.unravel_index(np.flatnonzero(first.ravel() >= 0), field.shape))
    place_vertices(field, sides, cells, first, loop_of, vertices)
    quads = np.empty((join_quads(field, sides, cells, first, loop_of, np.empty((0, 4), np.int64)), 4), np.int64)
    join_quads(field, sides, cells, first, loop_of, quads)
    begin = first[tuple(cells.T)]
    count = np.diff(np.append(begin, len(vertices)))
    loops = np.arange(len(vertices)) - np.repeat(begin, count)
    return vertices, quads, np.column_stack([np.repeat(cells, count, axis=0), loops])


@cache
def tables() -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """The loop of every edge in all 256 cases, [256, 12] with −1 for edges not crossed, and the number of loops [256].

    Edge 4 axis + low joins corner b to b + 2^axis, where the bits of ``low`` are the coordinates of b on the other
    two axes, lower axis first. Corner x + 2y + 4z is positive where its bit of the case is set.
    """
    loop_of = np.full((256, 12), -1, dtype=np.int8)
    loops_of = np.zeros(256, dtype=np.int8)
    for case in range(256):
        loops = _loops(case)
        loops_of[case] = len(loops)
        for number, loop in enumerate(loops):
            loop_of[case, list(loop)] = number
    return loop_of, loops_of


def _loops(case: int) -> list[set[int]]:
    loops: list[set[int]] = []
    for join in _joins(case):
        met = [loop for loop in loops if loop & join]
        loops = [loop for loop in loops if not loop & join]
        loops.append(join.union(*met))
    return sorted(loops, key=min)


def _joins(case: int) -> list[set[int]]:
    """Pairs of crossed edges that meet in a face."""
    joins: list[set[int]] = []
    for axis in range(3):
        for side in (0, 1):
            corners = _face(axis, side)
            edges = [_edge(corners[i], corners[(i + 1) % 4]) for i in range(4)]
            positive = [bool(case >> corner & 1) for corner in corners]
            crossed = [positive[i] != positive[(i + 1) % 4] for i in range(4)]
            if sum(crossed) == 2:
                joins.append({edges[i] for i in range(4) if crossed[i]})
            elif sum(crossed) == 4:
                joins += [{edges[3], edges[0]}, {edges[1], edges[2]}]
    return joins


def _face(axis: int, side: int) -> list[int]:
    """The four corners of a face in cyclic order."""
    u, v = (other for other in range(3) if other != axis)
    base = side << axis
    return [base, base | 1 << u, base | 1 << u | 1 << v, base | 1 << v]


def _edge(a: int, b: int) -> int:
    low, axis = min(a, b), (a ^ b).bit_length() - 1
    bits = [low >> other & 1 for other in range(3) if other != axis]
    return 4 * axis + bits[0] + 2 * bits[1]
