"""Compiled code of the interpolant over scattered directions (k ≥ 3).

At v = r u the nodes of a geodesic in the direction u_j, interpolated along r by cubic Hermite, give x_j(r). Across the
directions a quadratic polynomial in τ_j = B(u_j − u)/R, B [k − 1, k] an orthonormal basis across u, is fitted to them
by least squares with the weights

    w_j = (1 − |u_j − u|²/R²)² g_j        for |u_j − u| < R,

where g_j falls from 1 to almost 0 beyond the end of geodesic j. Its value at τ = 0 is X, its slope X_τ; the Jacobian is
X_r uᵀ + X_τ B/(r R). With A [n, p] the monomials of τ_j and N = Aᵀ w A, both are linear in the x_j:
X = Σ_j w_j (A_jᵀ N⁻¹ e_0) x_j.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.charts._interpolant_kernels import hermite, hermite_slopes
from subbundle.charts.tuning import CENTRE
from subbundle.local.regression import factorise, solve

# Weight of a geodesic beyond its end, so that the fit always has enough points.
_LEAST = 1e-4


@kernel
def evaluate(nodes, step, scale, directions, ends, reach, v, point, jacobian):
    """Write the point [dim] and the Jacobian [dim, k] at the coordinates ``v`` [k].

    ``nodes`` [L, m, 2, dim] hold points and velocities times ``step``; ``ends`` [L] the length of each geodesic;
    ``reach`` is R.
    """
    rank, dim = v.size, nodes.shape[3]
    n_terms = 1 + (rank - 1) + (rank - 1) * rank // 2
    r, basis = _basis(v, step)
    near, terms, weights = _near(directions, ends, scale, reach, r, basis, n_terms)
    columns = _inverse_columns(terms, weights, rank)
    place = min(int(r / step), nodes.shape[1] - 2)
    t = r / step - place
    p1, q0, q1 = hermite(t)
    dp1, dq0, dq1 = hermite_slopes(t, step)
    slopes = np.zeros((rank, dim))
    for d in range(dim):
        point[d] = 0.0
    for i in range(near.size):
        coefficient = np.zeros(rank)
        for c in range(rank):
            for m in range(n_terms):
                coefficient[c] += terms[i, m] * columns[m, c]
            coefficient[c] *= weights[i]
        a, b = nodes[near[i], place], nodes[near[i], place + 1]
        for d in range(dim):
            x = (1.0 - p1) * a[0, d] + p1 * b[0, d] + q0 * a[1, d] + q1 * b[1, d]
            point[d] += coefficient[0] * x
            slopes[0, d] += coefficient[0] * (dp1 * (b[0, d] - a[0, d]) + dq0 * a[1, d] + dq1 * b[1, d])
            for c in range(1, rank):
                slopes[c, d] += coefficient[c] * x / (reach * r)
    for d in range(dim):
        for m in range(rank):
            jacobian[d, m] = 0.0
            for c in range(rank):
                jacobian[d, m] += slopes[c, d] * basis[c, m]


@kernel
def _basis(v, step):
    """Length of ``v`` and an orthonormal basis [k, k] whose first row is its direction: a Householder reflection."""
    rank = v.size
    size = 0.0
    for m in range(rank):
        size += v[m] * v[m]
    size = np.sqrt(size)
    unit = np.zeros(rank)
    unit[0] = 1.0
    if size > 0.0:
        for m in range(rank):
            unit[m] = v[m] / size
    mirror, total = np.empty(rank), 0.0
    for m in range(rank):
        mirror[m] = unit[m]
    mirror[0] += 1.0 if unit[0] >= 0.0 else -1.0
    for m in range(rank):
        total += mirror[m] * mirror[m]
    basis = np.empty((rank, rank))
    for i in range(rank):
        for j in range(rank):
            basis[i, j] = unit[j] if i == 0 else (1.0 if i == j else 0.0) - 2.0 / total * mirror[i] * mirror[j]
    return max(size, CENTRE * step), basis


@kernel
def _near(directions, ends, scale, reach, r, basis, n_terms):
    """The directions within ``reach``: their rows, the monomials of τ [n, p], and their weights [n]."""
    n_rays, rank = directions.shape
    near, terms, weights = np.empty(n_rays, np.int64), np.empty((n_rays, n_terms)), np.empty(n_rays)
    count = 0
    for j in range(n_rays):
        cosine = 0.0
        for m in range(rank):
            cosine += directions[j, m] * basis[0, m]
        # |u_j − u|² = 2 − 2 cos
        closeness = 1.0 - (2.0 - 2.0 * cosine) / (reach * reach)
        if closeness <= 0.0:
            continue
        left = max(1.0 - max(r - ends[j], 0.0) / scale, 0.0)
        near[count] = j
        weights[count] = closeness * closeness * max(left * left, _LEAST)
        terms[count, 0] = 1.0
        for a in range(1, rank):
            along = 0.0
            for m in range(rank):
                along += directions[j, m] * basis[a, m]
            terms[count, a] = along / reach
        place = rank
        for a in range(1, rank):
            for b in range(a, rank):
                terms[count, place] = terms[count, a] * terms[count, b]
                place += 1
        count += 1
    return near[:count], terms[:count], weights[:count]


@kernel
def _inverse_columns(terms, weights, n_columns):
    """The first ``n_columns`` columns of (Aᵀ w A)⁻¹ [p, n_columns]."""
    n, p = terms.shape
    gram, columns = np.zeros((p, p)), np.zeros((p, n_columns))
    for i in range(n):
        for a in range(p):
            for b in range(a + 1):
                gram[a, b] += weights[i] * terms[i, a] * terms[i, b]
    for c in range(n_columns):
        columns[c, c] = 1.0
    factorise(gram, 0.0, p)
    solve(gram, columns)
    return columns
