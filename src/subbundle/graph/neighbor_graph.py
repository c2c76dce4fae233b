"""The neighbour graph of a cloud: components, bridges, shortest paths, landmarks.

neighbours  the n_neighbors nearest rows of each row
frames      k principal directions of the nearest of them; edges across the smoothed frames are dropped
lengths     arcs instead of chords
components  the components that remain are joined by shortest bridges; exceptionally long ones are gaps

A bridge of length ℓ is a *gap* of the shape if it is long relative to the spacing at both its ends. Where m rows lie
within r, a ball of radius ℓ/2 would hold m (ℓ/2r)^k rows at the same density; an empty one is not due to chance when
that number exceeds log n + 5, and not to uneven density when ℓ > 4 r.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from subbundle._types import BoolArray, FloatArray, IntArray
from subbundle._validation import as_integer, as_points
from subbundle.cloud import Cloud
from subbundle.graph.bridges import shortest_bridges
from subbundle.graph.neighborhoods import Neighborhoods, frame_size, nearest_rows, neighborhoods
from subbundle.graph.tuning import LOG_SIGNIFICANCE, STANDS_OUT


@dataclass(frozen=True, slots=True)
class NeighborGraph:
    """Rows as nodes, edges with their lengths along the shape.

    Attributes
    ----------
    lengths : csr_array [n, n]
        Symmetric; arcs of the kept edges, chords of the bridges that are no gaps.
    components : [n]
        Connected component of each row, the largest being 0.
    bridges : [B, 2]
        Pairs of rows that join components, gaps included.
    bridge_lengths : [B]
    n_neighbors, rank : int
    """

    lengths: csr_array
    components: IntArray
    bridges: IntArray
    bridge_lengths: FloatArray
    n_neighbors: int
    rank: int

    @property
    def n_components(self) -> int:
        """Number of connected components."""
        return int(self.components.max()) + 1

    def shortest_paths(self, sources: IntArray) -> FloatArray:
        """Lengths [len(sources), n] of the shortest paths; infinite between components."""
        return shortest_paths(self.lengths, sources)[0]

    def joined(self) -> csr_array:
        """The lengths with all bridges, gaps included: one component."""
        if self.n_components == 1:
            return self.lengths
        ends = self.bridges.T
        bridges = csr_array((self.bridge_lengths, (ends[0], ends[1])), shape=self.lengths.shape)
        return csr_array(self.lengths.maximum(bridges).maximum(bridges.T))


def shortest_paths(lengths: Any, sources: IntArray) -> tuple[FloatArray, IntArray]:
    """Lengths [s, n] of the shortest paths from ``sources`` [s] to all nodes, infinite where there is none, and the
    node before each, −1 for none, over edges from rows to columns with ``lengths`` [n, n], a sparse matrix."""
    found, before = dijkstra(lengths, indices=sources, return_predecessors=True)
    return np.asarray(found), np.maximum(before, -1).astype(np.int64)


def neighbor_graph(points: Any, n_neighbors: int, rank: int) -> NeighborGraph:
    """The neighbour graph of ``points`` [n, D] on a shape of dimension ``rank``.

    The result is a function of the set of rows: in another order they get the same lengths.

    Examples
    --------
    >>> import numpy as np
    >>> from subbundle.graph import neighbor_graph
    >>> angle = np.linspace(0.0, np.pi, 60)
    >>> half_circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> float(neighbor_graph(half_circle, 4, 1).shortest_paths(np.array([0]))[0, -1].round(2))
    3.14
    """
    array = as_points(points, "points")
    rank = as_integer(rank, "rank", low=1, high=array.shape[1])
    most = len(array) - 1
    n_neighbors = as_integer(n_neighbors, "n_neighbors", low=1, high=most, why="below the number of rows")
    order = Cloud(array).order
    rows = array[order]
    near = nearest_rows(rows, n_neighbors)
    found = graph_of(rows, neighborhoods(rows, near, rank, frame_neighbors=min(n_neighbors, frame_size(rank))))
    return _reordered(found, order)


def graph_of(points: FloatArray, edges: Neighborhoods) -> NeighborGraph:
    """The graph of given ``edges`` among ``points`` [n, D], in the order of the rows."""
    lengths = np.where(edges.along, edges.arcs, np.inf)
    return graph_of_edges(points, edges.neighbors, edges.chords, lengths, edges.frames.shape[1])


def graph_of_edges(
    points: FloatArray, near: IntArray, chords: FloatArray, arcs: FloatArray, rank: int
) -> NeighborGraph:
    """The graph of edges from the rows of ``points`` [n, D] to ``near`` [n, m], with straight lengths ``chords`` and
    lengths ``arcs`` [n, m] along the shape, infinite for those that are dropped."""
    count, n_neighbors = near.shape
    kept = np.isfinite(arcs)
    rows = np.broadcast_to(np.arange(count)[:, None], kept.shape)[kept]
    one_way = csr_array((arcs[kept], (rows, near[kept])), shape=(count, count))
    graph = csr_array(one_way.maximum(one_way.T))
    bridges, lengths = shortest_bridges(graph, points)
    spacing = chords[:, n_neighbors // 2]
    passable = ~_gaps(bridges, lengths, spacing, n_neighbors, rank)
    if passable.any():
        ends = bridges[passable].T
        least = float(chords.min())
        joined = csr_array((np.maximum(lengths[passable], least), (ends[0], ends[1])), shape=(count, count))
        graph = csr_array(graph.maximum(joined).maximum(joined.T))
    labels = connected_components(graph, directed=False)[1]
    return NeighborGraph(graph, by_size(labels), bridges, lengths, n_neighbors, rank)


def _gaps(pairs: IntArray, lengths: FloatArray, spacing: FloatArray, n_neighbors: int, rank: int) -> BoolArray:
    """Which bridges [B] are gaps; ``spacing`` [n] is each row's distance to half of its ``n_neighbors``."""
    expected = 2.0 * (np.log(len(spacing)) + LOG_SIGNIFICANCE) / n_neighbors
    ratio = max(STANDS_OUT, 2.0 * expected ** (1.0 / rank))
    return np.asarray(lengths > ratio * spacing[pairs].max(axis=1)) if len(pairs) else np.zeros(0, bool)


def by_size(labels: Any) -> IntArray:
    """``labels`` [n] renumbered so that the largest component is 0; equally large ones in the order of their rows."""
    _, first, inverse, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), np.int64)
    rank[np.lexsort((first, -counts))] = np.arange(len(counts))
    return np.asarray(rank[inverse])


def _reordered(graph: NeighborGraph, order: Any) -> NeighborGraph:
    """``graph`` of the rows as they were before they were sorted by ``order`` [n]."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return NeighborGraph(
        csr_array(graph.lengths[place][:, place]), graph.components[place], np.asarray(order, np.int64)[graph.bridges],
        graph.bridge_lengths, graph.n_neighbors, graph.rank,
    )  # fmt: skip
