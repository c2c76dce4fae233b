"""Outliers, shown: how many, in how many clumps, and where the largest lies."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from subbundle._types import FloatArray


def where(points: FloatArray, n_all: int, reach: float) -> str:
    """A line about the outliers ``points`` [n, d] of ``n_all``: how many, and `clumps`."""
    if len(points) == 0:
        return "none"
    return f"{len(points)} of {n_all} points ({len(points) / n_all:.2%}), {clumps(points, reach)}"


def clumps(points: FloatArray, reach: float) -> str:
    """How ``points`` [n, d] stand together: those closer than ``reach`` are in one clump."""
    n = len(points)
    pairs = cKDTree(points).query_pairs(reach, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs), dtype=np.int8), pairs.T), shape=(n, n))
    count, group = connected_components(graph, directed=False)
    sizes = np.bincount(group, minlength=count)
    alone = int(np.sum(sizes == 1))
    if alone == n:
        return "each on its own"
    largest = points[group == int(np.argmax(sizes))]
    place = ", ".join(f"{value:.4g}" for value in largest.mean(axis=0))
    rest = f"{alone} on their own and " if alone else ""
    found = count - alone
    return f"{rest}{found} clump{'s' * (found > 1)}, the largest of {len(largest)} around ({place})"
