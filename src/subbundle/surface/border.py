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
from subbundle.triangles.topology import border_edges

# The mesh reaches a window or so beyond the cloud, about two edges, and not so many.
_RINGS = 12


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
