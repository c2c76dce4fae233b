"""The local model at many rows of a table, of order one or two, from given neighbours and weights.

At a query q with neighbours x_j and weights w_j the normal components of x_j − q are regressed on the features

    1, τ, and for order two τ_a τ_b (a ≤ b),       τ = F (x_j − q)/h,   h the weighted root mean square distance,

F first the leading principal directions, then tilted once by the slopes found. The constant is the offset of the
surface from q, the quadratic coefficients are its second fundamental form. A penalty on the latter shrinks the form:
none gives the quadric, an infinite one the plane.

`curved_fits` takes the penalty whose fit predicts the neighbours best when each is left out, averaged over the node and
its neighbours to reduce its variance. Where data is dense the penalty is next to none and frames are of second order;
where it is sparse the fit is a plane.
"""

from __future__ import annotations

import numpy as np

from subbundle._memory import blocks
from subbundle._numbers import SINGULAR
from subbundle._types import FloatArray, IntArray, Status, evenly
from subbundle.local.frames import leading_directions
from subbundle.local.model import LocalModel, partial_model
from subbundle.local.tuning import LARGE_FIT, PENALTIES, PER_COEFFICIENT, RIM


def distance_weights(distances: FloatArray, masses: FloatArray) -> FloatArray:
    """Weights [b, m] of neighbours at ``distances`` [b, m], in proportion to their ``masses`` [b, m]; those of a row
    sum to one."""
    # Neighbours along a curve are not sorted by distance.
    reach = RIM * distances.max(axis=1, keepdims=True) + 1e-300
    weights = masses * (1.0 - (distances / reach) ** 2)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def quadratic_features(tau: FloatArray) -> FloatArray:
    """τ_a τ_b for a ≤ b, [..., k(k+1)/2]."""
    first, second = np.triu_indices(tau.shape[-1])
    return np.asarray(tau[..., first] * tau[..., second])


def _features(tau: FloatArray, order: int) -> FloatArray:
    """1, τ and for order two τ_a τ_b, [b, m, features]."""
    parts = [np.ones((*tau.shape[:2], 1)), tau] + ([quadratic_features(tau)] if order == 2 else [])
    return np.concatenate(parts, axis=2)


