"""Sub-Riemannian distances: lengths of the geodesics that join two points.

The distance is √(2 H(log_x(y))), the length of the geodesic found by `log`. It is infinite between parts of the
cloud that are not connected at the bandwidth, and NaN, with a warning, where the search failed: never a silent wrong
number.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from subbundle._types import FloatArray, IntArray, Status, SubbundleWarning
from subbundle._validation import as_points
from subbundle.bundles.base import Subbundle
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.bundles.surroundings import surroundings_of
from subbundle.geodesics._fans import FanDistances, aimed_fan_distances, fan_distances, narrow_fan_distances
from subbundle.geodesics._paths import HasLandmarks, path_graph
from subbundle.geodesics.connected_components import connected_parts
from subbundle.geodesics.log import log

# A geodesic that ends further than this from its target, in length scales, has not found it.
_MISSED = 1.0
# Stations that a way between two points may lead through, and the part by which that way must be shorter than the
# geodesic found to show that there is another: more than a way through a station is too long.
_STATIONS, _SHORTER = 400, 0.005
# Length scales up to which no second geodesic is looked for, and the part by which a geodesic may be longer than the
# path through the landmarks along it, which cuts corners, without the two being different ways.
_ONE_WAY, _SLACK = 8.0, 0.1
# Half the opening, in radians, of a fan aimed along a path.
_AIM = 0.25


def distance(bundle: Subbundle, x: Any, y: Any, *, search: str = "dual", tol: float = 1e-5) -> FloatArray:
    """Distances between ``x`` and ``y``, [dim] or [batch, dim] (one of them may be a single point).

    The length is that of the geodesic `log` finds; where it finds none and the rank is 1 or 2, a fan of geodesics is
    tried, as in `pairwise_distance`. A geodesic that is longer than the shortest path through the cloud is not the
    shortest, and is looked for again along that path. Points need not be observations, and observations are taken as
    they are, with their noise; carry them onto the ridge first for distances along the middle of the cloud. Equal to
    the bit when x and y are exchanged: the geodesic always starts at the point that comes first in lexicographic order.

    Parameters
    ----------
    search, tol
        As in `log`.

    Returns
    -------
    lengths : [batch] or scalar
        inf between unconnected parts; NaN where no geodesic came within a length scale of its target.
    """
    around = surroundings_of(bundle)
    x = around.validate(as_points(x, "x", dim=bundle.ambient_dim, ndim=None), "x")
    y = around.validate(as_points(y, "y", dim=bundle.ambient_dim, ndim=None), "y")
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
        if bundle.rank <= 2:
            _fill_from_fans(bundle, first, second, lengths, rows, tol)
        lengths[rows] = _no_longer_than_paths(bundle, first, second, lengths[rows], tol)
    _warn_missing(lengths)
    return lengths[0] if single else lengths


def pairwise_distance(bundle: Subbundle, points: Any, others: Any = None, *, tol: float = 1e-4) -> FloatArray:
    """Matrix [n, m] of the distances from ``points`` [n, dim] to ``others`` [m, dim] (``points`` again if left out).

    For rank 1 and 2 a fan of geodesics leaves each of ``points``, and every target is placed between the rays of the
    fan: a few hundred geodesics serve all m targets. Where no ray comes near, a narrower fan is sent after the single
    target, and then `log` from the best of its rays; for higher ranks `log` does all the work.

    Without ``others`` the matrix is symmetric: each entry is the mean of both directions. Where two geodesics end to
    end, through another of the points or a landmark, are shorter than the one found, they count instead: the shortest
    way leads elsewhere, around a neck or a hole. Pairs that no single geodesic was found for get such a length too,
    an upper bound of the distance; a warning says how many.
    """
    around = surroundings_of(bundle)
    sources = around.validate(as_points(points, "points", dim=bundle.ambient_dim), "points")
    if others is None:
        return _all_pairs(bundle, sources, tol)
    targets = around.validate(as_points(others, "others", dim=bundle.ambient_dim), "others")
    apart = ~_joined(bundle, sources, targets, every=True)
    fans = fan_distances(bundle, sources, targets, apart, tol) if bundle.rank <= 2 else None
    matrix = np.full(apart.shape, np.nan) if fans is None else fans.lengths
    matrix[apart] = np.inf
    i, j = np.nonzero(np.isnan(matrix))
    matrix[i, j], starts = _by_narrow_fans(bundle, sources[i], targets[j], i, j, fans, tol)
    lost = np.isnan(matrix[i, j])
    i, j = i[lost], j[lost]
    matrix[i, j] = _lengths(bundle, sources[i], targets[j], "dual", tol, None if fans is None else starts[lost])
    i, j = np.nonzero(np.isfinite(matrix))
    matrix[i, j] = _no_longer_than_paths(bundle, sources[i], targets[j], matrix[i, j], tol)
    _warn_missing(matrix)
    return matrix


def _fill_from_fans(
    bundle: Subbundle, x: FloatArray, y: FloatArray, lengths: FloatArray, rows: IntArray, tol: float
) -> None:
    """Put into ``lengths[rows]`` what a fan finds between x and y [len(rows), dim] where nothing is known yet."""
    one = np.zeros(1, np.int64)
    for i in np.flatnonzero(np.isnan(lengths[rows])):
        source, target = x[i : i + 1], y[i : i + 1]
        fan = fan_distances(bundle, source, target, np.zeros((1, 1), bool), tol)
        found = fan.lengths[0]
        if np.isnan(found[0]):
            found, _ = _by_narrow_fans(bundle, source, target, one, one, fan, tol)
        lengths[rows[i]] = found[0]


def _no_longer_than_paths(
    bundle: Subbundle, x: FloatArray, y: FloatArray, lengths: FloatArray, tol: float
) -> FloatArray:
    """``lengths`` [n], and where a path through the landmarks is shorter, that of a geodesic along it, or NaN.

    Several geodesics can join two points, around a hole or a neck, and a search finds one of them.
    """
    if not isinstance(bundle, HasLandmarks) or not np.isfinite(lengths).any():
        return lengths
    # Within a few length scales there is only one way.
    long = np.flatnonzero(np.isfinite(lengths) & (lengths > _ONE_WAY * bundle.length_scale))
    if long.size == 0:
        return lengths
    graph = path_graph(bundle)
    bounds = np.full(len(x), np.inf)
    unique, group = np.unique(x[long], axis=0, return_inverse=True)
    for i, base in enumerate(unique):
        rows = long[group.ravel() == i]
        bounds[rows] = graph.lengths(base, y[rows])
    lengths = lengths.copy()
    for row in long[lengths[long] > (1.0 + _SLACK) * bounds[long]]:
        again = _along_path(bundle, x[row], y[row], bounds[row], tol)
        lengths[row] = again if again <= (1.0 + _SLACK) * bounds[row] else np.nan
    return lengths


def _along_path(bundle: Subbundle, x: FloatArray, y: FloatArray, length: float, tol: float) -> float:
    """Length of a geodesic from x to y that leaves along the shortest path; NaN if there is none."""
    direction, _ = path_graph(bundle).guesses(x, y[None])
    frame = bundle.frame(x[None])
    along = np.einsum("dk,d->k", (frame.vectors if frame.duals is None else frame.duals)[0], direction[0])
    start = along * (length / max(float(np.linalg.norm(along)), 1e-300))
    if bundle.rank == 2:
        angle = np.array([np.arctan2(along[1], along[0])])
        found, _ = aimed_fan_distances(bundle, x[None], y[None], angle, _AIM, 1.1 * length, tol)
        if np.isfinite(found[0]):
            return float(found[0])
    return float(_lengths(bundle, x[None], y[None], "dual", tol, start[None])[0])


def _all_pairs(bundle: Subbundle, points: FloatArray, tol: float) -> FloatArray:
    """Symmetric matrix [n, n] of the distances among ``points`` [n, dim]."""
    n = len(points)
    apart = ~_joined(bundle, points, points, every=True)
    stations = _stations(bundle, points)
    goals = np.concatenate([points, stations])
    fans = None
    if bundle.rank <= 2:
        fans = fan_distances(bundle, points, goals, ~_joined(bundle, points, goals, every=True), tol)
    matrix = np.full(apart.shape, np.nan) if fans is None else fans.lengths[:, :n].copy()
    matrix[apart] = np.inf
    np.fill_diagonal(matrix, 0.0)
    matrix = _mean_of_both(matrix)
    i, j = np.nonzero(np.isnan(matrix))
    if fans is None:
        i, j = i[i < j], j[i < j]
        first, second = _ordered(points[i], points[j])
        matrix[i, j] = matrix[j, i] = _lengths(bundle, first, second, "dual", tol)
    else:
        matrix[i, j], _ = _by_narrow_fans(bundle, points[i], points[j], i, j, fans, tol)
        matrix = _mean_of_both(matrix)
    known = np.where(np.isnan(matrix), np.inf, matrix)
    through = _through(known if fans is None else np.hstack([known, _known(fans.lengths[:, n:])]))
    missing = np.isnan(matrix)
    shorter = np.isfinite(matrix) & (through < (1.0 - _SHORTER) * known)
    matrix = np.where((missing & np.isfinite(through)) | shorter, through, matrix)
    matrix[apart] = np.inf
    _warn_through(int(np.count_nonzero(missing & np.isfinite(through))), matrix.size)
    _warn_missing(matrix)
    return matrix


def _stations(bundle: Subbundle, points: FloatArray) -> FloatArray:
    """Further points that a way may lead through, where ``points`` are too few to show that a geodesic is not the
    shortest."""
    few = _STATIONS - len(points)
    if few <= 0 or bundle.rank > 2 or not isinstance(bundle, HasLandmarks):
        return np.empty((0, points.shape[1]))
    landmarks = bundle.landmarks(few)
    return landmarks[np.isfinite(landmarks).all(axis=1)]


def _known(lengths: FloatArray) -> FloatArray:
    return np.where(np.isnan(lengths), np.inf, lengths)


def _through(lengths: FloatArray) -> FloatArray:
    """Shortest ways [n, n] through one of the m stations, given the distances [n, m] to them."""
    return np.stack([np.min(row + lengths, axis=1) for row in lengths])


def _mean_of_both(matrix: FloatArray) -> FloatArray:
    """Mean of both directions; where one is missing, the other."""
    one_way = np.where(np.isnan(matrix), matrix.T, matrix)
    return np.asarray(0.5 * (one_way + one_way.T))


def _by_narrow_fans(
    bundle: Subbundle, x: FloatArray, y: FloatArray, i: IntArray, j: IntArray, fans: FanDistances | None, tol: float
) -> tuple[FloatArray, FloatArray]:
    """Lengths [n] from x to y, pairs (i, j) that the full fans have missed, and coordinates [n, k] to start from."""
    lengths, starts = np.full(len(x), np.nan), np.zeros((len(x), bundle.rank))
    if fans is None or fans.rays <= 2:
        return lengths, starts
    rows = np.flatnonzero(fans.nearest[i, j] >= 0)
    nearest = fans.nearest[i[rows], j[rows]]
    lengths[rows], starts[rows] = narrow_fan_distances(bundle, x[rows], y[rows], nearest, fans, tol)
    return lengths, starts


def _lengths(
    bundle: Subbundle, x: FloatArray, y: FloatArray, search: str, tol: float, start: FloatArray | None = None
) -> FloatArray:
    """Lengths of the geodesics from x to y; NaN where a base point has no frame or the target was missed."""
    lengths = np.full(len(x), np.nan)
    defined = np.flatnonzero(bundle.frame(x).status == Status.OK) if len(x) else np.empty(0, np.int64)
    if defined.size:
        begin = None if start is None or not start[defined].any(axis=1).all() else start[defined]
        found = log(bundle, x[defined], y[defined], search=search, start=begin, tol=tol)
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


def _warn_through(count: int, total: int) -> None:
    if count:
        warnings.warn(
            f"{count} of {total} distances are lengths of two geodesics end to end, through another of the points: no "
            "single one was found. They are upper bounds, a little too long. A larger bandwidth makes them fewer.",
            SubbundleWarning,
            stacklevel=4,
        )


def _warn_missing(lengths: FloatArray) -> None:
    missing = int(np.count_nonzero(np.isnan(lengths)))
    if missing:
        warnings.warn(
            f"{missing} of {lengths.size} distances are NaN: no geodesic came within a bandwidth of its target. The "
            "points may lie off the data, or beyond a fold of the bundle; sb.log gives status and residual of each.",
            SubbundleWarning,
            stacklevel=3,
        )
