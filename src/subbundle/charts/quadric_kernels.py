"""Normal coordinates of small charts to third order, inside kernels.

A chart is the graph x(τ) = μ + F τ + ½ II(τ, τ) over its tangent space. The geodesic that leaves μ with velocity v has
the tangent coordinates τ = v − A_{II(v,v)} v / 6 + O(|v|⁴) after unit time, ⟨A_ξ u, w⟩ = ⟨II(u, w), ξ⟩; so

    log:  v = τ + A_{II(τ,τ)} τ / 6,        exp:  the τ that has this v, by fixed-point iteration, then x(τ).

Charts are rows of arrays: ``bases`` [M, D], ``spans`` W [M, q + k, D], the q = k(k+1)/2 vectors II(e_a, e_b), a ≤ b,
then the columns of F, and ``products`` W Wᵀ. With z = (½ τ_a² or τ_a τ_b, τ) the graph is μ + Σ z_w W_w, and
iterations use only W (x − μ) − W Wᵀ z of a point x. Kernels take whole arrays and an index: views count references, for
which threads wait. ``cases`` is COMMON for charts of rank 2, else ALL (`local.settings`).
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import MOST_ROUNDS
from subbundle.local.moments import FAST
from subbundle.local.settings import COMMON

# Most steps of Newton's method for a projection, and of the fixed point for exp; both end when converged.
_PROJECTION_ROUNDS = 12


@kernel
def _terms(tau, rank, z):
    """Write z = (½ τ_a² or τ_a τ_b, τ)."""
    place = 0
    for a in range(rank):
        for b in range(a, rank):
            z[place] = (0.5 if a == b else 1.0) * tau[a] * tau[b]
            place += 1
    for a in range(rank):
        z[place + a] = tau[a]


@kernel
def _pair(rank, a, b):
    """Row of W that holds II(e_a, e_b)."""
    low = min(a, b)
    return low * rank - low * (low - 1) // 2 + abs(a - b)


@kernel(fastmath=FAST)
def _cubic_term(products, c, tau, rank, size, z, cubic):
    """Write ⟨II(τ, e_a), II(τ, τ)⟩ = (A_{II(τ,τ)} τ)_a; returns the square of its length."""
    for a in range(rank):
        cubic[a] = 0.0
    place = 0
    for a in range(rank):
        for b in range(a, rank):
            total = 0.0
            for w in range(size - rank):
                total += products[c, place, w] * z[w]
            cubic[a] += 2.0 * tau[b] * total
            cubic[b] += 2.0 * tau[a] * total if b > a else 0.0
            place += 1
    total = 0.0
    for a in range(rank):
        total += cubic[a] * cubic[a]
    return total


@kernel(fastmath=FAST)
def project_to_chart(point, bases, spans, products, cases, c, tau, v, z, along, offset, small):
    """Project ``point`` to chart ``c``: write its coordinates, tangent τ and normal ``v``; the squared distance.

    Newton's method on ½ |x − x(τ)|²; where its matrix is not positive, beyond the centre of curvature, that of
    Gauss–Newton replaces it. On return ``offset`` = x − x(τ).
    """
    for j in range(point.size):
        offset[j] = point[j] - bases[c, j]
    for w in range(z.size):
        total = 0.0
        for j in range(point.size):
            total += spans[c, w, j] * offset[j]
        along[w] = total
    coordinates_in_chart(along, products, cases, c, tau, v, z, small)
    for w in range(z.size):
        for j in range(point.size):
            offset[j] -= z[w] * spans[c, w, j]
    left = 0.0
    for j in range(point.size):
        left += offset[j] * offset[j]
    return left


@kernel(fastmath=FAST)
def coordinates_in_chart(along, products, cases, c, tau, v, z, small):
    """As `project_to_chart` of the point x with W (x − μ) = ``along``, without its distance."""
    rank, size = tau.size, z.size
    if cases is COMMON:  # constants, so that the compiler unrolls the loops
        rank, size = 2, 5
    for a in range(rank):
        tau[a] = along[size - rank + a]
    for _ in range(_PROJECTION_ROUNDS):
        _terms(tau, rank, z)
        for attempt in range(2):
            full = attempt == 0
            if _newton_step(products, c, along, rank, size, z, tau, small, full):
                break
        length, step = 0.0, 0.0
        for a in range(rank):
            tau[a] += small[rank, a]
            step += small[rank, a] * small[rank, a]
            length += tau[a] * tau[a]
        # The error after a step of Newton's is about its square, relative to τ; Gauss–Newton converges more slowly.
        if step <= (1e-12 if full else 1e-20) * length:
            break
    _terms(tau, rank, z)
    _cubic_term(products, c, tau, rank, size, z, v)
    for a in range(rank):
        v[a] = tau[a] + v[a] / 6.0


@kernel(fastmath=FAST)
def _newton_step(products, c, along, rank, size, z, tau, small, full):
    """Write the step into ``small[k]``; False where the matrix in ``small[:k]`` is not positive."""
    mixed = size - rank
    for a in range(rank):
        total = along[mixed + a]
        for w in range(size):
            total -= products[c, mixed + a, w] * z[w]
        small[rank, a] = total
    place = 0
    for a in range(rank):
        for w in range(mixed):  # ⟨II(τ, e_a), W_w⟩
            small[rank + 1, w] = 0.0
        for b in range(rank):
            row = _pair(rank, a, b)
            for w in range(mixed):
                small[rank + 1, w] += tau[b] * products[c, row, w]
        for e in range(a, rank):
            left = along[place]
            for w in range(size):
                left -= products[c, place, w] * z[w]
            small[rank, a] += tau[e] * left
            small[rank, e] += tau[a] * left if e > a else 0.0
            total = 1.0 if a == e else 0.0
            for d in range(rank):
                total += tau[d] * small[rank + 1, _pair(rank, e, d)]
            small[e, a] = total - left if full else total
            place += 1
    for a in range(rank):
        for e in range(a + 1):
            total = small[a, e]
            for f in range(e):
                total -= small[a, f] * small[e, f]
            if a == e:
                if total <= 0.1:
                    return False
                small[a, a] = np.sqrt(total)
            else:
                small[a, e] = total / small[e, e]
        for f in range(a):
            small[rank, a] -= small[a, f] * small[rank, f]
        small[rank, a] /= small[a, a]
    for a in range(rank - 1, -1, -1):
        for f in range(a + 1, rank):
            small[rank, a] -= small[f, a] * small[rank, f]
        small[rank, a] /= small[a, a]
    return True


@kernel
def normal_rows(tau, products, coordinates):
    """Write normal coordinates [n, m, k] of ``tau`` [n, m, k] in charts with ``products`` of their II alone."""
    rank, size = tau.shape[2], tau.shape[2] + products.shape[2]
    own, v, z = np.empty(rank), np.empty(rank), np.empty(size)
    for c in range(len(tau)):
        for m in range(tau.shape[1]):
            for a in range(rank):
                own[a] = tau[c, m, a]
            _terms(own, rank, z)
            _cubic_term(products, c, own, rank, size, z, v)
            for a in range(rank):
                coordinates[c, m, a] = own[a] + v[a] / 6.0


@kernel(fastmath=FAST)
def exp_chart(bases, spans, products, cases, c, v, tau, z, cubic, point):
    """Write the point of chart ``c`` with normal coordinates ``v``; τ and z remain in the scratch."""
    exp_terms(products, cases, c, v, tau, z, cubic)
    for j in range(point.size):
        point[j] = bases[c, j]
    for w in range(z.size):
        for j in range(point.size):
            point[j] += z[w] * spans[c, w, j]


@kernel(fastmath=FAST)
def exp_terms(products, cases, c, v, tau, z, cubic):
    """Write τ and z of the point of chart ``c`` with normal coordinates ``v``."""
    rank, size = tau.size, z.size
    if cases is COMMON:
        rank, size = 2, 5
    square = 0.0
    for a in range(rank):
        tau[a] = v[a]
        square += v[a] * v[a]
    for _ in range(MOST_ROUNDS):
        _terms(tau, rank, z)
        turned, step = _cubic_term(products, c, tau, rank, size, z, cubic) / 36.0, 0.0
        # Far outside the chart the cubic term would diverge: it is limited to half of the length.
        damping = min(1.0, 0.5 * np.sqrt(square / turned)) if turned > 0.0 else 0.0
        for a in range(rank):
            value = v[a] - damping * cubic[a] / 6.0
            step += (value - tau[a]) ** 2
            tau[a] = value
        if step <= 1e-24 * square:
            break
    _terms(tau, rank, z)


@kernel
def locate_rows(points, rows, charts, bases, spans, products, cases, coordinates, projections, residuals, slopes):
    """Normal coordinates [n, k] of the points of ``charts`` [n] nearest to ``points[rows]``, these points [n, D], and
    the distances [n]; charts are continued beyond their radius. ``slopes`` [n], unless empty, are the lengths of the
    gradients ⟨x − x(τ), F_a + II(τ, e_a)⟩, zero at the nearest point; infinite at a saddle of the distance."""
    dim, rank, size = points.shape[1], coordinates.shape[1], spans.shape[1]
    tau, v, small = np.empty(rank), np.empty(rank), np.empty((rank + 2, size))
    point, offset, z, along = np.empty(dim), np.empty(dim), np.empty(size), np.empty(size)
    for n in range(len(charts)):
        for j in range(dim):
            point[j] = points[rows[n], j]
        left = project_to_chart(point, bases, spans, products, cases, charts[n], tau, v, z, along, offset, small)
        residuals[n] = np.sqrt(left)
        for a in range(rank):
            coordinates[n, a] = v[a]
        for j in range(dim):
            projections[n, j] = point[j] - offset[j]
        if slopes.size > 0:
            minimal = _newton_step(products, charts[n], along, rank, size, z, tau, small, True)
            slopes[n] = _slope(spans, charts[n], tau, rank, offset, along) if minimal else np.inf


@kernel
def _slope(spans, c, tau, rank, offset, along):
    for w in range(along.size):
        along[w] = 0.0
        for j in range(offset.size):
            along[w] += spans[c, w, j] * offset[j]
    squares = 0.0
    for a in range(rank):
        total = along[along.size - rank + a]
        for b in range(rank):
            total += tau[b] * along[_pair(rank, a, b)]
        squares += total * total
    return np.sqrt(squares)


@kernel
def evaluate_rows(coordinates, charts, weights, bases, spans, products, cases, points):
    """Points [n, D] at normal ``coordinates`` [n, m, k] of ``charts`` [n, m], means over m with ``weights`` [n, m]."""
    dim, rank, size = points.shape[1], coordinates.shape[2], spans.shape[1]
    tau, v, cubic, z, point = np.empty(rank), np.empty(rank), np.empty(rank), np.empty(size), np.empty(dim)
    for n in range(len(coordinates)):
        for j in range(dim):
            points[n, j] = 0.0
        for m in range(charts.shape[1]):
            if weights[n, m] > 0.0:
                for a in range(rank):
                    v[a] = coordinates[n, m, a]
                exp_chart(bases, spans, products, cases, charts[n, m], v, tau, z, cubic, point)
                for j in range(dim):
                    points[n, j] += weights[n, m] * point[j]


@kernel
def derivative_rows(coordinates, charts, spans, products, cases, slopes, changes):
    """∂x/∂τ [n, D, k] and ∂v/∂τ [n, k, k] at normal ``coordinates`` [n, k] of ``charts`` [n].

    x(τ) has the derivative F + II(τ, ·), and v(τ) = τ + A_{II(τ,τ)} τ / 6 the derivative I + B/6 with
    B_ab = ⟨II(e_a, e_b), II(τ, τ)⟩ + 2 ⟨II(τ, e_a), II(τ, e_b)⟩. (Their quotient is NumPy's: Numba takes five seconds
    to compile a solver.)
    """
    dim, rank, size = spans.shape[2], coordinates.shape[1], spans.shape[1]
    tau, v, cubic, z = np.empty(rank), np.empty(rank), np.empty(rank), np.empty(size)
    for n in range(len(coordinates)):
        c = charts[n]
        for a in range(rank):
            v[a] = coordinates[n, a]
        exp_terms(products, cases, c, v, tau, z, cubic)
        for a in range(rank):
            for j in range(dim):
                total = spans[c, size - rank + a, j]
                for b in range(rank):
                    total += tau[b] * spans[c, _pair(rank, a, b), j]
                slopes[n, j, a] = total
            for b in range(rank):
                total = 0.0
                for w in range(size - rank):
                    total += 2.0 * products[c, _pair(rank, a, b), w] * z[w]
                for d in range(rank):
                    for e in range(rank):
                        total += 2.0 * tau[d] * tau[e] * products[c, _pair(rank, a, d), _pair(rank, b, e)]
                changes[n, a, b] = total / 6.0 + (1.0 if a == b else 0.0)