def fit_to_neighbors(
    points: FloatArray, queries: FloatArray, near: IntArray, weights: FloatArray, rank: int, order: int,
    penalty: FloatArray | float = 0.0,
) -> LocalModel:  # fmt: skip
    """The local model at ``queries`` [b, D] of their neighbours ``points[near]``, [b, m]; ``penalty`` one number or one
    per row.

    Weights sum to one, and so does the mass. Forms of order 1 are zero. Of the standard errors only that of the
    tangents is known: one set of neighbours shows no bias.
    """
    count, dim = queries.shape
    frames = np.empty((count, rank, dim))
    forms = np.zeros((count, rank * (rank + 1) // 2, dim))
    found = partial_model(queries.copy(), frames.transpose(0, 2, 1), forms, log_mass=np.zeros(count))
    penalties = np.broadcast_to(np.asarray(penalty, float), (count,))
    for rows in blocks(count, near.shape[1] * dim):
        _fit_rows(found, rows, points[near[rows]] - queries[rows, None], weights[rows], order, penalties[rows])
    found.offsets[:] = np.sqrt(np.einsum("bd,bd->b", found.points - queries, found.points - queries))
    return found


def _fit_rows(
    out: LocalModel, rows: slice, offsets: FloatArray, weights: FloatArray, order: int, penalty: FloatArray
) -> None:
    """Fit ``rows`` of ``out``, whose points are the queries, to ``offsets`` [b, m, D] from these."""
    dim, rank = out.tangents.shape[1:]
    mean = np.einsum("bm,bmd->bd", weights, offsets)
    centred = (offsets - mean[:, None]) * np.sqrt(weights)[:, :, None]
    frames = leading_directions(centred, rank)
    out.mean[rows] = out.points[rows] + mean
    out.eigenvalues[rows, :rank] = np.square(centred @ frames.transpose(0, 2, 1)).sum(axis=1)
    # Directions that the neighbours do not have are zero.
    spanned = np.einsum("bkd,bkd->bk", frames, frames).min(axis=1) > 0.5
    scale = np.sqrt(np.einsum("bm,bmd,bmd->b", weights, offsets, offsets)) + 1e-300
    for tilting in (True, False):
        tau = offsets @ frames.transpose(0, 2, 1)
        normal = offsets - tau @ frames
        maps = coefficient_maps(tau / scale[:, None, None], weights, order, penalty)
        solution = maps @ normal
        if tilting:
            slopes = solution[:, 1 : 1 + rank] / scale[:, None, None]
            frames = np.linalg.qr((frames + slopes).transpose(0, 2, 1))[0].transpose(0, 2, 1)
    out.points[rows] += solution[:, 0]
    out.frames[rows] = frames
    if order == 2:
        first, second = np.triu_indices(rank)
        # τ_a τ_b with a < b stands for both mixed terms of ½ II(τ, τ), τ_a² for half of one.
        forms = solution[:, 1 + rank :] * (np.where(first == second, 2.0, 1.0) / scale[:, None] ** 2)[:, :, None]
        out.forms[rows] = forms - forms @ frames.transpose(0, 2, 1) @ frames
    features = _features(tau / scale[:, None, None], order)
    left = normal - features @ solution
    # E Σ w |e|² is this fraction of the variance of the observations.
    free = 1.0 - np.einsum("bm,bmf,bfm->b", weights, features, maps)
    out.widths[rows], out.n_effective[rows] = scale, 1.0 / np.einsum("bm,bm->b", weights, weights)
    out.residual[rows] = np.einsum("bm,bmd,bmd->b", weights, left, left)
    out.height_gain[rows] = np.square(maps[:, 0]).sum(axis=1)
    variance = out.residual[rows] / np.maximum(free, 1.0 / out.n_effective[rows])
    out.noise[rows] = np.sqrt(variance / max(dim - rank, 1))
    out.tangent_error[rows] = np.sqrt(variance * np.square(maps[:, 1 : 1 + rank]).sum(axis=(1, 2))) / scale
    out.status[rows] = np.where(spanned, Status.OK, Status.GAP_CLOSED)


def coefficient_maps(tau: FloatArray, weights: FloatArray, order: int, penalty: FloatArray) -> FloatArray:
    """The matrices [b, features, m] that turn values at the neighbours into coefficients."""
    rank = tau.shape[2]
    features = _features(tau, order)
    weighted = (features * weights[:, :, None]).transpose(0, 2, 1)
    gram = weighted @ features
    steady = SINGULAR * np.trace(gram, axis1=1, axis2=2)
    diagonal = np.arange(gram.shape[1])
    gram[:, diagonal, diagonal] += steady[:, None]
    gram[:, diagonal[1 + rank :], diagonal[1 + rank :]] += penalty[:, None]
    return np.asarray(np.linalg.solve(gram, weighted))


def leave_one_out(
    points: FloatArray, queries: FloatArray, near: IntArray, weights: FloatArray, frames: FloatArray,
    penalties: FloatArray, order: int,
) -> FloatArray:  # fmt: skip
    """Mean squared normal distance [b, P] of the neighbours from the fit without them, for each of ``penalties`` [P].

    With the hat matrix H of the regression, the residual of a neighbour that was left out is (x_j − Σ H_jl x_l)/(1 −
    H_jj); squared lengths follow from the Gram matrix of the normal components, whatever their dimension.
    """
    count, dim = queries.shape
    errors = np.empty((count, len(penalties)))
    for rows in blocks(count, near.shape[1] * dim):
        offsets = points[near[rows]] - queries[rows, None]
        tau = offsets @ frames[rows].transpose(0, 2, 1)
        normal = offsets - tau @ frames[rows]
        gram = normal @ normal.transpose(0, 2, 1)
        scale = np.sqrt(np.einsum("bm,bmd,bmd->b", weights[rows], offsets, offsets)) + 1e-300
        tau = tau / scale[:, None, None]
        features = _features(tau, order)
        for i, penalty in enumerate(penalties):
            hat = features @ coefficient_maps(tau, weights[rows], order, np.full(len(tau), penalty))
            left = np.eye(hat.shape[1]) - hat
            squares = np.einsum("bij,bjk,bik->bi", left, gram, left, optimize=True)
            # 1 − H_jj is bounded below: with H_jj = 1 the fit without the neighbour is undetermined.
            free = np.maximum(1.0 - np.einsum("bii->bi", hat), 1.0 / hat.shape[1])
            errors[rows, i] = np.sum(weights[rows] * squares / free**2, axis=1) / scale**2
    return errors


def fit_size(rank: int) -> int:
    """Number of neighbours for fits of dimension ``rank``."""
    size = PER_COEFFICIENT * (1 + rank + rank * (rank + 1) // 2)
    return size if size <= 2 * LARGE_FIT else PER_COEFFICIENT * (1 + rank)


def curved_fits(points: FloatArray, masses: FloatArray, near: IntArray, rank: int) -> tuple[LocalModel, float]:
    """Fits at ``points`` [n, D] with weights ``masses`` [n] from themselves and the first of their neighbours ``near``
    [n, m], nearest first, and their misfit: the root of the median leave-one-out error, relative to the size of the
    neighbourhood.
    """
    count = len(points)
    members = np.concatenate([np.arange(count)[:, None], near[:, : fit_size(rank)]], axis=1)
    distances = np.empty(members.shape)
    for rows in blocks(count, members.shape[1] * points.shape[1]):
        distances[rows] = np.linalg.norm(points[members[rows]] - points[rows, None], axis=2)
    weights = distance_weights(distances, masses[members])
    flat = fit_to_neighbors(points, points, members, weights, rank, 1)
    size = fit_size(rank)
    order, penalties = (2, PENALTIES) if size > PER_COEFFICIENT * (1 + rank) else (1, PENALTIES[-1:])
    # Where fits are large errors are computed at some nodes and averaged over the neighbours of each.
    validated = evenly(count, int(np.ceil(count * min(LARGE_FIT / size, 1.0) ** 2)))
    errors = np.full((count, len(penalties)), np.nan)
    errors[validated] = leave_one_out(
        points, points[validated], members[validated], weights[validated], flat.frames[validated], penalties, order
    )
    best = _mean_over(errors, members).argmin(axis=1)
    misfit = float(np.sqrt(np.median(errors[validated, best[validated]])))
    if order == 1:
        return flat, misfit
    return fit_to_neighbors(points, points, members, weights, rank, 2, penalties[best]), misfit


def _mean_over(errors: FloatArray, members: IntArray) -> FloatArray:
    """Means [n, P] of the known rows of ``errors`` [n, P] over ``members`` [n, m]; over all without any."""
    if np.isfinite(errors).all():
        return np.asarray(errors[members].mean(axis=1))
    known = np.isfinite(errors[:, 0])
    counts = known[members].sum(axis=1)[:, None]
    sums = np.where(known[:, None], errors, 0.0)[members].sum(axis=1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), errors[known].mean(axis=0)))
