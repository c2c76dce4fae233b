"""A cloud whose sums do not depend on distant points: tiles of one scene then give the same results to the bit.

The tree of a `Cloud` is a function of all its points, so a sum over the same neighbours is formed in another order when
a distant point is added, and differs in its last bit. Here space is divided into blocks by a lattice that is fixed once
for the scene; every block has a tree of its own, leaves of full blocks but for the last, and blocks follow each other
along the Z-curve of their numbers. The leaves that a search finds, and their order, are then a function of the blocks
that the ball meets. Coordinates are relative to the lattice's origin.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._types import FloatArray, IntArray
from subbundle.cloud.build import FAR, LEAF, build, corners_of
from subbundle.cloud.cloud import Cloud

# Bits of a block's number along each axis.
_BITS = 21


def lattice_cloud(points: FloatArray, weights: FloatArray | None, origin: FloatArray, side: float) -> Cloud:
    """`Cloud` of ``points`` [N, 3] with ``weights`` [N] or None, in blocks of the lattice ``origin`` [3] and ``side``.

    Rows that are fitted with windows inside complete blocks have the same bits whatever the other blocks hold.
    ``n_points`` counts places of leaves, empty ones too, which have no weight and row −1 in ``order``.
    """
    rows = np.asarray(points - origin, dtype=np.float64)
    rows += 0.0
    codes = z_curve(np.floor(rows / side).astype(np.int64))
    # Inside a block `build` orders by the coordinates.
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    first = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1))
    bounds = np.append(first, len(rows)).astype(np.int64)
    leaves = np.concatenate([[0], np.cumsum(-(-np.diff(bounds) // LEAF))]).astype(np.int64)
    n_leaves = int(leaves[-1])
    cloud = object.__new__(Cloud)
    cloud.centre, cloud.dim, cloud.n_points = np.asarray(origin, np.float64), 3, n_leaves * LEAF
    cloud.size = float(np.linalg.norm(rows.max(axis=0) - rows.min(axis=0)))
    cloud.blocks = np.full((n_leaves, 3, LEAF), FAR * side)
    cloud.weights, cloud.rows = np.zeros((n_leaves, LEAF)), np.empty((0, 3))
    cloud.order, cloud.boxes = np.full(n_leaves * LEAF, -1, np.int64), np.empty((2 * n_leaves - 1, 2, 3))
    given = np.ones(len(rows)) if weights is None else np.asarray(weights, np.float64)
    boxes = np.empty((n_leaves, 2, 3))
    _fill(rows[order], order, given, bounds, leaves, cloud.blocks, cloud.weights, cloud.order, boxes)
    _grow(boxes, cloud.boxes)
    cloud.corners = corners_of(boxes[:, 0], boxes[:, 1])
    return cloud


def z_curve(cells: IntArray) -> IntArray:
    """Place [n] of ``cells`` [n, 3] of integers along the Z-curve: their bits, interleaved."""
    shifted = cells + (1 << (_BITS - 1))
    if len(shifted) and (shifted.min() < 0 or shifted.max() >= 1 << _BITS):
        raise ValueError(
            f"points must lie within {1 << (_BITS - 1)} cells of the origin of their lattice; the furthest is "
            f"{int(np.abs(cells).max())} cells away. Remove far outliers, or take wider cells."
        )
    code: IntArray = np.zeros(len(cells), np.int64)
    for axis in range(3):
        code |= _spread_bits(shifted[:, axis]) << axis
    return code


def _spread_bits(x: IntArray) -> IntArray:
    """Bit b of ``x`` at place 3 b."""
    for shift, mask in (
        (32, 0x1F00000000FFFF), (16, 0x1F0000FF0000FF), (8, 0x100F00F00F00F00F), (4, 0x10C30C30C30C30C3),
        (2, 0x1249249249249249),
    ):  # fmt: skip
        x = (x | (x << shift)) & mask
    return x


@kernel
def _fill(
    points: FloatArray, order: IntArray, given: FloatArray, bounds: IntArray, leaves: IntArray, blocks: FloatArray,
    weights: FloatArray, places: IntArray, boxes: FloatArray,
) -> None:  # fmt: skip
    """Sort every block into leaves and write these: coordinates, weights, rows of the input and corners."""
    for b in range(bounds.size - 1):
        start, stop = bounds[b], bounds[b + 1]
        count = leaves[b + 1] - leaves[b]
        build(points[start:stop], order[start:stop], np.empty((2 * count - 1, 2, 3)))
        for i in range(stop - start):
            leaf, place = leaves[b] + i // LEAF, i % LEAF
            row = order[start + i]
            weights[leaf, place] = given[row]
            places[leaf * LEAF + place] = row
            for j in range(3):
                value = points[start + i, j]
                blocks[leaf, j, place] = value
                boxes[leaf, 0, j] = min(boxes[leaf, 0, j], value) if place else value
                boxes[leaf, 1, j] = max(boxes[leaf, 1, j], value) if place else value


@kernel
def _grow(leaf_boxes: FloatArray, boxes: FloatArray) -> None:
    """Boxes [nodes, 2, 3] of the binary tree over ``leaf_boxes`` [leaves, 2, 3], in preorder as in `build`."""
    stack = np.empty((64, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, leaf_boxes.shape[0]
    top = 1
    while top > 0:
        top -= 1
        node, first, last = stack[top, 0], stack[top, 1], stack[top, 2]
        for j in range(3):
            boxes[node, 0, j], boxes[node, 1, j] = np.inf, -np.inf
            for leaf in range(first, last):
                boxes[node, 0, j] = min(boxes[node, 0, j], leaf_boxes[leaf, 0, j])
                boxes[node, 1, j] = max(boxes[node, 1, j], leaf_boxes[leaf, 1, j])
        if last - first == 1:
            continue
        middle = first + (last - first + 1) // 2
        stack[top, 0], stack[top, 1], stack[top, 2] = node + 2 * (middle - first), middle, last
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = node + 1, first, middle
        top += 2
