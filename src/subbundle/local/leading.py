"""Leading eigenpairs of a second moment, in the way that is cheapest for its size.

In some fifty dimensions it is made tridiagonal, in many more its Krylov space is searched, and LAPACK decomposes it in
full where more than a quarter of all pairs is wanted, or where those ways do not converge.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray
from subbundle.local import krylov
from subbundle.local.tridiagonal import tridiagonal

# Up to so many blocks k + 3 wide a matrix is made tridiagonal (timed for k = 2, 4, 9 and d = 50 to 300).
_BLOCKS = 24


def leading(
    matrix: FloatArray, factored: bool, start: FloatArray, rank: int, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """At least k + 1 leading eigenvalues of Σ, descending, and its eigenvectors e_1..e_k [d, k].

    ``matrix`` is Σ [d, d], or Z [n, d] with Σ = ZᵀZ when ``factored``; ``start`` [k + 3, d] is any block in general
    position, and ``tolerance`` bounds the residuals relative to λ_1.
    """
    dim, found = matrix.shape[1], (False, np.empty(0), np.empty((0, 0)))
    if factored or dim > _BLOCKS * len(start):
        found = krylov.leading(matrix, factored, start, rank, tolerance)
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
    largest = np.take_along_axis(vectors, np.argmax(np.abs(vectors), axis=0)[None], axis=0)
    return values, np.ascontiguousarray(vectors * np.where(largest < 0.0, -1.0, 1.0))
