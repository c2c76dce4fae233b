"""Triangles added one by one, without overlap.

Around every vertex v its triangles so far occupy sectors of directions in its tangent plane. A triangle is added if at
each of its corners its sector is free, and its edges cross no existing one. The result has at most two triangles at an
edge, and projects injectively to the tangent plane around every vertex.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import SINGULAR

# Triangles around one vertex, at most.
MOST_SECTORS = 24


@kernel
def place_all(points, tangents, triangles, careful, begins, widths, ends, counts, placed):
    """Add ``triangles`` [m, 3] in their order and mark in ``placed`` [m] those without overlap.

    Sectors: directions ``begins`` and ``widths`` [n, MOST_SECTORS], the vertices ``ends`` [n, MOST_SECTORS, 2] at both
    sides, and their number ``counts`` [n]. Crossings are checked where ``careful`` [m].
    """
    for m in range(len(triangles)):
        a, b, c = triangles[m, 0], triangles[m, 1], triangles[m, 2]
        placed[m] = place(points, tangents, a, b, c, careful[m], begins, widths, ends, counts)


@kernel
def place(points, tangents, a, b, c, careful, begins, widths, ends, counts):
    """Add the triangle a, b, c if it does not overlap others; return whether it was added."""
    begin, width = np.empty(3), np.empty(3)
    from_, to = np.empty(3, np.int64), np.empty(3, np.int64)
    for corner in range(3):
        v, p, q = (a, b, c) if corner == 0 else (b, c, a) if corner == 1 else (c, a, b)
        first, second = _direction(points, tangents, v, p), _direction(points, tangents, v, q)
        wide = (second - first) % (2.0 * np.pi)
        from_[corner], to[corner] = p, q
        if wide > np.pi:
            first, wide = second, 2.0 * np.pi - wide
            from_[corner], to[corner] = q, p
        begin[corner], width[corner] = first, wide
        if wide < 1e-4 or wide > np.pi - 1e-4 or counts[v] == MOST_SECTORS:
            return False
        for s in range(counts[v]):
            ahead = (begins[v, s] - first) % (2.0 * np.pi)
            if ahead > 2.0 * np.pi - SINGULAR:
                ahead = 0.0
            if ahead < wide - SINGULAR or ahead > 2.0 * np.pi - widths[v, s] + SINGULAR:
                return False
    if careful and (
        _crosses(points, tangents, a, b, ends, counts)
        or _crosses(points, tangents, b, c, ends, counts)
        or _crosses(points, tangents, c, a, ends, counts)
    ):
        return False
    for corner in range(3):
        v = a if corner == 0 else b if corner == 1 else c
        s = counts[v]
        begins[v, s], widths[v, s] = begin[corner], width[corner]
        ends[v, s, 0], ends[v, s, 1] = from_[corner], to[corner]
        counts[v] = s + 1
    return True


@kernel
def _direction(points, tangents, v, p):
    """Angle of p around v in the tangent plane of v."""
    along = across = 0.0
    for axis in range(points.shape[1]):
        step = points[p, axis] - points[v, axis]
        along += tangents[v, axis, 0] * step
        across += tangents[v, axis, 1] * step
    return np.arctan2(across, along)


@kernel
def _crosses(points, tangents, a, c, ends, counts):
    """Whether the edge a, c crosses an edge of a neighbour of a or c, projected to the plane of a."""
    for side in range(2):
        v = a if side == 0 else c
        for s in range(counts[v]):
            for which in range(2):
                u = ends[v, s, which]
                if u in (a, c):
                    continue
                for other in range(counts[u]):
                    for end in range(2):
                        w = ends[u, other, end]
                        if w != a and w != c and _segments_cross(points, tangents, a, c, u, w):
                            return True
    return False


@kernel
def _segments_cross(points, tangents, a, c, u, w):
    """Whether a–c and u–w cross in the plane of a."""
    cx = cy = ux = uy = wx = wy = 0.0
    for axis in range(points.shape[1]):
        e, f, origin = tangents[a, axis, 0], tangents[a, axis, 1], points[a, axis]
        cx += e * (points[c, axis] - origin)
        cy += f * (points[c, axis] - origin)
        ux += e * (points[u, axis] - origin)
        uy += f * (points[u, axis] - origin)
        wx += e * (points[w, axis] - origin)
        wy += f * (points[w, axis] - origin)
    left, right = cx * uy - cy * ux, cx * wy - cy * wx
    start = (wx - ux) * (-uy) - (wy - uy) * (-ux)
    end = (wx - ux) * (cy - uy) - (wy - uy) * (cx - ux)
    return left * right < 0.0 and start * end < 0.0
