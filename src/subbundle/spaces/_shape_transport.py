"""Parallel transport in Kendall's shape space along a horizontal geodesic.

The geodesic is γ(t) = cos(θt) x + sin(θt)/θ v with v horizontal, θ = |v|, t in [0, 1]. A field w along γ is
parallel in shape space when it stays horizontal and its derivative in the pre-shape sphere is vertical:

    w' = γ (A − c I),      c = ⟨γ', w⟩ = ⟨v, w(0)⟩ constant,      SA + AS = −sk(γ'ᵀ w),   S = γᵀγ,  sk(B) = B − Bᵀ

Planar shapes form a complex projective space, where multiplication by i is parallel, and the solution is elementary.
In general, A at the nodes of Gauss quadrature solves a linear system: insert w(t_i) = w(0) + Σ_j W_ij γ_j (A_j − cI)
with W_ij = ∫_0^{t_i} ℓ_j, the integrals of the Lagrange polynomials. This is the Gauss collocation method.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from subbundle._elementwise import cos
from subbundle._types import FloatArray
from subbundle.spaces.linalg import eigh, frobenius, sinc, transpose, versine_ratio

_TURN = np.array([[0.0, 1.0], [-1.0, 0.0]])
"""Acts on rows (a, b) from the right as multiplication by i acts on a + ib."""


def transport_planar(w: FloatArray, x: FloatArray, v: FloatArray) -> FloatArray:
    """Transport w from x to exp_x(v), for planar shapes ``[..., k, 2]``.

    The component of w along the complex line of v turns with the geodesic, v ↦ cos θ v − θ sin θ x; the rest stays.
    """
    angle = np.sqrt(frobenius(v, v))[..., None, None]
    change = -sinc(angle) * x - versine_ratio(angle) * v
    turned = v @ _TURN
    along = frobenius(v, w)[..., None, None]
    across = frobenius(turned, w)[..., None, None]
    return np.asarray(w + along * change + across * (change @ _TURN))


def transport_general(w: FloatArray, x: FloatArray, v: FloatArray) -> FloatArray:
    """Transport w from x to exp_x(v), v horizontal, for shapes ``[..., k, m]``.

    Shapes on a line (S of rank ≤ m − 2) are singular, and x is σ = √(λ_m + λ_{m−1}), λ the eigenvalues of xᵀx, away
    from them. For θ ≤ σ/2 the solution is analytic on the Bernstein ellipse with ρ = 3 + √8 around [0, 1], so 10 nodes
    give ρ^−20 < 1e-15. Longer paths may pass nearer to a singular shape and get more.
    """
    batch = np.broadcast_shapes(w.shape, x.shape, v.shape)
    w, x, v = (np.broadcast_to(array, batch).reshape(-1, *batch[-2:]) for array in (w, x, v))
    room = np.einsum("ni->n", eigh(transpose(x) @ x)[0][:, :2])
    squared = frobenius(v, v)
    short, long = squared <= 0.25 * room, ~(squared <= 64.0 * room)
    result = np.empty_like(w)
    for rows, count in ((short, 10), (~short & ~long, 32), (long, 64)):
        if rows.any():
            result[rows] = _collocate(w[rows], x[rows], v[rows], count)
    return result.reshape(batch)


def _collocate(w: FloatArray, x: FloatArray, v: FloatArray, count: int) -> FloatArray:
    """Solve the collocation equations with ``count`` nodes, for ``[n, k, m]``.

    All Gram matrices γ'(t)ᵀγ(s) are combinations of xᵀx, xᵀv and vᵀv, so the system has m (m − 1)/2 unknowns per node
    whatever the number of landmarks. They are symmetric, which removes the terms with c from the equations for A.
    """
    nodes, weights, integrals = _gauss(count)
    m = x.shape[-1]
    angle = np.sqrt(frobenius(v, v))[:, None]
    # γ = cosine x + sine v and γ' = slope x + cosine v at the nodes, [n, node].
    cosine, sine = cos(angle * nodes), nodes * sinc(angle * nodes)
    slope = -(angle**2) * sine
    grams = [transpose(left) @ right for left, right in ((x, x), (x, v), (v, v))]
    xx, xv, vv = (np.einsum("abpr,npr->nab", _skew_operator(m), gram) for gram in grams)

    system = _pairs(integrals * slope[:, :, None] * cosine[:, None, :], xx)
    system += _pairs(integrals * (slope[:, :, None] * sine[:, None, :] + cosine[:, :, None] * cosine[:, None, :]), xv)
    system += _pairs(integrals * cosine[:, :, None] * sine[:, None, :], vv)
    diagonal = np.eye(count)
    system += _pairs(diagonal * (cosine**2)[:, None, :], xx) + _pairs(diagonal * (sine**2)[:, None, :], vv)
    system += _pairs(diagonal * (2.0 * cosine * sine)[:, None, :], xv)

    x_side, v_side = (_above(side - transpose(side)) for side in (transpose(x) @ w, transpose(v) @ w))
    right = -(slope[:, :, None] * x_side[:, None, :] + cosine[:, :, None] * v_side[:, None, :])
    generators = np.linalg.solve(system, right.reshape(len(w), -1, 1)).reshape(right.shape)
    x_part = _skew(np.einsum("nt,nta->na", weights * cosine, generators), m)
    v_part = _skew(np.einsum("nt,nta->na", weights * sine, generators), m)
    along, angle = frobenius(v, w)[:, None, None], angle[:, :, None]
    return np.asarray(w + x @ x_part + v @ v_part - along * (sinc(angle) * x + versine_ratio(angle) * v))


def _pairs(coefficients: FloatArray, matrix: FloatArray) -> FloatArray:
    """Kronecker products of ``[n, t, t]`` with ``[n, a, a]``, as ``[n, ta, ta]``."""
    product = coefficients[:, :, None, :, None] * matrix[:, None, :, None, :]
    size = coefficients.shape[-1] * matrix.shape[-1]
    return product.reshape(-1, size, size)


def _above(matrix: FloatArray) -> FloatArray:
    """The entries above the diagonal, row by row."""
    rows, columns = np.triu_indices(matrix.shape[-1], 1)
    return np.asarray(matrix[..., rows, columns])


def _skew(upper: FloatArray, m: int) -> FloatArray:
    """The skew matrices with given entries above the diagonal."""
    rows, columns = np.triu_indices(m, 1)
    matrix = np.zeros((*upper.shape[:-1], m, m))
    matrix[..., rows, columns] = upper
    matrix[..., columns, rows] = -upper
    return matrix


@cache
def _skew_operator(m: int) -> FloatArray:
    """Tensor that takes G to the matrix of A ↦ sk(GA) in the entries above the diagonal, ``[a, b, m, m]``.

    For symmetric S it also gives A ↦ SA + AS, which is sk(SA).
    """
    rows, columns = np.triu_indices(m, 1)
    basis = _skew(np.eye(rows.size), m)
    identity = np.eye(m)
    first = np.einsum("pi,brj->bijpr", identity, basis)
    both = first - np.swapaxes(first, 1, 2)
    return np.asarray(np.moveaxis(both[:, rows, columns], 1, 0))


@cache
def _gauss(count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Nodes t_i and weights of Gauss quadrature on [0, 1], and W_ij = ∫_0^{t_i} ℓ_j.

    On [−1, 1], ℓ_j = w_j Σ_k (k + ½) P_k(s_j) P_k and ∫ P_k = (P_{k+1} − P_{k−1})/(2k + 1).
    """
    nodes, weights = np.polynomial.legendre.leggauss(count)
    values = np.polynomial.legendre.legvander(nodes, count)
    below = np.concatenate([-np.ones((count, 1)), values[:, : count - 1]], axis=1)
    integrals = 0.5 * (values[:, 1:] - below) @ (weights[:, None] * values[:, :count]).T
    return 0.5 * (nodes + 1.0), 0.5 * weights, 0.5 * integrals
