"""Routes through the neighbour graph: homotopy classes, around holes and necks, of candidates for shortest paths.

Landmarks, observations spread evenly over the tree and moved to the ridge by mean shifts, a third of a bandwidth apart
or more, are the nodes of the neighbour graph (`graph.neighbor_graph`): edges across the tangent spaces are
dropped, arcs replace chords. In the noise of a high dimension the observations themselves are all far from each other;
their means are not, and the graph of the means follows the manifold.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import block_array, csr_array
from scipy.spatial import cKDTree

from subbundle._types import BoolArray, FloatArray, IntArray, Status, all_finite
from subbundle.bundles.base import LearnedSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.bundles.surroundings import FLAT, surroundings_of
from subbundle.cloud.tuning import BLOCK_DIM
from subbundle.geodesics.connected_components import connected_components
from subbundle.geodesics.straighten import arcs_between, jumps_between
from subbundle.geodesics.tuning import (
    DETOUR,
    FEWEST_LANDMARKS,
    LANDMARK_NEIGHBOURS,
    MOST_LANDMARKS,
    RIDGE_STEPS,
    SHEET_SINE,
)
from subbundle.graph.neighbor_graph import graph_of, shortest_paths
from subbundle.graph.neighborhoods import frame_size, nearest_rows, neighborhoods


class PathGraph:
    """The neighbour graph of the landmarks of a bundle, all of its components joined by bridges."""

    def __init__(self, bundle: LearnedSubbundle) -> None:
        points = bundle.landmarks(_count(bundle.ambient_dim))
        self.local_map = surroundings_of(bundle).local_map(points[0])
        points, cells = _known(points, self.local_map.enter(points))
        components = connected_components(bundle)
        self.reach = float(np.max(components.reach))
        # Boxes, of which large clouds are represented by the means, do not turn with the cloud.
        self._cover = cKDTree(points if len(points) == len(bundle.rows) else components.representatives)
        # Mean shifts concentrate landmarks in clusters, whose neighbours would all be in the same cluster.
        outermost = int(np.argmax(np.linalg.norm(cells - cells.mean(axis=0), axis=1)))
        points = points[farthest(cells, 0.35 * float(bundle.bandwidth_at(points).min()), outermost)]
        # They also shorten curved stretches, by different fractions on either side of a hole.
        points = ridge_project(bundle, points, max_steps=RIDGE_STEPS).points
        frame, images = bundle.frame(points), self.local_map.enter(points)
        known, defined = all_finite(images), frame.status == Status.OK
        known &= defined if defined.any() else True
        self.points, images, self.frames = points[known], images[known], np.nan_to_num(frame.vectors[known])
        self.bundle, self.flat, self.tree = bundle, surroundings_of(bundle) is FLAT, cKDTree(images)
        self.neighbors = min(LANDMARK_NEIGHBOURS * bundle.rank, len(images) - 1)
        self.graph = self._joined(images, bundle.rank) if self.neighbors else csr_array((1, 1))

    def _joined(self, images: FloatArray, rank: int) -> csr_array:
        """Arcs between the landmarks: short ones along the tangent spaces, long ones at small angles to them."""
        frames = np.swapaxes(self.frames, 1, 2) if self.flat else None
        few, near = min(self.neighbors, frame_size(rank)), nearest_rows(images, self.neighbors)
        edges = neighborhoods(images, near, min(rank, images.shape[1]), frame_neighbors=few, frames=frames)
        turning = edges.across > SHEET_SINE
        turning[:, :few] = False
        if self.flat:
            for row, ends in enumerate(near):
                here, there = self.points[row], self.points[ends]
                turning[row, few:] |= self._over_gaps(here, there[few:])
                # At smaller angles edges do not change sheets.
                turning[row, :few] = jumps_between(here, self.frames[row], there[:few], self.frames[ends[:few]])
        return graph_of(images, replace(edges, across=np.where(turning, 1.0, edges.across))).joined()

    def _over_gaps(self, x: FloatArray, ends: FloatArray) -> BoolArray:
        """Which edges from x to ``ends`` [m, dim] are longer than the reach and lead over a gap in the data: somewhere
        there is none within a quarter of the reach. Where sheets end, the next may continue in their direction."""
        offsets = ends - x
        over = (offsets * offsets).sum(axis=1) > self.reach**2
        on_the_way = x + np.array([0.25, 0.5, 0.75])[:, None, None] * offsets[over]
        over[over] = (self._cover.query(on_the_way)[0] > 0.25 * self.reach).any(axis=0)
        return np.asarray(over)

    def nearest(self, points: FloatArray) -> FloatArray:
        """The landmark [n, dim] nearest to each of ``points`` [n, dim]."""
        near = self.tree.query(np.nan_to_num(self.local_map.enter(points)))[1]
        return np.asarray(self.points[np.minimum(near, self.tree.n - 1)])

    def legs(self, points: FloatArray, frames: FloatArray) -> tuple[IntArray, FloatArray]:
        """Landmarks [n, q] around ``points`` [n, dim] with these ``frames``, and the arcs to them [n, q].

        Arcs across the subspaces are infinite. On a manifold they are chords under a local map.
        """
        count = max(self.neighbors, 1)
        chords, near = self.tree.query(np.nan_to_num(self.local_map.enter(points)), k=count)
        # The tree returns its size where the square of the distance overflows.
        near = np.minimum(np.reshape(near, (len(points), count)), self.tree.n - 1)
        lengths = np.array(np.reshape(chords, (len(points), count)))
        if self.flat:
            for row, ends in enumerate(near):
                there = self.points[ends]
                arcs = arcs_between(points[row], frames[row], there, self.frames[ends], frame_size(self.bundle.rank))
                lengths[row] = np.where(self._over_gaps(points[row], there), np.inf, arcs)
        return near, lengths

    def lengths(self, near: IntArray, legs: FloatArray) -> tuple[FloatArray, IntArray]:
        """Shortest paths [n, landmarks] from points with these `legs`, and the landmark before each, −1 for none."""
        count, nodes = len(near), len(self.points)
        usable = np.isfinite(legs)
        # Zero is no edge in a sparse graph. No edge leads to the points: no path passes through another.
        first = csr_array((np.maximum(legs[usable], 1e-300), (np.nonzero(usable)[0], near[usable])), (count, nodes))
        graph = csr_array(block_array([[csr_array((count, count)), first], [None, self.graph]]))
        found, before = shortest_paths(graph, np.arange(count))
        return found[:, count:], np.maximum(before[:, count:] - count, -1)

    def routes(self, x: FloatArray, y: FloatArray) -> list[list[IntArray]]:
        """Paths from x to y [n, dim], row by row, the shortest first: the landmarks between them.

        A geodesic around the other side of a hole or a neck crosses the bisector, equally far from both ends,
        elsewhere. Zigzags make paths through the graph longer by different fractions, so such paths are kept if they
        are longer than the shortest, of length ℓ, by no more than a factor q (`DETOUR`). In a plane all paths of up to
        qℓ cross the bisector within ½ ℓ √(q² − 1) of the shortest; those that do so further away are different.
        """
        ends, place = np.unique(np.concatenate([x, y]), axis=0, return_inverse=True)
        lengths, before = self.lengths(*self.legs(ends, np.nan_to_num(self.bundle.frame(ends).vectors)))
        chords = surroundings_of(self.bundle).distance(x, y)
        found = []
        for source, goal, chord in zip(place.ravel()[: len(x)], place.ravel()[len(x) :], chords, strict=True):
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
