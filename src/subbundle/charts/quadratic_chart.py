"""Small charts, each from one local model: graphs of its second fundamental form, in normal coordinates to third order.

    x(τ) = μ + F τ + ½ II(τ, τ),        v = τ + A_{II(τ,τ)} τ / 6,        ⟨A_ξ u, w⟩ = ⟨II(u, w), ξ⟩,

on |v| ≤ ρ. On a submanifold with this μ, F and II the graph is off by O(ρ³) across and v by O(ρ⁴) along; it costs one
fit of the local model, where a fan of geodesics costs thousands. One chart is a list of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._numbers import EXACT, LARGEST, NOTICEABLE
from subbundle._parallel import resolve_jobs, run_rows
from subbundle._types import BoolArray, FloatArray, IntArray, Status
from subbundle._validation import as_batch, as_choice, as_positive
from subbundle.charts._border import nearest_on_spheres
from subbundle.charts.base import InvertibleChart, Located, SingleChart
from subbundle.charts.chart_list import ChartList
from subbundle.charts.quadric_kernels import derivative_rows, evaluate_rows, locate_rows, normal_rows
from subbundle.geodesics.start import directions
from subbundle.local.settings import ALL, COMMON, Cases

_NAMES = ("base_point", "frame", "second_form", "radius", "max_residual")
_LISTED = ("base_points", "frames", "forms", "radii", "max_residuals")
# Circles of points on which the domain is sampled, and directions on each per dimension of the chart.
_RINGS, _SPOKES = 8, 12


@dataclass(frozen=True, eq=False)
class QuadraticChart(SingleChart):
    """Normal coordinates to third order around a point of a submanifold.

    Parameters
    ----------
    base_point : [dim]
        μ.
    frame : [dim, rank]
        F, orthonormal columns.
    second_form : [rank, rank, dim]
        II(e_a, e_b), vectors orthogonal to F.
    radius : float
        ρ: largest |v|.
    max_residual : float
        Distance up to which points belong to the chart.

    Examples
    --------
    Half a unit from the pole of the unit sphere, where v is the polar angle:

    >>> import numpy as np
    >>> down = np.zeros((2, 2, 3))
    >>> down[0, 0, 2] = down[1, 1, 2] = -1.0
    >>> chart = QuadraticChart(np.array([0.0, 0.0, 1.0]), np.eye(3)[:, :2], down, radius=0.6)
    >>> np.round(chart.inverse_transform([0.5, 0.0]), 2)
    array([0.48, 0.  , 0.88])
    >>> np.round(chart.transform([[np.sin(0.5), 0.0, np.cos(0.5)]]), 2)
    array([[0.5, 0. ]])
    """

    base_point: FloatArray
    frame: FloatArray
    second_form: FloatArray
    radius: float
    max_residual: float = float("inf")

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> QuadraticChart:
        """The chart that `to_arrays` described."""
        if missing := [name for name in _NAMES if name not in arrays]:
            raise ValueError(f"arrays must come from QuadraticChart.to_arrays(); {', '.join(missing)} missing.")
        base, frame, form, radius, far = (np.asarray(arrays[name], dtype=np.float64) for name in _NAMES)
        return cls(base, frame, form, float(radius), float(far))

    def __post_init__(self) -> None:
        base, frame, form = self.base_point, self.frame, self.second_form
        rank = frame.shape[-1] if frame.ndim == 2 else -1
        if base.ndim != 1 or frame.shape != (base.size, rank) or form.shape != (rank, rank, base.size):
            raise ValueError(
                "a quadratic chart needs base_point [dim], frame [dim, rank] and second_form [rank, rank, dim]; got "
                f"shapes {base.shape}, {frame.shape} and {form.shape}. Arrays from a file may be damaged."
            )
        as_positive(self.radius, "radius", hint="It is the largest distance from the base point.")

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The chart as arrays that `numpy.savez` can keep."""
        return {name: np.array(getattr(self, name)) for name in _NAMES}

    @property
    def rank(self) -> int:
        """k."""
        return int(self.frame.shape[1])

    @cached_property
    def _as_list(self) -> QuadraticCharts:
        """This chart as a list of one."""
        base, frame, form = self.base_point, self.frame, self.second_form[np.triu_indices(self.rank)]
        return QuadraticCharts(base[None], frame[None], form[None], [self.radius], [self.max_residual], n_jobs=1)

    def locate(self, points: Any, *, outside: str = "nan") -> Located:
        """Project ``points`` [batch, dim] or [dim] to the chart; ``outside`` as in `Chart.locate`."""
        rows, single = as_batch(points, "points", len(self.base_point))
        located = self._as_list.locate(rows, np.zeros(len(rows), np.int64), outside=outside)
        return located.first() if single else located

    def extent_along(self, coordinates: Any) -> FloatArray:
        """ρ for every row of ``coordinates`` [batch, rank]; NaN for NaN."""
        given, _ = self._in_domain(coordinates)
        return np.where(np.isfinite(given).all(axis=1), self.radius, np.nan)

    def sample(self) -> FloatArray:
        """Points [n, dim] on the chart, spread over its domain, the base point first."""
        unit, rings = _spokes(self.rank), self.radius * np.arange(1, _RINGS + 1) / _RINGS
        return self._points_at(np.concatenate([np.zeros((1, self.rank)), *(r * unit for r in rings)]))

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.base_point), self.rank

    def _contains(self, coordinates: FloatArray) -> BoolArray:
        return self._as_list.inside(coordinates, np.zeros(len(coordinates), np.int64))

    def _points_at(self, coordinates: FloatArray) -> FloatArray:
        return self._as_list.evaluate(coordinates, np.zeros(len(coordinates), np.int64))

    def _jacobians_at(self, coordinates: FloatArray) -> FloatArray:
        return self._as_list.slopes(coordinates, np.zeros(len(coordinates), np.int64))


