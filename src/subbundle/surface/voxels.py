"""Voxel means: fewer points with the same moments, and seeds spread evenly over a cloud.

The result does not depend on the order of the rows, to the bit: the offsets inside a voxel are rounded to 2⁻³⁰ of its
side and summed as whole numbers, which is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray, bounds

_FINE = 2.0**30
_WIDEST = 2.0**20


def voxel_keys(points: FloatArray, origin: FloatArray | None, side: float) -> IntArray:
    """One integer per row of ``points`` [n, 3]: its cell of the grid with the given ``origin`` [3] and ``side``.

    Keys follow the cells, first axis first, whatever other cells are there. Without an origin it is the lowest point.
    """
    origin = bounds(points)[0] if origin is None else origin
    # Column by column: along the short axis NumPy takes several times as long.
    x, y, z = (np.floor((column - first) / side) for column, first in zip(points.T, origin, strict=True))
    wide, deep, high = (int(np.ptp(cells)) + 1 for cells in (x, y, z))
    if max(wide, deep, high) > _WIDEST:
        raise ValueError(
            f"the cloud must be less than {_WIDEST:.0f} cells of {side:.3g} wide; it is {max(wide, deep, high)} wide. "
            "Remove far outliers, or pass a larger bandwidth."
        )
    x, y, z = ((cells - cells.min()).astype(np.int64) for cells in (x, y, z))
    return np.asarray((x * deep + y) * high + z)


def voxel_means(
    points: FloatArray, weights: FloatArray | None, side: float, origin: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Mean [m, 3] and weight [m] of the points in each occupied voxel of the given ``side``, by voxel.

    Voxels begin at the ``origin``, by default the lowest corner of the points.
    """
    origin = bounds(points)[0] if origin is None else origin
    keys = voxel_keys(points, origin, side)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    scaled = (points - origin) / side
    corner = np.floor(scaled)
    counts = np.ones(len(points)) if weights is None else weights
    total: FloatArray = np.bincount(group, counts).astype(np.float64)
    means = np.empty((len(first), 3))
    for axis in range(3):
        offsets = np.rint((scaled[:, axis] - corner[:, axis]) * _FINE) * counts
        means[:, axis] = corner[first, axis] + np.bincount(group, offsets) / (total * _FINE)
    return origin + side * means, total


def distinct(points: FloatArray, hashes: NDArray[np.uint64]) -> IntArray | None:
    """The rows of ``points`` [n, 3] without repetitions, or None where no row occurs twice.

    Copies of a row add no information about the surface.
    """
    ordered = np.sort(hashes)
    if (ordered[1:] != ordered[:-1]).all():
        return None
    return np.sort(np.unique(points, axis=0, return_index=True)[1])


def subset(points: FloatArray, hashes: NDArray[np.uint64], fraction: float) -> FloatArray:
    """About this ``fraction`` of ``points`` [n, d], the same ones in any order of the rows."""
    return points if fraction >= 1.0 else points[hashes < np.uint64(2**64 * fraction)]
