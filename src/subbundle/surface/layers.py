"""Layers that a badly registered pass of the scanner left before the sheet that it belongs to.

The layer makes seeds of its own, and since sheets close up, they turn to face the sheet behind across a narrow gap. But
no scanner looks into a gap that is deeper than wide: both are images of one surface, and the sparser one goes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray

# Widest gap, in windows, and cosine of normals that face each other across it. One window wide gaps are not resolved.
_GAP, _FACING = 4.0, -0.5
# Mass, as a fraction of that across the gap, below which a sheet is the sparser one; seeds it is averaged over, the
# cosine up to which they are of the same sheet, and the fraction of these that must face a sheet as well.
_SPARSER, _SURROUNDINGS, _SAME, _MOST = 0.85, 16, 0.5, 0.5


def across_gap(tree: cKDTree, normals: FloatArray, gap: float, facing: float) -> tuple[IntArray, NDArray[np.bool_]]:
    """The sheet on the other side of gaps before points in ``tree`` [n, 3] with ``normals`` [n, 3]: a row, and whether.

    Half a ``gap`` along the normal another sheet within ``gap`` is nearer than the own one. It is one if the cosine of
    the normals is below ``facing``.
    """
    nearest: IntArray = tree.query(tree.data + 0.5 * gap * normals)[1]
    return nearest, np.sum(normals * normals[nearest], axis=1) < facing


def without_layers(points: FloatArray, normals: FloatArray, mass: FloatArray, window: float) -> IntArray:
    """Rows of seeds ``points`` [n, 3], with outward ``normals`` [n, 3] and ``mass`` [n], that are of no layer."""
    tree = cKDTree(points)
    beyond, faces_one = across_gap(tree, normals, _GAP * window, _FACING)
    rows = np.flatnonzero(faces_one)
    near = min(_SURROUNDINGS, len(points))
    both, place = np.unique(np.concatenate([rows, beyond[rows]]), return_inverse=True)
    around = tree.query(points[both], k=near)[1].reshape(len(both), near)
    same = np.einsum("nkd,nd->nk", normals[around], normals[both]) > _SAME
    count = np.maximum(same.sum(axis=1), 1)
    typical = (np.sum(same * np.log(mass[around]), axis=1) / count)[place].reshape(2, -1)
    deep = (np.sum(same & faces_one[around], axis=1) > _MOST * count)[place[: len(rows)]]
    layer = deep & (typical[0] < typical[1] + np.log(_SPARSER))
    kept: IntArray = np.delete(np.arange(len(points)), rows[layer])
    return kept
