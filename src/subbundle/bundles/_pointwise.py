"""The bundle in up to `BLOCK_DIM` dimensions: frame and field of one point after the other, in compiled code.

Notation of the mathematics: φ_n kernel weights, s = Σ φ_n, m(p) the local mean, Σ the second moment of the chosen
centring about its centre, λ_i, e_i its eigenpairs, c = Eᵀη,

    A = sym Σ_{i≤k<j} c_i c_j / (λ_i − λ_j) e_i e_jᵀ,        q_n = y_nᵀ A y_n,   y_n = x_n − centre,
    dH = ⟨A, dΣ⟩,

and, with ψ = −2 φ′ so that ∂φ_n/∂p = ψ_n (x_n − p) / a²,

    local      ∂H/∂p = Σ ψ_n q_n (x_n − p) / (a² s)                      y_n = x_n − m(p)
    none       ∂H/∂p = Σ ψ_n q_n (x_n − p) / (a² s) − 2 A (m − p)        y_n = x_n − p
    recentred  ∂H/∂p = Jᵀ g, g the gradient of `none` at m(p),  J = ∂m/∂p = Σ ψ_n (x_n − m)(x_n − p)ᵀ / (a² s)

Σ w_n q_n = ⟨A, Σ⟩ = 0 because A has no diagonal block in the eigenbasis, so the derivative of s drops out.

A bandwidth a(p) that depends on the point (`widths`) adds (∂H/∂a) ∇a. Since ∂φ_n/∂a = ψ_n |x_n − p|²/a³, for `local`
and `none`

    ∂H/∂a = Σ ψ_n q_n |x_n − p|² / (a³ s),

and for `recentred`, where both passes have the bandwidth a(p), the same at m(p) plus g · ∂m/∂a,

    ∂m/∂a = Σ ψ_n |x_n − p|² (x_n − m) / (a³ s).

Where ψ = φ a constant may be taken off |x_n − p|², as Σ w_n q_n = 0 and Σ w_n (x_n − m) = 0: that of the nearest.

All kernels have the arguments ``settings``, `Settings.numbers`, and ``cases`` (see `local.settings`): COMMON in three
dimensions with a compact kernel, one bandwidth and one pass, else ALL.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.cloud.build import LEAF
from subbundle.local.moments import eigh
from subbundle.local.settings import COMMON, LOCAL, NONE, RECENTRED, gap_verdict, mass_verdict, width_at
from subbundle.local.sums import contracted, contracted3, first_moment, moments, window_moments
from subbundle.local.weights import profile, weigh, weigh_by_distance


@kernel
def field_batch(tree, settings, cases, points, covectors, velocity, force, status):
    """Write P η and −∂H/∂p for ``points``, ``covectors`` [batch, d]; ``status`` [batch] codes, rows as they are where
    not 0."""
    dim = points.shape[1]
    found, phi, psi = _scratch(tree)
    sigma, vectors, matrix, jacobian = _square(dim), _square(dim), _square(dim), _square(dim)
    values, centre, shift, turn, third = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    slope, slide = np.empty(dim), np.empty(dim)
    widths, kernel, reach, centering, rank, log_share, min_gap = settings
    bandwidth, typical, landmarks, _, _ = widths
    varies = landmarks.shape[0] > 0
    for b in range(points.shape[0]):
        p = points[b]
        if cases is not COMMON:
            bandwidth, typical = width_at(widths, p, slope)
        log_mass, mass, count, nearest = _second_moment(
            tree, p, bandwidth, kernel, reach, centering, cases, varies, found, phi, psi, centre, shift, sigma,
            jacobian, slide,
        )  # fmt: skip
        status[b] = mass_verdict(log_mass, typical + log_share)
        if status[b] != 0:
            continue
        eigh(sigma, cases, values, vectors)
        status[b] = gap_verdict(values, rank, min_gap)
        if status[b] != 0:
            continue
        _velocity_and_turn(values, vectors, covectors[b], rank, velocity[b], matrix)
        spread = 0.0
        if cases is COMMON:
            total, _ = contracted3(tree[0], found, count, psi, centre, matrix, third)
        else:
            if varies and dim == 3:
                total, spread = contracted3(tree[0], found, count, psi, centre, matrix, third)
            else:
                total = contracted(tree[0], found, count, psi, centre, matrix, third)
            if varies:
                spread = _by_distance(
                    tree[0], found, count, psi, phi, p, centre, shift, centering, nearest * bandwidth * bandwidth,
                    matrix, third, total, spread,
                )  # fmt: skip
        scale = 1.0 / (bandwidth * bandwidth * mass)
        for i in range(dim):
            turn[i] = third[i] * scale
            if centering == LOCAL:
                turn[i] += shift[i] * total * scale
            else:
                for j in range(dim):
                    turn[i] -= 2.0 * matrix[i, j] * shift[j]
            force[b, i] = -turn[i]
        if cases is not COMMON:
            _pull_back(centering, varies, turn, jacobian, spread * scale / bandwidth, slide, slope, force[b])


@kernel
def _pull_back(centering, varies, turn, jacobian, by_width, slide, slope, force):
    """From the gradient ``turn`` at the centre to ``force`` at the point: through ∂m/∂p and the bandwidth."""
    dim = turn.size
    if centering == RECENTRED:
        for i in range(dim):
            total = 0.0
            for j in range(dim):
                total += jacobian[j, i] * turn[j]
            force[i] = -total
    if varies:
        if centering == RECENTRED:
            for i in range(dim):
                by_width += turn[i] * slide[i]
        for i in range(dim):
            force[i] -= by_width * slope[i]


@kernel
def _by_distance(blocks, found, count, psi, phi, p, centre, shift, centering, nearest, matrix, third, total, spread):
    """Σ ψ_n q_n (|x_n − c|² − ``nearest``), c the point of the weights.

    In three dimensions from ``total`` = Σ ψ q, ``third`` = Σ ψ q y and ``spread`` = Σ ψ q |y|², y measured from the
    centre; else in a pass of its own, for which ``phi`` is scratch.
    """
    if p.size == 3:
        spread -= nearest * total
        if centering == LOCAL:
            for i in range(3):
                spread += shift[i] * (2.0 * third[i] + shift[i] * total)
        return spread
    weigh_by_distance(blocks, found, count, centre if centering == RECENTRED else p, nearest, psi, phi)
    unused = np.empty(p.size)
    return contracted(blocks, found, count, phi, centre, matrix, unused)


@kernel
def frame_batch(tree, settings, cases, points, values, vectors, mean, log_mass, status):
    """Write eigenvalues [batch, d], eigenvectors [batch, d, d], local means and log kernel masses of ``points``,
    relative to the typical ones there; rows without neighbours stay as they are."""
    dim = points.shape[1]
    found, phi, psi = _scratch(tree)
    sigma, jacobian = _square(dim), _square(dim)
    centre, shift, slope, slide = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    widths, kernel, reach, centering, rank, log_share, min_gap = settings
    bandwidth, typical, landmarks, _, _ = widths
    varies = landmarks.shape[0] > 0
    for b in range(points.shape[0]):
        p = points[b]
        if cases is not COMMON:
            bandwidth, typical = width_at(widths, p, slope)
        absolute, mass, count, _ = _second_moment(
            tree, p, bandwidth, kernel, reach, centering, cases, varies, found, phi, psi, centre, shift, sigma,
            jacobian, slide,
        )  # fmt: skip
        status[b] = mass_verdict(absolute, typical + log_share)
        log_mass[b] = absolute - typical
        if count == 0 or mass == 0.0:
            continue
        for i in range(dim):
            mean[b, i] = centre[i] + (shift[i] if centering == NONE else 0.0)
        eigh(sigma, cases, values[b], vectors[b])
        if status[b] == 0:
            status[b] = gap_verdict(values[b], rank, min_gap)


@kernel
def mass_batch(tree, settings, cases, apart, points, mean, log_mass, effective):
    """Write local means, log kernel masses and effective numbers of neighbours (Σφ)²/Σφ² at ``points``.

    ``apart = 0`` leaves the point itself (and its exact duplicates) out, −1 leaves nothing out.
    """
    dim = points.shape[1]
    found, phi, psi = _scratch(tree)
    first, slope = np.empty(dim), np.empty(dim)
    widths, kernel, reach = settings[:3]
    bandwidth = widths[0]
    for b in range(points.shape[0]):
        if cases is not COMMON:
            bandwidth, _ = width_at(widths, points[b], slope)
        count, nearest = weigh(tree, points[b], bandwidth, kernel, reach, apart, cases, found, phi, psi)
        mass, squares = first_moment(tree[0], found, count, profile(kernel, phi, psi), points[b], first)
        for i in range(dim):
            mean[b, i] = points[b, i] + first[i] / mass if squares > 0.0 else np.nan
        log_mass[b] = np.log(mass) - 0.5 * nearest if squares > 0.0 else -np.inf
        effective[b] = mass * mass / squares if squares > 0.0 else 0.0


# Arrays are made one by one and filled in loops: slices and whole-array assignments would be compiled as other
# types, with messages for shapes that cannot occur, and compiling would take three times as long.


@kernel
def _square(dim):
    return np.empty((dim, dim))


@kernel
def _scratch(tree):
    n_leaves = tree[0].shape[0]
    # Only the pages that are written come into being, so this costs nothing for large clouds.
    return np.empty(n_leaves, np.int64), np.empty((n_leaves, LEAF)), np.empty((n_leaves, LEAF))


@kernel
def _second_moment(
    tree, p, bandwidth, kernel, reach, centering, cases, varies, found, phi, psi, centre, shift, sigma,
    jacobian, slide,
):  # fmt: skip
    """Fill Σ and what its derivative needs; return log mass at p, mass at the point of the weights, number of leaves,
    and t of the nearest observation for the Gaussian.

    ``centre`` is the point that y_n is measured from; ``shift`` is m(p) − p, or m(c) − c at c = m(p) for `recentred`;
    there ``slide`` is ∂m/∂a, if the bandwidth ``varies``.
    """
    dim = p.size
    mass, count, nearest = window_moments(tree, p, bandwidth, kernel, reach, cases, found, phi, psi, shift, sigma)
    if mass <= 0.0:
        return -np.inf, 0.0, 0, 0.0
    log_mass = np.log(mass) - 0.5 * nearest
    for i in range(dim):
        shift[i] /= mass
        centre[i] = p[i] if centering == NONE else p[i] + shift[i]
    if cases is not COMMON and centering == RECENTRED:
        _mean_jacobian(tree, found, count, psi, p, mass * bandwidth * bandwidth, shift, jacobian)
        if varies:
            weigh_by_distance(tree[0], found, count, p, nearest * bandwidth * bandwidth, psi, phi)
            moments(tree[0], found, count, phi, centre, slide, sigma)
            for i in range(dim):
                slide[i] /= mass * bandwidth**3
        mass, count, nearest = window_moments(
            tree, centre, bandwidth, kernel, reach, cases, found, phi, psi, shift, sigma
        )
        if mass <= 0.0:
            return -np.inf, 0.0, 0, 0.0
        for i in range(dim):
            shift[i] /= mass
    for i in range(dim):
        for j in range(dim):
            sigma[i, j] = sigma[i, j] / mass - (shift[i] * shift[j] if centering == LOCAL else 0.0)
    return log_mass, mass, count, nearest


@kernel
def _mean_jacobian(tree, found, count, psi, p, scale, shift, jacobian):
    """J = ∂m/∂p = Σ ψ_n (x_n − m)(x_n − p)ᵀ / (a² s), with ``scale`` = a² s and ``shift`` = m − p."""
    first = np.empty(p.size)
    moments(tree[0], found, count, psi, p, first, jacobian)
    for i in range(p.size):
        for j in range(p.size):
            jacobian[i, j] = (jacobian[i, j] - shift[i] * first[j]) / scale


@kernel
def _velocity_and_turn(values, vectors, covector, rank, velocity, matrix):
    """Write P η into ``velocity`` and A into ``matrix``."""
    dim = covector.size
    components, partner = np.empty(dim), np.empty(dim)
    for j in range(dim):
        total = 0.0
        for i in range(dim):
            total += vectors[i, j] * covector[i]
        components[j] = total
    for r in range(dim):
        velocity[r] = 0.0
        for c in range(dim):
            matrix[r, c] = 0.0
    for i in range(rank):
        for r in range(dim):
            partner[r] = 0.0
        for j in range(rank, dim):
            factor = components[j] / (values[i] - values[j])
            for r in range(dim):
                partner[r] += factor * vectors[r, j]
        for r in range(dim):
            velocity[r] += components[i] * vectors[r, i]
            for c in range(dim):
                matrix[r, c] += 0.5 * components[i] * (vectors[r, i] * partner[c] + partner[r] * vectors[c, i])
