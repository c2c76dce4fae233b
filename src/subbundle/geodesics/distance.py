"""Sub-Riemannian distances: lengths of the geodesics that join two points.

The distance is √(2 H(log_x(y))), the length of the geodesic found by `log`. It is infinite between parts of the
cloud that are not connected at the bandwidth, and NaN, with a warning, where the search failed: never a silent wrong
number.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from subbundle._types import FloatArray, Status, SubbundleWarning
from subbundle._validation import as_points
from subbundle.bundles.base import Subbundle
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.geodesics._fans import fan_distances
from subbundle.geodesics.log import log
from subbundle.geodesics.parts import connected_parts

# A geodesic that ends further than this from its target, in length scales, has not found it.
_MISSED = 1.0


def distance(bundle: Subbundle, x: Any, y: Any, *, search: str = "dual", tol: float = 1e-5) -> FloatArray:
    """Distances between ``x`` and ``y``, [dim] or [batch, dim] (one of them may be a single point).

    Points need not be observations, and observations are taken as they are, with their noise; carry them onto the ridge
    first for distances along the middle of the cloud. Equal to the bit when x and y are exchanged: the geodesic always
    starts at the point that comes first in lexicographic order.

    Parameters
    ----------
    search, tol
        As in `log`.

    Returns
    -------
    lengths : [batch] or scalar
        inf between unconnected parts; NaN where no geodesic came within a length scale of its target.
    """
    x = as_points(x, "x", dim=bundle.ambient_dim, ndim=None)
    y = as_points(y, "y", dim=bundle.ambient_dim, ndim=None)
    single = x.ndim == 1 and y.ndim == 1
    x, y = np.atleast_2d(x), np.atleast_2d(y)
    if len(x) != len(y) and 1 not in (len(x), len(y)):
        raise ValueError(
            f"x and y must have as many rows as each other, or one of them a single point; got {len(x)} and {len(y)}. "
            "For all pairs use sb.pairwise_distance(bundle, x, y)."
        )
    x, y = (np.array(part) for part in np.broadcast_arrays(x, y))
    joined = _joined(bundle, x, y)
    lengths = np.full(len(x), np.inf)
    rows = np.flatnonzero(joined)
    if rows.size:
        first, second = _ordered(x[rows], y[rows])
        lengths[rows] = _lengths(bundle, first, second, search, tol)
    _warn_missing(lengths)
    return lengths[0] if single else lengths


def pairwise_distance(bundle: Subbundle, points: Any, others: Any = None, *, tol: float = 1e-4) -> FloatArray:
    """Matrix [n, m] of the distances from ``points`` [n, dim] to ``others`` [m, dim] (``points`` again if left out).

    For rank 1 and 2 a fan of geodesics leaves each of ``points``, and every target is placed between the rays of the
    fan: a few hundred geodesics serve all m targets. Where no ray comes near, and for higher ranks, `log` is asked
    for the single pair. Without ``others`` the matrix is symmetric: each entry is the mean of both directions.
    """
    sources = as_points(points, "points", dim=bundle.ambient_dim)
    targets = sources if others is None else as_points(others, "others", dim=bundle.ambient_dim)
    matrix = np.full((len(sources), len(targets)), np.nan)
    apart = ~_joined(bundle, sources, targets, every=True)
    if bundle.rank <= 2:
        matrix = fan_distances(bundle, sources, targets, apart, tol)
    matrix[apart] = np.inf
    if others is None:
        np.fill_diagonal(matrix, 0.0)
        one_way = np.where(np.isnan(matrix), matrix.T, matrix)
        matrix = 0.5 * (one_way + one_way.T)
    missing = np.isnan(matrix)
    if others is None:
        missing &= np.tri(len(matrix), dtype=bool).T
    i, j = np.nonzero(missing)
    if i.size:
        first, second = _ordered(sources[i], targets[j])
        matrix[i, j] = _lengths(bundle, first, second, "dual", tol)
        if others is None:
            matrix[j, i] = matrix[i, j]
    _warn_missing(matrix)
    return matrix


def _lengths(bundle: Subbundle, x: FloatArray, y: FloatArray, search: str, tol: float) -> FloatArray:
    """Lengths of the geodesics from x to y; NaN where a base point has no frame or the target was missed."""
    lengths = np.full(len(x), np.nan)
    defined = np.flatnonzero(bundle.frame(x).status == Status.OK)
    if defined.size:
        found = log(bundle, x[defined], y[defined], search=search, tol=tol)
        hit = (found.status == Status.OK) & (found.residuals <= _MISSED * bundle.length_scale)
        lengths[defined[hit]] = found.lengths[hit]
    return lengths


def _joined(bundle: Subbundle, x: FloatArray, y: FloatArray, *, every: bool = False) -> np.ndarray[Any, Any]:
    """Whether the points lie in the same part of the cloud; row by row, or ``every`` row of x with every row of y."""
    shape = (len(x), len(y)) if every else (len(x),)
    if not isinstance(bundle, (PrincipalSubbundle, RiemannianSubbundle)):
        return np.ones(shape, bool)
    parts = connected_parts(bundle)
    here, there = parts.label(x), parts.label(y)
    same: np.ndarray[Any, Any] = here[:, None] == there[None, :] if every else here == there
    return same


def _ordered(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The two points of each row in lexicographic order."""
    differ = x != y
    first = np.argmax(differ, axis=1)
    rows = np.arange(len(x))
    swap = x[rows, first] > y[rows, first]
    return np.where(swap[:, None], y, x), np.where(swap[:, None], x, y)


def _warn_missing(lengths: FloatArray) -> None:
    missing = int(np.count_nonzero(np.isnan(lengths)))
    if missing:
        warnings.warn(
            f"{missing} of {lengths.size} distances are NaN: no geodesic came within a bandwidth of its target. The "
            "points may lie off the data, or beyond a fold of the bundle; sb.log gives status and residual of each.",
            SubbundleWarning,
            stacklevel=3,
        )
