"""Leading eigenpairs of a large second moment Σ = ZᵀZ, by the method that is fastest for its size, and shifted solves.

In some fifty dimensions it is reduced to tridiagonal form, in many more block Lanczos is used, and LAPACK decomposes it
in full where more than a quarter of all pairs is required, or where those methods do not converge. Σ is given either as
a matrix or, when there are fewer neighbours than dimensions, by the factor Z [n, d]; then it is never formed. Krylov
subspaces cost a few products with Σ, a full decomposition 9 d³.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._types import FloatArray
from subbundle.local.frames import sign_of_largest
from subbundle.local.tridiagonal import FAST, cleared, orthonormalise, tridiagonal

# Largest d/(k + 3) at which a matrix is reduced to tridiagonal form (timed for k = 2, 4, 9 and d = 50 to 300).
_BLOCKS = 24
# Residuals relative to λ_1. The error of the projector is this over the relative gap.
TOLERANCE = 1e-13


def leading(
    matrix: FloatArray, factored: bool, start: FloatArray, rank: int, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """At least k + 1 leading eigenvalues of Σ, descending, and its eigenvectors e_1..e_k [d, k].

    ``matrix`` is Σ [d, d], or Z [n, d] with Σ = ZᵀZ when ``factored``; ``start`` [k + 3, d] is any block in general
    position, and ``tolerance`` bounds the residuals relative to λ_1.
    """
    dim, found = matrix.shape[1], (False, np.empty(0), np.empty((0, 0)))
    if factored or dim > _BLOCKS * len(start):
        found = krylov(matrix, factored, start, rank, tolerance)
    elif 4 * rank < dim:
        found = tridiagonal(matrix, start, rank, tolerance)
    if found[0]:
        return found[1], found[2]
    values, vectors = decompose(matrix, factored)
    tangents = np.zeros((dim, rank))  # of fewer than k observations some directions stay zero; the gap is closed then
    tangents[:, : vectors.shape[1]] = vectors[:, :rank]
    return values, tangents


def decompose(matrix: FloatArray, factored: bool) -> tuple[FloatArray, FloatArray]:
    """All eigenvalues [d] of Σ, descending, and the eigenvectors that belong to its range, largest entry positive."""
    if factored:
        _, singular, transposed = np.linalg.svd(matrix, full_matrices=False)
        values = np.zeros(matrix.shape[1])
        values[: singular.size] = singular**2
        vectors = transposed.T
    else:
        ascending, columns = np.linalg.eigh(matrix)
        values, vectors = np.maximum(ascending[::-1], 0.0), columns[:, ::-1]
    return values, np.ascontiguousarray(vectors * sign_of_largest(vectors))


@kernel
def multiply(matrix, factored, rows):
    """Return the rows Σ v for vectors v given as rows [b, d]; ``matrix`` is Σ itself, or Z when ``factored``."""
    if factored:
        return np.dot(np.dot(rows, np.ascontiguousarray(matrix.T)), matrix)
    return np.dot(rows, matrix)


@kernel
def krylov(matrix, factored, start, rank, tolerance):
    """Leading ``rank + 1`` eigenpairs of Σ by block Lanczos with full reorthogonalisation.

    ``start`` [b, d], b > rank, is any block in general position. Equal eigenvalues are found because the block has at
    least as many rows as there are eigenvectors to find. ``tolerance`` bounds the residuals relative to λ_1.

    Returns
    -------
    converged : bool
    values : [rank + 1] descending (the last one to a few digits: it only decides whether the gap is open)
    vectors : [d, rank]
    """
    width, dim = start.shape
    limit = min(dim, 14 * width)
    basis, image = np.empty((limit, dim)), np.empty((limit, dim))
    basis[:width] = multiply(matrix, factored, start)
    size = 0
    while size + width <= limit:
        orthonormalise(basis, size, width)
        image[size : size + width] = multiply(matrix, factored, basis[size : size + width])
        size += width
        # The first two blocks never suffice, and the test costs more than another block.
        if size > 2 * width or size == dim:
            known, images = basis[:size], image[:size]
            small = np.dot(known, np.ascontiguousarray(images.T))
            values, mix = np.linalg.eigh(0.5 * (small + small.T))
            top = np.ascontiguousarray(mix[:, ::-1][:, :rank].T)
            vectors = np.dot(top, known)
            residual = np.dot(top, images) - vectors * values[::-1][:rank].copy().reshape(rank, 1)
            if np.sqrt((residual * residual).sum()) <= tolerance * values[-1] or size == dim:
                return True, values[::-1][: rank + 1].copy(), np.ascontiguousarray(vectors.T)
        if size + width <= limit:
            basis[size : size + width] = image[size - width : size]
    return False, np.empty(0), np.empty((0, 0))


@kernel(fastmath=FAST)
def partners(matrix, factored, values, vectors, covector):
    """u_i = Σ_{j>k} c_j / (λ_i − λ_j) e_j = (λ_i − Σ)⁻¹ (I − P) η for i ≤ k, as ``[d, k]``.

    One Lanczos run from (I − P) η serves all shifts λ_i, because they share their Krylov space.
    """
    dim, rank = vectors.shape
    result, limit = np.zeros((dim, rank)), dim - rank
    # Rows: e_1..e_k, then the basis of the Krylov space.
    basis, diagonal, off_diagonal = np.empty((dim, dim)), np.empty(limit), np.empty(limit)
    product, solutions, whole = covector.copy(), np.empty((rank, limit)), 0.0
    for j in range(dim):
        whole += covector[j] * covector[j]
        for i in range(rank):
            basis[i, j] = vectors[j, i]
    norm = cleared(basis, rank, product)
    if norm <= 1e-300 or norm <= 1e-15 * np.sqrt(whole):
        return result
    size, last = 0, norm
    while True:
        for j in range(dim):
            basis[rank + size, j] = product[j] / last
        _apply(matrix, factored, basis, rank + size, product)
        diagonal[size] = 0.0
        for j in range(dim):
            diagonal[size] += basis[rank + size, j] * product[j]
        size += 1
        last = off_diagonal[size - 1] = cleared(basis, rank + size, product)
        worst = 0.0
        for i in range(rank):
            _solve_tridiagonal(values[i], diagonal, off_diagonal, size, solutions, i)
            worst = max(worst, abs(last * solutions[i, size - 1]))
        if worst <= TOLERANCE or size == limit or last <= 1e-15 * values[0]:
            break
    for i in range(rank):
        for m in range(size):
            weight = norm * solutions[i, m]
            for j in range(dim):
                result[j, i] += weight * basis[rank + m, j]
    return result


@kernel(fastmath=FAST)
def _apply(matrix, factored, basis, row, product):
    """Write Σ v for v = ``basis``[row]; ``matrix`` as in `multiply`."""
    for j in range(product.size):
        product[j] = 0.0
    for n in range(matrix.shape[0]):
        weight = 0.0
        if factored:
            for j in range(product.size):
                weight += matrix[n, j] * basis[row, j]
        else:
            weight = basis[row, n]
        for j in range(product.size):
            product[j] += weight * matrix[n, j]


@kernel
def _solve_tridiagonal(shift, diagonal, off_diagonal, size, solutions, row):
    """Solve (shift − T) y = e_1, T tridiagonal. Positive definite, since shift = λ_i exceeds the rest: no pivoting."""
    pivots = np.empty(size)
    solutions[row, 0] = 1.0
    pivots[0] = shift - diagonal[0]
    for j in range(1, size):
        factor = -off_diagonal[j - 1] / pivots[j - 1]
        pivots[j] = shift - diagonal[j] + factor * off_diagonal[j - 1]
        solutions[row, j] = -factor * solutions[row, j - 1]
    solutions[row, size - 1] /= pivots[size - 1]
    for j in range(size - 2, -1, -1):
        solutions[row, j] = (solutions[row, j] + off_diagonal[j] * solutions[row, j + 1]) / pivots[j]
