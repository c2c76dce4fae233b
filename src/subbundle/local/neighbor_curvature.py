"""Frames and second fundamental forms at every node, with as much curvature as its neighbourhood gives evidence of.

The quadratic part of a local fit is shrunk by a penalty. Which one, the neighbours decide: the penalty whose fit
predicts them best when each is left out, averaged over the node and its neighbours so that no single one decides. Where
data is dense the penalty is next to none and frames are right to second order; where it is thin the plane remains.
"""

from __future__ import annotations

import numpy as np

from subbundle._memory import blocks
from subbundle._types import FloatArray, IntArray, evenly
from subbundle.local.neighbor_fits import (
    LocalPolynomials,
    distance_weights,
    fit_polynomials,
    leave_one_out,
)

# Penalties on quadratic features of size one: none to speak of, three between, and the plane.
_PENALTIES = np.array([1e-3, 1e-2, 1e-1, 1.0, 1e6])
# Neighbours of a fit, per coefficient of a quadratic function.
_PER_COEFFICIENT = 2
# Neighbours of a fit up to which every node is asked for its penalty (rank 10). Beyond, fits take their third power in
# time, and fewer nodes are asked; beyond twice as many (from rank 15 on) a thousand quadrics take half a minute and
# more neighbours each than tables have, and the plane remains.
_LARGE_FIT = 132


def fit_size(rank: int) -> int:
    """Neighbours that the fits at nodes of a shape of dimension ``rank`` ask for."""
    size = _PER_COEFFICIENT * (1 + rank + rank * (rank + 1) // 2)
    return size if size <= 2 * _LARGE_FIT else _PER_COEFFICIENT * (1 + rank)


def curved_fits(points: FloatArray, masses: FloatArray, near: IntArray, rank: int) -> tuple[LocalPolynomials, float]:
    """Fits at ``points`` [n, D] with weights ``masses`` [n] from themselves and the first of their neighbours ``near``
    [n, m], nearest first, and their misfit: how far a neighbour typically is from the fit without it, relative to the
    size of the neighbourhood.
    """
    count = len(points)
    members = np.concatenate([np.arange(count)[:, None], near[:, : fit_size(rank)]], axis=1)
    distances = np.empty(members.shape)
    for rows in blocks(count, members.shape[1] * points.shape[1]):
        distances[rows] = np.linalg.norm(points[members[rows]] - points[rows, None], axis=2)
    weights = distance_weights(distances, masses[members])
    flat = fit_polynomials(points, points, members, weights, rank, 1)
    size = fit_size(rank)
    order, penalties = (2, _PENALTIES) if size > _PER_COEFFICIENT * (1 + rank) else (1, _PENALTIES[-1:])
    # Where fits are large the penalty of a node is that of the nodes around it that were asked.
    asked = evenly(count, int(np.ceil(count * min(_LARGE_FIT / size, 1.0) ** 2)))
    errors = np.full((count, len(penalties)), np.nan)
    errors[asked] = leave_one_out(
        points, points[asked], members[asked], weights[asked], flat.frames[asked], penalties, order
    )
    best = _mean_over(errors, members).argmin(axis=1)
    misfit = float(np.sqrt(np.median(errors[asked, best[asked]])))
    if order == 1:
        return flat, misfit
    return fit_polynomials(points, points, members, weights, rank, 2, penalties[best]), misfit


def _mean_over(errors: FloatArray, members: IntArray) -> FloatArray:
    """Means [n, P] of the known rows of ``errors`` [n, P] over ``members`` [n, m]; of all where no member is known."""
    if np.isfinite(errors).all():
        return np.asarray(errors[members].mean(axis=1))
    known = np.isfinite(errors[:, 0])
    counts = known[members].sum(axis=1)[:, None]
    sums = np.where(known[:, None], errors, 0.0)[members].sum(axis=1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), errors[known].mean(axis=0)))
