"""The charts of an atlas: the fans of all base points followed in one batch, and one chart made of each."""

from __future__ import annotations

import numpy as np

from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray, Status
from subbundle.bundles.base import LearnedSubbundle, Subbundle
from subbundle.bundles.surroundings import surroundings_of
from subbundle.charts.chart import Chart
from subbundle.charts.chart_data import ChartData
from subbundle.charts.fan import Fan, end_before_unknown_nodes, pictured
from subbundle.charts.fan_build import interpolate
from subbundle.charts.fan_domain import domain_of
from subbundle.charts.interpolant import Interpolant
from subbundle.charts.tuning import ERROR_QUANTILE, MOST_GEODESICS, NODES_PER_LENGTH, TOL, check_fan, max_residual_of
from subbundle.flow.integrate import integrate, shared_steps
from subbundle.geodesics.directions import default_count, directions
from subbundle.geodesics.start import covectors_from_coordinates, defined_frame

# Geodesics per length scale at the border of a chart, and the fewest of a small chart.
_ACROSS, _FEWEST = 1.33, 24
# Independent geodesics per chart that measure the error of its interpolant.
_CHECKS = 4
# Geodesics followed at a time: enough to keep the threads busy, few enough for their nodes to fit in memory.
_ROWS = 65536


def charts_at(bundle: Subbundle, base_points: FloatArray, radii: FloatArray) -> list[Chart]:
    """A chart of radius at most ``radii[j]`` at each of ``base_points`` [m, dim]."""
    scale = float(bundle.length_scale)
    if isinstance(bundle, LearnedSubbundle):  # from observation to observation no path is longer
        radii = np.minimum(radii, len(bundle.rows) * scale)
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
    return int(np.clip(np.ceil(2.0 * np.pi * radius / bundle.length_scale * _ACROSS), _FEWEST, MOST_GEODESICS))


def _together(
    bundle: Subbundle, bases: FloatArray, radii: FloatArray, unit: FloatArray, checks: FloatArray
) -> list[Chart]:
    """Charts whose geodesics fit into one batch; all have the same nodes, and the shorter ones stop at their radius."""
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
        picture = surroundings_of(bundle).picture(base)
        nodes = pictured(bundle, picture, run.points[own], run.covectors[own])
        ends, velocity = pictured(bundle, picture, run.end_points[own, None], run.end_covectors[own, None])[:, :, 0]
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
    model = interpolate(fan, domain, scale, resolve_jobs(getattr(bundle, "n_jobs", None)))
    border = model.border if isinstance(model, Interpolant) else np.repeat(domain.extents[:, None], 2, axis=1)
    coordinates = times[:, None] * checks[:, None, :]
    held = np.isfinite(independent[:, :, 0])
    held[held] = model.inside(coordinates[held])
    errors = np.linalg.norm(model.evaluate(coordinates[held]) - independent[held], axis=1)
    error = float(np.quantile(errors, ERROR_QUANTILE)) if errors.size else float("nan")
    data = ChartData(
        base, frame, fan.directions, domain.extents, domain.endings, model.points, model.velocities, model.counts,
        border, model.step, 0.0, scale, domain.injectivity_radius, error, max_residual,
    )  # fmt: skip
    return Chart._of(data, bundle)
