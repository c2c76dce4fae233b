"""Cutting a mesh where the cloud ends.

At the straight border of a uniform cloud the local mean lies inward of a point on the border by

    |P (m − p)| = √(2/π) a² / √(a² + σ²),

whatever the density, and by more beyond it. The mesh of the band reaches a little further than the cloud, so the
region where the drift exceeds that value is cut off, but only the parts of it that touch the border of the mesh: inside
the cloud a steep change of density also makes the mean drift, and is no border. Further out a few stray observations
have their mean anywhere; but at a straight border there is half the mass of the inside, and where there is much less
than around, the mesh ends as well. Both are averaged over a window or so, as far as they are smooth.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.surface.local import WeightedCloud
from subbundle.surface.widths import neighbour_average
from subbundle.triangles.topology import border_edges

# The mesh reaches a window or so beyond the cloud, about two edges, and not so many. Edges over which masses compare
# and the excess is averaged; the mass that is beyond a border, as a fraction of the largest around.
_RINGS, _AROUND, _SPARSE = 12, 4, 0.3


def excess(drift: FloatArray, bandwidth: float, noise: float) -> FloatArray:
    """Drift beyond that at a straight border, in bandwidths: positive outside of the cloud; at most 1."""
    expected = np.sqrt(2.0 / np.pi) * bandwidth**2 / np.hypot(bandwidth, noise)
    return np.asarray(np.minimum((drift - expected) / bandwidth, 1.0))


def excess_near_border(
    cloud: WeightedCloud, vertices: FloatArray, faces: IntArray, bandwidth: float, noise: float
) -> FloatArray:
    """`excess`, or that of what is sparse, [n] at ``vertices`` [n, 3] of a mesh; −1 `_RINGS` edges from its border."""
    beyond = np.full(len(vertices), -1.0)
    near = np.zeros(len(vertices), np.bool_)
    near[border_edges(faces).ravel()] = True
    for _ in range(_RINGS if near.any() else 0):
        near[faces[near[faces].any(axis=1)].ravel()] = True
    rows = np.flatnonzero(near)
    if rows.size:
        fit, most = cloud.fit(vertices[rows], bandwidth), np.zeros(len(vertices))
        beyond[rows] = excess(np.where(fit.mass > 0.0, fit.drift, np.inf), bandwidth, noise)
        most[rows] = fit.mass
        for _ in range(_AROUND):
            np.maximum.at(most, faces.ravel(), np.repeat(most[faces].max(axis=1), 3))
        share = fit.mass / np.maximum(most[rows], np.finfo(float).tiny)
        beyond[rows] = np.maximum(beyond[rows], 1.0 - share / _SPARSE)
        average = neighbour_average(faces, len(vertices))
        for _ in range(_AROUND):
            beyond = average @ beyond
    return beyond
