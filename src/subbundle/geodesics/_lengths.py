"""Lengths of geodesics between given pairs of points: the searches from which all distances are assembled.

Every length is a function of the bundle and of its two points alone: the other pairs of the
same call change no bit of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import FloatArray, IntArray, Status
from subbundle.bundles.base import HasLandmarks, LearnedSubbundle, Subbundle
from subbundle.geodesics._fans import FanDistances, aimed_fan_distances, narrow_fan_distances
from subbundle.geodesics.connected_components import connected_components
from subbundle.geodesics.log import log
from subbundle.geodesics.paths import path_graph

# A geodesic that ends further than this from its target, in length scales, has missed it.
_MISSED = 1.0
# Length scales up to which no second geodesic is searched, and the fraction by which a geodesic may be longer than the
# path through the landmarks along it, which cuts corners, before the two count as different.
_ONE_WAY, _SLACK = 8.0, 0.1
# Half the opening, in radians, of a fan aimed along a path.
_AIM = 0.25


def no_longer_than_paths(
    bundle: Subbundle, x: FloatArray, y: FloatArray, lengths: FloatArray, tol: float
) -> FloatArray:
    """``lengths`` [n], and where a path through the landmarks is shorter, that of a geodesic along it, or NaN.

    Several geodesics can join two points, around a hole or a neck, and a search finds one of them.
    """
    if not isinstance(bundle, HasLandmarks) or not np.isfinite(lengths).any():
        return lengths
    # Within a few length scales there is only one geodesic.
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
    return float(geodesic_lengths(bundle, x[None], y[None], "dual", tol, start[None])[0])


def by_narrow_fans(
    bundle: Subbundle, x: FloatArray, y: FloatArray, i: IntArray, j: IntArray, fans: FanDistances | None, tol: float
) -> tuple[FloatArray, FloatArray]:
    """Lengths [n] from x to y, pairs (i, j) that the full fans missed, and coordinates [n, k] to start from."""
    lengths, starts = np.full(len(x), np.nan), np.zeros((len(x), bundle.rank))
    if fans is None or bundle.rank == 1:
        return lengths, starts
    rows = np.flatnonzero(fans.nearest[i, j] >= 0)
    lengths[rows], starts[rows] = narrow_fan_distances(bundle, x[rows], y[rows], (i[rows], j[rows]), fans, tol)
    return lengths, starts


def geodesic_lengths(
    bundle: Subbundle, x: FloatArray, y: FloatArray, search: str, tol: float, start: FloatArray | None = None
) -> FloatArray:
    """Lengths of the geodesics from x to y; NaN where a base point has no frame or the target was missed."""
    lengths = np.full(len(x), np.nan)
    # Rows without a start of their own begin at the chord, whatever the others have.
    defined = np.flatnonzero(bundle.frame(x).status == Status.OK) if len(x) else np.empty(0, np.int64)
    if defined.size:
        aimed = np.zeros(len(defined), bool) if start is None else start[defined].any(axis=1)
        for rows, begin in ((defined[~aimed], None), (defined[aimed], start)):
            if rows.size:
                found = log(
                    bundle, x[rows], y[rows], search=search, start=None if begin is None else begin[rows], tol=tol
                )
                hit = (found.status == Status.OK) & (found.residuals <= _MISSED * bundle.length_scale)
                lengths[rows[hit]] = found.lengths[hit]
    return lengths


def joined(bundle: Subbundle, x: FloatArray, y: FloatArray, *, every: bool = False) -> np.ndarray[Any, Any]:
    """Whether the points lie in the same connected component; row by row, or ``every`` row of x with every row of y."""
    shape = (len(x), len(y)) if every else (len(x),)
    if not isinstance(bundle, LearnedSubbundle):
        return np.ones(shape, bool)
    components = connected_components(bundle)
    here, there = components.label(x), components.label(y)
    same: np.ndarray[Any, Any] = here[:, None] == there[None, :] if every else here == there
    return same


def ordered(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The two points of each row in lexicographic order."""
    differ = x != y
    first = np.argmax(differ, axis=1)
    rows = np.arange(len(x))
    swap = x[rows, first] > y[rows, first]
    return np.where(swap[:, None], y, x), np.where(swap[:, None], x, y)
