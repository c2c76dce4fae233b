"""Weighted least squares of the normal coordinates on 1, τ and ττ: sums, solution and residuals.

At a point p with orthonormal basis E = [e_1..e_d], the tangent space first, and u = Eᵀ(x − p)/a, the normal coordinates
of the neighbours are fitted by

    u_j ≈ c_j + Σ_a b_ja u_a + Σ_{a≤b} q_jab u_a u_b,        a, b ≤ k < j,

with the window's weights. Then a c_j is the height of the conditional mean over p, b the tilt of its tangent
space against E, and its second fundamental form is II_j(e_a, e_a) = 2 q_jaa / a, II_j(e_a, e_b) = q_jab / a. The fit is
exact where that mean is a quadric, whatever the density of the observations along it, also near borders.

Neighbours come as `gather` and `to_frame` leave them: u_n [d, n], w_n in the last row. The features f are ordered
1, u_1..u_k, u_1u_1, u_1u_2, .., u_ku_k. Surfaces in three dimensions are unrolled.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import SINGULAR
from subbundle.local.moments import FAST
from subbundle.local.settings import COMMON


@kernel
def n_features(rank):
    """1 + k + k (k + 1) / 2."""
    return 1 + rank + rank * (rank + 1) // 2


@kernel
def quadric_sums(near, count, rank, cases, tile, gram, cross):
    """Write Σ w f fᵀ into ``gram`` [q, q] (lower half), Σ w f u_j into ``cross`` [q, d − k]; return Σ w |u_normal|².

    With ``cases`` COMMON only surfaces in R³ are compiled, here as below.
    """
    if cases is COMMON or (rank == 2 and near.shape[0] == 4):
        return _sums3(near, count, gram, cross)
    return _sums_any(near, count, rank, 0, tile, gram, cross)


@kernel
def ball_sums(near, count, values, shift, basis, mass, scale, cases, tile, gram, cross):
    """`quadric_sums` for a ball, over the eigenvectors: degree up to two follows from λ and m − p.

    Neighbours come as offsets y_n for a surface in R³, else in the frame.
    """
    dim = shift.size
    rank = dim - cross.shape[1]
    if cases is COMMON or (rank == 2 and dim == 3):
        _high3(near, count, basis, scale, gram, cross)
    else:
        _sums_any(near, count, rank, 1 + rank, tile, gram, cross)
    spread = 0.0
    gram[0, 0] = mass
    for i in range(dim):
        along = 0.0
        for r in range(dim):
            along += scale * basis[r, i] * shift[r]
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
    return spread


@kernel(fastmath=FAST)
def _sums3(near, count, gram, cross):
    """All sums, of neighbours in the frame, in their own precision; Σ w z² is returned."""
    none = near.dtype.type(0.0)
    s = s1 = s2 = s11 = s12 = s22 = z0 = z1 = z2 = none
    high = none, none, none, none, none, none, none, none, none, none, none, none, none
    for n in range(np.uint64(count)):
        u, v, z, w = near[0, n], near[1, n], near[2, n], near[3, n]
        wu, wv, wz = w * u, w * v, w * z
        s += w
        s1 += wu
        s2 += wv
        s11 += wu * u
        s12 += wu * v
        s22 += wv * v
        z0 += wz
        z1 += wz * u
        z2 += wz * v
        high = _higher3(high, w, u, v, z)
    gram[0, 0], gram[1, 0], gram[2, 0], gram[1, 1], gram[2, 1], gram[2, 2] = s, s1, s2, s11, s12, s22
    gram[3, 0], gram[4, 0], gram[5, 0] = s11, s12, s22
    cross[0, 0], cross[1, 0], cross[2, 0] = z0, z1, z2
    return _write3(high, gram, cross)


@kernel(fastmath=FAST)
def _high3(near, count, axes, scale, gram, cross):
    """Sums of degree three and four, and Σ w z², which is returned; the frame is ``scale`` times ``axes``."""
    e00, e01, e02 = scale * axes[0, 0], scale * axes[0, 1], scale * axes[0, 2]
    e10, e11, e12 = scale * axes[1, 0], scale * axes[1, 1], scale * axes[1, 2]
    e20, e21, e22 = scale * axes[2, 0], scale * axes[2, 1], scale * axes[2, 2]
    high = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for n in range(np.uint64(count)):
        y0, y1, y2, w = near[0, n], near[1, n], near[2, n], near[3, n]
        u = e00 * y0 + e10 * y1 + e20 * y2
        v = e01 * y0 + e11 * y1 + e21 * y2
        z = e02 * y0 + e12 * y1 + e22 * y2
        high = _higher3(high, w, u, v, z)
    return _write3(high, gram, cross)


@kernel(fastmath=FAST)
def _higher3(sums, w, u, v, z):
    """Σ w z² and the sums of degree three and four, and those of one more neighbour."""
    squares, suuu, suuv, suvv, svvv, snuu, snuv, snvv, s40, s31, s22, s13, s04 = sums
    uu, uv, vv = u * u, u * v, v * v
    wuu, wuv, wvv = w * uu, w * uv, w * vv
    return (
        squares + w * z * z, suuu + wuu * u, suuv + wuu * v, suvv + wvv * u, svvv + wvv * v,
        snuu + wuu * z, snuv + wuv * z, snvv + wvv * z,
        s40 + wuu * uu, s31 + wuu * uv, s22 + wuu * vv, s13 + wvv * uv, s04 + wvv * vv,
    )  # fmt: skip


@kernel
def _write3(sums, gram, cross):
    """Write the sums of `_higher3`; return Σ w z²."""
    squares, suuu, suuv, suvv, svvv, snuu, snuv, snvv, s40, s31, s22, s13, s04 = sums
    gram[3, 1], gram[3, 2], gram[3, 3] = suuu, suuv, s40
    gram[4, 1], gram[4, 2], gram[4, 3], gram[4, 4] = suuv, suvv, s31, s22
    gram[5, 1], gram[5, 2], gram[5, 3], gram[5, 4], gram[5, 5] = suvv, svvv, s22, s13, s04
    cross[3, 0], cross[4, 0], cross[5, 0] = snuu, snuv, snvv
    return squares


@kernel(fastmath=FAST)
def _sums_any(near, count, rank, first, tile, gram, cross):
    """The sums of features from ``first`` on with those before them; Σ w |u_normal|² is returned if that is all."""
    dim = near.shape[0] - 1
    size, columns = cross.shape
    for f in range(first, size):
        for g in range(f + 1):
            gram[f, g] = 0.0
        for j in range(columns):
            cross[f, j] = 0.0
    spread = 0.0
    length = tile.shape[1]
    weighted = np.empty(length)
    for start in range(0, count, length):
        width = min(length, count - start)
        fill_features(near, start, width, rank, tile)
        for f in range(first, size):
            for n in range(width):
                weighted[n] = near[dim, start + n] * tile[f, n]
            for g in range(f + 1):
                total = 0.0
                for n in range(width):
                    total += weighted[n] * tile[g, n]
                gram[f, g] += total
            for j in range(columns):
                total = 0.0
                for n in range(width):
                    total += weighted[n] * near[rank + j, start + n]
                cross[f, j] += total
        for j in range(columns if first == 0 else 0):
            for n in range(width):
                spread += near[dim, start + n] * near[rank + j, start + n] * near[rank + j, start + n]
    return spread


@kernel(fastmath=FAST)
def fill_features(near, start, width, rank, tile):
    """The features of ``width`` neighbours from ``start`` on, as rows of ``tile`` [q, TILE]."""
    place = 1 + rank
    for n in range(width):
        tile[0, n] = 1.0
    for a in range(rank):
        for n in range(width):
            tile[1 + a, n] = near[a, start + n]
        for b in range(a, rank):
            for n in range(width):
                tile[place, n] = near[a, start + n] * near[b, start + n]
            place += 1


@kernel
def factorise(gram, penalty, first_penalised):
    """Cholesky factor of G + penalty on the quadratic features, in place of the lower half of G.

    Directions that the neighbours do not span get an infinite pivot: their coefficients are zero.
    """
    size = gram.shape[0]
    for f in range(size):
        diagonal = gram[f, f]
        if f >= first_penalised:
            gram[f, f] += penalty
        left = gram[f, f]
        for g in range(f):
            left -= gram[f, g] * gram[f, g]
        pivot = np.inf if left <= SINGULAR * diagonal else np.sqrt(left)
        gram[f, f] = pivot
        for h in range(f + 1, size):
            left = gram[h, f]
            for g in range(f):
                left -= gram[h, g] * gram[f, g]
            gram[h, f] = left / pivot


@kernel
def solve(factor, columns):
    """Solve G x = ``columns`` [q, m] in place, with the factor of `factorise`."""
    size, count = columns.shape
    for c in range(count):
        for f in range(size):
            left = columns[f, c]
            for g in range(f):
                left -= factor[f, g] * columns[g, c]
            columns[f, c] = left / factor[f, f]
        # Row by row, as the factor lies in memory.
        for f in range(size - 1, -1, -1):
            found = columns[f, c] / factor[f, f]
            columns[f, c] = found
            for g in range(f):
                columns[g, c] -= factor[f, g] * found


@kernel
def degrees_of_freedom(rank):
    """Equivalent degrees of freedom of a quadric on a plane under Gaussian weights: n_eff times E fᵀG⁻¹f under w².

    1 + k/2 + k (k − 1)/8 + 3k/8, a sum of squared Hermite polynomials.
    """
    return 1.0 + 0.5 * rank + 0.125 * rank * (rank - 1.0) + 0.375 * rank


@kernel
def residual_fraction(rank, effective):
    """Fraction of the noise variance left in the residuals of a quadric, n_eff = ``effective``; at least 1/n_eff."""
    return max(1.0 - degrees_of_freedom(rank) / effective, 1.0 / effective)


@kernel
def fitted(gram, cross, fit, rank, mass, penalty, spread):
    """Solve for the quadric; return Σ w |e|² / Σ w of its residuals, summed over normal directions.

    ``gram`` becomes its factor, ``penalty`` is the ridge penalty on the quadratic terms.
    """
    size, columns = cross.shape
    for f in range(size):
        for c in range(columns):
            fit[f, c] = cross[f, c]
    factorise(gram, penalty, 1 + rank)
    solve(gram, fit)
    for f in range(size):
        for c in range(columns):
            spread -= fit[f, c] * (cross[f, c] + (penalty * fit[f, c] if f > rank else 0.0))
    return max(spread, 0.0) / mass
