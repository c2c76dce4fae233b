"""Walls whose two sides no window separates, found place by place.

Smoothed by a Gaussian window of bandwidth a, two sheets at ±p with noise σ have one ridge, in their middle, if
p² ≤ a² + σ². There λ_3 = c² p² + c σ², c = a²/(a² + σ²), which gives p where σ is known. Where it is not, heights h
around the middle have variance v = p² + σ² and kurtosis κ = 3 − 2 p⁴/v², so

    p² = v √((3 − κ)/2),      σ² = v − p².

They are two sheets, and no edge and no sheet with more noise or with noise of another distribution, if hardly any
observations are in the middle: those within p/3 of it are compared with those within p/3 of ±p. Moments and counts are
summed over the places around.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray
from subbundle.surface import tuning
from subbundle.surface.local import LocalFit, WeightedCloud, curvature_variance
from subbundle.surface.repair import dots


def half_thickness(fit: LocalFit, width: float, noise: float) -> FloatArray:
    """p [n] around points on the ridge of bandwidth ``width``."""
    shrink = width**2 / (width**2 + noise**2)
    across = fit.eigenvalues[:, 2] - curvature_variance(fit)
    return np.asarray(np.sqrt(np.maximum(across - shrink * noise**2, 0.0)) / shrink)


def are_walls(
    cloud: WeightedCloud, middle: LocalFit, apart: FloatArray, within: tuple[float, float], noise: float
) -> NDArray[np.bool_]:
    """Which points of ``middle`` lie between two sheets at ± ``apart`` [n], ``within`` these bounds."""
    found = (apart > within[0]) & (apart < tuning.SECOND_LOOK * within[1])
    rows = np.flatnonzero(found)[:: tuning.STRIDE]
    if rows.size == 0:
        return found
    owner, height = _heights_around(cloud, middle.take(rows), np.hypot(apart[rows], noise))
    places, around = _surroundings(middle.points[rows])
    found[found] = _are_two(owner, height, apart[rows], around)[places.query(middle.points[found])[1]]
    return found


def noise_of_sheets(cloud: WeightedCloud, middle: LocalFit, noise: float) -> tuple[FloatArray, NDArray[np.bool_]]:
    """σ [n] of each of two sheets around points of ``middle``, and where there are two [n]; ``noise`` if of one."""
    owner, height = _heights_around(cloud, middle, np.full(len(middle.points), noise))
    _, around = _surroundings(middle.points)
    powers = [np.bincount(owner, height**power, len(around))[around].sum(axis=1) for power in (0, 2, 4)]
    # Without noise, and where no observation is in reach, there is one sheet.
    known = powers[1] > 0.0
    count, second, fourth = (np.where(known, power, 1.0) for power in powers)
    square = second / count
    apart = np.sqrt(square * np.sqrt((3.0 - np.minimum(fourth / count / square**2, 3.0)) / 2.0))
    sigma = np.sqrt(np.maximum(square - apart**2, 0.0))
    return sigma, known & (apart > sigma) & _are_two(owner, height, apart, around)


def _are_two(owner: IntArray, height: FloatArray, apart: FloatArray, around: IntArray) -> NDArray[np.bool_]:
    """Where [n] heights of the rows ``around`` [n, k] have a valley in their middle, between peaks at ± ``apart``."""
    far, third = np.abs(height), apart[owner] / 3.0
    counts = np.stack([np.bincount(owner[np.abs(far - k * third) < third], minlength=len(apart)) for k in (0.0, 3.0)])
    # Twice, so that chance leaves no gaps in a wall: a place and those around it have some hundred heights.
    centre, beside = counts[:, around].sum(axis=2)[:, around].sum(axis=2)
    return np.asarray((beside >= tuning.SURROUNDINGS**2) & (centre < 0.5 * tuning.WALL_VALLEY * beside))


def _surroundings(points: FloatArray) -> tuple[cKDTree, IntArray]:
    """The tree of ``points`` [n, 3], and the rows [n, k] of those nearest to each."""
    places, count = cKDTree(points), min(tuning.SURROUNDINGS, len(points))
    return places, places.query(points, [*range(1, count + 1)])[1]


def _heights_around(cloud: WeightedCloud, fit: LocalFit, radius: FloatArray) -> tuple[IntArray, FloatArray]:
    """Rows of ``fit`` and heights over them, of the observations within ``radius`` [n] of the normals there."""
    observations = cloud.cloud.points
    near = cKDTree(observations).query_ball_point(fit.points, 3.0 * radius)
    row = np.repeat(np.arange(len(near)), [len(some) for some in near])
    away = observations[np.concatenate([*near, []]).astype(np.int64)] - fit.points[row]
    height = dots(away, fit.normals[row])
    inside = dots(away, away) - height**2 < radius[row] ** 2
    return row[inside], height[inside]
