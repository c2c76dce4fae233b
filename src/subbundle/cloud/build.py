"""Building the box tree: a balanced binary tree whose leaves are full blocks of `LEAF` points.

The N points are partitioned into ⌈N / LEAF⌉ leaves. A node covers a run of leaves; it is split across its widest side
so that the left child takes half of its leaves, rounded up, all of them full. Nodes are numbered in preorder, so a node
over m leaves takes 2m − 1 numbers, its left child follows it and its right child follows the left subtree: no
pointers are stored.

Ties are broken by the remaining coordinates, which makes the split a total order on distinct points. The tree is then a
function of the *set* of points: the order of the rows changes no bit of any later result.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._types import FloatArray

# Points of a leaf: whole vector registers, and few enough that a search reads little beyond its ball.
LEAF = 32
# Leaves whose boxes are tested at a time: a vector register of them.
GROUP = 8
# Distance of the empty places of a leaf, in sizes of the cloud: beyond the reach of the largest bandwidth allowed.
FAR = 1e30


@kernel
def build(points, order, boxes):
    """Sort ``points`` [N, d] and ``order`` [N] in place into leaf order and fill ``boxes`` [nodes, 2, d].

    ``boxes[node, 0]`` and ``boxes[node, 1]`` are the lower and upper corners of the points of the node.
    """
    n_points, dim = points.shape
    n_leaves = (n_points + LEAF - 1) // LEAF
    pivot = np.empty((1, dim))
    stack = np.empty((64, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, n_leaves
    top = 1
    while top > 0:
        top -= 1
        node, first, last = stack[top, 0], stack[top, 1], stack[top, 2]
        start, stop = first * LEAF, min(last * LEAF, n_points)
        axis = _bound(points, start, stop, boxes[node])
        if last - first == 1:
            _sort_rows(points, order, start, stop, axis)
            continue
        middle = first + (last - first + 1) // 2
        _select(points, order, start, stop, middle * LEAF, axis, pivot)
        stack[top, 0], stack[top, 1], stack[top, 2] = node + 2 * (middle - first), middle, last
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = node + 1, first, middle
        top += 2


@kernel
def _bound(points, start, stop, box):
    """Write the bounding box of the rows into ``box`` and return its widest axis."""
    dim = points.shape[1]
    for j in range(dim):
        box[0, j] = points[start, j]
        box[1, j] = points[start, j]
    for i in range(start + 1, stop):
        for j in range(dim):
            value = points[i, j]
            box[0, j] = min(box[0, j], value)
            box[1, j] = max(box[1, j], value)
    axis, widest = 0, -1.0
    for j in range(dim):
        if box[1, j] - box[0, j] > widest:
            axis, widest = j, box[1, j] - box[0, j]
    return axis


@kernel
def _precedes(rows, i, others, j, axis):
    """Whether row i of ``rows`` comes before row j of ``others``: by ``axis`` first, then by all coordinates in turn.

    Takes whole arrays, as `search.box_distance_sq` does.
    """
    if rows[i, axis] != others[j, axis]:
        return rows[i, axis] < others[j, axis]
    for c in range(rows.shape[1]):
        if rows[i, c] != others[j, c]:
            return rows[i, c] < others[j, c]
    return False


@kernel
def _swap(points, order, i, j):
    for c in range(points.shape[1]):
        points[i, c], points[j, c] = points[j, c], points[i, c]
    order[i], order[j] = order[j], order[i]


@kernel
def _select(points, order, start, stop, target, axis, pivot):
    """Quickselect: rows before ``target`` precede those from it on."""
    low, high = start, stop - 1
    while low < high:
        middle = (low + high) // 2
        if _precedes(points, middle, points, low, axis):
            _swap(points, order, middle, low)
        if _precedes(points, high, points, low, axis):
            _swap(points, order, high, low)
        if _precedes(points, high, points, middle, axis):
            _swap(points, order, high, middle)
        for c in range(pivot.shape[1]):
            pivot[0, c] = points[middle, c]
        i, j = low, high
        while i <= j:
            while _precedes(points, i, pivot, 0, axis):
                i += 1
            while _precedes(pivot, 0, points, j, axis):
                j -= 1
            if i <= j:
                _swap(points, order, i, j)
                i += 1
                j -= 1
        if target <= j:
            high = j
        elif target >= i:
            low = i
        else:
            return


@kernel
def _sort_rows(points, order, start, stop, axis):
    """Insertion sort of one leaf, so that equal sets give equal sums."""
    for i in range(start + 1, stop):
        j = i
        while j > start and _precedes(points, j, points, j - 1, axis):
            _swap(points, order, j, j - 1)
            j -= 1


def corners_of(low: FloatArray, high: FloatArray) -> FloatArray:
    """Corners ``low``, ``high`` [leaves, d] of the leaves' boxes as [2, d, leaves + GROUP], for `GROUP` at a time."""
    n_leaves, dim = low.shape
    corners = np.zeros((2, dim, n_leaves + GROUP))
    corners[0, :, :n_leaves], corners[1, :, :n_leaves] = low.T, high.T
    return corners


def blocks_of(points: FloatArray, far: float) -> FloatArray:
    """The sorted points leaf by leaf as [leaves, d, LEAF]: each coordinate of a leaf is contiguous.

    The empty places of the last leaf have the coordinates ``far``: out of reach of every kernel.
    """
    n_points, dim = points.shape
    full = np.full((-(-n_points // LEAF), LEAF, dim), far)
    full.reshape(-1, dim)[:n_points] = points
    return np.ascontiguousarray(full.transpose(0, 2, 1))
