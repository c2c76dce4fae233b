"""Normals of denoised points, turned to one side."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray
from subbundle.surface.orient import orient
from subbundle.surface.seeds import Seeds
from subbundle.surface.voxels import voxel_keys

# Side, in bandwidths, of the voxels in which one point votes for all.
_VOXEL = 0.7


def turned(
    points: FloatArray, normals: FloatArray, bandwidth: float, given: FloatArray | None = None
) -> tuple[FloatArray, bool]:
    """Unit ``normals`` [n, 3] with signs that agree between neighbours, outward; and whether all do.

    With normals ``given`` by the scanner each is turned as that of its point, or the nearest that has one. Without, one
    point per voxel takes part in the votes of `surface.orient`, and the others follow the nearest of these.
    """
    turned_to = np.zeros_like(normals)
    agreed = True
    if given is not None:
        known = np.flatnonzero(given.any(axis=1))
        turned_to = given[known[cKDTree(points[known]).query(points)[1]]]
    else:
        good = np.flatnonzero(np.isfinite(normals).all(axis=1) & normals.any(axis=1))
        if len(good) == 0:
            return normals, False
        side = _VOXEL * bandwidth
        keys = voxel_keys(points[good], None, side)
        some = good[np.unique(keys, return_index=True)[1]]
        ones = np.ones(len(some))
        found = orient(Seeds(points[some], normals[some], ones, ones), side)
        agreed = found.orientable
        turned_to = (normals[some] * found.signs[:, None])[cKDTree(points[some]).query(points)[1]]
    flip = np.sum(normals * turned_to, axis=1, keepdims=True) < 0.0
    return np.where(flip, -normals, normals), agreed
