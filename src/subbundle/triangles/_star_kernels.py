"""Restrictions of the cells of a Voronoi diagram to the tangent planes of its points.

The cell of x_i on its tangent plane, in coordinates y ∈ R² with x = x_i + T_i y, is

    V_i = {y : y·τ_j ≤ |x_j − x_i|²/2 for all j},    τ_j = T_iᵀ (x_j − x_i),

the intersection of the ambient Voronoi diagram with the plane. Its corners correspond to the triangles of the star of
x_i, and their distances from x_i are the circumradii.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.triangles.tuning import SAME_PLANE

# Corners of a cell: points spread with a least distance have seven or eight at most.
MOST_CORNERS = 24


@kernel
def star_rows(points, tangents, starts, neighbours, radius, first, stop, corners, radii, counts, reach):
    """Stars of the rows ``first`` to ``stop`` of ``points`` [n, d] with ``tangents`` [n, d, 2].

    ``neighbours`` holds those of row i, nearest first, from ``starts[i]`` to ``starts[i + 1]``. Writes the pairs that
    span a triangle with i to ``corners`` [n, MOST_CORNERS, 2], circumradii to ``radii``, their number to ``counts``
    [n], and to ``reach`` [n] the distance within which all neighbours must be given.
    """
    dim = points.shape[1]
    x, y, label = np.empty(MOST_CORNERS), np.empty(MOST_CORNERS), np.empty(MOST_CORNERS, np.int64)
    x_new, y_new, label_new = np.empty(MOST_CORNERS), np.empty(MOST_CORNERS), np.empty(MOST_CORNERS, np.int64)
    for i in range(first, stop):
        size = 4
        for c in range(4):
            x[c] = radius if c == 0 or c == 3 else -radius
            y[c] = radius if c < 2 else -radius
            label[c] = -1
        widest = 2.0 * radius * radius
        for slot in range(starts[i], starts[i + 1]):
            j = neighbours[slot]
            u = v = square = 0.0
            for axis in range(dim):
                step = points[j, axis] - points[i, axis]
                u += tangents[i, axis, 0] * step
                v += tangents[i, axis, 1] * step
                square += step * step
            if square > 4.0 * widest:
                break
            # On an arc, the chord to a neighbour is inclined by half the angle between the planes: cos² is (1 + cos)/2.
            if u * u + v * v < 0.5 * (1.0 + SAME_PLANE) * square or not _alike(tangents, i, j):
                continue
            size = _clip(x, y, label, size, u, v, 0.5 * square, j, x_new, y_new, label_new)
            widest = 0.0
            for c in range(size):
                x[c], y[c], label[c] = x_new[c], y_new[c], label_new[c]
                widest = max(widest, x[c] * x[c] + y[c] * y[c])
        reach[i] = 2.0 * np.sqrt(widest)
        found = 0
        for c in range(size):
            before, after = label[c - 1 if c > 0 else size - 1], label[c]
            away = np.sqrt(x[c] * x[c] + y[c] * y[c])
            if before >= 0 and after >= 0 and before != after and away <= radius and found < MOST_CORNERS:
                corners[i, found, 0], corners[i, found, 1], radii[i, found] = before, after, away
                found += 1
        counts[i] = found


@kernel
def _alike(tangents, i, j):
    """Whether |det T_iᵀ T_j| is at least `SAME_PLANE`."""
    a = b = c = d = 0.0
    for axis in range(tangents.shape[1]):
        a += tangents[i, axis, 0] * tangents[j, axis, 0]
        b += tangents[i, axis, 0] * tangents[j, axis, 1]
        c += tangents[i, axis, 1] * tangents[j, axis, 0]
        d += tangents[i, axis, 1] * tangents[j, axis, 1]
    return abs(a * d - b * c) >= SAME_PLANE


@kernel
def _clip(x, y, label, size, u, v, bound, name, x_new, y_new, label_new):
    """Clip the polygon by u x + v y ≤ ``bound``; edge c runs from corner c on and has the label ``label[c]``."""
    kept = 0
    for c in range(size):
        follower = c + 1 if c + 1 < size else 0
        here = u * x[c] + v * y[c] - bound
        there = u * x[follower] + v * y[follower] - bound
        if here <= 0.0 and kept < MOST_CORNERS:
            x_new[kept], y_new[kept], label_new[kept] = x[c], y[c], label[c]
            kept += 1
        if (here <= 0.0) != (there <= 0.0) and kept < MOST_CORNERS:
            t = here / (here - there)
            x_new[kept], y_new[kept] = x[c] + t * (x[follower] - x[c]), y[c] + t * (y[follower] - y[c])
            label_new[kept] = name if here <= 0.0 else label[c]
            kept += 1
    return kept
