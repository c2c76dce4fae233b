"""Shortest paths through the cloud: where a search for a far target starts.

Landmarks, observations spread evenly over the tree and moved towards the ridge by a few mean shifts, are
joined to their nearest neighbours. Mean shifts gather landmarks in clusters; clusters that this leaves apart are joined
by their shortest bridges, up to the length of a gap that a geodesic can cross. In the noise of a high dimension the
observations themselves are all far from each other; their means are not, and the graph of the means follows the
manifold.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray, all_finite
from subbundle.bundles.base import HasLandmarks, LearnedSubbundle, Subbundle, widths_at
from subbundle.bundles.surroundings import surroundings_of
from subbundle.geodesics.tuning import MOST_LANDMARKS

# Neighbours of a landmark in the graph; components that this leaves apart are joined by bridges.
_NEIGHBOURS = 10
# The first leg, in bandwidths, gives the direction: shorter ones are noise, longer ones have turned.
_FIRST_LEG = 2.5
# Longest bridge, in bandwidths: about where the density in the middle of a gap falls below that of the support.
_LONGEST_BRIDGE = 4.0


class PathGraph:
    """Graph of the landmarks of a bundle."""

    def __init__(self, bundle: Subbundle) -> None:
        assert isinstance(bundle, HasLandmarks)
        self.points = bundle.landmarks(MOST_LANDMARKS)
        self.scale = bundle.length_scale
        self.around = surroundings_of(bundle)
        self.picture = self.around.picture(self.points[0])
        pictures = self.picture.enter(self.points)
        known = all_finite(pictures)
        self.points, pictures = self.points[known], pictures[known]
        self.tree = cKDTree(pictures)
        count = min(_NEIGHBOURS + 1, len(self.points))
        _, index = self.tree.query(pictures, k=count)
        rows = np.repeat(np.arange(len(self.points)), count)
        distance = self.around.distance(self.points[rows], self.points[index.ravel()])
        # Zero is no edge in a sparse graph; landmarks that coincide must stay joined.
        weights = np.maximum(distance, 1e-12 * self.scale)
        near = csr_matrix((weights, (rows, index.ravel())), shape=(len(self.points),) * 2)
        self.widths = widths_at(bundle, self.points)
        # With a bandwidth that varies, the widest: connected components are not decided here.
        self.graph = _bridged(near, pictures, _LONGEST_BRIDGE * float(self.widths.max()))

    def guesses(self, base: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Direction [n, dim] of the first leg from ``base`` [dim] to each target, and path length [n] (inf if none)."""
        source, goal = self._nearest(base[None])[0], self._nearest(targets)
        offset = self.around.distance(base[None], self.points[[source]])[0]
        beside = self.around.distance(targets, self.points[goal])
        length, before = dijkstra(self.graph, directed=False, indices=source, return_predecessors=True)
        leg = _FIRST_LEG * float(self.widths[source])
        legs = np.array([self._first_leg(before, int(node), length, leg) for node in goal])
        direction = self.around.displacement(np.broadcast_to(base, legs.shape), legs)
        return direction, length[goal] + offset + beside

    def lengths(self, base: FloatArray, targets: FloatArray) -> FloatArray:
        """Length [n] of the shortest path from ``base`` [dim] to each target: a little more than the distance."""
        source, goal = self._nearest(base[None])[0], self._nearest(targets)
        offset = self.around.distance(base[None], self.points[[source]])[0]
        beside = self.around.distance(targets, self.points[goal])
        return np.asarray(dijkstra(self.graph, directed=False, indices=source)[goal] + offset + beside)

    @cached_property
    def diameter(self) -> float:
        """Length of a longest shortest path, starting from sixteen landmarks spread over the cloud."""
        some = np.arange(0, len(self.points), max(len(self.points) // 16, 1))
        crossable = self.graph.copy()
        # The edge to an outlier may be longer than the diameter of the data, and no geodesic goes there.
        crossable.data[crossable.data > _LONGEST_BRIDGE * float(self.widths.max())] = 0.0
        crossable.eliminate_zeros()
        lengths = dijkstra(crossable, directed=False, indices=some)
        return float(lengths[np.isfinite(lengths)].max())

    def _nearest(self, points: FloatArray) -> IntArray:
        """The landmark nearest to each point [n, dim]; an arbitrary one where the point has no picture."""
        nearest = self.tree.query(np.nan_to_num(self.picture.enter(points)))[1]
        # The tree answers with its size where the square of the distance overflows.
        return np.asarray(np.minimum(nearest, self.tree.n - 1), dtype=np.int64)

    def _first_leg(self, before: IntArray, node: int, length: FloatArray, leg: float) -> FloatArray:
        """The point of the path to ``node`` that lies about one first ``leg`` away from its start."""
        while before[node] >= 0 and length[node] > leg:
            node = int(before[node])
        point: FloatArray = self.points[node]
        return point


def path_graph(bundle: Subbundle) -> PathGraph:
    """The graph of the landmarks, computed on first use and kept with the bundle."""
    return bundle.remembered(PathGraph) if isinstance(bundle, LearnedSubbundle) else PathGraph(bundle)


def _bridged(graph: csr_matrix, points: FloatArray, longest: float) -> csr_matrix:
    """``graph`` with the shortest bridge from every cluster to another added, until no bridge up to ``longest`` is
    left."""
    while True:
        count, labels = connected_components(graph, directed=False)
        bridges = [] if count == 1 else [_bridge(points, labels == label, longest) for label in range(count)]
        found = np.array([bridge for bridge in bridges if bridge[2] <= longest])
        if len(found) == 0:
            return graph
        ends = found[:, :2].astype(np.int64)
        graph = graph.maximum(csr_matrix((found[:, 2], (ends[:, 0], ends[:, 1])), shape=graph.shape))


def _bridge(points: FloatArray, cluster: np.ndarray, longest: float) -> tuple[int, int, float]:
    """Where the shortest bridge from the ``cluster`` [n] (a mask) to other points starts and ends, and its length."""
    inside, outside = np.flatnonzero(cluster), np.flatnonzero(~cluster)
    distance, nearest = cKDTree(points[outside]).query(points[inside], distance_upper_bound=1.001 * longest)
    first = int(np.argmin(distance))
    if not np.isfinite(distance[first]):
        return 0, 0, float("inf")
    # Zero is no edge: clusters of coinciding points must be joined too.
    length = max(float(distance[first]), 1e-12 * longest)
    return int(inside[first]), int(outside[nearest[first]]), length
