"""The protocol of charts, which atlas, embedding and surface rely on.

A chart is a map v ↦ Φ(v) from a star-shaped domain of R^k to R^D with Φ(0) = μ, ∂Φ/∂v(0) = F orthonormal, that can be
inverted. `Chart` follows geodesics (the paper's normal coordinates, as far as the data goes); `QuadraticChart` is the
third-order expansion of these around μ, from one fit of the local model.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray
from subbundle.charts._located import Located


@runtime_checkable
class InvertibleChart(Protocol):
    """Coordinates on a patch of a submanifold, in both directions; rows that are not covered are NaN."""

    @property
    def base_point(self) -> FloatArray:
        """μ [dim]."""

    @property
    def frame(self) -> FloatArray:
        """F [dim, rank]: the directions of the coordinate axes at the base point."""

    @property
    def rank(self) -> int:
        """k."""

    @property
    def radius(self) -> float:
        """Distance of the outermost point covered."""

    @property
    def max_residual(self) -> float:
        """Distance up to which points belong to the chart."""

    def locate(self, points: Any, *, outside: str = "nan") -> Located:
        """Project ``points`` [batch, dim] or [dim]: coordinates, projections, residuals and a status per row."""

    def inverse_transform(self, coordinates: Any) -> FloatArray:
        """Φ(v) [batch, dim] at ``coordinates`` [batch, rank] or [rank]; NaN outside the domain."""

    def jacobian(self, coordinates: Any) -> FloatArray:
        """∂Φ/∂v [batch, dim, rank]; NaN outside the domain."""

    def inside(self, coordinates: Any) -> NDArray[np.bool_]:
        """Whether ``coordinates`` [batch, rank] or [rank] lie in the domain; False for NaN."""

    def extent_along(self, coordinates: Any) -> FloatArray:
        """How far [batch] the domain reaches along the directions of ``coordinates`` [batch, rank]."""

    def sample(self) -> FloatArray:
        """Points [n, dim] on the chart, spread over its domain, the base point first."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The chart as arrays that `numpy.savez` can keep; ``from_arrays`` inverts it."""
