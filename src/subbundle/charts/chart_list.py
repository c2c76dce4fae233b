"""Lists of charts: the methods of a chart, with the number of the chart for every row, and all charts as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._types import BoolArray, FloatArray, IntArray, Status, StatusArray
from subbundle.charts.base import InvertibleChart, Located

# Ending of the names of the shapes of arrays.
_SHAPES = ".shapes"


class ChartList(Sequence[InvertibleChart]):
    """Charts of any kinds; the methods are those of a chart, with the number of the chart for every row.

    Outside its domain a chart gives NaN here as it does alone.
    """

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

    def locate(self, points: FloatArray, charts: IntArray, *, outside: str = "nan") -> Located:
        """Project each of ``points`` [n, dim] to its chart of ``charts`` [n]; ``outside`` as in `Chart.locate`."""
        found = np.full_like(points, np.nan)
        coordinates, residuals = np.full((len(points), self.rank), np.nan), np.full(len(points), np.nan)
        status: StatusArray = np.full(len(points), Status.LEFT_SUPPORT, np.int8)
        for chart, rows in self._each(charts):
            part = chart.locate(points[rows], outside=outside)
            coordinates[rows], found[rows], residuals[rows] = part.coordinates, part.points, part.residuals
            status[rows] = part.status
        return Located(coordinates, found, residuals, status)

    def inverse_transform(self, coordinates: FloatArray, charts: IntArray) -> FloatArray:
        """Points [n, dim] of ``charts`` [n] at ``coordinates`` [n, rank]; NaN outside the domain."""
        found = np.empty((len(charts), self.base_points.shape[1]))
        self._fill(found, charts, lambda chart, rows: chart.inverse_transform(coordinates[rows]))
        return found

    def jacobian(self, coordinates: FloatArray, charts: IntArray) -> FloatArray:
        """∂Φ/∂v [n, dim, rank] of ``charts`` [n] at ``coordinates`` [n, rank]; NaN outside the domain."""
        found = np.empty((len(charts), self.base_points.shape[1], self.rank))
        self._fill(found, charts, lambda chart, rows: chart.jacobian(coordinates[rows]))
        return found

    def inside(self, coordinates: FloatArray, charts: IntArray) -> BoolArray:
        """Whether ``coordinates`` [n, rank] lie in the domains of ``charts`` [n]; False for NaN."""
        found = np.empty(len(charts), bool)
        self._fill(found, charts, lambda chart, rows: chart.inside(coordinates[rows]))
        return found

    def extent_along(self, coordinates: FloatArray, charts: IntArray) -> FloatArray:
        """Extents [n] of the domains of ``charts`` [n] along the directions of ``coordinates`` [n, rank]; NaN for
        NaN."""
        found = np.empty(len(charts))
        self._fill(found, charts, lambda chart, rows: chart.extent_along(coordinates[rows]))
        return found

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of all charts, which are of one kind, one after the other, and their shapes [m, axes]."""
        each, found = [chart.to_arrays() for chart in self], {}
        for name in each[0]:
            found[name] = np.concatenate([one[name].ravel() for one in each])
            found[name + _SHAPES] = np.array([one[name].shape for one in each], np.int64)
        return found

    def _fill(self, found: Any, charts: IntArray, of: Callable[[Any, IntArray], Any]) -> None:
        """Write what ``of`` gives for each chart and the rows where it occurs in ``charts`` [n] into ``found`` [n]."""
        for chart, rows in self._each(charts):
            found[rows] = of(chart, rows)

    def _each(self, charts: IntArray) -> Iterator[tuple[Any, IntArray]]:
        """Every chart that occurs in ``charts`` [n], and the rows where it does."""
        order = np.argsort(charts, kind="stable")
        numbers, first = np.unique(charts[order], return_index=True)
        for number, rows in zip(numbers.tolist(), np.split(order, first)[1:], strict=True):
            yield self[number], rows


def arrays_of_each(arrays: Mapping[str, Any]) -> list[dict[str, NDArray[Any]]]:
    """The arrays of each chart, from those of `ChartList.to_arrays`."""
    pieces = {}
    for name in (name for name in arrays if name + _SHAPES in arrays):
        content, shapes = np.asarray(arrays[name]), np.asarray(arrays[name + _SHAPES])
        sizes = [prod(row) for row in shapes.tolist()] if shapes.ndim == 2 and shapes.dtype.kind == "i" else []
        if content.ndim != 1 or (shapes < 1).any() or sum(sizes) != len(content):
            raise ValueError(f"{name} must hold the arrays of all charts, and {name + _SHAPES} their shapes")
        parts = np.split(content, np.cumsum(sizes)[:-1])
        pieces[name] = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    return [dict(zip(pieces, row, strict=True)) for row in zip(*pieces.values(), strict=True)]
