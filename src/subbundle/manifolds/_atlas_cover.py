"""Base points of an atlas: spread over the ridge until the charts cover it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, Status
from subbundle.bundles.base import Subbundle
from subbundle.geodesics._paths import HasLandmarks
from subbundle.manifolds.chart import Chart
from subbundle.manifolds.ridge_project import Ridge, ridge_project

# Points of the ridge that are to be covered.
_SITES = 4096
# Distance between base points, as a part of the radius: each place lies in several charts.
_APART = 0.7
# Rounds of further base points where charts ended early, each this much denser.
_ROUNDS, _DENSER = 4, 0.6
# Part of the sites that may stay uncovered: sharp corners and specks, where there is no chart to have.
_UNCOVERED = 0.002


@dataclass(frozen=True, slots=True)
class Cover:
    """Charts, and the part of the ridge that they cover."""

    charts: list[Chart]
    coverage: float


def sites(bundle: Subbundle) -> Ridge:
    """Points of the ridge spread over the whole cloud, the same on every call."""
    if not isinstance(bundle, HasLandmarks):
        raise ValueError(
            "base_points='auto' needs data to cover, and this bundle has none. Pass base_points [m, dim] and a radius."
        )
    landmarks = bundle.landmarks(_SITES)
    ridge = ridge_project(bundle, landmarks, tol=1e-3)
    if not (ridge.status == Status.OK).any():
        raise ValueError(
            "base_points='auto' found no point of the cloud with a ridge nearby: at this bandwidth it has no "
            f"{bundle.rank}-dimensional middle. Try another bandwidth or rank."
        )
    return ridge


def cover(
    ridge: Ridge,
    radius: float,
    make: Callable[[FloatArray], list[Chart]],
    covers: Callable[[Chart, FloatArray], NDArray[np.bool_]],
) -> Cover:
    """Make charts at points of the ``ridge``, farthest first, until all of it lies in one."""
    points = ridge.points[ridge.status == Status.OK]
    first = int(np.argmax(ridge.density[ridge.status == Status.OK]))
    apart = _APART * radius
    chosen = farthest(points, apart, np.full(len(points), np.inf), first)
    charts = make(points[chosen])
    covered = np.zeros(len(points), bool)
    for _ in range(_ROUNDS):
        for chart in charts[-len(chosen) :]:
            near = np.flatnonzero(~covered & (np.linalg.norm(points - chart.base_point, axis=1) <= 1.5 * radius))
            covered[near] = covers(chart, points[near])
        missing = np.flatnonzero(~covered)
        if missing.size <= _UNCOVERED * len(points):
            break
        apart *= _DENSER
        chosen = missing[farthest(points[missing], apart, np.full(missing.size, np.inf), 0)]
        charts += make(points[chosen])
    else:
        for chart in charts[-len(chosen) :]:
            covered[~covered] = covers(chart, points[~covered])
    return Cover(charts, float(covered.mean()))


def farthest(points: FloatArray, apart: float, distances: FloatArray, first: int) -> NDArray[np.int64]:
    """Rows of ``points`` [n, dim], each the farthest from those before, until all others are within ``apart``.

    ``distances`` [n] to earlier points may be given; ``first`` is where to begin when there are none.
    """
    distances = distances.copy()
    rows: list[int] = []
    row = first if np.isinf(distances).all() else int(np.argmax(distances))
    while distances[row] > apart:
        rows.append(row)
        distances = np.minimum(distances, np.linalg.norm(points - points[row], axis=1))
        row = int(np.argmax(distances))
    return np.array(rows, np.int64)
