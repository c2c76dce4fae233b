"""Variance and bias of a local quadric, from noise and from the next order: the sums for its standard errors.

The coefficients are linear in the normal coordinates, ĉ = Σ ℓ_n u_n with ℓ_n = w_n e_0ᵀG⁻¹f_n, so noise of variance v
gives ĉ the variance v Σ ℓ_n²; likewise for the slopes b. The bias comes from terms of higher order. Of a quartic,
only the component β |τ|⁴ enters the height under an isotropic window, so one more feature h = |τ|⁴ is enough in any
dimension: with x = G⁻¹ Σ w f h,

    β̂_j = Σ w h e_j / (Σ w h² − xᵀ Σ w f h),        e the residuals of the quadric,

and ĉ_j has the bias β̂_j x_0. That estimate has the variance v x_0² Σ w² (h − x·f)² / (Σ w h² − ..)², 0.15 of that of ĉ
for surfaces, since both are fitted to the same observations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._compiled import kernel
from subbundle._types import FloatArray, Status
from subbundle.local.moments import FAST, TILE
from subbundle.local.regression import fill_features, fitted, n_features, quadric_sums, solve
from subbundle.local.settings import COMMON
from subbundle.local.tuning import NARROWER

# Columns of ``numbers``, one row per query: log mass relative to the typical one, bandwidth, n_eff, Σ w|e|²/Σ w, length
# of the last step, the fraction of the correction for curvature that was applied and the square of the rest, the sums
# of `deviations` (height, slopes, quartic), the distance from the query up to which observations could have a weight.
# From `NARROW` on, for each of the windows narrower by `NARROWER`: n_eff, Σ w|e|²/Σ w, height. From `PRODUCTS` on,
# inner products of vectors of the normal space: those of c − c' and c − c'', the changes of the height in these
# windows, and of the bias by the quartic term (11, 12, 13, 22, 23, 33); theirs with the rest of the correction, and
# those of all four, and of itself, with ½ tr II.
LOG_MASS, WIDTH, EFFECTIVE, RESIDUAL, OFFSET, KEPT, LOST, HEIGHT, SLOPES, BEYOND, SUPPORT = range(11)
NARROW, _, _, _, _, _, PRODUCTS, _, _, _, _, _, _, _, _, _, _, _, _, _, COLUMNS = range(11, 32)


class Output:
    """Output arrays of the iterations from ``points`` [n, d].

    ``basis`` [n, d, columns], the tangents first; eigenvalues and means [n, d]; ``forms`` [n, k (k + 1)/2, d], II of
    the pairs of tangents; ``numbers`` [n, COLUMNS]; steps and status [n]; ``before`` [n, d], the last step.
    """

    def __init__(self, points: FloatArray, rank: int, columns: int) -> None:
        n, dim = points.shape
        self.points, self.before = points.copy(), np.zeros((n, dim))
        self.basis = np.full((n, dim, columns), np.nan)
        self.values, self.means = np.full((n, dim), np.nan), np.full((n, dim), np.nan)
        self.forms = np.full((n, rank * (rank + 1) // 2, dim), np.nan)
        self.numbers = np.full((n, COLUMNS), np.nan)
        self.numbers[:, LOG_MASS], self.numbers[:, OFFSET] = -np.inf, np.inf
        self.steps, self.status = np.zeros(n, np.int64), np.full(n, Status.NOT_CONVERGED, np.int8)

    def rows(self, i: int, j: int) -> list[Any]:
        """Views of the rows from ``i`` to ``j``, in the order in which `iterate_rows` takes them."""
        vectors = self.points, self.before, self.basis, self.values, self.means, self.forms
        return [array[i:j] for array in (*vectors, self.numbers, self.steps, self.status)]


@kernel
def scratch(dim, rank):
    """Arrays for one row's fit: gram, cross, fit, features, offsets, deviations, and the vectors of `PRODUCTS`."""
    size = n_features(rank)
    return (
        np.empty((size, size)),
        np.empty((size, dim - rank)),
        np.empty((size, dim - rank)),
        np.empty((size, TILE)),
        np.empty((dim, TILE)),
        np.empty(4),
        np.zeros((5, dim - rank)),
    )


@kernel
def write_deviations(near, count, rank, work, bandwidth, squares, with_bias, cases, numbers):
    """Write the sums of `deviations` into the row ``numbers``, the quartic's bias, in data units, and ½ tr II into
    ``work``."""
    gram, _, fit, tile, _, out, vectors = work
    deviations(near, count, rank, gram, fit, with_bias, cases, tile, out, vectors[2])
    # An observation of weight v has the noise of v observations averaged.
    repeated = squares / out[3]
    numbers[HEIGHT], numbers[SLOPES], numbers[BEYOND] = repeated * out[0], repeated * out[1], repeated * out[2]
    for j in range(vectors.shape[1]):
        vectors[2, j] *= bandwidth
        place, vectors[4, j] = 1 + rank, 0.0
        for i in range(rank):
            vectors[4, j] += fit[place, j] / bandwidth
            place += rank - i


