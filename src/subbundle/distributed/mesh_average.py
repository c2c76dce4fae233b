"""Means over what is near, the same to the bit whatever lies further away."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray

# Places that are averaged around at a time: their neighbours take some thousand bytes each.
_CHUNK = 20_000


def averaged(
    places: FloatArray, others: FloatArray, radius: float, values: FloatArray, *, weights: FloatArray | None = None,
    alike: Callable[[IntArray, IntArray], NDArray[np.bool_]] | None = None,
) -> FloatArray:  # fmt: skip
    """Means [n, m] of ``values`` [c, m] of ``others`` [c, 3] within R of ``places`` [n, 3]; NaN where there are none.

    Weights are (1 − r²/R²)², times ``weights`` [c]. Pairs of places and others that are not ``alike`` do not count.
    Sums follow the order of the others, whatever other places there are.
    """
    tree, means = cKDTree(others), np.full((len(places), values.shape[1]), np.nan)
    for start in range(0, len(places), _CHUNK):
        part = slice(start, start + _CHUNK)
        near = cKDTree(places[part]).sparse_distance_matrix(tree, radius, output_type="coo_matrix")
        order = np.lexsort((near.col, near.row))
        rows, other = near.row[order].astype(np.int64), near.col[order].astype(np.int64)
        apart = places[part][rows] - others[other]
        square = (apart[:, 0] ** 2 + apart[:, 1] ** 2 + apart[:, 2] ** 2) / radius**2
        shares = np.maximum(1.0 - square, 0.0) ** 2
        if weights is not None:
            shares *= weights[other]
        if alike is not None:
            shares *= alike(rows + start, other)
        n = len(means[part])
        total = np.bincount(rows, shares, minlength=n)
        with np.errstate(invalid="ignore"):
            for column, value in enumerate(values.T):
                means[part, column] = np.bincount(rows, shares * value[other], minlength=n) / total
    return means
