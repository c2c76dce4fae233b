"""Normal coordinates of small charts to third order, inside kernels.

A chart is the graph x(τ) = μ + F τ + ½ II(τ, τ) over its tangent space. The geodesic that leaves μ with velocity v has
the tangent coordinates τ = v − A_{II(v,v)} v / 6 + O(|v|⁴) after unit time, A the shape operator,
⟨A_ξ u, w⟩ = ⟨II(u, w), ξ⟩; so

    log:  v = τ + A_{II(τ,τ)} τ / 6,        exp:  the τ that has this v, by fixed-point iteration, then x(τ).

Charts are rows of arrays: ``bases`` [M, D], ``frames`` [M, D, k], ``forms`` [M, k(k+1)/2, D]. Kernels take the whole
arrays and an index: views would count their references, and threads would wait for one another. What a projection calls
in every round is compiled into it, which saves a quarter of its time.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import MOST_ROUNDS

# Most steps of Newton's method for the projection of a point, and of the fixed point for exp; both end when converged.
_PROJECTION_ROUNDS = 12


@kernel(inline="always")
def bend(forms, c, tau, mixed, square):
    """Write II(τ, e_a) into ``mixed`` [k, D] and II(τ, τ) into ``square`` [D], for chart ``c``."""
    rank, dim = mixed.shape
    for a in range(rank):
        for j in range(dim):
            mixed[a, j] = 0.0
    pair = 0
    for a in range(rank):
        for e in range(a, rank):
            for j in range(dim):
                mixed[a, j] += forms[c, pair, j] * tau[e]
            if e != a:
                for j in range(dim):
                    mixed[e, j] += forms[c, pair, j] * tau[a]
            pair += 1
    for j in range(dim):
        total = 0.0
        for a in range(rank):
            total += mixed[a, j] * tau[a]
        square[j] = total


@kernel
def project_to_chart(point, bases, frames, forms, c, tau, mixed, square, offset, small):
    """Project ``point`` to chart ``c``: write its tangent coordinates τ and return the squared distance.

    Newton's method on ½ |x − x(τ)|²; where its matrix is not positive, beyond the centre of curvature, that of
    Gauss–Newton takes its place. On return ``offset`` = x − x(τ), ``mixed`` and ``square`` belong to τ.
    """
    dim, rank = point.size, tau.size
    for a in range(rank):
        total = 0.0
        for j in range(dim):
            total += frames[c, j, a] * (point[j] - bases[c, j])
        tau[a] = total
    for _ in range(_PROJECTION_ROUNDS):
        _offset(point, bases, frames, forms, c, tau, mixed, square, offset)
        # What a step of Newton's leaves is about its square, relative to τ; those of Gauss–Newton are not so fast.
        settled = 1e-12
        if not _newton_step(frames, forms, c, mixed, offset, small, True):
            _newton_step(frames, forms, c, mixed, offset, small, False)
            settled = 1e-20
        length, step = 0.0, 0.0
        for a in range(rank):
            tau[a] += small[rank, a]
            step += small[rank, a] * small[rank, a]
            length += tau[a] * tau[a]
        if step <= settled * length:
            break
    return _offset(point, bases, frames, forms, c, tau, mixed, square, offset)


@kernel(inline="always")
def _offset(point, bases, frames, forms, c, tau, mixed, square, offset):
    bend(forms, c, tau, mixed, square)
    total = 0.0
    for j in range(point.size):
        value = point[j] - bases[c, j] - 0.5 * square[j]
        for a in range(tau.size):
            value -= frames[c, j, a] * tau[a]
        offset[j] = value
        total += value * value
    return total


@kernel
def _newton_step(frames, forms, c, mixed, offset, small, full):
    """Write the step into ``small[k]``; False where the matrix in ``small[:k]`` is not positive."""
    rank, dim = mixed.shape
    pair = 0
    for a in range(rank):
        gradient = 0.0
        for j in range(dim):
            gradient += (frames[c, j, a] + mixed[a, j]) * offset[j]
        small[rank, a] = gradient
        for e in range(a, rank):
            total = 1.0 if a == e else 0.0
            for j in range(dim):
                total += mixed[a, j] * mixed[e, j]
                if full:
                    total -= forms[c, pair, j] * offset[j]
            small[e, a] = total
            pair += 1
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


@kernel(inline="always")
def normal_from_tangent(mixed, square, tau, v):
    """v = τ + A_{II(τ,τ)} τ / 6, with II(τ, ·) in ``mixed`` and ``square``; returns |v|²."""
    total = 0.0
    for a in range(tau.size):
        turn = 0.0
        for j in range(square.size):
            turn += mixed[a, j] * square[j]
        v[a] = tau[a] + turn / 6.0
        total += v[a] * v[a]
    return total


@kernel
def normal_rows(tau, forms, coordinates):
    """Write the normal coordinates [n, m, k] of tangent coordinates ``tau`` [n, m, k] in charts of ``forms`` [n, …]."""
    rank, dim = tau.shape[2], forms.shape[2]
    mixed, square, own, v = np.empty((rank, dim)), np.empty(dim), np.empty(rank), np.empty(rank)
    for c in range(len(tau)):
        for m in range(tau.shape[1]):
            for a in range(rank):
                own[a] = tau[c, m, a]
            bend(forms, c, own, mixed, square)
            normal_from_tangent(mixed, square, own, v)
            for a in range(rank):
                coordinates[c, m, a] = v[a]


@kernel
def exp_chart(bases, frames, forms, c, v, tau, mixed, square, point):
    """Write the point of chart ``c`` with normal coordinates ``v``; τ and II at τ are left in the scratch."""
    rank, dim = mixed.shape
    size = 0.0
    for a in range(rank):
        tau[a] = v[a]
        size += v[a] * v[a]
    for _ in range(MOST_ROUNDS):
        bend(forms, c, tau, mixed, square)
        turned, step = 0.0, 0.0
        for a in range(rank):
            turn = 0.0
            for j in range(dim):
                turn += mixed[a, j] * square[j]
            mixed[a, 0] = turn / 6.0
            turned += mixed[a, 0] * mixed[a, 0]
        # Far outside the chart the cubic would run away: it may take at most half of the length.
        damping = min(1.0, 0.5 * np.sqrt(size / turned)) if turned > 0.0 else 0.0
        for a in range(rank):
            value = v[a] - damping * mixed[a, 0]
            step += (value - tau[a]) ** 2
            tau[a] = value
        if step <= 1e-24 * size:
            break
    bend(forms, c, tau, mixed, square)
    for j in range(dim):
        value = bases[c, j] + 0.5 * square[j]
        for a in range(rank):
            value += frames[c, j, a] * tau[a]
        point[j] = value


@kernel
def locate_rows(points, rows, charts, bases, frames, forms, coordinates, projections, residuals):
    """Normal coordinates [n, k] of the points of ``charts`` [n] nearest to ``points[rows]``, these points [n, D], and
    the distances [n]; charts are continued beyond their radius."""
    dim, rank = frames.shape[1], frames.shape[2]
    tau, v, small = np.empty(rank), np.empty(rank), np.empty((rank + 1, rank))
    point, mixed, square, offset = np.empty(dim), np.empty((rank, dim)), np.empty(dim), np.empty(dim)
    for n in range(len(charts)):
        for j in range(dim):
            point[j] = points[rows[n], j]
        left = project_to_chart(point, bases, frames, forms, charts[n], tau, mixed, square, offset, small)
        residuals[n] = np.sqrt(left)
        normal_from_tangent(mixed, square, tau, v)
        for a in range(rank):
            coordinates[n, a] = v[a]
        for j in range(dim):
            projections[n, j] = point[j] - offset[j]


@kernel
def evaluate_rows(coordinates, charts, bases, frames, forms, points):
    """Points [n, D] at normal ``coordinates`` [n, k] of ``charts`` [n]."""
    dim, rank = frames.shape[1], frames.shape[2]
    tau, v, mixed, square, point = np.empty(rank), np.empty(rank), np.empty((rank, dim)), np.empty(dim), np.empty(dim)
    for n in range(len(coordinates)):
        for a in range(rank):
            v[a] = coordinates[n, a]
        exp_chart(bases, frames, forms, charts[n], v, tau, mixed, square, point)
        for j in range(dim):
            points[n, j] = point[j]


@kernel
def jacobian_rows(coordinates, charts, bases, frames, forms, jacobians):
    """∂x/∂v [n, D, k] at normal ``coordinates`` [n, k] of ``charts`` [n].

    x(τ) has the derivative F + II(τ, ·), and v(τ) = τ + A_{II(τ,τ)} τ / 6 the derivative I + B/6 with
    B_ab = ⟨II(e_a, e_b), II(τ, τ)⟩ + 2 ⟨II(τ, e_a), II(τ, e_b)⟩; their quotient is ∂x/∂v.
    """
    dim, rank = frames.shape[1], frames.shape[2]
    tau, mixed, square, point = np.empty(rank), np.empty((rank, dim)), np.empty(dim), np.empty(dim)
    change, slope = np.empty((rank, rank)), np.empty((dim, rank))
    for n in range(len(coordinates)):
        c = charts[n]
        exp_chart(bases, frames, forms, c, coordinates[n], tau, mixed, square, point)
        pair = 0
        for a in range(rank):
            for j in range(dim):
                slope[j, a] = frames[c, j, a] + mixed[a, j]
            for b in range(a, rank):
                total = 0.0
                for j in range(dim):
                    total += forms[c, pair, j] * square[j] + 2.0 * mixed[a, j] * mixed[b, j]
                change[a, b] = change[b, a] = total / 6.0 + (1.0 if a == b else 0.0)
                pair += 1
        jacobians[n] = np.linalg.solve(change, slope.T).T
