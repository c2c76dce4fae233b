"""Logs, kernel weights and the gradient of H on a space of constant curvature κ = 1, 0, −1, in coordinates.

Everything at a point p is written in coordinates of an orthonormal basis of T_pN: v_n = log_p(x_n), θ_n = |v_n|, and
tangent vectors transported to m keep their coordinates. Moving p in the direction u, Jacobi fields
give

    ∇_u v_n = −(r_n u + s_n (v_n·u) v_n),        r = θ cot θ,  s = (1 − r)/θ²       (coth for κ = −1; r = 1 for κ = 0)

so that with A as in R^d, q_n = z_nᵀ A z_n, z_n = v_n − μ (`local`) or v_n (`none`), μ = Σ w_n v_n, for the Gaussian

    d⟨A, Σ⟩(u) = Σ w_n q_n (v_n·u)/a² − 2 Σ w_n (r_n A z_n·u + s_n (v_n·A z_n)(v_n·u)).

`recentred` takes this at m = exp_p(μ), ρ = |μ|. When p moves by u, m moves by the Jacobi field

    M u = C u + D ∇_u μ,      C = cos ρ across μ and 1 along it,      D = sin ρ/ρ across μ and 1 along it,

and the transport from m back to p turns by the curvature of the strip between the two geodesics,

    Ω_u = κ (tan(ρ/2)/ρ) (u + M u) ∧ μ,        (x ∧ y) z = (y·z) x − (x·z) y,        tanh for κ = −1.

Lastly the frame, as an array of R^D, turns with the tangent plane, which adds −κ (η·p)(velocity·u) to dH(u).

Observations in reach are found by the squared chord ⟨x_n − p, x_n − p⟩ (Minkowski product for κ = −1), 2 (1 − cos θ),
θ² or 2 (cosh θ − 1), which orders them and costs so little that no search tree is needed. For those in reach, with an
orthonormal basis b_1..b_d of T_pN, the products ⟨b_a, x_n − p⟩ are the coordinates of log_p(x_n) times sin θ/θ, 1 or
sinh θ/θ.
"""

from __future__ import annotations

import math

import numpy as np

from subbundle._compiled import kernel
from subbundle.kernels import exp_minus, gaussian_reach
from subbundle.spaces.base import CUT_TOLERANCE

# |κ| θ² below which (1 − θ cot θ)/θ² is summed as a series, to 1e-13: the quotient would cancel.
_SERIES = 0.05


@kernel
def scratch_for(observations, dim):
    """Scratch arrays for `weigh`: squared chords [N], v [N, dim], and w = φ times the weight, r, s, φ [N, 4]."""
    n = observations.shape[1]
    return np.empty(n), np.empty((n, dim)), np.empty((n, 4))


@kernel
def weigh(observations, curvature, point, basis, bandwidth, apart, scratch):
    """Write v_n, w_n, r_n, s_n, φ_n of the observations [D + 1, N] in reach of ``point`` into the scratch.

    The last row of the observations holds their weights.
    Observations with θ²/a² up to ``apart`` are left out; −1 leaves nothing out.

    Returns
    -------
    count : int
        Observations in reach.
    nearest : float
        θ²/a² of the nearest one, to which φ is relative.
    lost : bool
        Whether one in reach is on the cut locus: its log is undefined, and it is left out.
    """
    chords, vectors, weights = scratch
    dim = basis.shape[0]
    _squared_chords(observations, curvature, point, chords)
    scale = 1.0 / (bandwidth * bandwidth)
    shortest = _chord_beyond(chords, _chord_of_angle(bandwidth * math.sqrt(max(apart, 0.0)), curvature), apart >= 0.0)
    if not np.isfinite(shortest):
        return 0, 0.0, False
    nearest = _angle_of_chord(shortest, curvature) ** 2 * scale
    reach = gaussian_reach(dim)
    # Far out in hyperbolic space chords are differences of squares of the size of x_0².
    limit = _chord_of_angle(math.sqrt((nearest + reach) / scale), curvature) + 1e-12 * point[0] ** 2
    count, lost = 0, False
    for n in range(chords.size):
        if chords[n] > limit:
            continue
        angle, sine = _raw_log(observations, n, curvature, point, basis, chords[n], vectors[count])
        t = angle * angle * scale
        if t - nearest >= reach or (apart >= 0.0 and chords[n] < shortest):
            continue
        if curvature == 1 and sine <= CUT_TOLERANCE and angle > 1.0:
            lost = True
            continue
        stretch = angle / sine if sine > 0.0 else 1.0
        for a in range(dim):
            vectors[count, a] *= stretch
        weights[count, 3] = exp_minus(0.5 * (t - nearest))
        weights[count, 0] = weights[count, 3] * observations[point.size, n]
        weights[count, 1], weights[count, 2] = _jacobi_factors(angle, curvature)
        count += 1
    return count, nearest, lost


