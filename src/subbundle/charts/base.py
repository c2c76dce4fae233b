"""Charts: the protocol used by atlas, embedding and surface, and the record of `locate`.

A chart is a map v ↦ Φ(v) from a star-shaped domain of R^k to R^D with Φ(0) = μ, ∂Φ/∂v(0) = F orthonormal, that can be
inverted. `Chart` follows geodesics (the paper's normal coordinates, on the support of the data); `QuadraticChart` is
the third-order expansion of these around μ, from one fit of the local model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from subbundle._html import card, dots, endings
from subbundle._types import BoolArray, FloatArray, IntArray, Status, StatusArray
from subbundle._validation import as_real

# Names of the columns of tables, where they are not the attribute's.
_COLUMNS = {"residual": "residuals", "label": "labels"}


@dataclass(frozen=True, slots=True)
class Located:
    """Points projected to a chart, an atlas, or the shape that an estimator has learned.

    A single point given to a chart or an atlas has no batch axis. Attributes after ``status`` are None where they are
    undefined, as coverage is in a single chart. Lengths are in the units of the points. The record can be unpacked into
    coordinates, residuals and status, and ``located["residual"]`` is a column of a table.

    Attributes
    ----------
    coordinates : [batch, rank]
        Coordinates of the projection: normal coordinates in the chart (of an atlas: in that of ``charts``), or those
        that the estimator gives; without columns where it gives none.
    points : [batch, dim]
        The projection: the nearest point, on the sheet that passes nearest.
    residuals : [batch]
        Distance from each point to its projection.
    status : [batch]
        OK; LEFT_SUPPORT: the point lies beyond the border of the chart or of all charts, or further than
        ``chart.max_residual`` from it; NOT_CONVERGED: the search did not converge.
    coverage : [batch]
        Charts that contain the point, about 1 inside, 0 beyond all.
    spread : [batch]
        Root mean square distance of the projections to those charts from their mean, ``points``.
    disagreement : [batch]
        Root mean square deviation of the coordinates that those charts give from their mean, ``coordinates``.
    distortion : [batch]
        Largest |log| of the factor by which lengths change from the shape to the coordinates.
    labels : [batch]
        Connected component, 0 being the largest; −1 where there is none.
    beyond : [batch]
        Length from the border of the nearest chart to the projection; 0 inside.
    novelty : [batch]
        Distance from the region covered by data, √(residual² + beyond²), in typical residuals of rows left out.
    charts : [batch]
        The nearest chart of an atlas; −1 where there is none.
    """

    coordinates: FloatArray
    points: FloatArray
    residuals: FloatArray
    status: StatusArray
    coverage: FloatArray | None = None
    spread: FloatArray | None = None
    disagreement: FloatArray | None = None
    distortion: FloatArray | None = None
    labels: IntArray | None = None
    beyond: FloatArray | None = None
    novelty: FloatArray | None = None
    charts: IntArray | None = None

    def __iter__(self) -> Iterator[Any]:
        """Coordinates, residuals and status."""
        return iter((self.coordinates, self.residuals, self.status))

    def __getitem__(self, name: str) -> Any:
        """The quantity of this name, as in `as_dict`."""
        return self.as_dict()[name]

    def keys(self) -> list[str]:
        """Names of the quantities that are known."""
        return list(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """The available quantities of each row by their names in tables, without ``points``."""
        names = ("coordinates", "residual", "coverage", "disagreement", "distortion", "label", "novelty", "status")
        found = {name: getattr(self, _COLUMNS.get(name, name)) for name in names}
        return {name: values for name, values in found.items() if values is not None}

    def _repr_html_(self) -> str:
        facts = [("residual, median", float(np.nanmedian(self.residuals)))] if np.isfinite(self.residuals).any() else []
        drawn = self.coordinates if self.coordinates.shape[-1] else self.points
        return card("Located", [*facts, *endings(self.status)], picture=dots(np.atleast_2d(drawn)))

    @classmethod
    def joined(cls, parts: list[Located]) -> Located:
        """The rows of all ``parts``, of which there is at least one, with the same quantities."""
        names = [each.name for each in fields(cls) if getattr(parts[0], each.name) is not None]
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def first(self) -> Located:
        """The record of the first row alone."""
        known = {each.name: getattr(self, each.name) for each in fields(self)}
        rows: dict[str, Any] = {name: values[0] for name, values in known.items() if values is not None}
        return replace(self, **rows | {"status": Status(int(self.status[0]))})


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
        """Extent ρ [batch] of the domain along the directions of ``coordinates`` [batch, rank]; NaN for NaN."""

    def sample(self) -> FloatArray:
        """Points [n, dim] on the chart, spread over its domain, the base point first."""

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The chart as arrays that `numpy.savez` can keep."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """The chart that `to_arrays` described; raises when something is missing or does not fit."""


class OnDomain(ABC):
    """A map from a domain of R^k to R^D, whose class defines the domain and evaluates the map inside."""

    @property
    @abstractmethod
    def _shape(self) -> tuple[int, int]:
        """Dimension of the points, and of the coordinates."""

    @abstractmethod
    def _contains(self, coordinates: FloatArray) -> BoolArray:
        """Whether finite ``coordinates`` [n, rank] lie in the domain."""

    @abstractmethod
    def _points_at(self, coordinates: FloatArray) -> FloatArray:
        """Φ(v) [n, dim] at ``coordinates`` [n, rank] in the domain."""

    @abstractmethod
    def _jacobians_at(self, coordinates: FloatArray) -> FloatArray:
        """∂Φ/∂v [n, dim, rank] at ``coordinates`` [n, rank] in the domain."""

    def inside(self, coordinates: Any) -> BoolArray:
        """Whether ``coordinates`` [batch, rank] or [rank] lie in the domain; False for NaN."""
        inside = self._in_domain(coordinates)[1]
        return inside if np.ndim(coordinates) == 2 else inside[0]

    def inverse_transform(self, coordinates: Any) -> FloatArray:
        """Points [batch, dim] at ``coordinates`` [batch, rank] or [rank]; NaN outside the domain."""
        given, inside = self._in_domain(coordinates)
        result = np.full((len(given), self._shape[0]), np.nan)
        result[inside] = self._points_at(given[inside])
        return result if np.ndim(coordinates) == 2 else result[0]

    def jacobian(self, coordinates: Any) -> FloatArray:
        """∂Φ/∂v [batch, dim, rank]: how each feature changes along each coordinate. NaN outside the domain."""
        given, inside = self._in_domain(coordinates)
        result = np.full((len(given), *self._shape), np.nan)
        result[inside] = self._jacobians_at(given[inside])
        return result if np.ndim(coordinates) == 2 else result[0]

    def _in_domain(self, coordinates: Any) -> tuple[FloatArray, BoolArray]:
        """Coordinates [batch, rank], and which rows lie in the domain. Those of points outside are NaN, and stay so."""
        given = np.array(as_real(coordinates, "coordinates"), ndmin=2)
        if given.ndim != 2 or given.shape[1] != self._shape[1]:
            raise ValueError(
                f"coordinates must have shape (batch, {self._shape[1]}), one column per coordinate; got shape "
                f"{np.shape(coordinates)}."
            )
        inside = np.asarray(np.isfinite(given).all(axis=1))
        inside[inside] = self._contains(given[inside])
        return given, inside


class SingleChart(OnDomain):
    """A chart by itself, in both directions."""

    @abstractmethod
    def locate(self, points: Any, *, outside: str = "nan") -> Located:
        """See `InvertibleChart`."""

    def transform(self, points: Any, *, outside: str = "nan") -> FloatArray:
        """Normal coordinates [batch, rank] of ``points`` [batch, dim]; see `locate`."""
        return self.locate(points, outside=outside).coordinates
