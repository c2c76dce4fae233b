"""Groups of rows: runs of equal keys, the best row and the sums of each group, and groups that pairs join."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from subbundle._types import BoolArray, FloatArray, IntArray


def changes(rows: IntArray) -> IntArray:
    """Indices where ``rows`` [n] or [n, m] differ from the previous ones, with 0, and n."""
    rows = np.atleast_2d(rows.T).T
    new = np.any(rows[1:] != rows[:-1], axis=1)
    return np.concatenate([np.arange(min(len(rows), 1)), np.flatnonzero(new) + 1, [len(rows)]]).astype(np.int64)


def best_of(groups: IntArray, *ranks: NDArray[np.generic]) -> IntArray:
    """The row of each of the ``groups`` [n] that is lowest in the first of ``ranks`` [n], among equals in the next."""
    order = np.lexsort((*ranks[::-1], groups))
    best: IntArray = order[changes(groups[order])[:-1]]
    return best


def members_of(groups: IntArray) -> list[IntArray]:
    """The rows of each of the ``groups`` [n], n > 0, in order."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, changes(groups[order])[1:-1])


def summed(group: IntArray, columns: FloatArray, n: int) -> FloatArray:
    """Sums [n, m] of the rows of ``columns`` [r, m] in each ``group`` [r], in the order of the rows."""
    return np.column_stack([np.bincount(group, column, minlength=n).astype(np.float64) for column in columns.T])


def components_of(pairs: IntArray, n: int) -> tuple[int, IntArray]:
    """How many connected components ``n`` nodes have that are joined by ``pairs`` [m, 2], and that of each node."""
    graph = coo_array((np.ones(len(pairs), np.int8), pairs.T), shape=(n, n))
    count, label = connected_components(graph, directed=False) if n else (0, np.empty(0))
    return int(count), label.astype(np.int64)


def double_cover(pairs: IntArray, even: BoolArray, n: int) -> tuple[IntArray, IntArray, IntArray]:
    """The component [n] of each node, the first node of each component, and the component [2 n] of each node and then
    of its mirror image in the double cover, where ``pairs`` [m, 2] that are not ``even`` [m] join a node to an image.
    """
    one, other = pairs.T
    ends = np.where(even, other, other + n), np.where(even, other + n, other)
    cover = components_of(np.column_stack([np.concatenate([one, one + n]), np.concatenate(ends)]), 2 * n)[1]
    count, label = components_of(pairs, n)
    first = np.full(count, n)
    np.minimum.at(first, label, np.arange(n))
    return label, first, cover
