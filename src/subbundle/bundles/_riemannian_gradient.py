"""Mean, second moment and gradient of H on a space of constant curvature κ = 1, 0, −1, from logs in coordinates.

Everything at a point p is written in coordinates of an orthonormal basis of T_pN: v_n = log_p(x_n), θ_n = |v_n|, and
tangent vectors carried to m by parallel transport keep their coordinates. Moving p in the direction u, Jacobi fields
give

    ∇_u v_n = −(r_n u + s_n (v_n·u) v_n),        r = θ cot θ,  s = (1 − r)/θ²       (coth for κ = −1; r = 1 for κ = 0)

so that with A as in R^d, q_n = z_nᵀ A z_n, z_n = v_n − μ (`local`) or v_n (`none`), μ = Σ w_n v_n, for the Gaussian

    d⟨A, Σ⟩(u) = Σ w_n q_n (v_n·u)/a² − 2 Σ w_n (r_n A z_n·u + s_n (v_n·A z_n)(v_n·u)).

`recentred` takes this at m = exp_p(μ), ρ = |μ|. When p moves by u, m moves by the Jacobi field

    M u = C u + D ∇_u μ,      C = cos ρ across μ and 1 along it,      D = sin ρ/ρ across μ and 1 along it,

and the transport from m back to p turns by the curvature of the strip between the two geodesics,

    Ω_u = κ (tan(ρ/2)/ρ) (u + M u) ∧ μ,        (x ∧ y) z = (y·z) x − (x·z) y,        tanh for κ = −1.

Lastly the frame, as an array of R^D, turns with the tangent plane, which adds −κ (η·p)(velocity·u) to dH(u).
"""

from __future__ import annotations

import math

import numpy as np

from subbundle._compiled import kernel


@kernel
def mean_log(scratch, count, mean):
    """Write μ = Σ φ_n v_n / Σ φ_n; return Σ φ and Σ φ²."""
    vectors, weights = scratch[1], scratch[2]
    dim = mean.size
    mass = squares = 0.0
    for a in range(dim):
        mean[a] = 0.0
    for n in range(count):
        phi = weights[n, 0]
        mass += phi
        squares += phi * phi
        for a in range(dim):
            mean[a] += phi * vectors[n, a]
    for a in range(dim):
        mean[a] = mean[a] / mass if mass > 0.0 else np.nan
    return mass, squares


@kernel
def second_moment(scratch, count, mean, centred, sigma):
    """Write Σ w_n z_n z_nᵀ, z_n = v_n − μ if ``centred`` else v_n; return Σ φ."""
    vectors, weights = scratch[1], scratch[2]
    dim = mean.size
    mass = 0.0
    for i in range(dim):
        for j in range(dim):
            sigma[i, j] = 0.0
    for n in range(count):
        phi = weights[n, 0]
        mass += phi
        for i in range(dim):
            zi = vectors[n, i] - mean[i] if centred else vectors[n, i]
            for j in range(i + 1):
                zj = vectors[n, j] - mean[j] if centred else vectors[n, j]
                sigma[i, j] += phi * zi * zj
    for i in range(dim):
        for j in range(i + 1):
            sigma[i, j] = sigma[i, j] / mass if mass > 0.0 else np.nan
            sigma[j, i] = sigma[i, j]
    return mass


@kernel
def carry(point, basis, mean, curvature, centre, carried):
    """Write m = exp_p(μ) [D], and the basis [dim, D] carried there by parallel transport."""
    dim, ambient = basis.shape
    rho = math.sqrt(product(mean, mean))
    cosine, sine_ratio, _ = _strip(rho, curvature)
    for j in range(ambient):
        step = 0.0
        for a in range(dim):
            step += mean[a] * basis[a, j]
        centre[j] = cosine * point[j] + sine_ratio * step
        turn = -curvature * sine_ratio * point[j]
        if rho > 0.0:
            turn += (cosine - 1.0) / (rho * rho) * step
        for a in range(dim):
            carried[a, j] = basis[a, j] + mean[a] * turn


@kernel
def moment_gradient(scratch, count, mass, scale, mean, centred, turn, gradient):
    """Write Σ w q v/a² − 2 Σ w (r A z + s (v·A z) v), with ``scale`` = 1/a² and ``turn`` = A."""
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
                turned[i] += turn[i, j] * (vectors[n, j] - mean[j] if centred else vectors[n, j])
            along += turned[i] * vectors[n, i]
            q += turned[i] * (vectors[n, i] - mean[i] if centred else vectors[n, i])
        factor = phi * (q * scale - 2.0 * s * along)
        for i in range(dim):
            gradient[i] += factor * vectors[n, i] - 2.0 * phi * r * turned[i]
    for i in range(dim):
        gradient[i] /= mass


@kernel
def through_the_mean(scratch, count, mass, scale, mean, curvature, covector, velocity, gradient):
    """Turn the gradient g at m into the one at p, in place: Mᵀ (g + b) + b, with b the part of the transport.

    η·Ω_u(velocity) = b·(u + M u), where b is κ (tan(ρ/2)/ρ) ((μ·velocity) η − (μ·η) velocity) across μ.
    """
    vectors, weights = scratch[1], scratch[2]
    dim = mean.size
    squared = product(mean, mean)
    cosine, sine_ratio, strip_ratio = _strip(math.sqrt(squared), curvature)
    # Dividing by a μ that vanishes gives nothing to be along.
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
    # What is left of Mᵀ: the transpose of ∇μ = Σ w_n (v_n − μ) v_nᵀ/a² + Σ w_n ∇v_n.
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
