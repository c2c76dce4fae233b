"""Frames and second fundamental forms at every node, with as much curvature as its neighbourhood gives evidence of.

The quadratic part of a local fit is shrunk by a penalty. Which one, the neighbours decide: the penalty whose fit
predicts them best when each is left out, averaged over the node and its neighbours so that no single one decides. Where
data is dense the penalty is next to none and frames are right to second order; where it is thin the plane remains.
"""

from __future__ import annotations

import numpy as np

from subbundle._memory import blocks
from subbundle._types import FloatArray, IntArray
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


def fit_size(rank: int) -> int:
    """Neighbours that the fits at nodes of a shape of dimension ``rank`` ask for."""
    return _PER_COEFFICIENT * (1 + rank + rank * (rank + 1) // 2)


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
    errors = leave_one_out(points, members, weights, flat.frames, _PENALTIES)
    best = errors[members].mean(axis=1).argmin(axis=1)
    misfit = float(np.sqrt(np.median(errors[np.arange(count), best])))
    return fit_polynomials(points, points, members, weights, rank, 2, _PENALTIES[best]), misfit
