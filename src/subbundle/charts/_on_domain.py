"""What charts of all kinds do alike: check coordinates, evaluate those in the domain, and leave the others NaN."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from subbundle._types import BoolArray, FloatArray
from subbundle._validation import as_real
from subbundle.charts._located import Located


class OnDomain(ABC):
    """Normal coordinates of a chart, whose class says what its domain is and evaluates the map inside."""

    @property
    @abstractmethod
    def _shape(self) -> tuple[int, int]:
        """Dimension of the points, and of the coordinates."""

    @abstractmethod
    def locate(self, points: Any, *, outside: str = "nan") -> Located:
        """See `InvertibleChart`."""

    @abstractmethod
    def _holds(self, coordinates: FloatArray) -> BoolArray:
        """Whether finite ``coordinates`` [n, rank] lie in the domain."""

    @abstractmethod
    def _points_at(self, coordinates: FloatArray) -> FloatArray:
        """Φ(v) [n, dim] at ``coordinates`` [n, rank] in the domain."""

    @abstractmethod
    def _jacobians_at(self, coordinates: FloatArray) -> FloatArray:
        """∂Φ/∂v [n, dim, rank] at ``coordinates`` [n, rank] in the domain."""

    def transform(self, points: Any, *, outside: str = "nan") -> FloatArray:
        """Normal coordinates [batch, rank] of ``points`` [batch, dim]; see `locate`."""
        return self.locate(points, outside=outside).coordinates

    def inside(self, coordinates: Any) -> BoolArray:
        """Whether ``coordinates`` [batch, rank] or [rank] lie in the domain; False for NaN."""
        held = self._held(coordinates)[1]
        return held if np.ndim(coordinates) == 2 else held[0]

    def inverse_transform(self, coordinates: Any) -> FloatArray:
        """Points [batch, dim] at ``coordinates`` [batch, rank] or [rank]; NaN outside the domain."""
        given, held = self._held(coordinates)
        result = np.full((len(given), self._shape[0]), np.nan)
        result[held] = self._points_at(given[held])
        return result if np.ndim(coordinates) == 2 else result[0]

    def jacobian(self, coordinates: Any) -> FloatArray:
        """∂Φ/∂v [batch, dim, rank]: how each feature changes along each coordinate. NaN outside the domain."""
        given, held = self._held(coordinates)
        result = np.full((len(given), *self._shape), np.nan)
        result[held] = self._jacobians_at(given[held])
        return result if np.ndim(coordinates) == 2 else result[0]

    def _held(self, coordinates: Any) -> tuple[FloatArray, BoolArray]:
        """Coordinates [batch, rank], and which rows lie in the domain. Those of points outside are NaN, and stay so."""
        given = np.array(as_real(coordinates, "coordinates"), ndmin=2)
        if given.ndim != 2 or given.shape[1] != self._shape[1]:
            raise ValueError(
                f"coordinates must have shape (batch, {self._shape[1]}), one column per coordinate; got shape "
                f"{np.shape(coordinates)}."
            )
        held = np.asarray(np.isfinite(given).all(axis=1))
        held[held] = self._holds(given[held])
        return given, held