@kernel(fastmath={"contract"})
def _squared_chords(observations, curvature, point, chords):
    sign = -1.0 if curvature == -1 else 1.0
    column, offset = observations[0], point[0]
    for n in range(chords.size):
        chords[n] = sign * (column[n] - offset) ** 2
    for j in range(1, point.size):
        column, offset = observations[j], point[j]
        for n in range(chords.size):
            chords[n] += (column[n] - offset) ** 2


@kernel
def _raw_log(observations, n, curvature, point, basis, chord, raw):
    """Write ⟨b_a, x_n − p⟩; return θ and the length of the raw vector: sin θ, θ or sinh θ."""
    dim, ambient = basis.shape
    squares = 0.0
    for a in range(dim):
        value = 0.0
        for j in range(ambient):
            value += basis[a, j] * (observations[j, n] - point[j])
        if curvature == -1:
            value -= 2.0 * basis[a, 0] * (observations[0, n] - point[0])
        raw[a] = value
        squares += value * value
    length = math.sqrt(squares)
    if curvature == 1:
        return math.atan2(length, 1.0 - 0.5 * chord), length
    return (length if curvature == 0 else math.asinh(length)), length


@kernel
def _angle_of_chord(squared, curvature):
    half = 0.5 * math.sqrt(max(squared, 0.0))
    if curvature == 0:
        return 2.0 * half
    return 2.0 * (math.asin(min(half, 1.0)) if curvature == 1 else math.asinh(half))


@kernel
def _chord_of_angle(angle, curvature):
    """The squared chord of θ, a little enlarged, so that rounding excludes none; infinite beyond the cut locus."""
    angle *= 1.0 + 1e-7
    if curvature == 0:
        return angle * angle
    if curvature == 1:
        return 4.0 * math.sin(0.5 * angle) ** 2 if angle < math.pi else np.inf
    return 4.0 * math.sinh(0.5 * angle) ** 2 if angle < 300.0 else np.inf


@kernel
def _chord_beyond(chords, excluded, excludes):
    """The smallest squared chord; if ``excludes``, of those above ``excluded``."""
    smallest = np.inf
    for n in range(chords.size):
        if chords[n] < smallest and (chords[n] > excluded or not excludes):
            smallest = chords[n]
    return smallest


@kernel
def _jacobi_factors(angle, curvature):
    """r = θ cot θ and s = (1 − r)/θ² (coth for κ = −1, r = 1 for κ = 0)."""
    z = curvature * angle * angle
    if abs(z) < _SERIES:
        s = curvature * (1.0 / 3.0 + z * (1.0 / 45.0 + z * (2.0 / 945.0 + z * (1.0 / 4725.0 + z * (2.0 / 93555.0)))))
        return 1.0 - s * angle * angle, s
    r = angle / math.tan(angle) if curvature == 1 else angle / math.tanh(angle)
    return r, (1.0 - r) / (angle * angle)


@kernel
def transport_to_mean(point, basis, mean, curvature, centre, transported):
    """Write m = exp_p(μ) [D], and the basis [dim, D] transported there in parallel."""
    dim, ambient = basis.shape
    rho = math.sqrt(product(mean, mean))
    cosine, sine_ratio, _ = _strip(rho, curvature)
    for j in range(ambient):
        step = 0.0
        for a in range(dim):
            step += mean[a] * basis[a, j]
        centre[j] = cosine * point[j] + sine_ratio * step
        factor = -curvature * sine_ratio * point[j]
        if rho > 0.0:
            factor += (cosine - 1.0) / (rho * rho) * step
        for a in range(dim):
            transported[a, j] = basis[a, j] + mean[a] * factor


