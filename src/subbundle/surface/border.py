"""Cutting a mesh where the cloud ends.

At the straight border of a uniform cloud the local mean lies inward of a point on the border by

    |P (m − p)| = √(2/π) a² / √(a² + σ²),

whatever the density, and by more beyond it. The mesh of the band reaches a little further than the cloud, so the
region where the drift exceeds that value is cut off, but only the parts of it that touch the border of the mesh: inside
the cloud a steep change of density also makes the mean drift, and is no border.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.surface.local import WeightedCloud
from subbundle.triangles.topology import border_edges, parts_of

# A cut so near to a kept vertex goes through that vertex: no slivers.
_SNAP = 0.25
# The mesh reaches a window or so beyond the cloud, about two edges, and not so many.
_RINGS = 12
# Rounds in which the border is averaged: a window is about two edges wide, and ten rounds reach a little further.
_SMOOTHING = 10


def excess(drift: FloatArray, bandwidth: float, noise: float) -> FloatArray:
    """Drift beyond that at a straight border, in bandwidths: positive outside of the cloud; at most 1."""
    expected = np.sqrt(2.0 / np.pi) * bandwidth**2 / np.hypot(bandwidth, noise)
    beyond: FloatArray = np.minimum((drift - expected) / bandwidth, 1.0)
    return beyond


def excess_near_border(
    cloud: WeightedCloud, vertices: FloatArray, faces: IntArray, bandwidth: float, noise: float
) -> FloatArray:
    """`excess` [n] at ``vertices`` [n, 3] of a mesh of ``cloud``; −1 further than `_RINGS` edges from its border."""
    beyond = np.full(len(vertices), -1.0)
    near = np.zeros(len(vertices), np.bool_)
    near[border_edges(faces).ravel()] = True
    for _ in range(_RINGS if near.any() else 0):
        near[faces[near[faces].any(axis=1)].ravel()] = True
    rows = np.flatnonzero(near)
    if rows.size:
        fit = cloud.fit(vertices[rows], bandwidth)
        beyond[rows] = excess(np.where(fit.mass > 0.0, fit.drift, np.inf), bandwidth, noise)
    return beyond


def outer_region(faces: IntArray, outside: FloatArray) -> FloatArray:
    """``outside`` [n] with the positive regions that do not touch the border of the mesh set to inside."""
    n = len(outside)
    positive = outside > 0.0
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
    along it, from the first end.
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
    name = np.where(t < _SNAP, inner, n + np.arange(len(edges)))
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
    """Vertices [n, 3] with the jags taken out of the border: every vertex of it averaged with its two neighbours.

    Fits at a border are one-sided, and their noise makes the border longer than it is.
    """
    ends = border_edges(faces)
    for _ in range(_SMOOTHING):
        mean = np.zeros_like(vertices)
        count = np.bincount(ends.ravel(), minlength=len(vertices))[:, None]
        for axis in range(3):
            mean[:, axis] = np.bincount(ends[:, 0], vertices[ends[:, 1], axis], minlength=len(vertices))
            mean[:, axis] += np.bincount(ends[:, 1], vertices[ends[:, 0], axis], minlength=len(vertices))
        vertices = np.where(count > 0, 0.5 * vertices + 0.5 * mean / np.maximum(count, 1), vertices)
    return vertices
