"""Base points of an atlas: spread over the ridge until the charts cover it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, Status
from subbundle.bundles.base import LearnedSubbundle, Subbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.charts.base import InvertibleChart

# Points of the ridge that are to be covered: at least so many, and for large clouds so many per patch of the area of
# the kernel, but no more than the last.
_FEWEST, _PER_PATCH, _MOST = 4096, 2.0, 65536
# Distance between base points, as a fraction of the radius: each place lies in several charts.
APART = 0.7
# Rounds of further base points where charts ended early, each this much denser.
_ROUNDS, _DENSER = 4, 0.6
# Fraction of the sites that may stay uncovered: sharp corners and specks, where there is no chart to have.
_UNCOVERED = 0.002


@dataclass(frozen=True, slots=True)
class Cover:
    """Charts, and the fraction of the ridge that they cover."""

    charts: list[InvertibleChart]
    coverage: float


@dataclass(frozen=True, slots=True)
class Sites:
    """Points of the ridge [n, dim], and the density, noise and curvature [n] there."""

    points: FloatArray
    density: FloatArray
    noise: FloatArray
    curvature: FloatArray


def sites(bundle: Subbundle) -> Sites:
    """Points of the ridge with a subspace, spread over the whole cloud, the same on every call."""
    if not isinstance(bundle, LearnedSubbundle):
        raise ValueError(
            "base_points='auto' needs data to cover, and this bundle has none. Pass base_points [m, dim] and a radius."
        )
    ridge = ridge_project(bundle, bundle.landmarks(_count(bundle)), tol=1e-3)
    good = ridge.status == Status.OK
    good[good] = bundle.frame(ridge.points[good]).status == Status.OK
    if not good.any():
        raise ValueError(
            "base_points='auto' found no point of the cloud with a ridge nearby: at this bandwidth it has no "
            f"{bundle.rank}-dimensional middle. Try another bandwidth or rank."
        )
    return Sites(ridge.points[good], ridge.density[good], ridge.noise[good], ridge.curvature[good])


def _count(bundle: LearnedSubbundle) -> int:
    """How many sites suit the cloud: the sum of the weights is the number of observations on one patch."""
    return int(np.clip(_PER_PATCH * len(bundle.rows) / bundle.typical_mass, _FEWEST, _MOST))


def cover(
    found: Sites,
    radius: float,
    make: Callable[[FloatArray], list[InvertibleChart]],
    covers: Callable[[InvertibleChart, FloatArray], NDArray[np.bool_]],
) -> Cover:
    """Make charts at some of the sites, farthest first, until all of them lie in one."""
    points = found.points
    apart = APART * radius
    chosen = farthest(points, apart, int(np.argmax(found.density)))
    charts = make(points[chosen])
    covered = _mark(points, charts, radius, covers, np.zeros(len(points), bool))
    for _ in range(_ROUNDS):
        missing = np.flatnonzero(~covered)
        if missing.size <= _UNCOVERED * len(points):
            break
        apart *= _DENSER
        further = make(points[missing[farthest(points[missing], apart, 0)]])
        covered = _mark(points, further, radius, covers, covered)
        charts += further
    return Cover(charts, float(covered.mean()))


def _mark(
    points: FloatArray,
    charts: list[InvertibleChart],
    radius: float,
    covers: Callable[[InvertibleChart, FloatArray], NDArray[np.bool_]],
    covered: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    for chart in charts:
        # Entries of a point differ by no more than its distance, up to the bend of a manifold in its ambient space.
        near = np.flatnonzero(~covered & (np.linalg.norm(points - chart.base_point, axis=1) <= 1.5 * radius))
        covered[near] = covers(chart, points[near])
    return covered


def farthest(points: FloatArray, apart: float, first: int) -> NDArray[np.int64]:
    """Rows of ``points`` [n, dim], each the farthest from those before, until all others are within ``apart``."""
    distances = np.full(len(points), np.inf)
    rows: list[int] = []
    row = first
    while distances[row] > apart:
        rows.append(row)
        distances = np.minimum(distances, np.linalg.norm(points - points[row], axis=1))
        row = int(np.argmax(distances))
    return np.array(rows, np.int64)