@kernel
def compare(near, count, rank, work, spare, bandwidth, level, flatness, squares, cases, numbers):
    """Fit the window ``near``, narrower by `NARROWER` [``level``]; write its sums and its difference from ``work``."""
    gram, cross, fit, tile, _, out, unused = spare
    spread = quadric_sums(near, count, rank, cases, tile, gram, cross)
    mass = gram[0, 0]
    place, change, width = NARROW + 3 * level, work[6][level], NARROWER[level] * bandwidth
    if not mass > 0.0:
        return
    residual = fitted(gram, cross, fit, rank, mass, flatness * squares / mass, spread)
    deviations(near, count, rank, gram, fit, None, cases, tile, out, unused[2])
    numbers[place], numbers[place + 1] = mass * mass / squares, residual * width * width
    numbers[place + 2] = out[0] * squares / out[3]
    for j in range(change.size):
        change[j] = bandwidth * work[2][0, j] - width * fit[0, j]


@kernel
def multiply(vectors, numbers):
    """Write the `PRODUCTS` of ``vectors`` [5, m]."""
    place = PRODUCTS
    for i in range(3):
        for j in range(i, 3):
            numbers[place] = _inner(vectors, i, j)
            place += 1
    for j in range(3, 5):
        for i in range(j if j == 3 else 5):
            numbers[place] = _inner(vectors, i, j)
            place += 1


@kernel
def _inner(vectors, i, j):
    total = 0.0
    for c in range(vectors.shape[1]):
        total += vectors[i, c] * vectors[j, c]
    return total


@kernel
def deviations(near, count, rank, factor, fit, with_bias, cases, tile, out, bias):
    """Write the sums for the standard errors of a fit, in units of the bandwidth.

    ``factor`` is that of the normal equations. ``out`` [4]: Σ ℓ_n² of the height; the same summed over the slopes b_a;
    variance factor of the bias; Σ w². ``bias`` [d − k]: β̂_j x_0; none if ``with_bias`` is None. With ``cases``
    COMMON only surfaces in R³ are compiled.
    """
    size, columns = fit.shape
    surface = rank == 2 and near.shape[0] == 4
    ends, inner, lever = np.zeros((size, 1 + rank)), np.zeros((size, 1)), 0.0
    for a in range(1 + rank):
        ends[a, a] = 1.0
    solve(factor, ends)
    right, own = np.zeros((size, 1)), np.zeros(columns)
    if with_bias is not None:
        if cases is COMMON or surface:
            whole = _quartic3(near, count, fit, right, own)
        else:
            whole = _quartic(near, count, rank, fit, tile, right, own)
        for f in range(size):
            inner[f, 0] = right[f, 0]
        solve(factor, inner)
        for f in range(size):
            whole -= inner[f, 0] * right[f, 0]
        # A quartic that the neighbours do not distinguish from the quadric has no estimate, and no bias.
        lever = inner[0, 0] / whole if whole > 1e-9 * right[0, 0] else 0.0
    for j in range(columns):
        bias[j] = own[j] * lever
    if cases is COMMON or surface:
        _squares3(near, count, ends, inner, out)
    else:
        _squares(near, count, rank, tile, ends, inner, out)
    out[2] *= lever * lever


@kernel(fastmath=FAST)
def _residual(near, start, width, rank, fit, tile, j, out):
    """e_j of a tile of neighbours."""
    for n in range(width):
        out[n] = near[rank + j, start + n]
    for f in range(fit.shape[0]):
        factor = fit[f, j]
        for n in range(width):
            out[n] -= factor * tile[f, n]


@kernel(fastmath=FAST)
def _radii(near, start, width, rank, out):
    """|τ|⁴ of a tile of neighbours."""
    for n in range(width):
        out[n] = 0.0
    for a in range(rank):
        for n in range(width):
            out[n] += near[a, start + n] * near[a, start + n]
    for n in range(width):
        out[n] *= out[n]


@kernel(fastmath=FAST)
def _quartic(near, count, rank, fit, tile, right, own):
    """Σ w h f and Σ w h e_j; returns Σ w h²."""
    size, columns = fit.shape
    last = near.shape[0] - 1
    length = tile.shape[1]
    h, e = np.empty(length), np.empty(length)
    whole = 0.0
    for start in range(0, count, length):
        width = min(length, count - start)
        fill_features(near, start, width, rank, tile)
        _radii(near, start, width, rank, h)
        for n in range(width):
            whole += near[last, start + n] * h[n] * h[n]
        for f in range(size):
            total = 0.0
            for n in range(width):
                total += near[last, start + n] * h[n] * tile[f, n]
            right[f, 0] += total
        for j in range(columns):
            _residual(near, start, width, rank, fit, tile, j, e)
            total = 0.0
            for n in range(width):
                total += near[last, start + n] * h[n] * e[n]
            own[j] += total
    return whole


