"""Joining the components of a neighbour graph by their shortest bridges, and telling a bridge from a gap.

Borůvka's rounds: every component but the largest is joined to the row nearest to it, until one is left. A bridge of
length ℓ is a *gap* of the shape if it stands out against the spacing at both its ends. Where m rows lie within r, a
ball of radius ℓ/2 would hold m (ℓ/2r)^k rows if the density went on; an empty one is no accident when that number
exceeds log n + 5, and no matter of uneven density when ℓ > 4 r.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from subbundle._types import FloatArray, IntArray

# Length of a bridge, in distances to half of the neighbours, that uneven density alone does not make.
_STANDS_OUT = 4.0
# Rows more than log n that an empty ball would have had to hold: accidents of less than one in e⁵ tables.
_SURPRISE = 5.0


def shortest_bridges(graph: csr_array, points: FloatArray) -> tuple[IntArray, FloatArray]:
    """Pairs [B, 2] of rows of ``points`` [n, D] that join the components of ``graph``, and their distances [B]."""
    count = len(points)
    pairs: list[tuple[int, int]] = []
    lengths: list[float] = []
    number, label = connected_components(graph, directed=False)
    while number > 1:
        largest = np.bincount(label).argmax()
        for component in range(number):
            if component == largest:
                continue
            inside, outside = np.flatnonzero(label == component), np.flatnonzero(label != component)
            apart, nearest = NearestNeighbors(n_neighbors=1).fit(points[outside]).kneighbors(points[inside])
            best = int(apart[:, 0].argmin())
            pairs.append((int(inside[best]), int(outside[nearest[best, 0]])))
            lengths.append(float(apart[best, 0]))
        ends = np.array(pairs).T
        joined = graph + csr_array((np.ones(len(pairs)), (ends[0], ends[1])), shape=(count, count))
        number, label = connected_components(joined, directed=False)
    unique = {tuple(sorted(pair)): length for pair, length in zip(pairs, lengths, strict=True)}
    found = sorted(unique)
    return np.array(found, np.int64).reshape(-1, 2), np.array([unique[pair] for pair in found])


def gaps(pairs: IntArray, lengths: FloatArray, spacing: FloatArray, n_neighbors: int, rank: int) -> NDArray[np.bool_]:
    """Which bridges [B] are gaps; ``spacing`` [n] is each row's distance to half of its ``n_neighbors``."""
    expected = 2.0 * (np.log(len(spacing)) + _SURPRISE) / n_neighbors
    ratio = max(_STANDS_OUT, 2.0 * expected ** (1.0 / rank))
    return np.asarray(lengths > ratio * spacing[pairs].max(axis=1)) if len(pairs) else np.zeros(0, bool)
