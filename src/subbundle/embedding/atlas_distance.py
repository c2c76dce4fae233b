"""Distances over an atlas of small charts: shortest paths from chart to chart, straightened."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.csgraph import dijkstra

from subbundle._memory import require_memory
from subbundle._parallel import resolve_jobs, run_rows
from subbundle._types import FloatArray, IntArray
from subbundle._validation import as_points
from subbundle.embedding._straighten_kernels import straighten
from subbundle.embedding.chart_graph import ChartGraph
from subbundle.embedding.developed_atlas import DevelopedAtlas

# Trees of shortest paths kept at a time.
_TREES = 64
_GRAIN = 16


class AtlasDistance:
    """Lengths of geodesics of an atlas, between points given in its ambient coordinates.

    Distances do not depend on where the atlas was cut to lay it out.
    """

    def __init__(self, atlas: DevelopedAtlas, pairs: IntArray, *, n_jobs: int | None = None) -> None:
        self._atlas, self._jobs = atlas, resolve_jobs(n_jobs)
        self.graph = ChartGraph(atlas.bases, atlas.frames, atlas.forms, pairs)
        matrix = self.graph.matrix
        matrix.sort_indices()
        self._link_starts, self._links = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)

    def between(self, x: Any, y: Any) -> FloatArray:
        """Distance from each row of ``x`` [n, D] to the same row of ``y`` [n, D]; infinite between separate parts."""
        x = as_points(x, "x", dim=self._atlas.bases.shape[1])
        y = as_points(y, "y", dim=self._atlas.bases.shape[1])
        if len(x) != len(y):
            raise ValueError(f"x and y must have as many rows; got {len(x)} and {len(y)}. Use pairwise for all pairs.")
        first, second = self._atlas.place(x), self._atlas.place(y)
        return self._straight(first.feet, second.feet, first.homes, second.homes)

    def pairwise(self, x: Any, y: Any = None) -> FloatArray:
        """Matrix [n, m] of the distances from ``x`` [n, D] to ``y`` [m, D], or among ``x``, symmetric."""
        x = as_points(x, "x", dim=self._atlas.bases.shape[1])
        n, m = len(x), len(x) if y is None else len(y)
        need = 8.0 * n * m * (3 + 2 * x.shape[1])  # the result, two indices, both ends of every pair
        require_memory(need, f"distances of {n} × {m} points", "Ask for fewer rows at a time.")
        here = self._atlas.place(x)
        if y is None:
            rows, columns = np.triu_indices(len(x), 1)
            matrix = np.zeros((len(x), len(x)))
            lengths = self._straight(here.feet[rows], here.feet[columns], here.homes[rows], here.homes[columns])
            matrix[rows, columns] = matrix[columns, rows] = lengths
            return matrix
        there = self._atlas.place(as_points(y, "y", dim=self._atlas.bases.shape[1]))
        rows, columns = (index.ravel() for index in np.indices((len(here.feet), len(there.feet))))
        lengths = self._straight(here.feet[rows], there.feet[columns], here.homes[rows], there.homes[columns])
        return lengths.reshape(len(here.feet), len(there.feet))

    def _straight(self, starts: FloatArray, ends: FloatArray, homes: IntArray, goals: IntArray) -> FloatArray:
        """Straightened lengths; a pair is walked from its smaller chart, so that both directions give the same bits."""
        swap = goals < homes
        starts, ends = np.where(swap[:, None], ends, starts), np.where(swap[:, None], starts, ends)
        homes, goals = np.minimum(homes, goals), np.maximum(homes, goals)
        lengths = np.empty(len(starts))
        sources, which = np.unique(homes, return_inverse=True)
        for low in range(0, len(sources), _TREES):
            chosen = np.flatnonzero((which >= low) & (which < low + _TREES))
            before = dijkstra(self.graph.matrix, indices=sources[low : low + _TREES], return_predecessors=True)[1]
            self._walk(starts, ends, homes, goals, chosen, which[chosen] - low, before.astype(np.int64), lengths)
        # Equal points are no path at all.
        lengths[np.all(starts == ends, axis=1)] = 0.0
        return lengths

    def _walk(
        self, starts: FloatArray, ends: FloatArray, homes: IntArray, goals: IntArray, chosen: IntArray, rows: IntArray,
        before: IntArray, lengths: FloatArray,
    ) -> None:  # fmt: skip
        atlas = self._atlas
        first, last = np.ascontiguousarray(starts[chosen]), np.ascontiguousarray(ends[chosen])
        start_homes, end_homes = np.ascontiguousarray(homes[chosen]), np.ascontiguousarray(goals[chosen])
        rows, found = np.ascontiguousarray(rows), np.empty(len(chosen))

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            straighten(
                atlas.bases, atlas.frames, atlas.forms, self._link_starts, self._links, atlas.spacings,
                first[part], last[part], start_homes[part], end_homes[part], rows[part], before, found[part],
            )  # fmt: skip

        run_rows(work, len(chosen), self._jobs, grain=_GRAIN, calls_blas=False)
        lengths[chosen] = found