@kernel(fastmath=FAST)
def _squares(near, count, rank, tile, ends, inner, out):
    """Σ w² (g·f)² for the height and the slopes, Σ w² (h − x·f)², and Σ w²."""
    size = ends.shape[0]
    last = near.shape[0] - 1
    length = tile.shape[1]
    h, lever = np.empty(length), np.empty(length)
    height = slopes = beyond = own = 0.0
    for start in range(0, count, length):
        width = min(length, count - start)
        fill_features(near, start, width, rank, tile)
        _radii(near, start, width, rank, h)
        for f in range(size):
            factor = inner[f, 0]
            for n in range(width):
                h[n] -= factor * tile[f, n]
        for n in range(width):
            beyond += (near[last, start + n] * h[n]) ** 2
            own += near[last, start + n] ** 2
        for a in range(rank, -1, -1):
            for n in range(width):
                lever[n] = 0.0
            for f in range(size):
                factor = ends[f, a]
                for n in range(width):
                    lever[n] += factor * tile[f, n]
            for n in range(width):
                lever[n] *= near[last, start + n]
            # In a loop of its own, as in `moments`: one that also writes has other bits elsewhere in memory.
            total = 0.0
            for n in range(width):
                total += lever[n] * lever[n]
            slopes += total if a > 0 else 0.0
            height += total if a == 0 else 0.0
    out[0], out[1], out[2], out[3] = height, slopes, beyond, own


@kernel(fastmath=FAST)
def _quartic3(near, count, fit, right, own):
    """`_quartic` of a surface in R³."""
    c0, c1, c2, c3, c4, c5 = fit[0, 0], fit[1, 0], fit[2, 0], fit[3, 0], fit[4, 0], fit[5, 0]
    s = s1 = s2 = s3 = s4 = s5 = whole = e = 0.0
    for n in range(count):
        u, v, z, w = near[0, n], near[1, n], near[2, n], near[3, n]
        uu, uv, vv = u * u, u * v, v * v
        h = (uu + vv) * (uu + vv)
        wh = w * h
        whole += wh * h
        s += wh
        s1 += wh * u
        s2 += wh * v
        s3 += wh * uu
        s4 += wh * uv
        s5 += wh * vv
        e += wh * (z - c0 - c1 * u - c2 * v - c3 * uu - c4 * uv - c5 * vv)
    right[0, 0], right[1, 0], right[2, 0], right[3, 0], right[4, 0], right[5, 0] = s, s1, s2, s3, s4, s5
    own[0] = e
    return whole


@kernel(fastmath=FAST)
def _squares3(near, count, ends, inner, out):
    """`_squares` of a surface in R³, in the precision of the neighbours."""
    ends, inner = ends.astype(near.dtype), inner.astype(near.dtype)
    x0, x1, x2, x3, x4, x5 = inner[0, 0], inner[1, 0], inner[2, 0], inner[3, 0], inner[4, 0], inner[5, 0]
    g0, g1, g2, g3, g4, g5 = ends[0, 0], ends[1, 0], ends[2, 0], ends[3, 0], ends[4, 0], ends[5, 0]
    a0, a1, a2, a3, a4, a5 = ends[0, 1], ends[1, 1], ends[2, 1], ends[3, 1], ends[4, 1], ends[5, 1]
    b0, b1, b2, b3, b4, b5 = ends[0, 2], ends[1, 2], ends[2, 2], ends[3, 2], ends[4, 2], ends[5, 2]
    height = slopes = beyond = own = near.dtype.type(0.0)
    for n in range(np.uint64(count)):
        u, v, w = near[0, n], near[1, n], near[3, n]
        uu, uv, vv = u * u, u * v, v * v
        h = (uu + vv) * (uu + vv) - x0 - x1 * u - x2 * v - x3 * uu - x4 * uv - x5 * vv
        g = w * (g0 + g1 * u + g2 * v + g3 * uu + g4 * uv + g5 * vv)
        a = w * (a0 + a1 * u + a2 * v + a3 * uu + a4 * uv + a5 * vv)
        b = w * (b0 + b1 * u + b2 * v + b3 * uu + b4 * uv + b5 * vv)
        own += w * w
        beyond += w * w * h * h
        height += g * g
        slopes += a * a + b * b
    out[0], out[1], out[2], out[3] = height, slopes, beyond, own
