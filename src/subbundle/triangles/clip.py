"""Cutting a mesh along the zero set of a function on its vertices."""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.triangles.topology import border_edges, parts_of
from subbundle.triangles.tuning import RIM_ROUNDS, SNAP


def outer_region(faces: IntArray, outside: FloatArray) -> FloatArray:
    """``outside`` [n] with the positive regions that do not touch the border of the mesh set to inside."""
    n = len(outside)
    positive = outside > 0.0
    if not positive.any():
        return outside
    within = faces[positive[faces].all(axis=1)]
    pairs = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    pairs = pairs[positive[pairs].all(axis=1)]
    triangles = np.concatenate([within, np.column_stack([pairs, pairs[:, 1]])])
    part = parts_of(triangles, n) if len(triangles) else np.arange(n)
    touching = np.zeros(n, dtype=bool)
    touching[border_edges(faces).ravel()] = True
    open_part = np.zeros(int(part.max()) + 1, dtype=bool)
    open_part[part[touching & positive]] = True
    return np.where(positive & ~open_part[part], -1e-12, outside)


def cut(faces: IntArray, outside: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Cut ``faces`` [m, 3] along outside = 0 and keep the part where it is negative.

    Returns faces, and for the new vertices, numbered from n on, the edge [c, 2] each lies on and its place t [c]
    along it, from the first end. A cut near a kept vertex goes through it: no slivers.
    """
    n = len(outside)
    out = outside > 0.0
    count = out[faces].sum(axis=1)
    kept = faces[count == 0]
    mixed = faces[(count == 1) | (count == 2)]
    if len(mixed) == 0:
        return kept, np.empty((0, 2), np.int64), np.empty(0)
    # Turn every cut face so that the corner that stands alone comes first.
    alone = np.where((out[mixed].sum(axis=1) == 1)[:, None], out[mixed], ~out[mixed])
    turn = (np.argmax(alone, axis=1)[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(mixed, turn, axis=1).T
    ends = np.concatenate([np.sort(np.column_stack([a, b]), axis=1), np.sort(np.column_stack([a, c]), axis=1)])
    keys, place = np.unique(ends @ np.array([n, 1]), return_inverse=True)
    edges = np.column_stack([keys // n, keys % n])
    inner = np.where(out[edges[:, 0]], edges[:, 1], edges[:, 0])
    outer = edges.sum(axis=1) - inner
    t = outside[inner] / (outside[inner] - outside[outer])
    name = np.where(t < SNAP, inner, n + np.arange(len(edges)))
    ab, ac = name[place[: len(a)]], name[place[len(a) :]]
    single = ~out[a]  # only the first corner is kept
    pieces = [
        np.column_stack([a, ab, ac])[single],
        np.column_stack([ab, b, c])[~single],
        np.column_stack([ab, c, ac])[~single],
    ]
    pieces = [p[(p[:, 0] != p[:, 1]) & (p[:, 1] != p[:, 2]) & (p[:, 2] != p[:, 0])] for p in pieces]
    return np.concatenate([kept, *pieces]), np.column_stack([inner, outer]), t


def smoothed(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Vertices [n, 3] with the jags taken out of the border: every vertex of it averaged with its two neighbours."""
    rows, ends = np.unique(border_edges(faces), return_inverse=True)
    first, second = ends.reshape(-1, 2).T
    count = np.bincount(ends.ravel(), minlength=len(rows))[:, None]
    rim = vertices[rows]
    for _ in range(RIM_ROUNDS):
        sides = [np.bincount(first, x[second], len(rows)) + np.bincount(second, x[first], len(rows)) for x in rim.T]
        rim = 0.5 * rim + 0.5 * np.column_stack(sides) / count
    vertices = vertices.copy()
    vertices[rows] = rim
    return vertices
