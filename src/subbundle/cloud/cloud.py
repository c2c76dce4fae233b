"""Cloud: the observations, validated and centred, with the search tree that the kernels read."""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import FloatArray, IntArray, bounds, evenly
from subbundle._validation import as_points, as_real
from subbundle.cloud.build import FAR, LEAF, blocks_of, build, corners_of
from subbundle.cloud.tuning import BLOCK_DIM

# Fourth powers of distances, and of their ratios to a bandwidth, neither overflow nor underflow.
_SMALLEST, _LARGEST = 1e-60, 1e60

Tree = tuple[FloatArray, FloatArray, FloatArray, FloatArray, int]


class Cloud:
    """Observations x_1..x_N of R^d as centred float64 numbers in leaf order.

    Coordinates are taken relative to the centre of the bounding box, so that metres of a map projection keep the
    millimetres of a scan. The tree is a function of the set of points: shuffling the rows changes nothing.

    Parameters
    ----------
    points : array-like [N, d]
        Finite real numbers; float32, read-only and memory-mapped arrays are fine. They are copied.
    weights : array-like [N], optional
        v_n > 0: number of observations that each row represents, in the local model; 1 by default.

    Attributes
    ----------
    centre : [d]
        Centre of the bounding box, subtracted from all stored coordinates.
    size : float
        Diagonal of the bounding box.
    n_points, dim : int
        N and d.
    boxes : [nodes, 2, d]
        Corners of the tree's boxes, in preorder.
    corners : [2, d, leaves + GROUP]
        Those of the leaves alone, each coordinate contiguous.
    blocks : [leaves, d, LEAF]
        Centred coordinates leaf by leaf (empty above `BLOCK_DIM` dimensions).
    rows : [N, d]
        Centred coordinates row by row, in leaf order (empty up to `BLOCK_DIM` dimensions).
    order : [N]
        Row of the input at each place of the leaf order.
    weights : [leaves, LEAF]
        v_n in leaf order, zero at the empty places of the last leaf.
    """

    __slots__ = ("blocks", "boxes", "centre", "corners", "dim", "n_points", "order", "rows", "size", "weights")

    def __init__(self, points: Any, weights: Any = None) -> None:
        array = as_points(points, "points")
        if array.shape[0] < 2 or array.shape[1] < 1:
            raise ValueError(f"points must hold at least 2 observations of at least 1 coordinate; got {array.shape}.")
        low, high = bounds(array)
        if (low == high).all():
            raise ValueError(
                f"points must not all be equal; all {array.shape[0]} rows are {array[0]}. "
                "There is no direction to learn: pass observations that vary."
            )
        with np.errstate(over="ignore"):
            self.size = float(np.linalg.norm(high - low))
        if not _SMALLEST < self.size < _LARGEST:
            raise ValueError(
                f"points must have a bounding box with a diagonal between {_SMALLEST:g} and {_LARGEST:g}; it is "
                f"{self.size:g}. Multiply the coordinates by a common scale first."
            )
        self.centre: FloatArray = low + 0.5 * (high - low)
        rows = array - self.centre
        rows += 0.0  # turns −0 into 0: rows that compare as equal are then equal to the bit, in any order
        self.n_points, self.dim = rows.shape
        order = np.arange(self.n_points, dtype=np.int64 if self.n_points > 2**31 - 1 else np.int32)
        n_leaves = -(-self.n_points // LEAF)
        self.boxes: FloatArray = np.empty((2 * n_leaves - 1, 2, self.dim))
        build(rows, order, self.boxes)
        self.order = order
        starts = np.arange(0, self.n_points, LEAF)
        self.corners: FloatArray = corners_of(np.minimum.reduceat(rows, starts), np.maximum.reduceat(rows, starts))
        blocked = self.dim <= BLOCK_DIM
        self.blocks: FloatArray = blocks_of(rows, FAR * self.size) if blocked else np.empty((0, self.dim, LEAF))
        self.rows: FloatArray = np.empty((0, self.dim)) if blocked else rows
        self.weights: FloatArray = np.zeros((n_leaves, LEAF))
        self.weights.ravel()[: self.n_points] = 1.0 if weights is None else _as_weights(weights, self.n_points)[order]

    @property
    def tree(self) -> Tree:
        """The argument ``tree`` of compiled searches: blocks, weights, boxes, corners, N."""
        return self.blocks, self.weights, self.boxes, self.corners, self.n_points

    def sample(self, count: int) -> IntArray:
        """Places in leaf order of ``count`` observations spread evenly over the tree, the same on every call."""
        return evenly(self.n_points, count)

    def at(self, places: IntArray) -> FloatArray:
        """Centred coordinates [len(places), d] of the observations at these places of the leaf order."""
        if self.rows.shape[0]:
            return self.rows[places]
        return np.ascontiguousarray(self.blocks[places // LEAF, :, places % LEAF])

    @property
    def ordered(self) -> FloatArray:
        """Centred coordinates [N, d] of all observations in leaf order."""
        return self.at(np.arange(self.n_points))

    @property
    def points(self) -> FloatArray:
        """The observations in the order they were given, [N, d], to the rounding of the centring."""
        result = np.empty((self.n_points, self.dim))
        result[self.order] = self.ordered + self.centre
        return result

    @property
    def nbytes(self) -> int:
        """Bytes held by the cloud and its tree."""
        return sum(getattr(self, name).nbytes for name in ("boxes", "corners", "blocks", "rows", "order", "weights"))


def _as_weights(weights: Any, n_points: int) -> FloatArray:
    found = as_real(weights, "weights")
    if found.shape != (n_points,):
        raise ValueError(f"weights must hold one number per point, shape ({n_points},); got shape {found.shape}.")
    if not (np.isfinite(found).all() and (found > 0.0).all()):
        raise ValueError(
            f"weights must be finite and above 0; the smallest is {found.min():g}. Drop such points instead."
        )
    return found
