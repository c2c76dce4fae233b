"""Leading eigenpairs and shifted solves of a large second moment Σ = ZᵀZ, by Krylov subspaces.

Σ is given either as a matrix or, when there are fewer neighbours than dimensions, by the factor Z [n, d]; then it is
never formed. Both procedures cost a few products with Σ, against the 9 d³ of a full decomposition.
"""

from __future__ import annotations

import numba as nb
import numpy as np

# Residuals relative to λ_1. The error of the projector is this over the relative gap.
_TOLERANCE = 1e-13


@nb.njit(nogil=True, cache=True)
def multiply(matrix, factored, block):
    """Return Σ @ block for block [d, b]; ``matrix`` is Σ itself, or Z when ``factored``."""
    if factored:
        return np.dot(np.ascontiguousarray(matrix.T), np.dot(matrix, block))
    return np.dot(matrix, block)


@nb.njit(nogil=True, cache=True)
def _orthonormalise(block, basis, size):
    """Orthonormal basis of ``block`` [d, b] against the first ``size`` columns of ``basis``; twice is enough."""
    for _ in range(2):
        if size > 0:
            known = np.ascontiguousarray(basis[:, :size])
            block = block - np.dot(known, np.dot(np.ascontiguousarray(known.T), block))
        block, _r = np.linalg.qr(block)
        block = np.ascontiguousarray(block)
    return block


@nb.njit(nogil=True, cache=True)
def leading(matrix, factored, start, rank):
    """Leading ``rank + 1`` eigenpairs of Σ by block Lanczos with full reorthogonalisation.

    ``start`` [d, b], b > rank, is any block in general position. Equal eigenvalues are found because the block is at
    least as wide as the space wanted.

    Returns
    -------
    converged : bool
    values : [rank + 1] descending (the last one to a few digits: it only decides whether the gap is open)
    vectors : [d, rank]
    """
    dim, width = start.shape
    limit = min(dim, 14 * width)
    basis = np.empty((dim, limit))
    image = np.empty((dim, limit))
    block = _orthonormalise(multiply(matrix, factored, start), basis, 0)
    size = 0
    while size + width <= limit:
        basis[:, size : size + width] = block
        image[:, size : size + width] = multiply(matrix, factored, block)
        size += width
        known = np.ascontiguousarray(basis[:, :size])
        images = np.ascontiguousarray(image[:, :size])
        small = np.dot(np.ascontiguousarray(known.T), images)
        values, mix = np.linalg.eigh(0.5 * (small + small.T))
        top = np.ascontiguousarray(mix[:, ::-1][:, :rank])
        vectors = np.dot(known, top)
        residual = np.dot(images, top) - vectors * values[::-1][:rank]
        if np.sqrt((residual * residual).sum()) <= _TOLERANCE * values[-1] or size == dim:
            return True, values[::-1][: rank + 1].copy(), vectors
        block = _orthonormalise(np.ascontiguousarray(image[:, size - width : size]), basis, size)
    return False, np.empty(0), np.empty((0, 0))


@nb.njit(nogil=True, cache=True)
def partners(matrix, factored, values, vectors, covector):
    """u_i = Σ_{j>k} c_j / (λ_i − λ_j) e_j = (λ_i − Σ)⁻¹ (I − P) η for i ≤ k, as ``[d, k]``.

    One Lanczos run from (I − P) η serves all shifts λ_i, because they share their Krylov space.
    """
    dim, rank = vectors.shape
    shift = values[:rank]
    result = np.zeros((dim, rank))
    residual = covector - np.dot(vectors, np.dot(np.ascontiguousarray(vectors.T), covector))
    norm = np.sqrt((residual * residual).sum())
    if norm <= 1e-300 or norm <= 1e-15 * np.sqrt((covector * covector).sum()):
        return result
    limit = dim - rank
    basis = np.empty((limit, dim))
    diagonal, beside = np.empty(limit), np.empty(limit)
    vector = residual / norm
    size = 0
    while True:
        basis[size] = vector
        product = multiply(matrix, factored, vector.reshape(dim, 1)).reshape(dim)
        diagonal[size] = np.dot(vector, product)
        size += 1
        known = basis[:size]
        for _ in range(2):
            product -= np.dot(vectors, np.dot(np.ascontiguousarray(vectors.T), product))
            product -= np.dot(np.ascontiguousarray(known.T), np.dot(known, product))
        beside[size - 1] = np.sqrt((product * product).sum())
        worst = 0.0
        solutions = np.empty((rank, size))
        for i in range(rank):
            _solve_tridiagonal(shift[i], diagonal[:size], beside[:size], solutions[i])
            worst = max(worst, abs(beside[size - 1] * solutions[i, size - 1]))
        if worst <= _TOLERANCE or size == limit or beside[size - 1] <= 1e-15 * values[0]:
            for i in range(rank):
                result[:, i] = norm * np.dot(np.ascontiguousarray(known.T), solutions[i])
            return result
        vector = product / beside[size - 1]


@nb.njit(nogil=True, cache=True)
def _solve_tridiagonal(shift, diagonal, beside, solution):
    """Solve (shift − T) y = e_1, T tridiagonal. Positive definite, since shift = λ_i exceeds the rest: no pivoting."""
    size = diagonal.size
    pivots = np.empty(size)
    solution[0] = 1.0
    pivots[0] = shift - diagonal[0]
    for j in range(1, size):
        factor = -beside[j - 1] / pivots[j - 1]
        pivots[j] = shift - diagonal[j] + factor * beside[j - 1]
        solution[j] = -factor * solution[j - 1]
    solution[size - 1] /= pivots[size - 1]
    for j in range(size - 2, -1, -1):
        solution[j] = (solution[j] + beside[j] * solution[j + 1]) / pivots[j]
