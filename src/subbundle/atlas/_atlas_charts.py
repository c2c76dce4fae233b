"""The charts of an atlas: base points spread over the ridge until it is covered, and a chart at each.

Fans of all base points are followed in one batch; quadratic charts come from the local model alone, one fit each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray, Status
from subbundle.atlas import tuning
from subbundle.bundles.base import LearnedSubbundle, Subbundle, completed
from subbundle.bundles.ridge_project import ridge_project
from subbundle.bundles.surroundings import FLAT, surroundings_of
from subbundle.charts.base import InvertibleChart
from subbundle.charts.chart import Chart
from subbundle.charts.chart_build import interpolate
from subbundle.charts.chart_data import ChartData
from subbundle.charts.chart_list import ChartList, arrays_of_each
from subbundle.charts.fan import Fan, end_before_unknown_nodes, mapped
from subbundle.charts.fan_domain import domain_of
from subbundle.charts.quadratic_chart import QuadraticChart, QuadraticCharts
from subbundle.charts.tuning import (
    ERROR_QUANTILE,
    FEWEST_GEODESICS,
    GEODESICS_APART,
    MOST_GEODESICS,
    NODES_PER_LENGTH,
    TOL,
    check_fan,
    max_residual_of,
)
from subbundle.flow.integrate import integrate, shared_steps
from subbundle.geodesics.paths import farthest
from subbundle.geodesics.start import covectors_from_coordinates, default_count, defined_frame, directions
from subbundle.geodesics.tuning import MOST_LANDMARKS

# Most points of the ridge that are to be covered, which takes seconds.
_MOST_SITES = 65536
# Rounds of further base points where charts ended early.
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Maker:
    """How one kind of charts is made: the radius ``"auto"`` in length scales; charts of a bundle at base points
    [m, dim] with radii [m] for points up to a residual; those that arrays hold, with their bundle; the largest accurate
    radii [m] for radii [m], curvatures [m] and a length scale; a factor of the distance between base points: sites are
    not much closer than small charts."""

    reach: float
    at: Callable[[Subbundle, FloatArray, FloatArray, float], list[InvertibleChart]]
    read: Callable[[Mapping[str, Any], Subbundle], ChartList]
    limited: Callable[[FloatArray, FloatArray, float], FloatArray] = lambda radii, curvature, scale: radii
    closer: float = 1.0


@dataclass(frozen=True, slots=True)
class Sites:
    """Points of the ridge [n, dim], and the density, noise and curvature [n] there."""

    points: FloatArray
    density: FloatArray
    noise: FloatArray
    curvature: FloatArray


def sites(bundle: Subbundle) -> Sites:
    """Points of the ridge with a subspace, spread over the whole cloud, the same on every call."""
    learned = completed(bundle).learned
    if learned is None:
        raise ValueError(
            "base_points='auto' needs data to cover, and this bundle has none. Pass base_points [m, dim] and a radius."
        )
    ridge = ridge_project(bundle, learned.landmarks(_count(learned)), tol=1e-3)
    good = ridge.status == Status.OK
    good[good] = bundle.frame(ridge.points[good]).status == Status.OK
    if not good.any():
        raise ValueError(
            "base_points='auto' needs a ridge near the cloud: at this bandwidth there is none of dimension "
            f"{bundle.rank}. Try another bandwidth or rank."
        )
    return Sites(ridge.points[good], ridge.density[good], ridge.noise[good], ridge.curvature[good])


def _count(bundle: LearnedSubbundle) -> int:
    """Number of sites, that of patches: the sum of the weights is the observations on one patch.

    No fewer than the landmarks that represent the cloud elsewhere.
    """
    return int(np.clip(len(bundle.rows) / bundle.typical_mass, MOST_LANDMARKS, _MOST_SITES))


def cover(
    found: Sites,
    radius: float,
    make: Callable[[FloatArray], list[InvertibleChart]],
    covers: Callable[[InvertibleChart, FloatArray], NDArray[np.bool_]],
) -> tuple[list[InvertibleChart], float]:
    """Charts at some of the sites, farthest first, until all sites lie in one; and the fraction of them that do."""
    points, apart, first = found.points, radius, int(np.argmax(found.density))
    covered = np.zeros(len(points), bool)
    charts: list[InvertibleChart] = []
    for _ in range(1 + _ROUNDS):
        missing = np.flatnonzero(~covered)
        if missing.size == 0:
            break
        apart *= tuning.BASES_APART
        further = make(points[missing[farthest(points[missing], apart, first)]])
        for chart in further:
            # Euclidean distances bound those along the chart from below; the factor allows for curvature of the space.
            near = np.flatnonzero(~covered & (np.linalg.norm(points - chart.base_point, axis=1) <= 1.5 * radius))
            covered[near] = covers(chart, points[near])
        charts, first = charts + further, 0
    return charts, float(covered.mean())


# Independent geodesics per chart that measure the error of its interpolant.
_CHECKS = 4
# Geodesics followed at a time: enough to keep the threads busy, few enough for their nodes to fit in memory.
_ROWS = 65536


def charts_at(bundle: Subbundle, base_points: FloatArray, radii: FloatArray) -> list[Chart]:
    """A chart of radius at most ``radii[j]`` at each of ``base_points`` [m, dim]."""
    scale = float(bundle.length_scale)
    learned = completed(bundle).learned
    if learned is not None:  # no path from observation to observation is longer
        radii = np.minimum(radii, len(learned.rows) * scale)
    count = _n_directions(bundle, float(radii.max(initial=0.0)))
    check_fan(float(radii.max(initial=0.0)), scale / NODES_PER_LENGTH, count, scale)
    unit = directions(bundle.rank, count)
    checks = directions(bundle.rank, 2 * count)[1::2][:: max(count // _CHECKS, 1)] if bundle.rank == 2 else unit[:0]
    charts: list[Chart] = []
    size = max(_ROWS // (count + len(checks)), 1)
    for first in range(0, len(base_points), size):
        rows = slice(first, first + size)
        charts += _together(bundle, base_points[rows], radii[rows], unit, checks)
    return charts


def _n_directions(bundle: Subbundle, radius: float) -> int:
    if bundle.rank == 1:
        return 2
    if bundle.rank > 2:
        return default_count(bundle.rank) // (4 if bundle.is_costly else 1)  # as in one chart
    needed = np.ceil(2.0 * np.pi * radius / (GEODESICS_APART * bundle.length_scale))
    return int(np.clip(needed, FEWEST_GEODESICS // 2, MOST_GEODESICS))


def _together(
    bundle: Subbundle, bases: FloatArray, radii: FloatArray, unit: FloatArray, checks: FloatArray
) -> list[Chart]:
    """Charts whose geodesics fit into one batch; all have the same nodes, and smaller charts end at their radius."""
    scale = float(bundle.length_scale)
    longest = float(radii.max())
    frame = defined_frame(bundle, bases)
    n_steps = max(4, int(np.ceil(longest * NODES_PER_LENGTH / scale)))
    step = longest / n_steps
    every = np.concatenate([unit, checks])
    vectors = np.repeat(frame.vectors, len(every), axis=0)
    duals = None if frame.duals is None else np.repeat(frame.duals, len(every), axis=0)
    covectors = covectors_from_coordinates(vectors, np.tile(every, (len(bases), 1)), duals)
    times = np.asarray(step * np.arange(n_steps + 1), dtype=np.float64)
    starts = np.repeat(bases, len(every), axis=0)
    most = shared_steps(bundle, longest, len(starts))
    run = integrate(bundle, starts, covectors, times, unit_speed=True, tol=0.01 * TOL, max_steps=most)
    max_residual = max_residual_of(frame.eigenvalues[:, bundle.rank :], scale)
    charts = []
    for j, base in enumerate(bases):
        own = slice(j * len(every), (j + 1) * len(every))
        local_map = surroundings_of(bundle).local_map(base)
        nodes = mapped(bundle, local_map, run.points[own], run.covectors[own])
        ends, velocity = mapped(bundle, local_map, run.end_points[own, None], run.end_covectors[own, None])[:, :, 0]
        reached, status = run.reached[own].copy(), run.status[own].copy()
        end_before_unknown_nodes(nodes, step, reached, ends, velocity, status)
        rays = slice(0, len(unit))
        fan = Fan(unit, step, nodes[0, rays], nodes[1, rays], reached[rays], ends[rays], velocity[rays], status[rays])
        independent = nodes[0, len(unit) :]
        charts.append(
            _chart(bundle, base, frame.vectors[j], fan, float(radii[j]), independent, checks, times, max_residual)
        )
    return charts


def _chart(
    bundle: Subbundle,
    base: FloatArray,
    frame: FloatArray,
    fan: Fan,
    radius: float,
    independent: FloatArray,
    checks: FloatArray,
    times: FloatArray,
    max_residual: float,
) -> Chart:
    scale = float(bundle.length_scale)
    domain = domain_of(fan, scale, 0.0)
    shorter = domain.extents > radius
    domain.extents[shorter], domain.endings[shorter] = radius, Status.OK
    model = interpolate(fan, domain, scale, resolve_jobs(completed(bundle).n_jobs))
    coordinates = times[:, None] * checks[:, None, :]
    held = np.isfinite(independent[:, :, 0])
    held[held] = model.inside(coordinates[held])
    errors = np.linalg.norm(model.evaluate(coordinates[held]) - independent[held], axis=1)
    error = float(np.quantile(errors, ERROR_QUANTILE)) if errors.size else float("nan")
    data = ChartData(
        base, frame, fan.directions, domain.extents, domain.endings, model.points, model.velocities, model.counts,
        model.border, model.step, 0.0, scale, domain.injectivity_radius, error, max_residual,
    )  # fmt: skip
    return Chart._of(data, bundle)


def quadratic_radii(radii: FloatArray, curvature: FloatArray, length_scale: float) -> FloatArray:
    """The largest radii [m] up to ``radii`` [m] at which quadrics of this ``curvature`` [m] are accurate."""
    return np.asarray(
        np.minimum(
            np.minimum(radii, tuning.QUADRATIC_REACH * length_scale), tuning.MOST_BEND / np.maximum(curvature, 1e-300)
        )
    )


def quadratic_charts_at(
    bundle: Subbundle, base_points: FloatArray, radii: FloatArray, max_residual: float
) -> list[InvertibleChart]:
    """A quadratic chart of radius at most ``radii[j]`` at the projection of each of ``base_points`` [m, dim]."""
    if surroundings_of(bundle) is not FLAT or completed(bundle).learned is None:
        raise ValueError("charts='quadratic' needs a bundle of data in R^d; this is another. Write charts='geodesic'.")
    ridge = ridge_project(bundle, base_points)
    reach = quadratic_radii(radii, ridge.curvature, float(bundle.length_scale))
    return [
        QuadraticChart(ridge.points[j], ridge.tangents[j], ridge.second_form[j], float(reach[j]), max_residual)
        for j in np.flatnonzero(ridge.status == Status.OK)
    ]


MAKERS = {
    "geodesic": Maker(
        tuning.GEODESIC_REACH, lambda bundle, bases, radii, _: list(charts_at(bundle, bases, radii)),
        lambda arrays, bundle: ChartList([Chart.from_arrays(each, bundle) for each in arrays_of_each(arrays)]),
    ),
    "quadratic": Maker(
        tuning.QUADRATIC_REACH, quadratic_charts_at,
        lambda arrays, bundle: QuadraticCharts.from_arrays(arrays, completed(bundle).n_jobs),
        quadratic_radii, tuning.BASES_APART,
    ),
}  # fmt: skip
