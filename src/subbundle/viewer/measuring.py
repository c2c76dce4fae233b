"""Exact lengths and paths, computed by Python for an open page."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.viewer.rows import CURVE_POINTS, ENOUGH
from subbundle.viewer.tuning import OTHER_WAY

Paths = dict[str, FloatArray]
Place = Callable[[FloatArray], FloatArray]


class Measure(Protocol):
    """How distances and paths between rows of a table are computed."""

    def length(self, i: int, j: int) -> float:
        """Distance of rows i and j along the shape; infinite where not connected, NaN where no path was found."""

    def ends(self, i: int, j: int) -> FloatArray:
        """The two rows, [2, d]."""

    def paths(self, i: int, j: int, length: float) -> Paths:
        """Points [m, 3] in each panel of a geodesic of about that ``length``; empty where none was found."""


class BundleMeasure:
    """Geodesics of a subbundle between ``points`` [n, dim] of its own space."""

    def __init__(self, bundle: Any, points: FloatArray, shown: Callable[[FloatArray], Paths]) -> None:
        self._bundle, self._points, self._shown = bundle, points, shown

    def length(self, i: int, j: int) -> float:
        """`subbundle.distance` of the two rows."""
        from subbundle.geodesics.distance import distance

        return float(distance(self._bundle, self._points[i], self._points[j]))

    def ends(self, i: int, j: int) -> FloatArray:
        """The two rows, [2, dim]."""
        return self._points[[i, j]]

    def paths(self, i: int, j: int, length: float) -> Paths:
        """`subbundle.geodesic_between` the two rows, unless `distance` found a shorter path."""
        from subbundle.geodesics.between import geodesic_between

        x, y = self._points[i], self._points[j]
        # `distance` starts at the point that comes first in lexicographic order; with noise the geodesic in the other
        # direction differs slightly.
        turned = tuple(y) < tuple(x)
        start, end = (y, x) if turned else (x, y)
        found = geodesic_between(self._bundle, start, end, n_points=CURVE_POINTS)
        if found.status != Status.OK or abs(float(found.lengths) - length) > OTHER_WAY * length:
            return {}
        return self._shown(found.points[::-1] if turned else found.points)


class ModelMeasure:
    """Geodesics of a fitted estimator: the length is its own, the path the first of ``ways`` that is as long.

    A way takes two row numbers and the length, and returns paths in the panels, or nothing.
    """

    def __init__(
        self,
        rows: FloatArray,
        length: Callable[[FloatArray, FloatArray], float],
        ways: Sequence[Callable[[int, int, float], Paths]],
    ) -> None:
        self._rows, self._length, self._ways = rows, length, ways

    def length(self, i: int, j: int) -> float:
        """The distance of the estimator."""
        return float(self._length(self._rows[i], self._rows[j]))

    def ends(self, i: int, j: int) -> FloatArray:
        """The two rows, [2, n_features]."""
        return self._rows[[i, j]]

    def paths(self, i: int, j: int, length: float) -> Paths:
        """The result of the first way that finds a path."""
        found = (way(i, j, length) for way in self._ways)
        return next((paths for paths in found if paths), {})


def is_about(path: FloatArray, length: float) -> bool:
    """Whether the polygon through ``path`` [m, d] is about as long as ``length``."""
    own = float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
    return abs(own - length) <= OTHER_WAY * length


class LearnedMeasure:
    """A plain cloud [n, d], whose shape is learned at the first request."""

    def __init__(self, points: Any, place: Place) -> None:
        self._points, self._place = points, place
        self._metric: Any = None

    def ends(self, i: int, j: int) -> FloatArray:
        """The two rows, [2, d]."""
        return np.stack([np.asarray(self._points[i], dtype=np.float64), np.asarray(self._points[j], dtype=np.float64)])

    def _learned(self) -> Any:
        if self._metric is None:
            from subbundle.estimators import GeodesicDistance

            step = max(1, -(-len(self._points) // ENOUGH))
            rows = np.asarray(self._points[::step], dtype=np.float64)
            self._metric = GeodesicDistance(rank="auto").fit(rows[np.isfinite(rows).all(axis=1)])
        return self._metric

    def length(self, i: int, j: int) -> float:
        """`subbundle.GeodesicDistance` of the two rows."""
        return float(self._learned()(*self.ends(i, j)))

    def paths(self, i: int, j: int, length: float) -> Paths:
        """The geodesic between the two rows after both were projected to the ridge."""
        from subbundle.bundles.ridge import carry_to_ridge

        metric = self._learned()
        kept = (self.ends(i, j) - metric.mean_) @ metric.axes_
        ends = carry_to_ridge(metric.bundle_, kept).points
        key = f"space{len(metric.mean_)}"
        shown = BundleMeasure(
            metric.bundle_, ends, lambda path: {key: self._place(metric.mean_ + path @ metric.axes_.T)}
        )
        return shown.paths(0, 1, length)


def answer(measures: dict[str, Measure], question: Any) -> dict[str, Any]:
    """Answer a page: ``{"kind": "geodesic", "table": key, "rows": [i, j]}``. Errors are answers too."""
    try:
        measure, i, j = _read(measures, question)
    except (ValueError, TypeError, KeyError) as error:
        return {"error": f"a request must name a table and two of its rows; {error}"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            length = measure.length(i, j)
            paths = measure.paths(i, j, length) if np.isfinite(length) else {}
        except (ValueError, ArithmeticError, IndexError) as error:
            return {"error": " ".join(str(error).split())}
    messages = (
        [] if paths or not np.isfinite(length) else ["The length is exact; the path drawn is the shortest in a graph."]
    )
    if np.isnan(length):
        messages = ["No geodesic was found between these points."]
    messages += list(dict.fromkeys(str(warning.message) for warning in caught))
    return {
        "length": length if np.isfinite(length) else None,
        "straight": float(np.linalg.norm(np.subtract(*measure.ends(i, j)))),
        "paths": {key: path[np.isfinite(path).all(axis=1)].tolist() for key, path in paths.items()},
        "message": " ".join(messages),
    }


def _read(measures: dict[str, Measure], question: Any) -> tuple[Measure, int, int]:
    if not isinstance(question, dict) or question.get("kind") != "geodesic":
        raise ValueError("its kind must be 'geodesic'")
    rows = question.get("rows")
    if not isinstance(rows, list) or len(rows) != 2 or not all(type(row) is int and row >= 0 for row in rows):
        raise ValueError("rows must be two row numbers")
    if question.get("table") not in measures:
        raise ValueError("that table has no geodesics")
    return measures[question["table"]], rows[0], rows[1]
