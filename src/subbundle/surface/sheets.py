"""Walls so thin that every window sees both of their sides as one sheet.

Heights around the middle of two sheets at ±p with noise σ have variance v = p² + σ² and kurtosis κ = 3 − 2 p⁴/v², so

    p² = v √((3 − κ)/2),      σ² = v − p².

They are two sheets, and not one with noise of another kind, if there are far fewer observations in the middle than at
±p. Normals then come from windows that see both sides as one, and seeds are planted on either side of the middle, where
the local variance says: a Gaussian window of bandwidth a sees, with c = a²/(a² + σ²), the variance c² p² + c σ².
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray
from subbundle.surface.local import WeightedCloud
from subbundle.surface.pilot import FEW, WIDER, Pilot, bandwidth_of
from subbundle.surface.seeds import Seeds, plant

# Observations that make a neighbourhood.
_LEAST = 8
# Observations in the middle, as a fraction of those around ±p, below which there are two sheets: at 4 noise levels .35.
_VALLEY = 0.6


def look(cloud: WeightedCloud, seen: Pilot) -> Pilot:
    """``seen`` with the noise of each of two sheets, if it is that of both seen as one."""
    if np.pi * (seen.noise / seen.spacing) ** 2 < _LEAST:
        return seen
    width = WIDER * seen.bandwidth
    fit, observations = cloud.fit(cloud.sample(FEW), width, rounds=3), cloud.cloud.points
    near = cKDTree(observations).query_ball_point(np.nan_to_num(fit.points), 3.0 * seen.noise)
    found = []
    for place, normal, rows in zip(fit.points, fit.normals, near, strict=True):
        away = observations[rows] - place
        height = away @ normal
        height = height[np.sum(away**2, axis=1) - height**2 < seen.noise**2]
        if len(height) >= _LEAST:
            found.append(height - height.mean())
    if len(found) < 0.5 * len(near):
        return seen
    heights = np.abs(np.concatenate(found))
    square = float(np.mean(heights**2))
    kurtosis = min(float(np.mean(heights**4)) / square**2, 3.0)
    apart = float(np.sqrt(square * np.sqrt((3.0 - kurtosis) / 2.0)))
    middle, beside = np.sum(heights < apart / 3.0), np.sum(np.abs(heights - apart) < apart / 3.0)
    noise = float(np.sqrt(max(square - apart**2, 0.0)))
    if apart < noise or middle > 0.5 * _VALLEY * beside:
        return seen
    spacing = float(np.sqrt(2.0) * seen.spacing)
    return Pilot(noise, spacing, bandwidth_of(noise, spacing), width)


def plant_both(cloud: WeightedCloud, points: FloatArray, weights: FloatArray | None, seen: Pilot, cell: float) -> Seeds:
    """Seeds on both sides of walls that windows of ``seen.both`` see as one; single ones where a sheet is alone."""
    middle = plant(cloud, points, weights, seen.both, cell)
    variance = cloud.fit(middle.points, seen.both).eigenvalues[:, 2]
    shrink = seen.both**2 / (seen.both**2 + seen.noise**2)
    apart = np.sqrt(np.maximum(variance - shrink * seen.noise**2, 0.0)) / shrink
    two = apart > seen.noise
    way = np.where(two, apart, 0.0)[:, None] * middle.normals
    rows = np.concatenate([np.arange(len(two)), np.flatnonzero(two)])
    sides = np.concatenate([middle.points + way, (middle.points - way)[two]])
    return Seeds(sides, middle.normals[rows], middle.reliability[rows], middle.mass[rows])
