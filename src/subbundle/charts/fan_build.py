"""Building the fan of a chart: as many geodesics as its interpolant needs.

The number of directions is doubled until independent geodesics, half way between those of the fan and sampled half way
between its nodes, agree with the interpolant. Their remaining difference is the interpolation error of the chart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from subbundle._types import BoolArray, FloatArray, Status, evenly
from subbundle.bundles.base import Subbundle
from subbundle.charts._interpolant_table import continued
from subbundle.charts._scattered import Scattered
from subbundle.charts.fan import Fan, interleave, trace
from subbundle.charts.fan_domain import Domain, domain_of
from subbundle.charts.interpolant import Interpolant
from subbundle.charts.tuning import ERROR_QUANTILE
from subbundle.geodesics.directions import default_count, directions

# Geodesics to begin with: a power of two between these, so that at the size of the data they are this far apart, in
# length scales.
_FEWEST, _START_MOST = 64, 256
_APART = 0.75
# Independent geodesics on which the interpolant is checked: enough for a 99 % quantile over all their nodes.
_CHECKS = 32
# Largest table of an interpolant, in bytes.
_MOST_BYTES = 2**29


@dataclass(frozen=True, slots=True)
class Tracer:
    """How the geodesics of one chart are followed: ``n_steps`` of length ``step``, at ``tol``, in stages.

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
        if tracer.bundle.is_costly:  # a field too rough to be followed is no smoother between more geodesics
            may_double &= bool(np.mean(fan.status == Status.TOO_MANY_STEPS) < 0.5)
        if built.error <= tol * scale or not may_double:
            return built
        fan = interleave(fan, tracer.fan(_between(count))) if rank == 2 else tracer.fan(directions(rank, 2 * count))
        count *= 2


def most_scattered(rank: int) -> int:
    """Most directions of a chart of rank ≥ 3 by default."""
    return 4 * default_count(rank)


def _first_count(extent: float, rank: int) -> int:
    """Directions to begin with, for data of this many length scales."""
    if rank > 2:
        return default_count(rank)
    needed = 2.0 * np.pi * extent / _APART
    return int(np.clip(2 ** np.ceil(np.log2(needed)), _FEWEST, _START_MOST))


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
    held = check.real[:, 1::2].copy()
    held[held] = model.inside(coordinates[held])
    errors = np.linalg.norm(model.evaluate(coordinates[held]) - check.points[:, 1::2][held], axis=1)
    return Built(fan, domain, model, float(np.quantile(errors, ERROR_QUANTILE)) if errors.size else 0.0)


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
        return directions(rank, _CHECKS + 5)
    return np.asarray(_between(count)[evenly(count, _CHECKS)])
