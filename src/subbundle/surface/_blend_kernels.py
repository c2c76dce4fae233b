"""Numba loops over the graph of a mesh: centres spread over it, and their quadrics blended at the vertices around."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel


@kernel
def spread_centres(first, other, points, normals, usable, radii, along, chosen):
    """Mark in ``chosen`` [n] vertices such that every usable one is within the radius of one of similar normal.

    ``first`` [n + 1], ``other`` are the neighbours of the vertices, row by row. Greedy, in the order of the rows; a
    centre covers vertices connected to it within its radius whose normals have a cosine above ``along`` with its own.
    """
    n = points.shape[0]
    covered, stamp, queue = np.zeros(n, np.bool_), np.full(n, -1, np.int64), np.empty(n, np.int64)
    for c in range(n):
        chosen[c] = usable[c] and not covered[c]
        if chosen[c]:
            count = _around(first, other, points, normals, usable, c, c, radii[c], along, stamp, queue)
            for i in range(count):
                covered[queue[i]] = True


@kernel
def blend(first, other, points, normals, usable, centres, radii, along, places, frames, forms, weights, values, out):
    """Add the quadrics of the ``centres`` [c] to ``out`` [n, 7 + m] at all vertices within their ``radii`` [c].

    The quadric of a centre is given by its place [c, 3], frame [c, 3, 3] (tangents, then normal) and second form
    [c, 3]; columns of ``out`` are Σ w, Σ w times the offset to the quadric, its normal there, and ``values`` [c, m].
    """
    n = points.shape[0]
    stamp, queue = np.full(n, -1, np.int64), np.empty(n, np.int64)
    for k in range(centres.shape[0]):
        count = _around(first, other, points, normals, usable, centres[k], k, radii[k], along, stamp, queue)
        for i in range(count):
            _add(places, frames, forms, radii, weights, values, k, points, queue[i], False, out)


@kernel
def blend_near(first, near, points, normals, places, frames, forms, radii, weights, values, along, out):
    """`blend` without a mesh: at ``points`` [n, 3] the centres ``near[first[i]:first[i + 1]]`` of similar normals."""
    for i in range(points.shape[0]):
        for place in range(first[i], first[i + 1]):
            k, turn = near[place], 0.0
            for j in range(3):
                turn += normals[i, j] * frames[k, j, 2]
            if turn > along:
                _add(places, frames, forms, radii, weights, values, k, points, i, True, out)


@kernel
def _add(places, frames, forms, radii, weights, values, k, points, v, solid, out):
    """Add the quadric of centre ``k`` at point ``v``; where ``solid``, weights depend on normal distances, too."""
    e, x = frames[k], places[k]
    y0, y1, y2 = points[v, 0] - x[0], points[v, 1] - x[1], points[v, 2] - x[2]
    s = y0 * e[0, 0] + y1 * e[1, 0] + y2 * e[2, 0]
    t = y0 * e[0, 1] + y1 * e[1, 1] + y2 * e[2, 1]
    z = y0 * e[0, 2] + y1 * e[1, 2] + y2 * e[2, 2]
    q = max(1.0 - (s * s + t * t + (z * z if solid else 0.0)) / (radii[k] * radii[k]), 0.0)
    w = weights[k] * q * q
    a, b, c = forms[k, 0], forms[k, 1], forms[k, 2]
    gs, gt = a * s + b * t, b * s + c * t
    # An arc over its tangent: ½ II(τ, τ) · 2/(1 + √(1 − |A τ|²)).
    up = (gs * s + gt * t) / (1.0 + np.sqrt(max(1.0 - gs * gs - gt * gt, 0.1))) - z
    out[v, 0] += w
    for j in range(3):
        out[v, 1 + j] += w * up * e[j, 2]
        out[v, 4 + j] += w * (e[j, 2] - gs * e[j, 0] - gt * e[j, 1])
    for j in range(values.shape[1]):
        out[v, 7 + j] += w * values[k, j]


@kernel
def _around(first, other, points, normals, usable, c, mark, radius, along, stamp, queue):
    """Write into ``queue`` the vertices connected to ``c`` within ``radius``, itself included; return their number."""
    queue[0] = c
    stamp[c] = mark
    head, count = 0, 1
    while head < count:
        u = queue[head]
        head += 1
        for k in range(first[u], first[u + 1]):
            v = other[k]
            if stamp[v] == mark or not usable[v]:
                continue
            stamp[v] = mark
            far, turn = 0.0, 0.0
            for j in range(3):
                far += (points[v, j] - points[c, j]) ** 2
                turn += normals[v, j] * normals[c, j]
            if far < radius * radius and turn > along:
                queue[count] = v
                count += 1
    return count
