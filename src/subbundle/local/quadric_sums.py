"""Weighted least squares of the normal coordinates on 1, τ and ττ: the sums, and solving for the coefficients.

At a point p with orthonormal basis E = [e_1..e_d], the bundle first, and u = Eᵀ(x − p)/a, the normal coordinates of
the neighbours are fitted by

    u_j ≈ c_j + Σ_a b_ja u_a + Σ_{a≤b} q_jab u_a u_b,        a, b ≤ k < j,

with the kernel's weights. Then a c_j is the height of the cloud's middle over p, b the tilt of its tangent space
against the bundle, and its second fundamental form is II_j(e_a, e_a) = 2 q_jaa / a, II_j(e_a, e_b) = q_jab / a. The fit
is exact where the middle is a quadric, whatever the density of the observations along it: near borders, too.

The features are ordered 1, u_1..u_k, u_1u_1, u_1u_2, .., u_ku_k. Surfaces in three dimensions are unrolled.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.cloud._build import LEAF

_FAST = {"reassoc", "contract", "nsz", "arcp"}

# Weight of the belief that the cloud is flat, in observations: it keeps the fit sane where neighbours are few.
FLATNESS = 0.1


@kernel
def n_features(rank):
    """1 + k + k (k + 1) / 2."""
    return 1 + rank + rank * (rank + 1) // 2


@kernel
def quadric_sums(blocks, found, count, weights, point, vectors, values, shift, mass, scale, gram, cross):
    """Write Σ w f fᵀ into ``gram`` [q, q] and Σ w f u_j into ``cross`` [q, d − k]; return Σ w² and Σ w |u_normal|².

    ``vectors`` [d, d] holds e_i as columns, ``values`` the λ_i of the second moment about m = p + ``shift``, ``scale``
    is 1/a: the sums of degree up to two follow from them.
    """
    dim = point.size
    rank = dim - cross.shape[1]
    if rank == 2 and dim == 3:
        squares = _surface_sums(blocks, found, count, weights, point, vectors, scale, gram, cross)
    else:
        squares = _sums_any(blocks, found, count, weights, point, vectors, rank, scale, gram, cross)
    spread = 0.0
    gram[0, 0] = mass
    for i in range(dim):
        along = 0.0
        for r in range(dim):
            along += scale * vectors[r, i] * shift[r]
        if i < rank:
            gram[1 + i, 0] = mass * along
        else:
            cross[0, i - rank] = mass * along
            spread += mass * (scale * scale * values[i] + along * along)
    place = 1 + rank
    for i in range(rank):
        for j in range(i, rank):
            own = scale * scale * values[i] * mass if i == j else 0.0
            gram[1 + j, 1 + i] = own + gram[1 + i, 0] * gram[1 + j, 0] / mass
            gram[place, 0] = gram[1 + j, 1 + i]
            place += 1
        for j in range(dim - rank):
            cross[1 + i, j] = gram[1 + i, 0] * cross[0, j] / mass
    return squares, spread


@kernel(fastmath=_FAST)
def _surface_sums(blocks, found, count, weights, point, vectors, scale, gram, cross):
    """The sums of degree three and four, and Σ w², which is returned."""
    p0, p1, p2 = point[0], point[1], point[2]
    e00, e01, e02 = scale * vectors[0, 0], scale * vectors[0, 1], scale * vectors[0, 2]
    e10, e11, e12 = scale * vectors[1, 0], scale * vectors[1, 1], scale * vectors[1, 2]
    e20, e21, e22 = scale * vectors[2, 0], scale * vectors[2, 1], scale * vectors[2, 2]
    squares = suuu = suuv = suvv = svvv = s40 = s31 = s22 = s13 = s04 = snuu = snuv = snvv = 0.0
    for c in range(count):
        leaf = found[c]
        for i in range(LEAF):
            y0, y1, y2 = blocks[leaf, 0, i] - p0, blocks[leaf, 1, i] - p1, blocks[leaf, 2, i] - p2
            u = e00 * y0 + e10 * y1 + e20 * y2
            v = e01 * y0 + e11 * y1 + e21 * y2
            n = e02 * y0 + e12 * y1 + e22 * y2
            w = weights[c, i]
            wuu, wuv, wvv = w * u * u, w * u * v, w * v * v
            squares += w * w
            suuu += wuu * u
            suuv += wuu * v
            suvv += wvv * u
            svvv += wvv * v
            snuu += wuu * n
            snuv += wuv * n
            snvv += wvv * n
            uu, uv, vv = u * u, u * v, v * v
            s40 += wuu * uu
            s31 += wuu * uv
            s22 += wuu * vv
            s13 += wvv * uv
            s04 += wvv * vv
    gram[3, 1], gram[3, 2], gram[3, 3] = suuu, suuv, s40
    gram[4, 1], gram[4, 2], gram[4, 3], gram[4, 4] = suuv, suvv, s31, s22
    gram[5, 1], gram[5, 2], gram[5, 3], gram[5, 4], gram[5, 5] = suvv, svvv, s22, s13, s04
    cross[3, 0], cross[4, 0], cross[5, 0] = snuu, snuv, snvv
    return squares


@kernel(fastmath=_FAST)
def _sums_any(blocks, found, count, weights, point, vectors, rank, scale, gram, cross):
    dim = point.size
    size = gram.shape[0]
    own = np.empty((dim, LEAF))
    features = np.empty((size, LEAF))
    weighted = np.empty(LEAF)
    for f in range(size):
        for g in range(size):
            gram[f, g] = 0.0
        for j in range(dim - rank):
            cross[f, j] = 0.0
    squares = 0.0
    for c in range(count):
        leaf = found[c]
        for m in range(dim):
            for i in range(LEAF):
                own[m, i] = 0.0
            for j in range(dim):
                for i in range(LEAF):
                    own[m, i] += scale * vectors[j, m] * (blocks[leaf, j, i] - point[j])
        for i in range(LEAF):
            squares += weights[c, i] * weights[c, i]
        place = 1 + rank
        for a in range(rank):
            for i in range(LEAF):
                features[1 + a, i] = own[a, i]
            for b in range(a, rank):
                for i in range(LEAF):
                    features[place, i] = own[a, i] * own[b, i]
                place += 1
        for f in range(1 + rank, size):
            for i in range(LEAF):
                weighted[i] = weights[c, i] * features[f, i]
            for g in range(1, f + 1):
                total = 0.0
                for i in range(LEAF):
                    total += weighted[i] * features[g, i]
                gram[f, g] += total
            for j in range(dim - rank):
                total = 0.0
                for i in range(LEAF):
                    total += weighted[i] * own[rank + j, i]
                cross[f, j] += total
    return squares


@kernel
def solve(gram, penalty, first_penalised, coefficients):
    """Solve (G + penalty on the quadratic features) x = ``coefficients`` in place, by Cholesky; ``gram`` is spoilt.

    Only the lower triangle is read. Directions that the neighbours do not have get a zero, as if left out.
    """
    size, columns = coefficients.shape
    for f in range(size):
        diagonal = gram[f, f]
        if f >= first_penalised:
            gram[f, f] += penalty
        for g in range(f):
            gram[f, f] -= gram[f, g] * gram[f, g]
        if gram[f, f] <= 1e-10 * diagonal:
            gram[f, f] = np.inf
        gram[f, f] = np.sqrt(gram[f, f])
        for h in range(f + 1, size):
            for g in range(f):
                gram[h, f] -= gram[h, g] * gram[f, g]
            gram[h, f] /= gram[f, f]
    for c in range(columns):
        for f in range(size):
            for g in range(f):
                coefficients[f, c] -= gram[f, g] * coefficients[g, c]
            coefficients[f, c] /= gram[f, f]
        for f in range(size - 1, -1, -1):
            for g in range(f + 1, size):
                coefficients[f, c] -= gram[g, f] * coefficients[g, c]
            coefficients[f, c] /= gram[f, f]


@kernel
def fitted(gram, cross, fit, rank, mass, squares, spread):
    """Solve for the quadric; return the variance about it, summed over normal directions, corrected for the fit.

    Of neighbours on a plane with Gaussian weights, the fit takes up 1 + k/2 + k(k − 1)/8 + 3k/8 observations out of
    n_eff: the expectation of fᵀG⁻¹f, which is a sum of squared Hermite polynomials, under the squared weights.
    """
    size, columns = cross.shape
    for f in range(size):
        for c in range(columns):
            fit[f, c] = cross[f, c]
    penalty = FLATNESS * squares / mass
    solve(gram, penalty, 1 + rank, fit)
    for f in range(size):
        for c in range(columns):
            spread -= fit[f, c] * (cross[f, c] + (penalty * fit[f, c] if f > rank else 0.0))
    used = (1.0 + 0.5 * rank + 0.125 * rank * (rank - 1.0) + 0.375 * rank) * squares / (mass * mass)
    return max(spread, 0.0) / mass / max(1.0 - used, 0.1)
