"""Layers of badly registered passes.

A misregistered pass of the scanner leaves a layer in front of its sheet. It has seeds of its own, and since sheets
close up, they face the sheet behind across a narrow gap. But no scanner measures in a gap that is deeper than wide,
where most seeds around face the other sheet: both are images of one surface. If one of them is a side of a wall whose
other side was measured as well, and the other bounds nothing, the latter is dropped; and so is the sparser one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.bins import Bins
from subbundle.surface import tuning
from subbundle.surface.repair import dots
from subbundle.triangles.tuning import SAME_PLANE


def across_gap(
    bins: Bins, normals: FloatArray, rows: IntArray, gap: float, facing: float
) -> tuple[IntArray, NDArray[np.bool_]]:
    """The sheet across gaps in front of ``rows`` [r] of the points in ``bins`` [n, 3] with ``normals`` [n, 3].

    Returns the row of a point on it [r], and whether there is one [r]. Half a ``gap`` along the normal another sheet
    within ``gap`` is nearer than the point's own; it is another if the cosine of the normals is below ``facing``. A
    negative gap is a wall behind the points.
    """
    nearest: IntArray = bins.query(bins.points[rows] + 0.5 * gap * normals[rows])[1][:, 0]
    return nearest, dots(normals[rows], normals[nearest]) < facing


def without_layers(points: FloatArray, normals: FloatArray, mass: FloatArray, window: float) -> IntArray:
    """Rows of seeds ``points`` [n, 3], with outward ``normals`` [n, 3] and ``mass`` [n], that are in no layer."""
    bins = Bins(points, tuning.LAYER_GAP * window / 6.0)
    everyone, near = np.arange(len(points)), min(tuning.SURROUNDINGS, len(points))
    beyond, gap = across_gap(bins, normals, everyone, tuning.LAYER_GAP * window, -SAME_PLANE)
    rows = np.flatnonzero(gap)
    if rows.size == 0:
        return everyone
    both, place = np.unique(np.concatenate([rows, beyond[rows]]), return_inverse=True)
    around = bins.query(points[both], near)[1]
    same = np.einsum("nkd,nd->nk", normals[around], normals[both]) > SAME_PLANE
    queried, wall = np.unique(around), np.zeros(len(points), np.bool_)
    wall[queried] = across_gap(bins, normals, queried, -tuning.LAYER_WALL * window, -SAME_PLANE)[1]
    values = np.stack([np.log(mass), wall, gap])[:, around]
    means = np.sum(same * values, axis=2) / np.maximum(same.sum(axis=1), 1)
    (own, other), (own_wall, other_wall), (depth, _) = means[:, place].reshape(3, 2, -1)
    layer = (own < other + np.log(tuning.LAYER_MASS)) | ((own_wall < 0.5) & (other_wall > 0.5))
    return np.asarray(np.delete(everyone, rows[layer & (depth > 0.5)]))
