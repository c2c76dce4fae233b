"""The graph that a page carries, so that a file without Python can measure along the shape.

Nodes are rows (all, or of very many a subset); edges and their lengths are those of `subbundle.graph`. Shortest paths
in it are a little longer than geodesics, and the page calls them approximate.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray
from subbundle.graph import neighbor_graph
from subbundle.viewer.rows import ENOUGH
from subbundle.viewer.scene import Graph

# Neighbours of a row in the graph: paths are then longer than geodesics by a few per cent.
_NEIGHBORS = 12
# Coordinates above which neighbours are looked for among the leading components, which keep the distances that matter.
_MOST_COORDINATES = 16


def page_graph(points: FloatArray, rank: int) -> Graph | None:
    """The graph of ``points`` [n, d] on a shape of dimension ``rank``; None when there is no shape: fewer than three
    points, or all equal."""
    count = len(points)
    if count < 3 or not np.ptp(points, axis=0).any():
        return None
    if points.shape[1] > _MOST_COORDINATES:
        centred = points - points.mean(axis=0)
        sample = centred[:: max(1, count // 5000)]
        points = centred @ np.linalg.svd(sample, full_matrices=False)[2][:_MOST_COORDINATES].T
    nodes = owner = None
    places = points
    if count > ENOUGH:
        nodes = np.sort(np.random.default_rng(0).choice(count, ENOUGH, replace=False))
        places = points[nodes]
        owner = np.asarray(cKDTree(places).query(points)[1], dtype=np.int64)
    rank = min(rank, places.shape[1])
    found = neighbor_graph(places, min(_NEIGHBORS, len(places) - 1), rank).lengths
    return Graph(found.indptr.astype(np.int64), found.indices.astype(np.int64), found.data, nodes, owner)
