"""Local quadratic fits: at a point, the graph of a quadratic form over the tangent space that follows the cloud best.

With weights w_n of the observations around p, their mean m and the leading eigenvectors F of their second moment, the
offsets y_n = x_n − m are regressed on the coordinates τ_n = Fᵀ y_n:

    y ≈ g(τ) = c + L τ + ½ Q(τ, τ)            weighted least squares, all D coordinates at once.

p moves to m + g(Fᵀ(p − m)), a step across F; where it comes to rest is the ridge, corrected for curvature. Tangent
space and second fundamental form there are those of the graph: with T = ∂g/∂τ = E B⁻¹, E orthonormal,

    II(e_a, e_b) = (I − E Eᵀ) Σ_ij B_ia B_jb Q_ij.

Weights are (1 − (t − t_near)/12)⁶ with t = |x_n − p|²/a², six times differentiable and close to the Gaussian exp(−t/2);
t_near belongs to the nearest observation, as high dimensions add the same noise to all t.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.local._leading import leading
from subbundle.local._regression_kernels import TILE, load, regress, terms_at
from subbundle.local.rows import collect

REACH = 12.0
_FAST = {"reassoc", "contract", "nsz", "arcp"}


@kernel
def settle(rows, boxes, bandwidth, rank, steps, tol, apart, points, frames, forms, gaps, effective, noise, status):
    """Carry ``points`` [B, D] to rest, in place, and write the fit there.

    ``frames`` [B, D, k], ``forms`` [B, k(k+1)/2, D] (pairs i ≤ j in order), ``gaps`` λ_{k+1}/λ_k, ``effective`` number
    of neighbours, ``noise`` mean square of the normal offset per normal direction. ``apart = 0`` leaves out the
    observation that sits on the starting point, in the first step. ``status``: 0, or 1 where too few neighbours are in
    reach.
    """
    n_points, dim = rows.shape
    pairs = rank * (rank + 1) // 2
    places = np.empty(n_points, np.int64)
    weights = np.empty(n_points)
    p, mean, step = np.empty(dim), np.empty(dim), np.empty(dim)
    frame, values = np.empty((dim, rank)), np.empty(rank + 1)
    moment = np.empty((dim, dim))
    coefficients = np.empty((1 + rank + pairs, dim))
    tiles = np.empty((dim, TILE)), np.empty((1 + rank + pairs, TILE)), np.empty(TILE)
    for b in range(points.shape[0]):
        for j in range(dim):
            p[j] = points[b, j]
        status[b] = 1
        gaps[b], effective[b], noise[b] = 1.0, 0.0, 0.0
        for s in range(steps):
            count = _weigh(rows, boxes, p, bandwidth, apart if s == 0 else -1.0, places, weights)
            if count < rank + 2:
                break
            effective[b] = _mean(rows, places, weights, count, mean)
            _second_moment(rows, places, weights, count, mean, tiles, moment)
            leading(moment, rank, values, frame)
            # Copies of one point have no direction.
            if not values[rank - 1] > 1e-24 * bandwidth * bandwidth:
                break
            gaps[b] = values[rank] / values[rank - 1]
            noise[b] = regress(rows, places, weights, count, mean, frame, bandwidth, tiles, coefficients)
            moved = _to_graph(p, mean, frame, coefficients, step)
            longest = 2.0 * bandwidth
            scale = min(1.0, longest / moved) if moved > 0.0 else 1.0
            for j in range(dim):
                p[j] += scale * step[j]
            status[b] = 0
            if moved <= tol * bandwidth:
                break
        if status[b] == 0:
            _tangent(p, mean, frame, coefficients, frames[b], forms[b])
            for j in range(dim):
                points[b, j] = p[j]
        else:
            for j in range(dim):
                for a in range(rank):
                    frames[b, j, a] = 0.0
                for c in range(pairs):
                    forms[b, c, j] = 0.0


@kernel
def _weigh(rows, boxes, p, bandwidth, apart, places, weights):
    """Neighbours of ``p`` and their weights; returns how many."""
    area = bandwidth * bandwidth
    count, best = collect(rows, boxes, p, REACH * area, True, apart, places, weights)
    if not best < 1e12 * area:
        return 0
    kept = 0
    for n in range(count):
        u = 1.0 - (weights[n] - best) / (area * REACH)
        if u > 0.0:
            places[kept] = places[n]
            weights[kept] = (u * u) * (u * u) * (u * u)
            kept += 1
    return kept


@kernel
def _mean(rows, places, weights, count, mean):
    """Write the weighted mean; return the effective number (Σw)²/Σw². Weights are made to sum to one."""
    dim = mean.size
    total, squares = 0.0, 0.0
    for j in range(dim):
        mean[j] = 0.0
    for n in range(count):
        total += weights[n]
        squares += weights[n] * weights[n]
        for j in range(dim):
            mean[j] += weights[n] * rows[places[n], j]
    for j in range(dim):
        mean[j] /= total
    for n in range(count):
        weights[n] /= total
    return total * total / squares


@kernel(fastmath=_FAST)
def _second_moment(rows, places, weights, count, mean, tiles, moment):
    offsets, _, weighted = tiles
    dim = mean.size
    for i in range(dim):
        for j in range(dim):
            moment[i, j] = 0.0
    for start in range(0, count, TILE):
        size = min(TILE, count - start)
        load(rows, places, start, size, mean, offsets)
        for i in range(dim):
            for n in range(size):
                weighted[n] = weights[start + n] * offsets[i, n]
            for j in range(i + 1):
                total = 0.0
                for n in range(size):
                    total += weighted[n] * offsets[j, n]
                moment[i, j] += total
    for i in range(dim):
        for j in range(i):
            moment[j, i] = moment[i, j]


@kernel
def _to_graph(p, mean, frame, coefficients, step):
    """Write the step from p to the graph, across the tangent space; return its length."""
    dim = p.size
    terms, offset = np.empty(coefficients.shape[0]), np.empty(dim)
    for j in range(dim):
        offset[j] = p[j] - mean[j]
    terms_at(offset, frame, terms)
    length = 0.0
    for j in range(dim):
        total = -offset[j]
        for c in range(terms.size):
            total += coefficients[c, j] * terms[c]
        step[j] = total
        length += total * total
    return np.sqrt(length)


@kernel
def _tangent(p, mean, frame, coefficients, tangent, form):
    """Write an orthonormal tangent frame [D, k] of the graph above p, and its second fundamental form [pairs, D].

    The frame is that of Gram–Schmidt on the columns of ∂g/∂τ, T = E B⁻¹ with B upper triangular.
    """
    dim, rank = frame.shape
    tau = np.zeros(rank)
    for a in range(rank):
        for j in range(dim):
            tau[a] += frame[j, a] * (p[j] - mean[j])
    # Entry (a, e) of the second derivative is `second[a, e]`: twice the coefficient on the diagonal.
    second = np.empty((rank, rank, dim))
    c = 1 + rank
    for a in range(rank):
        for e in range(a, rank):
            for j in range(dim):
                second[a, e, j] = coefficients[c, j] * (2.0 if a == e else 1.0)
                second[e, a, j] = second[a, e, j]
            c += 1
    change = np.zeros((rank, rank))
    for a in range(rank):
        change[a, a] = 1.0
        for j in range(dim):
            total = coefficients[1 + a, j]
            for e in range(rank):
                total += second[a, e, j] * tau[e]
            tangent[j, a] = total
        for e in range(a):
            dot = 0.0
            for j in range(dim):
                dot += tangent[j, a] * tangent[j, e]
            for j in range(dim):
                tangent[j, a] -= dot * tangent[j, e]
            for f in range(rank):
                change[f, a] -= dot * change[f, e]
        norm = 0.0
        for j in range(dim):
            norm += tangent[j, a] * tangent[j, a]
        norm = np.sqrt(norm)
        for j in range(dim):
            tangent[j, a] /= norm
        for f in range(rank):
            change[f, a] /= norm
    c = 0
    for a in range(rank):
        for e in range(a, rank):
            for j in range(dim):
                total = 0.0
                for f in range(rank):
                    for g in range(rank):
                        total += change[f, a] * change[g, e] * second[f, g, j]
                form[c, j] = total
            for f in range(rank):
                dot = 0.0
                for j in range(dim):
                    dot += form[c, j] * tangent[j, f]
                for j in range(dim):
                    form[c, j] -= dot * tangent[j, f]
            c += 1