class QuadraticCharts(ChartList):
    """Quadratic charts as rows of arrays, as the kernels read them.

    Parameters
    ----------
    base_points : [m, dim]
        μ_j.
    frames : [m, dim, rank]
        F_j.
    forms : [m, rank (rank + 1)/2, dim]
        II_j(e_a, e_b) for a ≤ b.
    radii : [m]
        ρ_j.
    max_residuals : [m]
        Distances up to which points belong to the charts; unless given all.
    n_jobs : int or None
        Threads; None for all cores.
    """

    def __init__(
        self, base_points: Any, frames: Any, forms: Any, radii: Any, max_residuals: Any = None, *, n_jobs: int | None
    ) -> None:
        self.base_points, self.frames, self.forms, self.radii = (
            np.ascontiguousarray(each, dtype=np.float64) for each in (base_points, frames, forms, radii)
        )
        far = np.full(len(self.radii), np.inf) if max_residuals is None else max_residuals
        self.max_residuals, self.n_jobs = np.asarray(far, dtype=np.float64), n_jobs

    def __len__(self) -> int:
        return len(self.radii)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return tuple(self[j] for j in range(*number.indices(len(self))))
        form = np.empty((self.rank, self.rank, self.frames.shape[1]))
        first, second = np.triu_indices(self.rank)
        form[first, second] = form[second, first] = self.forms[number]
        own = self.base_points[number], self.frames[number], form
        return QuadraticChart(*own, float(self.radii[number]), float(self.max_residuals[number]))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The charts as the arrays that they are made of."""
        return {name: getattr(self, name) for name in _LISTED}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], n_jobs: int | None) -> QuadraticCharts:
        """The inverse of `to_arrays`; raises for arrays that do not fit, since kernels do not check indices."""
        charts = cls(*(arrays[name] for name in _LISTED), n_jobs=n_jobs)
        *own, far = charts.to_arrays().values()
        count, dim, rank = charts.frames.shape
        shapes = [(count, dim), (count, dim, rank), (count, rank * (rank + 1) // 2, dim), (count,), (count,)]
        if count == 0 or [one.shape for one in (*own, far)] != shapes:
            raise ValueError("the arrays of charts must fit each other")
        if not (charts.radii.min() > 0.0 < far.min() and all((np.abs(one) < LARGEST).all() for one in own)):
            raise ValueError(f"radii must be positive, and all numbers of charts must be below {LARGEST:g}")
        return charts

    @property
    def rank(self) -> int:
        """k."""
        return int(self.frames.shape[2])

    @cached_property
    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray, Cases]:
        """μ_j [m, dim], W_j = (II_j, F_j) [m, w, dim] and W_j W_jᵀ [m, w, w], as the kernels read them, and for which
        `Cases` they are compiled."""
        spans = np.concatenate([self.forms, self.frames.transpose(0, 2, 1)], axis=1)
        return self.base_points, spans, spans @ spans.transpose(0, 2, 1), COMMON if self.rank == 2 else ALL

    def nearest(
        self, points: FloatArray, rows: IntArray, charts: IntArray, slopes: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Coordinates [n, rank], points [n, dim] and residuals [n] of ``points[rows]`` in ``charts`` [n], which are
        continued beyond their radius; ``slopes`` [n], if given, are filled as by `locate_rows`."""
        slopes = np.empty(0) if slopes is None else slopes
        coordinates, residuals = np.empty((len(rows), self.rank)), np.empty(len(rows))
        found = np.empty((len(rows), points.shape[1]))

        def work(start: int, stop: int) -> None:
            pairs, out = (rows[start:stop], charts[start:stop]), (coordinates[start:stop], found[start:stop])
            locate_rows(points, *pairs, *self.arrays, *out, residuals[start:stop], slopes[start:stop])

        run_rows(work, len(rows), resolve_jobs(self.n_jobs), calls_blas=False)
        return coordinates, found, residuals

    def locate(self, points: FloatArray, charts: IntArray, *, outside: str = "nan") -> Located:
        """As `ChartList.locate`; ``outside`` as in `Chart.locate`."""
        outside = as_choice(outside, "outside", ("nan", "nearest"))
        rows, slopes = np.arange(len(points)), np.empty(len(points))
        coordinates, found, residuals = self.nearest(points, rows, charts, slopes)
        status = np.where(slopes <= NOTICEABLE * self.radii[charts], Status.OK, Status.NOT_CONVERGED).astype(np.int8)
        beyond = ~self.inside(coordinates, charts)
        if outside == "nearest" and beyond.any():
            own = charts[beyond]
            coordinates[beyond], found[beyond], residuals[beyond] = nearest_on_spheres(
                lambda v, rows: self.evaluate(v, own[rows]), lambda v, rows: self.slopes(v, own[rows]),
                self.radii[own], points[beyond], coordinates[beyond], _spokes(self.rank),
            )  # fmt: skip
        status[beyond | (residuals > self.max_residuals[charts])] = Status.LEFT_SUPPORT
        for part in (coordinates, found, residuals):
            part[(status != Status.OK) & (outside == "nan")] = np.nan
        return Located(coordinates, found, residuals, status)

    def inside(self, coordinates: FloatArray, charts: IntArray) -> BoolArray:
        """See `ChartList.inside`; up to rounding."""
        return np.asarray(np.linalg.norm(coordinates, axis=1) <= self.radii[charts] * (1.0 + EXACT))

    def evaluate(self, coordinates: FloatArray, charts: IntArray) -> FloatArray:
        """Points [n, dim] of ``charts`` [n], continued beyond their radius, at ``coordinates`` [n, rank]."""
        return self.means(coordinates[:, None], charts[:, None], np.ones((len(charts), 1)))

    def means(self, coordinates: FloatArray, charts: IntArray, weights: FloatArray) -> FloatArray:
        """As `evaluate`, means [n, dim] over m charts a row with ``weights`` [n, m], at coordinates [n, m, rank]."""
        points = np.empty((len(coordinates), self.frames.shape[1]))

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            evaluate_rows(coordinates[part], charts[part], weights[part], *self.arrays, points[part])

        run_rows(work, len(coordinates), resolve_jobs(self.n_jobs), calls_blas=False)
        return points

    def inverse_transform(self, coordinates: FloatArray, charts: IntArray) -> FloatArray:
        """See `ChartList.inverse_transform`."""
        return self._inside(self.evaluate, coordinates, charts)

    def jacobian(self, coordinates: FloatArray, charts: IntArray) -> FloatArray:
        """See `ChartList.jacobian`."""
        return self._inside(self.slopes, coordinates, charts)

    def _inside(self, method: Any, coordinates: FloatArray, charts: IntArray) -> FloatArray:
        inside = self.inside(coordinates, charts)
        found: FloatArray = method(np.where(inside[:, None], coordinates, 0.0), charts)
        found[~inside] = np.nan
        return found

    def slopes(self, coordinates: FloatArray, charts: IntArray) -> FloatArray:
        """As `jacobian`, of ``charts`` [n] continued beyond their radius."""
        slopes, changes = (np.empty((len(coordinates), size, self.rank)) for size in self.frames.shape[1:])
        derivative_rows(np.ascontiguousarray(coordinates), charts, *self.arrays[1:], slopes, changes)
        return np.ascontiguousarray(np.linalg.solve(changes, slopes.transpose(0, 2, 1)).transpose(0, 2, 1), np.float64)

    def extent_along(self, coordinates: FloatArray, charts: IntArray) -> FloatArray:
        """See `ChartList.extent_along`: ρ [n]."""
        return np.where(np.isfinite(coordinates).all(axis=1), self.radii[charts], np.nan)


def _spokes(rank: int) -> FloatArray:
    """Directions [m, rank] spread evenly."""
    return directions(rank, 2 if rank == 1 else _SPOKES * rank)


def normal_coordinates(tau: FloatArray, forms: FloatArray) -> FloatArray:
    """τ + A_{II(τ,τ)} τ / 6 [n, m, k] for ``tau`` [n, m, k] in the charts of ``forms`` [n, k(k+1)/2, D]."""
    coordinates = np.empty_like(tau)
    normal_rows(np.ascontiguousarray(tau), forms @ forms.transpose(0, 2, 1), coordinates)
    return coordinates


def gathered(charts: Sequence[InvertibleChart], n_jobs: int | None) -> ChartList:
    """``charts`` as one list; quadratic ones as arrays."""
    small = [chart._as_list for chart in charts if isinstance(chart, QuadraticChart)]
    if not small or len(small) < len(charts):
        return ChartList(charts)
    return QuadraticCharts(*(np.concatenate([getattr(one, name) for one in small]) for name in _LISTED), n_jobs=n_jobs)
