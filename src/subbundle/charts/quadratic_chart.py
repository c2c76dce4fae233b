"""A small chart from one local model: the graph of its second fundamental form, in normal coordinates to third order.

    x(τ) = μ + F τ + ½ II(τ, τ),        v = τ + A_{II(τ,τ)} τ / 6,        ⟨A_ξ u, w⟩ = ⟨II(u, w), ξ⟩,

on |v| ≤ ρ. On a submanifold with this μ, F and II the graph is off by O(ρ³) across and v by O(ρ⁴) along; it costs one
fit of the local model, where a fan of geodesics costs thousands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._types import BoolArray, FloatArray, Status
from subbundle._validation import as_batch, as_choice, as_positive
from subbundle.charts._located import Located
from subbundle.charts._on_domain import OnDomain
from subbundle.charts.quadric_kernels import evaluate_rows, locate_rows
from subbundle.geodesics.directions import directions

_NAMES = ("base_point", "frame", "second_form", "radius", "max_residual")
# Circles of points on which the domain is sampled, and directions on each per dimension of the chart.
_RINGS, _SPOKES = 8, 12


@dataclass(frozen=True, eq=False)
class QuadraticChart(OnDomain):
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
        missing = [name for name in _NAMES if name not in arrays]
        if missing:
            raise ValueError(f"arrays must come from QuadraticChart.to_arrays(); {', '.join(missing)} missing.")
        base, frame, form = (np.asarray(arrays[name], dtype=np.float64) for name in _NAMES[:3])
        return cls(base, frame, form, float(arrays["radius"]), float(arrays["max_residual"]))

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
    def _tables(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """μ [1, D], F [1, D, k] and II [1, pairs, D] as the kernels read them."""
        first, second = np.triu_indices(self.rank)
        form = np.ascontiguousarray(self.second_form[first, second][None])
        return self.base_point[None].copy(), np.ascontiguousarray(self.frame[None]), form

    def locate(self, points: Any, *, outside: str = "nan") -> Located:
        """Project ``points`` [batch, dim] or [dim] to the chart; ``outside`` as in `Chart.locate`."""
        outside = as_choice(outside, "outside", ("nan", "nearest"))
        rows, single = as_batch(points, "points", len(self.base_point))
        coordinates, found, residuals = np.empty((len(rows), self.rank)), np.empty_like(rows), np.empty(len(rows))
        locate_rows(rows, *self._tables, coordinates, found, residuals)
        beyond = ~self.inside(coordinates)
        if outside == "nearest" and beyond.any():
            length = np.linalg.norm(coordinates[beyond], axis=1, keepdims=True)
            coordinates[beyond] *= self.radius / length
            found[beyond] = self._expand(coordinates[beyond])[0]
            residuals[beyond] = np.linalg.norm(rows[beyond] - found[beyond], axis=1)
        far = beyond | (residuals > self.max_residual)
        status = np.where(far, Status.LEFT_SUPPORT, Status.OK).astype(np.int8)
        if outside == "nan":
            coordinates[far], found[far], residuals[far] = np.nan, np.nan, np.nan
        located = Located(coordinates, found, residuals, status)
        return located.first() if single else located

    def extent_along(self, coordinates: Any) -> FloatArray:
        """ρ for every row of ``coordinates`` [batch, rank]; NaN for NaN."""
        given, _ = self._held(coordinates)
        return np.where(np.isfinite(given).all(axis=1), self.radius, np.nan)

    def sample(self) -> FloatArray:
        """Points [n, dim] on the chart, spread over its domain, the base point first."""
        unit = directions(self.rank, 2 if self.rank == 1 else _SPOKES * self.rank)
        rings = self.radius * np.arange(1, _RINGS + 1) / _RINGS
        return self._expand(np.concatenate([np.zeros((1, self.rank)), *(r * unit for r in rings)]))[0]

    def _expand(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        points = np.empty((len(coordinates), len(self.base_point)))
        jacobians = np.empty((len(coordinates), *self.frame.shape))
        evaluate_rows(np.ascontiguousarray(coordinates), *self._tables, points, jacobians)
        return points, jacobians

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.base_point), self.rank

    def _holds(self, coordinates: FloatArray) -> BoolArray:
        # Up to rounding.
        return np.asarray(np.linalg.norm(coordinates, axis=1) <= self.radius * (1.0 + 1e-12))

    def _points_at(self, coordinates: FloatArray) -> FloatArray:
        return self._expand(coordinates)[0]

    def _jacobians_at(self, coordinates: FloatArray) -> FloatArray:
        return self._expand(coordinates)[1]