@kernel
def moment_gradient(scratch, count, mass, scale, mean, centred, matrix, gradient):
    """Write Σ w q v/a² − 2 Σ w (r A z + s (v·A z) v), with ``scale`` = 1/a² and ``matrix`` = A."""
    vectors, weights = scratch[1], scratch[2]
    dim = mean.size
    turned = np.empty(dim)
    for i in range(dim):
        gradient[i] = 0.0
    for n in range(count):
        phi, r, s = weights[n, 0], weights[n, 1], weights[n, 2]
        q = along = 0.0
        for i in range(dim):
            turned[i] = 0.0
            for j in range(dim):
                turned[i] += matrix[i, j] * (vectors[n, j] - mean[j] if centred else vectors[n, j])
            along += turned[i] * vectors[n, i]
            q += turned[i] * (vectors[n, i] - mean[i] if centred else vectors[n, i])
        factor = phi * (q * scale - 2.0 * s * along)
        for i in range(dim):
            gradient[i] += factor * vectors[n, i] - 2.0 * phi * r * turned[i]
    for i in range(dim):
        gradient[i] /= mass


@kernel
def pull_back_from_mean(scratch, count, mass, scale, mean, curvature, covector, velocity, gradient):
    """Map the gradient g at m to the one at p, in place: Mᵀ (g + b) + b, with b from the transport.

    η·Ω_u(velocity) = b·(u + M u), where b is κ (tan(ρ/2)/ρ) ((μ·velocity) η − (μ·η) velocity) across μ.
    """
    vectors, weights = scratch[1], scratch[2]
    dim = mean.size
    squared = product(mean, mean)
    cosine, sine_ratio, strip_ratio = _strip(math.sqrt(squared), curvature)
    # μ = 0 has no direction: components along it are zero.
    inverse = 1.0 / squared if squared > 0.0 else 0.0
    strip, pulled = np.empty(dim), np.empty(dim)
    forward, sideways = product(mean, velocity), product(mean, covector)
    for a in range(dim):
        strip[a] = strip_ratio * (forward * covector[a] - sideways * velocity[a])
    along = product(mean, strip) * inverse
    for a in range(dim):
        strip[a] -= along * mean[a]
        pulled[a] = gradient[a] + strip[a]
    along = product(mean, pulled) * inverse
    for a in range(dim):
        across = pulled[a] - along * mean[a]
        gradient[a] = strip[a] + cosine * across + along * mean[a]
        pulled[a] = sine_ratio * across + along * mean[a]
    # The rest of Mᵀ: the transpose of ∇μ = Σ w_n (v_n − μ) v_nᵀ/a² + Σ w_n ∇v_n.
    offset = product(mean, pulled)
    for n in range(count):
        w, r, s = weights[n, 0] / mass, weights[n, 1], weights[n, 2]
        along = 0.0
        for a in range(dim):
            along += vectors[n, a] * pulled[a]
        factor = w * (scale * (along - offset) - s * along)
        for a in range(dim):
            gradient[a] += factor * vectors[n, a] - w * r * pulled[a]


@kernel
def product(x, y):
    """x·y."""
    total = 0.0
    for a in range(x.size):
        total += x[a] * y[a]
    return total


@kernel
def _strip(rho, curvature):
    """cos ρ, sin ρ/ρ and κ tan(ρ/2)/ρ; hyperbolic for κ = −1, and 1, 1, 0 for κ = 0."""
    if curvature == 0 or rho == 0.0:
        return 1.0, 1.0, 0.5 * curvature
    if curvature == 1:
        return math.cos(rho), math.sin(rho) / rho, math.tan(0.5 * rho) / rho
    return math.cosh(rho), math.sinh(rho) / rho, -math.tanh(0.5 * rho) / rho
