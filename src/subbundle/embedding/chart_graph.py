"""The graph of charts with the lengths between their bases: shortest paths, a central chart, unrolling along trees."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from subbundle._types import FloatArray, IntArray
from subbundle.charts.quadric_kernels import base_coordinates
from subbundle.embedding.chart_links import Links

# Charts from which all distances are taken to find a central one.
_PROBES = 16


class ChartGraph:
    """Bases as nodes, links as edges of length ½ (|v_c(μ_e)| + |v_e(μ_c)|)."""

    def __init__(self, bases: FloatArray, frames: FloatArray, forms: FloatArray, pairs: IntArray) -> None:
        count, rank = len(bases), frames.shape[2]
        pairs = np.ascontiguousarray(pairs)
        self.pairs = pairs
        self.forward, self.backward = np.empty((len(pairs), rank)), np.empty((len(pairs), rank))
        base_coordinates(bases, frames, forms, pairs, self.forward, self.backward)
        self.lengths = 0.5 * (np.linalg.norm(self.forward, axis=1) + np.linalg.norm(self.backward, axis=1))
        self.lengths = np.maximum(self.lengths, 1e-300)
        rows, columns = np.concatenate([pairs, pairs[:, ::-1]]).T
        self.matrix = csr_array((np.tile(self.lengths, 2), (rows, columns)), shape=(count, count))
        self._numbers = csr_array((np.tile(np.arange(len(pairs)) + 1, 2), (rows, columns)), shape=(count, count))
        self._numbers.sort_indices()

    def central(self, part: IntArray) -> int:
        """The chart of ``part`` [m] whose largest distance to a few others of the part is least."""
        probes = part[(np.arange(min(_PROBES, len(part))) * len(part)) // min(_PROBES, len(part))]
        far = dijkstra(self.matrix, indices=probes)[:, part].max(axis=0)
        return int(part[np.argmin(far)])

    def trees(self, roots: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
        """Distance to the nearest of ``roots``, the chart before on the way there (−9999 at roots), and the root."""
        distance, before, root = dijkstra(self.matrix, indices=roots, min_only=True, return_predecessors=True)
        return distance, before, root

    def number(self, first: int, second: int) -> int:
        """Which link joins two charts."""
        row = slice(self._numbers.indptr[first], self._numbers.indptr[first + 1])
        place = np.searchsorted(self._numbers.indices[row], second)
        return int(self._numbers.data[row][place]) - 1

    def developed(self, links: Links, distance: FloatArray, before: IntArray) -> FloatArray:
        """Positions [M, k] of the bases when the charts are unrolled along the trees."""
        count, rank = len(distance), self.forward.shape[1]
        turned = np.broadcast_to(np.eye(rank), (count, rank, rank)).copy()
        position = np.zeros((count, rank))
        for chart in np.argsort(distance, kind="stable"):
            parent = before[chart]
            if parent < 0:
                continue
            number = self.number(parent, chart)
            ahead = self.pairs[number, 0] == parent
            turn = links.turns[number] if ahead else links.turns[number].T
            step = self.forward[number] if ahead else self.backward[number]
            position[chart] = position[parent] + step @ turned[parent]
            turned[chart] = turn @ turned[parent]
        return position
