"""Voxel means: fewer points with the same moments, and seeds spread evenly over a cloud.

Rows may come in any order without changing a bit of the result: the offsets inside a voxel are rounded to 2⁻³⁰ of its
side and summed as whole numbers, which is exact in any order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray, bounds
from subbundle.surface._voxel_kernels import FINE, number_cells, sort_digits, sum_cells

_WIDEST = 2.0**20


def voxel_keys(points: FloatArray, origin: FloatArray | None, side: float) -> IntArray:
    """One integer per row of ``points`` [n, 3]: its cell of the grid with the given ``origin`` [3] and ``side``.

    Keys follow the cells, first axis first, whatever other cells are there. Without an origin it is the lowest point.
    """
    keys: IntArray = np.empty(len(points), np.int64)
    origin = bounds(points)[0] if origin is None else origin
    widest = number_cells(np.ascontiguousarray(points), origin, side, keys)
    if widest > _WIDEST:
        raise ValueError(
            f"the cloud must be less than {_WIDEST:.0f} cells of {side:.3g} wide; it is {int(widest)} wide. "
            "Remove far outliers, or pass a larger bandwidth."
        )
    return keys


def voxel_means(
    points: FloatArray, weights: FloatArray | None, side: float, origin: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Mean [m, 3] and weight [m] of the points in each occupied voxel of the given ``side``, by voxel.

    Voxels begin at the ``origin``, by default the lowest corner of the points.
    """
    origin = bounds(points)[0] if origin is None else origin
    keys = voxel_keys(points, origin, side)
    counts = np.ones(len(points)) if weights is None else weights
    corners, sums = np.empty((len(points), 3)), np.empty((len(points), 4))
    n = sum_cells(np.ascontiguousarray(points), counts, origin, side, keys, sorted_rows(keys), corners, sums)
    total: FloatArray = sums[:n, 3].copy()
    return origin + side * (corners[:n] + sums[:n, :3] / (total[:, None] * FINE)), total


def sorted_rows(keys: IntArray) -> IntArray:
    """The rows [n] of ``keys`` [n] ≥ 0 in the order of these, equal ones as they come."""
    return np.asarray(sort_digits(keys, np.arange(len(keys)), np.empty(len(keys), np.int64)))


def row_hashes(points: FloatArray) -> NDArray[np.uint64]:
    """A number for every row of ``points`` [n, 3] that depends on nothing but its bits."""
    bits = np.ascontiguousarray(points + 0.0).view(np.uint64)  # + 0 turns −0 into 0
    mixed = np.zeros(len(points), np.uint64)
    for axis, factor in enumerate((0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)):
        mixed = (mixed ^ bits[:, axis]) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def distinct(points: FloatArray, hashes: NDArray[np.uint64]) -> IntArray | None:
    """The rows of ``points`` [n, 3] without repetitions, or None where no row occurs twice.

    A row that is given twice says no more about the surface than one given once.
    """
    ordered = np.sort(hashes)
    if (ordered[1:] != ordered[:-1]).all():
        return None
    return np.sort(np.unique(points, axis=0, return_index=True)[1])


def subset(points: FloatArray, hashes: NDArray[np.uint64], count: int) -> FloatArray:
    """About ``count`` of the ``points`` [n, 3], the same ones in any order of the rows."""
    if len(points) <= count:
        return points
    return points[hashes < np.uint64(2**64 * (count / len(points)))]
