"""The Hamiltonian field in up to `BLOCK_DIM` dimensions: velocity and force, in compiled code.

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

Where ψ = φ a constant may be subtracted from |x_n − p|², as Σ w_n q_n = 0 and Σ w_n (x_n − m) = 0: that of the nearest.

"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.cloud.build import LEAF
from subbundle.kernels import GAUSSIAN
from subbundle.local.gather import ball, slope_row
from subbundle.local.moments import FAST, eigh, log_mass, moments, uncentre, weighted_sums
from subbundle.local.settings import ALL, COMMON, LOCAL, RECENTRED, gap_status, mass_status, width_at


@kernel
def field_batch(tree, settings, cases, points, covectors, velocity, force, status):
    """Write P η and −∂H/∂p for ``points``, ``covectors`` [batch, d]; ``status`` [batch] codes, rows as they are where
    not 0.

    ``settings`` are `Settings.numbers`; ``cases`` (see `local.settings`) is COMMON in three dimensions with one
    bandwidth and one pass, else ALL.
    """
    dim = points.shape[1]
    found, near = np.empty(tree[0].shape[0], np.int64), np.empty((dim + 2, 0))
    sigma, vectors, matrix, jacobian = _square(dim), _square(dim), _square(dim), _square(dim)
    values, shift, origin, gradient, third = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    slope, mean_slope, centre = np.empty(dim), np.empty(dim), np.empty(dim)
    widths, kernel, reach, centering, rank, log_share, min_gap = settings
    bandwidth, typical, landmarks, _, _ = widths
    varies = landmarks.shape[0] > 0
    for b in range(points.shape[0]):
        p = points[b]
        if cases is not COMMON:
            bandwidth, typical = width_at(widths, p, slope)
        near, count, nearest, _, sums = ball(tree, p, bandwidth, kernel, reach, -1.0, ALL, cases, found, near)
        mass = moments(near, count, sums, cases, shift, sigma)
        status[b] = mass_status(log_mass(mass, nearest), typical + log_share)
        if status[b] != 0:
            continue
        if cases is not COMMON and centering == RECENTRED:
            _mean_slopes(near, count, kernel, shift, sigma, bandwidth, mass, nearest, varies, jacobian, mean_slope)
            for i in range(dim):
                centre[i] = p[i] + shift[i]
            near, count, nearest, _, sums = ball(tree, centre, bandwidth, kernel, reach, -1.0, ALL, cases, found, near)
            mass = moments(near, count, sums, cases, shift, sigma)
            status[b] = mass_status(log_mass(mass, nearest), -np.inf)
            if status[b] != 0:
                continue
        if centering != LOCAL:
            uncentre(shift, sigma)
        eigh(sigma, cases, values, vectors)
        status[b] = gap_status(values, rank, min_gap)
        if status[b] != 0:
            continue
        velocity_and_matrix(values, vectors, covectors[b], rank, velocity[b], matrix)
        for i in range(dim):
            origin[i] = shift[i] if centering == LOCAL else 0.0
        if cases is COMMON or dim == 3:
            total, spread = _contracted3(near, count, slope_row(kernel, 3), origin, matrix, third)
        else:
            total, spread = _contracted(near, count, slope_row(kernel, dim), origin, matrix, varies, third)
        scale = 1.0 / (bandwidth * bandwidth * mass)
        for i in range(dim):
            gradient[i] = third[i] * scale
            if centering != LOCAL:
                for j in range(dim):
                    gradient[i] -= 2.0 * matrix[i, j] * shift[j]
            force[b, i] = -gradient[i]
        if cases is not COMMON:
            by_width = (spread - nearest * bandwidth * bandwidth * total) * scale / bandwidth
            _pull_back(centering, varies, gradient, jacobian, by_width, mean_slope, slope, force[b])


# Arrays are allocated one by one and filled in loops: slices and whole-array assignments would be compiled as other
# types, with messages for shapes that cannot occur, and compiling would take three times as long.


@kernel
def _square(dim):
    return np.empty((dim, dim))


@kernel
def _mean_slopes(near, count, kernel, shift, sigma, bandwidth, mass, nearest, varies, jacobian, mean_slope):
    """Write J = ∂m/∂p and, if the bandwidth ``varies``, ∂m/∂a, from neighbours of which m − p = ``shift`` and ``sigma``
    is the second moment about m. ``near`` is overwritten."""
    dim, area = shift.size, bandwidth * bandwidth
    row = slope_row(kernel, dim)
    scale = 1.0 / (area * mass)
    if kernel == GAUSSIAN:
        for i in range(dim):
            for j in range(dim):
                jacobian[i, j] = sigma[i, j] / area
    else:
        weighted_sums(near, count, row, mean_slope, jacobian)
        for i in range(dim):
            for j in range(i + 1):
                both = jacobian[i, j]
                jacobian[i, j] = (both - shift[i] * mean_slope[j]) * scale
                jacobian[j, i] = (both - shift[j] * mean_slope[i]) * scale
    if varies:
        for n in range(count):
            square = 0.0
            for i in range(dim):
                square += near[i, n] * near[i, n]
            near[row, n] *= square - nearest * area
        total = weighted_sums(near, count, row, mean_slope, sigma)
        for i in range(dim):
            mean_slope[i] = (mean_slope[i] - shift[i] * total) * scale / bandwidth


@kernel(fastmath=FAST)
def _contracted3(near, count, row, origin, matrix, third):
    """With z_n = y_n − ``origin`` and q_n = z_nᵀ A z_n: return Σ ψ_n q_n and Σ ψ_n q_n |y_n|², and write Σ ψ_n q_n y_n
    into ``third`` [d]; ψ_n stands in ``row``."""
    c0, c1, c2 = origin[0], origin[1], origin[2]
    a00, a11, a22 = matrix[0, 0], matrix[1, 1], matrix[2, 2]
    a01, a02, a12 = 2.0 * matrix[0, 1], 2.0 * matrix[0, 2], 2.0 * matrix[1, 2]
    s = s0 = s1 = s2 = spread = 0.0
    for n in range(np.uint64(count)):
        y0, y1, y2 = near[0, n], near[1, n], near[2, n]
        z0, z1, z2 = y0 - c0, y1 - c1, y2 - c2
        q = near[row, n] * (z0 * (a00 * z0 + a01 * z1 + a02 * z2) + z1 * (a11 * z1 + a12 * z2) + a22 * z2 * z2)
        s += q
        s0 += q * y0
        s1 += q * y1
        s2 += q * y2
        spread += q * (y0 * y0 + y1 * y1 + y2 * y2)
    third[0], third[1], third[2] = s0, s1, s2
    return s, spread


@kernel(fastmath=FAST)
def _contracted(near, count, row, origin, matrix, varies, third):
    """`_contracted3` in any dimension, its second sum only if the bandwidth ``varies``."""
    dim = origin.size
    offsets, q, weights = np.empty((dim, LEAF)), np.empty(LEAF), np.empty(LEAF)
    total = spread = 0.0
    for j in range(dim):
        third[j] = 0.0
    for start in range(0, count, LEAF):
        for j in range(dim):
            for n in range(LEAF):
                offsets[j, n] = near[j, start + n] - origin[j]
        for n in range(LEAF):
            weights[n] = near[row, start + n]
            q[n] = 0.0
        for j in range(dim):
            for m in range(j + 1):
                factor = matrix[j, m] if m == j else 2.0 * matrix[j, m]
                for n in range(LEAF):
                    q[n] += factor * offsets[j, n] * offsets[m, n]
        for n in range(LEAF):
            q[n] *= weights[n]
            total += q[n]
        for j in range(dim):
            along = 0.0
            for n in range(LEAF):
                along += q[n] * offsets[j, n]
            third[j] += along
        if varies:
            for j in range(dim):
                for n in range(LEAF):
                    spread += q[n] * near[j, start + n] * near[j, start + n]
    for j in range(dim):
        third[j] += total * origin[j]
    return total, spread


@kernel
def _pull_back(centering, varies, gradient, jacobian, by_width, mean_slope, slope, force):
    """From the gradient ``gradient`` at the centre to ``force`` at the point: through ∂m/∂p and the bandwidth."""
    dim = gradient.size
    if centering == RECENTRED:
        for i in range(dim):
            total = 0.0
            for j in range(dim):
                total += jacobian[j, i] * gradient[j]
            force[i] = -total
    if varies:
        if centering == RECENTRED:
            for i in range(dim):
                by_width += gradient[i] * mean_slope[i]
        for i in range(dim):
            force[i] -= by_width * slope[i]


@kernel
def velocity_and_matrix(values, vectors, covector, rank, velocity, matrix):
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
