"""Building a chart: length, spacing and number of the geodesics of its fan, and which points belong to it.

The number of directions is doubled until independent geodesics, half way between those of the fan and sampled half way
between its nodes, agree with the interpolant. Their remaining difference is the interpolation error of the chart.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from subbundle._parallel import resolve_jobs
from subbundle._types import BoolArray, FloatArray, Status, SubbundleWarning, all_finite, evenly
from subbundle._validation import as_bundle, as_integer, as_points, as_positive, check_room
from subbundle.bundles.base import Subbundle, completed
from subbundle.bundles.surroundings import surroundings_of
from subbundle.charts import tuning
from subbundle.charts._scattered import Scattered, n_coefficients
from subbundle.charts.chart_data import ChartData
from subbundle.charts.fan import Fan, interleave, trace
from subbundle.charts.fan_domain import Domain, domain_of
from subbundle.charts.interpolant import Interpolant, continued
from subbundle.charts.tuning import check_fan, max_residual_of
from subbundle.flow.tuning import DEFAULT_TOL
from subbundle.geodesics.connected_components import connected_components
from subbundle.geodesics.start import default_count, defined_frame, directions

# Most geodesics when a tolerance is given.
_MOST_REFINED = 4096
# Longest geodesic, in diagonals of the data: by then all have left it or been cut.
_FARTHEST = 32.0
# Landmarks for the extent of the data; no more precision is needed to bound the geodesics.
_LANDMARKS = 1000


def trace_fan(
    bundle: Subbundle,
    base_point: Any,
    radius: Any,
    n_geodesics: int | None,
    tol: float | None,
    max_radius: float | None,
) -> ChartData:
    """Trace the fan of a chart; the arguments are those of `Chart`."""
    base = as_points(base_point, "base_point", dim=as_bundle(bundle).ambient_dim, ndim=1)
    base = surroundings_of(bundle).validate(base, "base_point")
    rank, scale = bundle.rank, float(bundle.length_scale)
    extent = _extent(bundle, base)
    limit = _limit(radius, max_radius, extent)
    accuracy = None if tol is None else as_positive(tol, "tol")
    count = _count(n_geodesics, rank)
    found = defined_frame(bundle, base[None])
    frame, duals = found.vectors[0], None if found.duals is None else found.duals[0]
    finest = (
        scale / tuning.NODES_PER_LENGTH * (1.5 if rank > 2 else min(1.0, (accuracy or tuning.TOL) / tuning.TOL) ** 0.25)
    )
    many = count or (2 if rank == 1 else tuning.MOST_GEODESICS)
    if extent is None:  # only the radius ends the geodesics
        check_fan(limit, finest, many, scale)
    hint = f"Pass a radius of fewer length scales; one is {scale:.3g} here."
    check_room(limit / finest * many * bundle.ambient_dim, "The fan of a chart of this radius", hint)
    n_steps = max(4, int(np.ceil(limit / finest)))
    size = limit if extent is None else min(extent, limit)
    stage = 0.25 * (limit if extent is None else size)
    step = limit / n_steps
    flow_tol = DEFAULT_TOL if accuracy is None else min(DEFAULT_TOL, accuracy)
    tracer = Tracer(bundle, base, frame, duals, step, n_steps, flow_tol, max(8, int(np.ceil(stage / step))), size)
    return _interpolated(tracer, count, accuracy)


def _interpolated(tracer: Tracer, count: int | None, tol: float | None) -> ChartData:
    jobs = resolve_jobs(completed(tracer.bundle).n_jobs)
    rank, scale = tracer.bundle.rank, float(tracer.bundle.length_scale)
    # Above rank 2 a tolerance is met by searches, not by more geodesics.
    refined = tol is not None and rank <= 2
    most = (_MOST_REFINED if refined else tuning.MOST_GEODESICS) if rank <= 2 else most_scattered(rank)
    costly = tracer.bundle.is_costly
    most = most // 4 if costly else most  # seconds for 60 observations
    allowed = tol if tol is not None and refined else (tuning.TOL if rank <= 2 else tuning.TOL_SCATTERED)
    built = build(tracer, n_geodesics=count, most=most, tol=allowed, n_jobs=jobs)
    if (refined or (costly and count is None)) and built.error > allowed * scale:
        warnings.warn(
            f"the interpolant of the chart has an error of {built.error / scale:.2g} length scales with "
            f"{len(built.fan.directions)} geodesics, above tol={allowed:g}. Pass a larger n_geodesics, a smaller "
            "radius, or accept it: chart.interpolation_error reports it.",
            SubbundleWarning,
            stacklevel=4,
        )
    model, domain = built.model, built.domain
    searched = tol is not None and rank > 2
    return ChartData(
        tracer.base_point, tracer.frame, built.fan.directions, domain.extents, domain.endings,
        model.points, model.velocities, model.counts, model.border, model.step, tracer.tol if searched else 0.0, scale,
        domain.injectivity_radius, 0.0 if searched else built.error, _reach(tracer, model.nodes[0]),
    )  # fmt: skip


def _extent(bundle: Subbundle, base: FloatArray) -> float | None:
    """Diagonal of the box around the data (under a local map), None for a bundle without data.

    Only the connected component of the base point counts: no geodesic reaches an outlier.
    """
    learned = completed(bundle).learned
    if learned is None:
        return None
    landmarks = learned.landmarks(_LANDMARKS)
    landmarks = landmarks[all_finite(landmarks)]
    components = connected_components(learned)
    here = components.label(landmarks) == components.label(base[None])[0]
    landmarks = landmarks[here] if here.any() else landmarks
    images = surroundings_of(bundle).local_map(base).enter(landmarks)
    images = images[all_finite(images)]
    diagonal = float(np.linalg.norm(np.ptp(images, axis=0))) if len(images) else 0.0
    # Landmarks at one place represent data within about a length scale around them.
    return max(diagonal, float(bundle.length_scale))


def _limit(radius: Any, max_radius: Any, extent: float | None) -> float:
    """Largest length of the geodesics."""
    if isinstance(radius, str) and radius != "auto":
        raise ValueError(f"radius must be 'auto' or a positive number; got {radius!r}.")
    hint = "It is the largest distance from base_point; 'auto' extends to the border of the data."
    bounds = [] if isinstance(radius, str) else [as_positive(radius, "radius", hint=hint)]
    if max_radius is not None:
        bounds.append(as_positive(max_radius, "max_radius"))
    if bounds and extent is None:
        return min(bounds)
    if extent is None:
        raise ValueError(
            "radius='auto' ends at the border of data, and this bundle has none; got neither radius nor max_radius. "
            "Pass a number, for example radius=2.0, or max_radius= as an upper bound."
        )
    return min([*bounds, _FARTHEST * extent])


def _count(n_geodesics: int | None, rank: int) -> int | None:
    if n_geodesics is None:
        return None
    if rank == 1:
        return as_integer(n_geodesics, "n_geodesics", low=2, high=2, why="rank 1 has two directions, there and back")
    return as_integer(n_geodesics, "n_geodesics", low=8 if rank == 2 else 4 * n_coefficients(rank))


def _reach(tracer: Tracer, nodes: FloatArray) -> float:
    """Largest distance at which a point belongs to the chart, from the frames at some of its ``nodes`` [n, dim]."""
    rows = np.linspace(0, len(nodes) - 1, min(64, len(nodes))).astype(np.int64)
    points = surroundings_of(tracer.bundle).local_map(tracer.base_point).leave(nodes[rows])
    across = tracer.bundle.frame(points).eigenvalues[:, tracer.bundle.rank :]
    return max_residual_of(across, float(tracer.bundle.length_scale))


# Largest table of an interpolant, in bytes.
_MOST_BYTES = 2**29


@dataclass(frozen=True, slots=True)
class Tracer:
    """Settings of the geodesics of one chart: ``n_steps`` of length ``step``, at ``tol``, in stages.

    ``extent`` is the size of the data, or of the chart where there is none.
    """

    bundle: Subbundle
    base_point: FloatArray
    frame: FloatArray
    duals: FloatArray | None
    step: float
    n_steps: int
    tol: float
    stage: int
    extent: float

    def fan(self, unit: FloatArray) -> Fan:
        """Geodesics in the directions ``unit`` [L, k], none much further than exp is one-to-one."""
        return trace(
            self.bundle, self.base_point, self.frame, unit, self.step, self.n_steps, self.tol,
            duals=self.duals, stage=self.stage, useful=self._uncut,
        )  # fmt: skip

    def domain(self, fan: Fan) -> Domain:
        """Where exp is one-to-one along ``fan``."""
        return domain_of(fan, self.bundle.length_scale, self.step * self.n_steps)

    def halved(self, unit: FloatArray, radius: float, inside: Callable[[FloatArray], BoolArray]) -> Fan:
        """Geodesics at half the step, to ``radius`` or until their coordinates [L, k] are no longer ``inside``."""
        n_steps = 2 * min(self.n_steps, int(np.ceil(radius / self.step)))
        return trace(
            self.bundle, self.base_point, self.frame, unit, 0.5 * self.step, n_steps, self.tol, duals=self.duals,
            stage=max(8, -(-n_steps // 8)), useful=lambda fan: inside(fan.reached[:, None] * unit),
        )  # fmt: skip

    def _uncut(self, fan: Fan) -> BoolArray:
        return ~domain_of(fan, self.bundle.length_scale, 0.0).cut


@dataclass(frozen=True, slots=True)
class Built:
    """A fan, its domain and its interpolant, with the error of the latter, a length."""

    fan: Fan
    domain: Domain
    model: Interpolant | Scattered
    error: float


def build(tracer: Tracer, *, n_geodesics: int | None, most: int, tol: float, n_jobs: int) -> Built:
    """Interpolate exp, with ``n_geodesics`` or as many up to ``most`` as give an error of ``tol`` length scales."""
    scale, rank = float(tracer.bundle.length_scale), tracer.bundle.rank
    if rank == 1 or n_geodesics is not None:
        return _checked(tracer, tracer.fan(directions(rank, n_geodesics or 2)), n_jobs)
    count = min(_first_count(tracer.extent / scale, rank), most)
    fan = tracer.fan(directions(rank, count))
    while True:
        built = _checked(tracer, fan, n_jobs)
        may_double = 2 * count <= most and 2 * 4 * built.model.points.nbytes <= _MOST_BYTES
        if tracer.bundle.is_costly:  # an irregular field is not resolved by more geodesics
            may_double &= bool(np.mean(fan.status == Status.TOO_MANY_STEPS) < 0.5)
        if built.error <= tol * scale or not may_double:
            return built
        fan = interleave(fan, tracer.fan(_between(count))) if rank == 2 else tracer.fan(directions(rank, 2 * count))
        count *= 2


def most_scattered(rank: int) -> int:
    """Most directions of a chart of rank ≥ 3 by default."""
    return 4 * default_count(rank)


def _first_count(extent: float, rank: int) -> int:
    """Initial number of directions, for data of this many length scales."""
    if rank > 2:
        return default_count(rank)
    needed = 2.0 * np.pi * extent / tuning.GEODESICS_APART
    return int(np.clip(2 ** np.ceil(np.log2(needed)), tuning.FEWEST_GEODESICS, tuning.MOST_GEODESICS // 2))


def _between(count: int) -> FloatArray:
    """The ``count`` directions half way between those of a circle."""
    return directions(2, 2 * count)[1::2]


def _checked(tracer: Tracer, fan: Fan, n_jobs: int) -> Built:
    """The interpolant of ``fan`` and its error on independent geodesics, half way between the nodes."""
    domain = tracer.domain(fan)
    model = interpolate(fan, domain, float(tracer.bundle.length_scale), n_jobs)
    unit = _check_directions(fan.directions)
    check = tracer.halved(unit, float(domain.extents.max()), model.inside)
    coordinates = check.distances[1::2, None] * unit[:, None, :]
    inside = check.real[:, 1::2].copy()
    inside[inside] = model.inside(coordinates[inside])
    errors = np.linalg.norm(model.evaluate(coordinates[inside]) - check.points[:, 1::2][inside], axis=1)
    return Built(fan, domain, model, float(np.quantile(errors, tuning.ERROR_QUANTILE)) if errors.size else 0.0)


def interpolate(fan: Fan, domain: Domain, scale: float, n_jobs: int) -> Interpolant | Scattered:
    """The interpolant of ``fan`` on its ``domain``."""
    n_nodes = int(np.ceil(domain.extents.max() / fan.step)) + 3
    points, velocities = continued(fan, n_nodes)
    counts = np.minimum(fan.real.sum(axis=1), n_nodes)
    rank = fan.directions.shape[1]
    if rank > 2:
        return Scattered(
            fan.directions, points, velocities, counts, domain.extents, domain.cut, fan.step, scale, n_jobs
        )
    return Interpolant(points, velocities, counts, domain.border(scale), fan.step, scale, rank, n_jobs)


def _check_directions(unit: FloatArray) -> FloatArray:
    """Directions of independent geodesics: half way on a circle, another even set on a sphere."""
    count, rank = unit.shape
    if rank == 1:
        return unit
    if rank > 2:
        return directions(rank, tuning.FEWEST_GEODESICS // 2)
    return np.asarray(_between(count)[evenly(count, tuning.FEWEST_GEODESICS // 2)])
