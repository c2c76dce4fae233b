"""Routes through the cloud: which way around holes and necks a shortest path goes, before it is straightened.

Landmarks, observations spread evenly over the tree and moved to the ridge by way of their local means, one in each cell
of half a bandwidth, are the nodes of the neighbour graph (`graph.neighbor_graph`): edges across the tangent spaces are
dropped, arcs replace chords. In the noise of a high dimension the observations themselves are all far from each other;
their means are not, and the graph of the means follows the manifold.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray, all_finite
from subbundle.bundles.base import HasLandmarks, LearnedSubbundle, Subbundle, widths_at
from subbundle.bundles.ridge_project import ridge_project
from subbundle.bundles.surroundings import surroundings_of
from subbundle.geodesics.tuning import MOST_LANDMARKS
from subbundle.graph.neighbor_graph import graph_of
from subbundle.graph.neighborhoods import frame_size, nearest_rows, neighborhoods

# Neighbours of a landmark for each dimension: on a noisy torus 40 in all leave zigzags of 0.7 %, 80 of 0.3 %.
_NEIGHBOURS = 40
# Largest sine of the angle between an edge and the subspaces at its ends, unless it leads to one of the nearest: an arc
# is known to fourth order.
_TURNING = 0.5
# Length scales within which there is only one geodesic.
_ONE_WAY = 4.0
# Steps of the landmarks towards the ridge, from their local means.
_RIDGE_STEPS = 3
# Ways that are tried; how much longer than the shortest they may be in the graph; relative to its length, half the width
# of the middle, and how far apart there two ways count as different.
_WAYS, _HARDLY, _MIDDLE, _ELSEWHERE = 3, 1.1, 0.05, 0.15


class PathGraph:
    """The neighbour graph of the landmarks of a bundle, all of its components joined by bridges."""

    def __init__(self, bundle: Subbundle) -> None:
        assert isinstance(bundle, HasLandmarks)
        points = bundle.landmarks(MOST_LANDMARKS)
        self.picture = surroundings_of(bundle).picture(points[0])
        points, cells = _known(points, self.picture.enter(points))
        # Mean shifts gather landmarks in clusters, whose neighbours would all be their own.
        size = 0.5 * float(widths_at(bundle, points).min())
        points = points[np.sort(np.unique(np.floor(cells / size), axis=0, return_index=True)[1])]
        # They also shrink bends, by different fractions on either side of a hole.
        points = ridge_project(bundle, points, max_steps=_RIDGE_STEPS).points
        self.points, pictures = _known(points, self.picture.enter(points))
        self.tree, self.one_way = cKDTree(pictures), _ONE_WAY * float(bundle.length_scale)
        self.frames = np.swapaxes(np.nan_to_num(bundle.frame(self.points).vectors), 1, 2)
        self.neighbors = min(_NEIGHBOURS * bundle.rank, len(pictures) - 1)
        self.graph = self._joined(pictures, bundle.rank) if self.neighbors else csr_array((1, 1))

    def _joined(self, pictures: FloatArray, rank: int) -> csr_array:
        """Arcs between the landmarks: short ones along the tangent spaces, long ones if they turn little."""
        flat = pictures.shape == self.points.shape
        frames = self.frames if flat and np.array_equal(pictures - pictures[0], self.points - self.points[0]) else None
        few = min(self.neighbors, frame_size(rank))
        near = nearest_rows(pictures, self.neighbors)
        edges = neighborhoods(pictures, near, min(rank, pictures.shape[1]), frame_neighbors=few, frames=frames)
        turning = edges.across > _TURNING
        turning[:, :few] = False
        return graph_of(pictures, replace(edges, across=np.where(turning, 1.0, edges.across))).joined()

    def routes(self, x: FloatArray, y: FloatArray) -> list[list[IntArray]]:
        """Ways from x to y [n, dim], row by row, the shortest first: landmarks from the nearest to x to that to y.

        A geodesic around the other side of a hole or a neck crosses the middle, where both ends are equally far,
        elsewhere. Zigzags make paths through the graph longer by different fractions, so that such ways count as well
        if they are hardly longer.
        """
        sources, goals = self._nearest(x), self._nearest(y)
        ends, place = np.unique(np.concatenate([sources, goals]), return_inverse=True)
        lengths, before = dijkstra(self.graph, indices=ends, return_predecessors=True)
        found = []
        for source, goal, start, end in zip(place[: len(x)], place[len(x) :], sources, goals, strict=True):
            ways = [_walk(before[source], int(end))]
            for node in self._elsewhere(lengths[source], lengths[goal], ways[0], float(lengths[source, end])):
                ways.append(np.concatenate([_walk(before[source], node), _walk(before[goal], node)[-2::-1]]))
            found.append(ways if start != end else [ways[0][:0]])
        return found

    def _elsewhere(self, near: FloatArray, far: FloatArray, way: IntArray, best: float) -> list[int]:
        """Landmarks in the middle of further ways, given the lengths [n] from both ends, and the best way's length."""
        if best <= self.one_way or len(way) == 0:
            return []
        total = np.where(np.abs(near - far) <= _MIDDLE * best, near + far, np.inf)
        middles = [int(way[np.argmin(np.abs(near[way] - far[way]))])]
        while len(middles) < _WAYS:
            offsets = self.tree.data - self.tree.data[middles[-1]]
            total[np.sqrt((offsets * offsets).sum(axis=1)) < _ELSEWHERE * best] = np.inf
            node = int(np.argmin(total))
            if not total[node] <= _HARDLY * best:
                break
            middles.append(node)
        return middles[1:]

    def _nearest(self, points: FloatArray) -> IntArray:
        """The landmark nearest to each point [n, dim]; an arbitrary one where the point has no picture."""
        nearest = self.tree.query(np.nan_to_num(self.picture.enter(points)))[1]
        # The tree answers with its size where the square of the distance overflows.
        return np.asarray(np.minimum(nearest, self.tree.n - 1), dtype=np.int64)


def path_graph(bundle: Subbundle) -> PathGraph:
    """The graph of the landmarks, computed on first use and kept with the bundle."""
    return bundle.remembered(PathGraph) if isinstance(bundle, LearnedSubbundle) else PathGraph(bundle)


def _known(points: FloatArray, pictures: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Those of the points that have a picture, and their pictures."""
    known = all_finite(pictures)
    return points[known], pictures[known]


def _walk(before: IntArray, goal: int) -> IntArray:
    """Nodes from the source of the predecessors ``before`` to ``goal``."""
    nodes = [goal]
    while before[nodes[-1]] >= 0:
        nodes.append(int(before[nodes[-1]]))
    return np.array(nodes[::-1], np.int64)
