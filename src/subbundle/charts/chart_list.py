"""Charts in a row, asked together: pairs of a point, or coordinates, and the chart that is to answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from subbundle._types import FloatArray, IntArray, Status, StatusArray
from subbundle.charts._located import Located
from subbundle.charts.base import InvertibleChart


class ChartList(Sequence[InvertibleChart]):
    """Charts of any kinds; the methods are those of a chart, with the number of the chart for every row."""

    def __init__(self, charts: Sequence[InvertibleChart]) -> None:
        self._charts = tuple(charts)

    def __len__(self) -> int:
        return len(self._charts)

    def __getitem__(self, number: Any) -> Any:
        return self._charts[number]

    @cached_property
    def base_points(self) -> FloatArray:
        """μ_j [m, dim]."""
        return np.stack([chart.base_point for chart in self._charts])

    @cached_property
    def radii(self) -> FloatArray:
        """r_j [m]: distance of the outermost point of each chart."""
        return np.array([chart.radius for chart in self._charts])

    @property
    def rank(self) -> int:
        """k."""
        return int(self[0].rank)

    def locate(self, points: FloatArray, charts: IntArray) -> Located:
        """Project each of ``points`` [n, dim] to its chart of ``charts`` [n]; NaN where that does not cover it."""
        found = np.full_like(points, np.nan)
        coordinates, residuals = np.full((len(points), self.rank), np.nan), np.full(len(points), np.nan)
        status: StatusArray = np.full(len(points), Status.LEFT_SUPPORT, np.int8)
        for chart, rows in self._each(charts):
            part = chart.locate(points[rows])
            coordinates[rows], found[rows], residuals[rows] = part.coordinates, part.points, part.residuals
            status[rows] = part.status
        return Located(coordinates, found, residuals, status)

    def jacobian(self, coordinates: FloatArray, charts: IntArray) -> FloatArray:
        """∂Φ/∂v [n, dim, rank] of ``charts`` [n] at ``coordinates`` [n, rank]; NaN outside the domain."""
        jacobians = np.empty((len(charts), self.base_points.shape[1], self.rank))
        for chart, rows in self._each(charts):
            jacobians[rows] = chart.jacobian(coordinates[rows])
        return jacobians

    def extent_along(self, coordinates: FloatArray, charts: IntArray) -> FloatArray:
        """How far [n] the domains of ``charts`` [n] reach along the directions of ``coordinates`` [n, rank]."""
        reach = np.empty(len(charts))
        for chart, rows in self._each(charts):
            reach[rows] = chart.extent_along(coordinates[rows])
        return reach

    def _each(self, charts: IntArray) -> Iterator[tuple[Any, IntArray]]:
        """Every chart that occurs in ``charts`` [n], and the rows where it does."""
        order = np.argsort(charts, kind="stable")
        numbers, first = np.unique(charts[order], return_index=True)
        for number, rows in zip(numbers.tolist(), np.split(order, first)[1:], strict=True):
            yield self[number], rows
