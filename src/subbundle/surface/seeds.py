"""Seeds: points on the surface, about one per grid cell, each with a normal and a reliability.

Means of the observations in voxels are projected to the second-order ridge. Where two sheets or an edge fall into one
window, λ_3/λ_2 is large; these are fitted again with narrower windows. The reliability

    r = clip(1 − λ_3/(0.6 λ_2), 0, 1)²

is the weight of the normal of a seed.

Where windows cover both sides of thin walls, seeds are placed on either side of the middle: in a Gaussian window of
bandwidth a, with c = a²/(a² + σ²), sheets at ±p with noise σ have the variance c² p² + c σ².
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import partial

import numpy as np

from subbundle._groups import best_of
from subbundle._types import FloatArray, IntArray
from subbundle.bins import Bins
from subbundle.surface import tuning
from subbundle.surface.facing import Facing
from subbundle.surface.local import LocalFit, WeightedCloud
from subbundle.surface.pilot import Pilot, bandwidth_of
from subbundle.surface.voxels import voxel_keys, voxel_means
from subbundle.surface.walls import are_walls, half_thickness


@dataclass(frozen=True, slots=True)
class Seeds:
    """Points [n, 3] on the surface with normals [n, 3], whose signs `subbundle.surface.orient` chooses, reliabilities
    [n] between 0 and 1, and kernel masses [n] at the seeds' own bandwidths, scaled to the widest of them; and where
    their windows hold both sides of a wall its thickness [n], against the normal, else 0. [0] without walls."""

    points: FloatArray
    normals: FloatArray
    reliability: FloatArray
    mass: FloatArray
    thickness: FloatArray = field(default_factory=partial(np.empty, 0))

    def take(self, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Seeds:
        """The seeds at ``rows``."""
        thickness = self.thickness[rows] if self.thickness.size else self.thickness
        return Seeds(self.points[rows], self.normals[rows], self.reliability[rows], self.mass[rows], thickness)


def joined(several: list[Seeds]) -> Seeds:
    """All the seeds of ``several``."""
    columns = ([getattr(seeds, part.name) for seeds in several] for part in fields(Seeds))
    return Seeds(*map(np.concatenate, columns))


def eighth_neighbour(points: FloatArray, spacing: float) -> FloatArray:
    """The distance [n] of each of ``points`` [n, 3], about a ``spacing`` apart, to its eighth neighbour."""
    return Bins(points, spacing).query(points, min(tuning.NEIGHBOURS + 1, len(points)))[0][:, -1]


def find_seeds(
    cloud: WeightedCloud, points: FloatArray, weights: FloatArray | None, bandwidth: float, cell: float,
    seen: Pilot | None = None,
) -> Seeds:  # fmt: skip
    """Seeds of ``cloud``, whose observations are ``points`` [n, 3], at the given ``bandwidth`` and grid ``cell``.

    With the noise and spacing ``seen`` they are on both sides of walls that these windows do not separate.
    """
    seeds = _on_ridge(cloud, points, weights, bandwidth, cell, seen=seen)
    return _without_outliers(_one_per_cell(seeds, tuning.SEED_CELLS * cell), cell)


def seed_candidates(
    cloud: WeightedCloud, points: FloatArray, weights: FloatArray | None, bandwidth: float, cell: float,
    origin: FloatArray | None = None,
) -> Seeds:  # fmt: skip
    """`find_seeds` before seeds of outliers are dropped; cells begin at the ``origin``, or at the lowest point."""
    return _one_per_cell(_on_ridge(cloud, points, weights, bandwidth, cell, origin), tuning.SEED_CELLS * cell, origin)


def find_seeds_facing(facing: Facing, bandwidth: float, cell: float) -> Seeds:
    """Seeds of observations with normals, oriented as these are; sheets of opposite orientation have separate seeds."""
    found = []
    for side, (cloud, rows) in enumerate(zip(facing.clouds, facing.rows, strict=True)):
        if cloud is None:
            continue
        weights = None if facing.weights is None else facing.weights[rows]
        seeds = _on_ridge(cloud, facing.points[rows], weights, bandwidth, cell)
        if len(seeds.points) == 0:
            continue
        # The normals of all observations here lie in the half-space of one direction, and so does that of a seed.
        inward = seeds.normals @ facing.directions[side] < 0.0
        turned = np.where(inward[:, None], -seeds.normals, seeds.normals)
        seeds = replace(seeds, normals=turned)
        seeds = seeds.take(np.flatnonzero(facing.side_of(turned) == side))
        found.append(_one_per_cell(seeds, tuning.SEED_CELLS * cell))
    return _without_outliers(joined(found), cell)


def _on_ridge(
    cloud: WeightedCloud, points: FloatArray, weights: FloatArray | None, bandwidth: float, cell: float,
    origin: FloatArray | None = None, seen: Pilot | None = None,
) -> Seeds:  # fmt: skip
    """Voxel means of ``points`` projected to the ridge, where there is a tangent plane."""
    starts, _ = voxel_means(points, weights, tuning.START_CELLS * cell, origin)
    starts = _start_per_cell(cloud.fit(starts, bandwidth, rounds=1), cell, origin)
    fit = cloud.fit(starts, bandwidth, rounds=tuning.RIDGE_STEPS, tol=tuning.LAST_STEP)
    place, normals, mass = fit.points.copy(), fit.normals.copy(), fit.mass.copy()
    ratio = _flatness(fit)
    for narrower in (tuning.RETRY_WINDOW, tuning.RETRY_WINDOW**2):
        rows = np.flatnonzero((ratio > tuning.SHEET_FLATNESS) & (mass > 0.0))
        if rows.size == 0:
            break
        again = cloud.fit(starts[rows], narrower * bandwidth, rounds=tuning.RIDGE_STEPS, tol=tuning.LAST_STEP)
        flatter = _flatness(again)
        better = (again.mass > 0.0) & (flatter < ratio[rows])
        rows, kept = rows[better], np.flatnonzero(better)
        place[rows], normals[rows], ratio[rows] = again.points[kept], again.normals[kept], flatter[kept]
        mass[rows] = again.mass[kept] / narrower**2
    seeds = Seeds(place, normals, _reliability(ratio), mass)
    if seen is not None:
        seeds = _both_sides(seeds, cloud, starts, half_thickness(fit, bandwidth, seen.noise), bandwidth, seen, cell)
    return seeds.take(np.flatnonzero(seeds.reliability >= tuning.LEAST_RELIABILITY))


def _both_sides(
    seeds: Seeds, cloud: WeightedCloud, starts: FloatArray, half: FloatArray, bandwidth: float, seen: Pilot, cell: float
) -> Seeds:
    """``seeds``, with one on either side of walls in place of those that are in them, as far as cells resolve walls.

    ``half`` [n] is their thickness as it appears at the ``bandwidth``.
    """
    # Sides less than two cells apart cancel out in the smoothed field of normals.
    least = max(seen.noise, cell)
    rows = np.flatnonzero(half > seen.noise)
    seeds = replace(seeds, thickness=np.zeros(len(seeds.points)))
    if rows.size == 0:
        return seeds
    # Of the thickest wall that these windows merge, p² = a² + σ².
    width = tuning.SECOND_LOOK * bandwidth_of(float(np.hypot(bandwidth, np.sqrt(2.0) * seen.noise)), seen.spacing)
    middle = cloud.fit(starts[rows], width, rounds=tuning.RIDGE_STEPS, tol=tuning.LAST_STEP)
    apart = half_thickness(middle, width, seen.noise)
    ratio = _flatness(middle)
    within = least, float(np.hypot(bandwidth, seen.noise))
    walls = np.flatnonzero(are_walls(cloud, middle, apart, within, seen.noise) & (ratio < tuning.NO_PLANE))
    mass, apart = 0.5 * middle.mass[walls] * (bandwidth / width) ** 2, apart[walls]
    sides = []
    for normals in (middle.normals[walls], -middle.normals[walls]):
        places = middle.points[walls] + apart[:, None] * normals
        sides.append(Seeds(places, normals, _reliability(ratio[walls]), mass, 2.0 * apart))
    return joined([seeds.take(np.delete(np.arange(len(seeds.points)), rows[walls])), *sides])


def _reliability(ratio: FloatArray) -> FloatArray:
    return np.asarray(np.clip(1.0 - ratio / tuning.NO_PLANE, 0.0, 1.0) ** 2)


def _flatness(fit: LocalFit) -> FloatArray:
    """λ_3/λ_2 [n]; infinite where the neighbours determine no plane."""
    ratio = fit.eigenvalues[:, 2] / np.maximum(fit.eigenvalues[:, 1], 1e-300)
    known = np.isfinite(fit.points).all(axis=1) & np.isfinite(fit.normals).all(axis=1) & np.isfinite(ratio)
    return np.asarray(np.where(known, ratio, np.inf))


def _without_outliers(seeds: Seeds, cell: float) -> Seeds:
    """Without seeds whose mass is far below that of the seeds around them.

    Seeds cover every sheet evenly, whatever its density, so the median mass around a seed is that of the sheets there,
    and outliers near them have a small fraction of it. The threshold is estimated: where outliers are a separate
    population, the fractions have two modes, and it is the minimum between them. Otherwise sparse sheets pass
    continuously into dense ones, and only seeds of nearly no mass are dropped.
    """
    # The median is taken over a subsample of the seeds, whose order is unrelated to position.
    some = seeds.take(np.arange(0, len(seeds.points), tuning.STRIDE))
    count = min(tuning.SURROUNDINGS, len(some.points))
    if count < 2:
        return seeds
    near = Bins(some.points, 2.0 * cell).query(seeds.points, count)[1]
    typical = np.median(some.mass[near], axis=1)
    fraction = seeds.mass / typical
    floor = np.minimum(tuning.SUPPORT * np.median(seeds.mass), tuning.SUPPORT * typical)
    lowest = valley(fraction)
    kept = seeds.mass > np.where(lowest > tuning.SUPPORT, lowest * typical, floor)
    return seeds.take(np.flatnonzero(kept))


def valley(fraction: FloatArray) -> float:
    """The antimode of the distribution of log ``fraction`` [n] below its main mode; `tuning.SUPPORT` if it has none.

    It is below ½, the fraction at a straight border. There are two modes if its density is below half of the lower one.
    """
    steps = np.geomspace(tuning.SUPPORT, 0.5, 41)
    ordered = np.sort(fraction)
    below, above = (np.searchsorted(ordered, steps * tuning.VALLEY_BREADTH**way) for way in (-1, 1))
    inside = above - below
    lowest = len(inside) - 1 - int(np.argmin(inside[::-1]))
    if inside[lowest] < 0.5 * inside[: lowest + 1].max():
        return float(steps[lowest])
    return tuning.SUPPORT


def _start_per_cell(fit: LocalFit, cell: float, origin: FloatArray | None) -> FloatArray:
    """Of the points projected into one cell, the one of largest mass; noise leaves several in a cell."""
    seen = np.flatnonzero((fit.mass > 0.0) & np.isfinite(fit.points).all(axis=1))
    # Offset from the voxels in which one seed is kept: of two points on either side of a border both would be kept.
    begin = None if origin is None else origin + 0.5 * tuning.SEED_CELLS * cell
    best = _best_per_voxel(fit.points[seen], fit.mass[seen], tuning.SEED_CELLS * cell, begin)
    return np.asarray(fit.points[seen[best]])


def _one_per_cell(seeds: Seeds, side: float, origin: FloatArray | None = None) -> Seeds:
    """The most reliable seed of every voxel; the first among equals."""
    return seeds.take(_best_per_voxel(seeds.points, seeds.reliability, side, origin))


def _best_per_voxel(points: FloatArray, values: FloatArray, side: float, origin: FloatArray | None) -> IntArray:
    """Rows of the ``points`` [n, 3] with the largest of the ``values`` [n] in their voxels; the first among equals."""
    if len(points) == 0:
        return np.empty(0, np.int64)
    return best_of(voxel_keys(points, origin, side), -values)
