"""Layers that a badly registered pass of the scanner left before the sheet that it belongs to.

The layer makes seeds of its own, and since sheets close up, they turn to face the sheet behind across a narrow gap. But
no scanner looks into a gap that is deeper than wide: both are images of one surface. If one of them is a side of a
wall, whose other side was seen as well, and the other bounds nothing, that goes; and so does the sparser one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray

# Widest gap and thickest wall, in windows, and cosine of normals that face each other across them.
_GAP, _WALL, _FACING = 4.0, 8.0, -0.5
# Mass, as a fraction of that across the gap, below which a sheet is the sparser one. It is averaged over so many seeds
# with normals up to this cosine: the same sheet. A part of these must face a sheet as well: the gap is deep.
_SPARSER, _SURROUNDINGS, _SAME, _DEEP = 0.75, 16, 0.5, 0.25


def across_gap(
    tree: cKDTree, normals: FloatArray, rows: IntArray, gap: float, facing: float
) -> tuple[IntArray, NDArray[np.bool_]]:
    """The sheet across gaps before some ``rows`` [r] of the points in ``tree`` [n, 3] with ``normals`` [n, 3].

    Returns the row of a point on it [r], and whether there is one [r]. Half a ``gap`` along the normal another sheet
    within ``gap`` is nearer than the own one. It is one if the cosine of the normals is below ``facing``. A negative
    gap is a wall behind the points.
    """
    nearest: IntArray = tree.query(tree.data[rows] + 0.5 * gap * normals[rows])[1]
    return nearest, np.sum(normals[rows] * normals[nearest], axis=1) < facing


def without_layers(points: FloatArray, normals: FloatArray, mass: FloatArray, window: float) -> IntArray:
    """Rows of seeds ``points`` [n, 3], with outward ``normals`` [n, 3] and ``mass`` [n], that are of no layer."""
    tree = cKDTree(points)
    everyone, near = np.arange(len(points)), min(_SURROUNDINGS, len(points))
    beyond, gap = across_gap(tree, normals, everyone, _GAP * window, _FACING)
    rows = np.flatnonzero(gap)
    if rows.size == 0:
        return everyone
    both, place = np.unique(np.concatenate([rows, beyond[rows]]), return_inverse=True)
    around = tree.query(points[both], k=near)[1].reshape(len(both), near)
    same = np.einsum("nkd,nd->nk", normals[around], normals[both]) > _SAME
    asked, wall = np.unique(around), np.zeros(len(points), np.bool_)
    wall[asked] = across_gap(tree, normals, asked, -_WALL * window, _FACING)[1]
    values = np.stack([np.log(mass), wall, gap])[:, around]
    means = np.sum(same * values, axis=2) / np.maximum(same.sum(axis=1), 1)
    (own, other), (own_wall, other_wall), (depth, _) = means[:, place].reshape(3, 2, -1)
    layer = (own < other + np.log(_SPARSER)) | ((own_wall < 0.5) & (other_wall > 0.5))
    kept: IntArray = np.delete(everyone, rows[layer & (depth > _DEEP)])
    return kept
