"""Walls whose two sides no window separates, found place by place.

Smoothed by a Gaussian window of bandwidth a, two sheets at ±p with noise σ have one ridge, in their middle, if
p² ≤ a² + σ². There λ_3 = c² p² + c σ², c = a²/(a² + σ²), which gives p. They are two sheets, and no edge and no sheet
with more noise, if hardly any observations are in the middle: those within p/3 of it are compared with those within
p/3 of ±p, summed over the places around.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import FloatArray
from subbundle.surface import tuning
from subbundle.surface.local import LocalFit, WeightedCloud
from subbundle.surface.pilot import Pilot, curvature_variance, heights_around


def half_thickness(fit: LocalFit, width: float, noise: float) -> FloatArray:
    """p [n] around points on the ridge of bandwidth ``width``."""
    shrink = width**2 / (width**2 + noise**2)
    across = fit.eigenvalues[:, 2] - curvature_variance(fit)
    return np.asarray(np.sqrt(np.maximum(across - shrink * noise**2, 0.0)) / shrink)


def are_walls(
    cloud: WeightedCloud, middle: LocalFit, apart: FloatArray, within: tuple[float, float], seen: Pilot
) -> NDArray[np.bool_]:
    """Which points of ``middle`` lie between two sheets at ± ``apart`` [n], ``within`` these bounds."""
    found = (apart > within[0]) & (apart < tuning.SECOND_LOOK * within[1])
    rows = np.flatnonzero(found)[:: tuning.STRIDE]
    if rows.size == 0 or seen.two_sided:
        return found
    owner, height = heights_around(cloud, middle.take(rows), np.hypot(apart[rows], seen.noise))
    height = np.abs(height) / apart[rows[owner]]
    counts = np.stack([np.bincount(owner[np.abs(height - at) < 1.0 / 3.0], minlength=len(rows)) for at in (0.0, 1.0)])
    # Majorities, so that single places inside of a wall or beside one follow those around.
    places, count = cKDTree(middle.points[rows]), min(tuning.SURROUNDINGS, len(rows))
    centre, beside = counts[:, places.query(middle.points[rows], [*range(1, count + 1)])[1]].sum(axis=2)
    valley = (beside >= tuning.SURROUNDINGS) & (centre < 0.5 * tuning.WALL_VALLEY * beside)
    found[found] = valley[places.query(middle.points[found], [*range(1, count + 1)])[1]].mean(axis=1) > 0.5
    return found
