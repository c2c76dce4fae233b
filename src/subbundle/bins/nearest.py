"""Nearest neighbours among points spread evenly over a surface, as seeds and vertices of a mesh are.

Sorted into cubic bins a few spacings wide, the neighbours of a place are in the 3 × 3 × 3 bins around it, which lie in
nine runs of memory: four times as fast as a search tree. Where these are not enough, 5 × 5 × 5 and 7 × 7 × 7 are
searched; places further from all points are left to a tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray, bounds
from subbundle.bins._nearest_kernels import nearest_in_bins, sort_into_bins

# Sides of the bins, in spacings: from 2 to 6 a query takes the same time within a third.
_SIDE = 3.0
# Largest number of bins, 4 bytes each: bins are wider for points that are far apart.
_MOST_BINS = 2**24


class Bins:
    """``points`` [n, 3] about a ``spacing`` apart, which affects the time of a query, not its result."""

    def __init__(self, points: FloatArray, spacing: float) -> None:
        low, high = bounds(points)
        side = _SIDE * spacing
        extent = (high - low) / side
        while np.prod(np.floor(extent) + 1.0) > _MOST_BINS:
            side, extent = 2.0 * side, 0.5 * extent
        self.points, self._low, self._side = points, low, side
        self._tree: cKDTree | None = None
        self._shape = tuple(int(n) + 1 for n in extent)
        self._first, self._order, self._sorted = self._sort(points)

    def _sort(self, points: FloatArray) -> tuple[Any, IntArray, FloatArray]:
        """First place of every bin, the rows of ``points`` [n, 3] by bin, and the points in that order."""
        first = np.zeros(int(np.prod(self._shape)) + 1, np.int32)
        order, ordered = np.empty(len(points), np.int64), np.empty((len(points), 3))
        sort_into_bins(np.ascontiguousarray(points), self._low, self._side, self._shape, first, order, ordered)
        return first, order, ordered

    def query(self, places: FloatArray, k: int = 1) -> tuple[FloatArray, IntArray]:
        """Distances and rows [m, k] of the k ≤ n points nearest to each of ``places`` [m, 3], the nearest first.

        Of points at the same distance the lower row comes first.
        """
        distances, rows = np.empty((len(places), k)), np.empty((len(places), k), np.int64)
        nearest_in_bins(
            self._sorted, self._order, self._first, self._low, self._side, self._shape,
            self._sort(places)[1], np.ascontiguousarray(places), distances, rows,
        )  # fmt: skip
        left = np.flatnonzero(rows[:, -1] < 0)
        if left.size:
            self._tree = self._tree or cKDTree(self.points, balanced_tree=False)
            distances[left], rows[left] = self._tree.query(places[left], k=[*range(1, k + 1)])
        return distances, rows
