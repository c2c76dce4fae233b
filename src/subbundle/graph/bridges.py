"""The shortest bridges between the connected components of a graph, by Borůvka's rounds.

In each round every component but the largest is joined to the row outside that is nearest to any of its rows, until one
component is left. A component of few rows is compared with all rows, together with the other small ones and by one
matrix product for many of them: a table whose rows are mostly noise has hundreds of such components.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from subbundle._memory import blocks
from subbundle._types import FloatArray, IntArray

# Rows of a component from which on a search tree of all others is worth building.
_TREE_ROWS = 64


def shortest_bridges(graph: csr_array, points: FloatArray) -> tuple[IntArray, FloatArray]:
    """Pairs [B, 2] of rows of ``points`` [n, D] that join the components of ``graph``, and their distances [B]."""
    found: set[tuple[int, int]] = set()
    number, label = connected_components(graph, directed=False)
    while number > 1:
        sizes = np.bincount(label)
        sizes[sizes.argmax()] = 0
        small = np.flatnonzero((sizes[label] > 0) & (sizes[label] < _TREE_ROWS))
        pairs = _from_small(points, label, small) if small.size else []
        pairs += [_from_large(points, label, component) for component in np.flatnonzero(sizes >= _TREE_ROWS)]
        found.update((min(pair), max(pair)) for pair in pairs)
        ends = np.array(pairs).T
        bridges = csr_array((np.ones(len(pairs)), (ends[0], ends[1])), shape=graph.shape)
        graph = graph + bridges
        number, label = connected_components(graph, directed=False)
    joined = np.array(sorted(found), np.int64).reshape(-1, 2)
    return joined, np.linalg.norm(points[joined[:, 0]] - points[joined[:, 1]], axis=1)


def _from_small(points: FloatArray, label: IntArray, rows: IntArray) -> list[tuple[int, int]]:
    """The shortest pair from each component of ``rows`` to the outside."""
    centred = points - points.mean(axis=0)
    squares = np.einsum("nd,nd->n", centred, centred)
    apart, nearest = np.empty(len(rows)), np.empty(len(rows), np.int64)
    for some in blocks(len(rows), len(points)):
        # Without |x|² of the row itself, which does not affect the order.
        square = squares - 2.0 * centred[rows[some]] @ centred.T
        square[label[rows[some], None] == label] = np.inf
        nearest[some] = square.argmin(axis=1)
        apart[some] = np.linalg.norm(points[rows[some]] - points[nearest[some]], axis=1)
    order = np.lexsort((apart, label[rows]))
    first = order[np.unique(label[rows[order]], return_index=True)[1]]
    return [(int(rows[best]), int(nearest[best])) for best in first]


def _from_large(points: FloatArray, label: IntArray, component: int) -> tuple[int, int]:
    """The shortest pair from one component to the outside."""
    inside, outside = np.flatnonzero(label == component), np.flatnonzero(label != component)
    apart, nearest = NearestNeighbors(n_neighbors=1).fit(points[outside]).kneighbors(points[inside])
    best = int(apart[:, 0].argmin())
    return int(inside[best]), int(outside[nearest[best, 0]])
