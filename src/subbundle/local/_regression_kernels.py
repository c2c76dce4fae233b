"""Weighted regression of the neighbours of a point on the quadratic monomials of their tangent coordinates.

See `_quadric_kernels` for what it is part of.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel

# Neighbours are worked on in tiles, one coordinate after the other, so that sums run in vector registers.
TILE = 128
_FAST = {"reassoc", "contract", "nsz", "arcp"}


@kernel(fastmath=_FAST)
def load(rows, places, start, size, mean, offsets):
    """Offsets from the mean of ``size`` neighbours from ``start`` on, one coordinate after the other."""
    for j in range(mean.size):
        for n in range(size):
            offsets[j, n] = rows[places[start + n], j] - mean[j]


@kernel(fastmath=_FAST)
def regress(rows, places, weights, count, mean, frame, bandwidth, tiles, coefficients):
    """Write the coefficients [q, D] of 1, τ_i, τ_iτ_j (i ≤ j); return the mean square left per normal direction.

    Without enough neighbours for the curvature the quadratic coefficients are zero.
    """
    offsets, terms, weighted = tiles
    dim, rank = frame.shape
    size = coefficients.shape[0]
    used = size if count > size else 1 + rank
    gram = np.zeros((size, size))
    for c in range(size):
        for j in range(dim):
            coefficients[c, j] = 0.0
    spread = 0.0
    for start in range(0, count, TILE):
        length = min(TILE, count - start)
        load(rows, places, start, length, mean, offsets)
        _fill_terms(offsets, frame, bandwidth, length, terms)
        for c in range(used):
            for n in range(length):
                weighted[n] = weights[start + n] * terms[c, n]
            for e in range(c + 1):
                total = 0.0
                for n in range(length):
                    total += weighted[n] * terms[e, n]
                gram[c, e] += total
            for j in range(dim):
                total = 0.0
                for n in range(length):
                    total += weighted[n] * offsets[j, n]
                coefficients[c, j] += total
        for j in range(dim):
            for n in range(length):
                spread += weights[start + n] * offsets[j, n] * offsets[j, n]
    explained = _solve(gram, coefficients, used)
    for c in range(1, size):
        scale = 1.0 / bandwidth if c <= rank else 1.0 / (bandwidth * bandwidth)
        for j in range(dim):
            coefficients[c, j] *= scale
    return max(spread - explained, 0.0) / max(dim - rank, 1)


@kernel(fastmath=_FAST)
def _fill_terms(offsets, frame, bandwidth, length, terms):
    """1, τ_i/a and τ_iτ_j/a² for i ≤ j, of a tile of offsets."""
    dim, rank = frame.shape
    for n in range(length):
        terms[0, n] = 1.0
    for a in range(rank):
        for n in range(length):
            terms[1 + a, n] = 0.0
        for j in range(dim):
            factor = frame[j, a] / bandwidth
            for n in range(length):
                terms[1 + a, n] += factor * offsets[j, n]
    c = 1 + rank
    for a in range(rank):
        for e in range(a, rank):
            for n in range(length):
                terms[c, n] = terms[1 + a, n] * terms[1 + e, n]
            c += 1


@kernel
def terms_at(offset, frame, terms):
    """1, τ_i and τ_iτ_j for i ≤ j of one offset [D]."""
    dim, rank = frame.shape
    terms[0] = 1.0
    for a in range(rank):
        total = 0.0
        for j in range(dim):
            total += frame[j, a] * offset[j]
        terms[1 + a] = total
    c = 1 + rank
    for a in range(rank):
        for e in range(a, rank):
            terms[c] = terms[1 + a] * terms[1 + e]
            c += 1


@kernel
def _solve(gram, right, used):
    """Solve gram · x = right in place by Cholesky; return Σ right · x, the square that the fit explains.

    The diagonal is raised by 1e-10 of itself: directions that the neighbours do not show get no coefficient instead of
    a huge one.
    """
    dim = right.shape[1]
    explained = 0.0
    for c in range(used):
        gram[c, c] = gram[c, c] * (1.0 + 1e-10) + 1e-14
        for e in range(c):
            total = gram[c, e]
            for f in range(e):
                total -= gram[c, f] * gram[e, f]
            gram[c, e] = total / gram[e, e]
        total = gram[c, c]
        for f in range(c):
            total -= gram[c, f] * gram[c, f]
        gram[c, c] = np.sqrt(max(total, 1e-16))
        for j in range(dim):
            total = right[c, j]
            for f in range(c):
                total -= gram[c, f] * right[f, j]
            right[c, j] = total / gram[c, c]
            explained += right[c, j] * right[c, j]
    for c in range(used - 1, -1, -1):
        for j in range(dim):
            total = right[c, j]
            for f in range(c + 1, used):
                total -= gram[f, c] * right[f, j]
            right[c, j] = total / gram[c, c]
    return explained
