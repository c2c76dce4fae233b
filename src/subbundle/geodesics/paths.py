"""Routes through the neighbour graph: homotopy classes, around holes and necks, of candidates for shortest paths.

Landmarks, observations spread evenly over the tree and moved to the ridge by mean shifts, a third of a bandwidth apart
or more, are the nodes of the neighbour graph (`graph.neighbor_graph`): edges across the tangent spaces are
dropped, arcs replace chords. In the noise of a high dimension the observations themselves are all far from each other;
their means are not, and the graph of the means follows the manifold.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import block_array, csr_array
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray, all_finite
from subbundle.bundles.base import LearnedSubbundle
from subbundle.bundles.surroundings import FLAT, surroundings_of
from subbundle.cloud.tuning import BLOCK_DIM
from subbundle.geodesics.arcs import arcs_between
from subbundle.geodesics.connected_components import connected_components
from subbundle.geodesics.on_ridge import OnRidge, on_ridge
from subbundle.geodesics.tuning import (
    DETOUR,
    FEWEST_LANDMARKS,
    LANDMARK_NEIGHBOURS,
    MOST_LANDMARKS,
    RIDGE_STEPS,
)
from subbundle.graph.neighbor_graph import graph_of, graph_of_edges, shortest_paths
from subbundle.graph.neighborhoods import frame_size, nearest_rows, neighborhoods


class PathGraph:
    """The neighbour graph of the landmarks of a bundle, all of its components joined by bridges.

    ``sight`` is how far a landmark has edges, at least the reach of components: points see each other up to there.
    """

    def __init__(self, bundle: LearnedSubbundle) -> None:
        points = bundle.landmarks(_count(bundle.ambient_dim))
        self.local_map = surroundings_of(bundle).local_map(points[0])
        points, cells = _known(points, self.local_map.enter(points))
        # Mean shifts concentrate landmarks in clusters, whose neighbours would all be in the same cluster.
        outermost = int(np.argmax(np.linalg.norm(cells - cells.mean(axis=0), axis=1)))
        points = points[farthest(cells, 0.35 * float(bundle.bandwidth_at(points).min()), outermost)]
        # They also shorten curved stretches, by different fractions on either side of a hole.
        landmarks = on_ridge(bundle, points, RIDGE_STEPS)
        images = self.local_map.enter(landmarks.points)
        known = all_finite(images)
        known &= landmarks.placed if landmarks.placed.any() else True
        self.landmarks, images = landmarks.at(np.flatnonzero(known)), images[known]
        self.points, self.frames = self.landmarks.points, self.landmarks.frames
        self.bundle, self.flat, self.tree = bundle, surroundings_of(bundle) is FLAT, cKDTree(images)
        self.sheet = cKDTree(self.points), self.frames
        self.neighbors, self.sight = min(LANDMARK_NEIGHBOURS * bundle.rank, len(images) - 1), 0.0
        self.graph = self._joined(images, bundle.rank) if self.neighbors else csr_array((1, 1))

    def _joined(self, images: FloatArray, rank: int) -> csr_array:
        """Arcs between the landmarks that see each other; on a manifold edges along the tangent spaces."""
        near = nearest_rows(images, self.neighbors)
        if not self.flat:
            few = min(self.neighbors, frame_size(rank))
            return graph_of(
                images, neighborhoods(images, near, min(rank, images.shape[1]), frame_neighbors=few)
            ).joined()
        chords = np.linalg.norm(images[near] - images[:, None], axis=2)
        rows = np.repeat(np.arange(len(near)), self.neighbors)
        pairs = np.stack([np.minimum(rows, near.ravel()), np.maximum(rows, near.ravel())])
        (i, j), edge = np.unique(pairs, axis=1, return_inverse=True)
        lengths = self.arcs(self.landmarks.at(i), self.landmarks.at(j))
        lengths = lengths[edge.ravel()].reshape(near.shape)
        reach = float(np.max(connected_components(self.bundle).reach))
        self.sight = max(reach, float(np.median(chords[:, -1])))
        return graph_of_edges(images, near, chords, lengths, rank).joined()

    def arcs(self, x: OnRidge, y: OnRidge, known: float | FloatArray = np.inf) -> FloatArray:
        """`arcs_between` x and y."""
        return arcs_between(self.bundle, self.sheet, x.points, x.frames, y.points, y.frames, known)

    def nearest(self, points: FloatArray) -> IntArray:
        """The landmark [n] nearest to each of ``points`` [n, dim]."""
        near = self.tree.query(np.nan_to_num(self.local_map.enter(points)))[1]
        return np.asarray(np.minimum(near, self.tree.n - 1), np.int64)

    def legs(self, ends: OnRidge) -> tuple[IntArray, FloatArray]:
        """Landmarks [n, q] around ``ends``, and the arcs to them [n, q], infinite where they do not see each other.

        On a manifold they are chords under a local map.
        """
        count = max(self.neighbors, 1)
        chords, near = self.tree.query(np.nan_to_num(self.local_map.enter(ends.points)), k=count)
        # The tree returns its size where the square of the distance overflows.
        near = np.minimum(np.reshape(near, (len(ends.points), count)), self.tree.n - 1)
        if not self.flat:
            return near, np.reshape(chords, near.shape)
        rows = np.repeat(np.arange(len(near)), count)
        return near, self.arcs(ends.at(rows), self.landmarks.at(near.ravel())).reshape(near.shape)

    def lengths(self, near: IntArray, legs: FloatArray) -> tuple[FloatArray, IntArray]:
        """Shortest paths [n, landmarks] from points with these `legs`, and the landmark before each, −1 for none."""
        count, nodes = len(near), len(self.points)
        usable = np.isfinite(legs)
        # Zero is no edge in a sparse graph. No edge leads to the points: no path passes through another.
        first = csr_array((np.maximum(legs[usable], 1e-300), (np.nonzero(usable)[0], near[usable])), (count, nodes))
        graph = csr_array(block_array([[csr_array((count, count)), first], [None, self.graph]]))
        found, before = shortest_paths(graph, np.arange(count))
        return found[:, count:], np.maximum(before[:, count:] - count, -1)

    def routes(self, x: OnRidge, y: OnRidge) -> list[list[IntArray]]:
        """Paths from x to y, row by row, the shortest first: the landmarks between them.

        A geodesic around the other side of a hole or a neck crosses the bisector, equally far from both ends,
        elsewhere. Zigzags make paths through the graph longer by different fractions, so such paths are kept if they
        are longer than the shortest, of length ℓ, by no more than a factor q (`DETOUR`). In a plane all paths of up to
        qℓ cross the bisector within ½ ℓ √(q² − 1) of the shortest; those that do so further away are different.
        """
        both = OnRidge(*(np.concatenate(parts) for parts in zip(x, y, strict=True)))
        _, first, place = np.unique(both.points, axis=0, return_index=True, return_inverse=True)
        lengths, before = self.lengths(*self.legs(both.at(first)))
        chords = surroundings_of(self.bundle).distance(x.points, y.points)
        found = []
        for source, goal, chord in zip(*place.reshape(2, -1), chords, strict=True):
            midpoints = self._midpoints(lengths[source], lengths[goal]) if chord > self.bundle.length_scale else []
            paths = [
                np.concatenate([_path(before[source], node), _path(before[goal], node)[-2::-1]]) for node in midpoints
            ]
            found.append(paths or [np.empty(0, np.int64)])
        return found

    def _midpoints(self, near: FloatArray, far: FloatArray) -> list[int]:
        """Landmarks half way between two points, one per path, given the lengths [n] of shortest paths from either."""
        total = near + far
        best = float(total.min())
        if not np.isfinite(best):
            return []
        width = 0.5 * np.sqrt(DETOUR**2 - 1.0) * best
        total = np.where(np.abs(near - far) <= width, total, np.inf)
        midpoints: list[int] = []
        while total.min() <= DETOUR * best:
            midpoints.append(int(np.argmin(total)))
            offsets = self.tree.data - self.tree.data[midpoints[-1]]
            total[np.sqrt((offsets * offsets).sum(axis=1)) < width] = np.inf
        return midpoints or [int(np.argmin(near + far))]


def _count(dim: int) -> int:
    """Landmarks of a graph: fewer above 16 dimensions, where one costs much more (30 ms in R^50)."""
    return max(int(MOST_LANDMARKS * min(1.0, BLOCK_DIM / dim) ** 2), FEWEST_LANDMARKS)


def farthest(points: FloatArray, apart: float, first: int) -> IntArray:
    """Rows of ``points`` [n, dim], each the farthest from those before, until all others are within ``apart``. Unlike
    boxes the sample turns with the points."""
    distances = np.full(len(points), np.inf)
    rows: list[int] = []
    row = first
    while distances[row] > apart:
        rows.append(row)
        distances = np.minimum(distances, np.linalg.norm(points - points[row], axis=1))
        row = int(np.argmax(distances))
    return np.array(rows, np.int64)


def path_graph(bundle: LearnedSubbundle) -> PathGraph:
    """The graph of the landmarks, computed on first use and cached with the bundle."""
    return bundle.remembered(PathGraph)


def _known(points: FloatArray, images: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Those of the points that have an image, and their images."""
    known = all_finite(images)
    return points[known], images[known]


def _path(before: IntArray, goal: int) -> IntArray:
    """Nodes up to ``goal`` by the predecessors ``before``."""
    nodes = [goal]
    while before[nodes[-1]] >= 0:
        nodes.append(int(before[nodes[-1]]))
    return np.array(nodes[::-1], np.int64)
