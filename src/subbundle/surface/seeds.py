"""Seeds: points on the surface, about one per grid cell, each with a normal and a reliability.

Means of the observations in voxels are carried to the second-order ridge. Where two sheets or an edge fall into one
window, λ_3/λ_2 is large; those are tried again with narrower windows. The reliability

    r = clip(1 − λ_3/(0.6 λ_2), 0, 1)²

weighs what a seed says about its normal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._types import FloatArray
from subbundle.surface.local import LocalFit, WeightedCloud
from subbundle.surface.voxels import voxel_keys, voxel_means

# Steps before one start per cell is chosen, and after.
_FIRST_ROUNDS, _ROUNDS = 1, 3
_NARROWER, _BLURRED = (0.7, 0.5), 0.35
_NO_PLANE = 0.6
_LEAST_RELIABLE, _LEAST_MASS = 0.01, 0.08
# Sides of the voxels that starts are averaged in, and of those in which one seed is kept, in grid cells.
_START, _KEEP = 1.25, 0.94


@dataclass(frozen=True, slots=True)
class Seeds:
    """Points on the surface.

    Attributes
    ----------
    points, normals : [n, 3]
        Signs of the normals are arbitrary until `subbundle.surface.orient` has turned them.
    reliability : [n]
        Between 0 and 1.
    mass : [n]
        Kernel mass at the seeds' own bandwidths, as if all had the widest.
    """

    points: FloatArray
    normals: FloatArray
    reliability: FloatArray
    mass: FloatArray

    def take(self, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Seeds:
        """The seeds at ``rows``."""
        return Seeds(self.points[rows], self.normals[rows], self.reliability[rows], self.mass[rows])


def plant(cloud: WeightedCloud, points: FloatArray, weights: FloatArray | None, bandwidth: float, cell: float) -> Seeds:
    """Seeds of ``cloud``, whose observations are ``points`` [n, 3], at the given ``bandwidth`` and grid ``cell``."""
    starts, _ = voxel_means(points, weights, _START * cell)
    starts = _start_per_cell(cloud.fit(starts, bandwidth, rounds=_FIRST_ROUNDS), cell)
    fit = cloud.fit(starts, bandwidth, rounds=_ROUNDS)
    place, normals, mass = fit.points.copy(), fit.normals.copy(), fit.mass.copy()
    values = fit.eigenvalues.copy()
    for narrower in _NARROWER:
        rows = np.flatnonzero((values[:, 2] > _BLURRED * values[:, 1]) & (mass > 0.0))
        if rows.size == 0:
            break
        again = cloud.fit(starts[rows], narrower * bandwidth, rounds=_ROUNDS)
        before = values[rows, 2] / np.maximum(values[rows, 1], 1e-300)
        after = again.eigenvalues[:, 2] / np.maximum(again.eigenvalues[:, 1], 1e-300)
        better = (again.mass > 0.0) & (after < before)
        rows, kept = rows[better], np.flatnonzero(better)
        place[rows], normals[rows], values[rows] = again.points[kept], again.normals[kept], again.eigenvalues[kept]
        mass[rows] = again.mass[kept] / narrower**2
    flatness = 1.0 - values[:, 2] / (_NO_PLANE * np.maximum(values[:, 1], 1e-300))
    seeds = Seeds(place, normals, np.clip(flatness, 0.0, 1.0) ** 2, mass)
    floor = _LEAST_MASS * np.median(mass[mass > 0.0])
    seeds = seeds.take(np.flatnonzero((seeds.reliability >= _LEAST_RELIABLE) & (mass > floor)))
    return _one_per_cell(seeds, _KEEP * cell)


def _start_per_cell(fit: LocalFit, cell: float) -> FloatArray:
    """Of the points that came into one cell, that with the most observations around it; noise scatters many there."""
    seen = np.flatnonzero(fit.mass > 0.0)
    keys = voxel_keys(fit.points[seen], fit.points[seen].min(axis=0), _KEEP * cell)
    order = np.lexsort((-fit.mass[seen], keys))
    chosen: FloatArray = fit.points[seen[order[np.flatnonzero(np.diff(keys[order], prepend=-1))]]]
    return chosen


def _one_per_cell(seeds: Seeds, side: float) -> Seeds:
    """The most reliable seed of every voxel; among equals the one that comes first."""
    if len(seeds.points) == 0:
        return seeds
    keys = voxel_keys(seeds.points, seeds.points.min(axis=0), side)
    order = np.lexsort((-seeds.reliability, keys))
    first = np.flatnonzero(np.diff(keys[order], prepend=-1))
    return seeds.take(order[first])
