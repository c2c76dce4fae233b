"""Which observations do not belong to the surface that was found.

An observation is judged by the sheet beside it: by its height over the plane of the nearest vertex of the mesh, against
the noise of the observations around that vertex. Where these are exact, a small height is enough.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray
from subbundle.surface.voxels import voxel_keys

# Heights beyond so many local noise levels are outliers; the noise of a place is the median height in voxels of so many
# cells, and never below this fraction of a cell, by which the planes of the vertices are off.
_LEVELS, _VOXEL, _FLOOR = 5.0, 5.0, 0.05
# The median of |z| of Gaussian noise, in standard deviations.
_MEDIAN = 0.6745
# Sideways distance from the nearest vertex, in cells, beyond which there is no surface.
_ASIDE = 3.0


def flagged(points: FloatArray, vertices: FloatArray, normals: FloatArray, cell: float) -> IntArray:
    """Rows of ``points`` [n, 3] that are outliers of the mesh with ``vertices``, ``normals`` [m, 3]."""
    nearest = cKDTree(vertices).query(points)[1]
    away = points - vertices[nearest]
    height = np.abs(np.sum(away * normals[nearest], axis=1))
    aside = np.sqrt(np.maximum(np.sum(away**2, axis=1) - height**2, 0.0))
    # Beside the surface there are voxels of outliers alone, so an observation counts where its vertex lies.
    noise = np.maximum(_local_median(vertices[nearest], height, _VOXEL * cell) / _MEDIAN, _FLOOR * cell)
    rows: IntArray = np.flatnonzero((height > _LEVELS * noise) | (aside > _ASIDE * cell))
    return rows


def _local_median(points: FloatArray, values: FloatArray, side: float) -> FloatArray:
    """The median [n] of ``values`` [n] in the voxel of every point."""
    keys = voxel_keys(points, points.min(axis=0), side)
    order = np.lexsort((values, keys))
    first = np.flatnonzero(np.diff(keys[order], prepend=-1))
    count = np.diff(np.append(first, len(order)))
    medians: FloatArray = np.empty(len(values))
    medians[order] = np.repeat(values[order[first + count // 2]], count)
    return medians
