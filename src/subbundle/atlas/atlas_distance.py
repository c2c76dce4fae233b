"""Distances over an atlas: shortest paths from chart to chart, straightened as far as the charts are reliable.

A path over the graph is longer than a geodesic; straightened in the charts it becomes a geodesic of the atlas. Charts
with a large prediction error of their neighbours make it too short. With the weight t of paths relative to charts, a
length is the geometric mean of both with the weights t : 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._memory import require_memory
from subbundle._numbers import NOTICEABLE
from subbundle._parallel import resolve_jobs, run_rows
from subbundle._types import FloatArray, IntArray, evenly
from subbundle.atlas._path_kernels import straighten
from subbundle.atlas.linked_atlas import LinkedAtlas
from subbundle.atlas.tuning import COMPARED_PAIRS
from subbundle.geodesics.shortest import exchanged
from subbundle.graph.neighbor_graph import shortest_paths

# Trees of shortest paths kept at a time, and bytes of the products of pairs of charts.
_TREES, _PRODUCTS = 64, 2**24


class AtlasDistance:
    """Lengths between points given in the atlas's ambient coordinates.

    Parameters
    ----------
    atlas : LinkedAtlas
    path_weight : float
        Weight of paths over the graph relative to charts.
    """

    def __init__(self, atlas: LinkedAtlas, path_weight: float) -> None:
        self._atlas, self._chart_weight = atlas, 1.0 / (1.0 + path_weight)
        self._idle: list[tuple[IntArray, FloatArray]] = []

    def between(self, x: Any, y: Any) -> FloatArray:
        """Distance from each row of ``x`` [n, D] to the same row of ``y`` [n, D]; infinite between components."""
        (first, charts), (second, goals) = self._on_atlas(x), self._on_atlas(y)
        if len(first) != len(second):
            raise ValueError(f"x and y must have as many rows; got {len(x)} and {len(y)}. Use pairwise for all pairs.")
        return self._lengths(first, second, charts, goals)

    def pairwise(self, x: Any, y: Any = None) -> FloatArray:
        """Matrix [n, m] of the distances from ``x`` [n, D] to ``y`` [m, D], or among ``x``, symmetric."""
        n, m = len(x), len(x) if y is None else len(y)
        need = 8.0 * n * m * (3 + 2 * self._atlas.ambient_dim)  # the result, two indices, both ends of every pair
        require_memory(need, f"distances of {n} × {m} points", "Pass fewer rows at a time.")
        starts, charts = self._on_atlas(x)
        ends, goals = (starts, charts) if y is None else self._on_atlas(y)
        rows, columns = np.triu_indices(n, 1) if y is None else (index.ravel() for index in np.indices((n, m)))
        lengths = self._lengths(starts[rows], ends[columns], charts[rows], goals[columns])
        matrix = np.zeros((n, m))
        matrix[rows, columns] = lengths
        if y is None:
            matrix[columns, rows] = lengths
        return matrix

    def stress(self, points: FloatArray, coordinates: FloatArray) -> float:
        """Relative stress √(Σ (|z_i − z_j| − d_ij)²/Σ d_ij²) of ``coordinates`` [n, k] of ``points`` [n, D]."""
        first, second = _some_pairs(len(points))
        along = self.between(points[first], points[second])
        apart = np.linalg.norm(coordinates[first] - coordinates[second], axis=1)
        known = np.isfinite(along) & (first != second)
        total = float(np.sum(along[known] ** 2))
        return float(np.sqrt(np.sum((apart - along)[known] ** 2) / total)) if total > 0.0 else float("nan")

    def excess(self) -> float:
        """Median factor by which paths over the graph between bases are longer than these distances."""
        first, second = _some_pairs(len(self._atlas.base_points))
        graph = shortest_paths(self._atlas.links, first)[0][np.arange(len(first)), second]
        known = np.isfinite(graph) & (first != second)
        first, second, bases = first[known], second[known], self._atlas.base_points
        straight = self._lengths(bases[first], bases[second], first, second)
        return float(np.median(graph[known] / straight)) if known.any() else 1.0

    def _on_atlas(self, points: Any) -> tuple[FloatArray, IntArray]:
        """The projections [n, D] of ``points`` [n, D] and the charts [n] nearest to them."""
        located = self._atlas.locate(np.atleast_2d(points))
        return located.points, np.asarray(located.charts)

    def _lengths(self, starts: FloatArray, ends: FloatArray, charts: IntArray, goals: IntArray) -> FloatArray:
        """Lengths; paths start at the chart of lower number, so that both directions give the same bits."""
        swap = (goals < charts) | ((goals == charts) & exchanged(starts, ends))
        starts, ends = np.where(swap[:, None], ends, starts), np.where(swap[:, None], starts, ends)
        charts, goals = np.minimum(charts, goals), np.maximum(charts, goals)
        lengths = np.empty(len(starts))
        sources, which = np.unique(charts, return_inverse=True)
        for low in range(0, len(sources), _TREES):
            chosen = np.flatnonzero((which >= low) & (which < low + _TREES))
            tree, before = shortest_paths(self._atlas.links, sources[low : low + _TREES])
            rows = which[chosen] - low
            # Along the graph; for points of one chart at least their Euclidean distance.
            apart = np.linalg.norm(starts[chosen] - ends[chosen], axis=1)
            graph = np.maximum(tree[rows, goals[chosen]], apart)
            if self._chart_weight > NOTICEABLE:
                straight = self._straightened(starts, ends, charts, goals, chosen, rows, before)
                graph = straight**self._chart_weight * np.maximum(graph, straight) ** (1.0 - self._chart_weight)
            lengths[chosen] = graph
        # Exactly zero for equal points.
        lengths[np.all(starts == ends, axis=1)] = 0.0
        return lengths

    def _straightened(
        self,
        starts: FloatArray,
        ends: FloatArray,
        numbers: IntArray,
        goals: IntArray,
        chosen: IntArray,
        rows: IntArray,
        before: IntArray,
    ) -> FloatArray:
        """Straightened lengths of the ``chosen`` pairs; ``rows`` are those of their trees in ``before``."""
        charts, links, seen = self._atlas.charts, self._atlas.link_arrays, self._atlas.link_products
        first, last = np.ascontiguousarray(starts[chosen]), np.ascontiguousarray(ends[chosen])
        start_charts, end_charts = np.ascontiguousarray(numbers[chosen]), np.ascontiguousarray(goals[chosen])
        rows, found = np.ascontiguousarray(rows), np.empty(len(chosen))

        def work(start: int, stop: int) -> None:
            own, pairs = slice(start, stop), self._pairs()
            straighten(
                *charts.arrays, *links, *seen, charts.radii,
                first[own], last[own], start_charts[own], end_charts[own], rows[own], before, *pairs, found[own],
            )  # fmt: skip
            self._idle.append(pairs)

        run_rows(work, len(chosen), resolve_jobs(charts.n_jobs), calls_blas=False)
        return np.maximum(found, 1e-300)

    def _pairs(self) -> tuple[IntArray, FloatArray]:
        """Pairs of charts and their products, as `straighten` keeps them: those of an idle thread, or none yet."""
        try:
            return self._idle.pop()
        except IndexError:
            charts = self._atlas.charts
            size = charts.arrays[1].shape[1]
            slots = min(len(charts) ** 2, max(_PRODUCTS // (8 * size * (size + 1)), 1))
            return np.full(slots, -1), np.empty((slots, size, size + 1))


def _some_pairs(count: int) -> tuple[IntArray, IntArray]:
    """Rows spread evenly over ``count`` rows, and a fixed permutation of them."""
    first = evenly(count, COMPARED_PAIRS)
    return first, first[np.argsort((np.arange(len(first)) * 0.6180339887498949) % 1.0, kind="stable")]
