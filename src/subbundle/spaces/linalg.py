"""Small batched pieces that the spaces share: products over the last axes, ratios without 0/0, guarded eigenproblems.

LAPACK refuses a whole batch when one matrix holds NaN; here such a matrix gives NaN and the others their result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._elementwise import sin
from subbundle._types import BoolArray, FloatArray
from subbundle.spaces._nearest_rotation import nearest_rotations

AnyArray = NDArray[Any]


def dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Sum of products over the last axis: ``[..., d], [..., d] -> [...]``."""
    return np.asarray(np.einsum("...i,...i->...", a, b))


def frobenius(a: FloatArray, b: FloatArray) -> FloatArray:
    """Sum of products over the last two axes: ``[..., n, m], [..., n, m] -> [...]``."""
    return np.asarray(np.einsum("...ij,...ij->...", a, b))


def transpose(matrix: AnyArray) -> AnyArray:
    """Transpose of the last two axes."""
    return np.swapaxes(matrix, -1, -2)


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """``numerator / denominator``, and its limit 1 where both vanish: sin(t)/t, t/sin(t), sinh(t)/t at t = 0."""
    return np.asarray(np.divide(numerator, denominator, out=np.ones_like(denominator), where=denominator != 0.0))


def sinc(angle: FloatArray) -> FloatArray:
    """sin(t)/t, accurate to rounding for every t: the quotient of two accurate numbers has no cancellation."""
    return ratio(sin(angle), angle)


def versine_ratio(angle: FloatArray) -> FloatArray:
    """(1 − cos t)/t² = ½ sinc(t/2)², free of the cancellation in 1 − cos t."""
    return np.asarray(0.5 * sinc(0.5 * angle) ** 2)


def complement(normal: FloatArray) -> FloatArray:
    """Orthonormal basis of the hyperplane orthogonal to unit vectors: ``[..., d] -> [..., d-1, d]``.

    The rows of the Householder reflection that maps ∓e_0 to ``normal``, with the sign that avoids cancellation.
    """
    size = normal.shape[-1]
    first = normal[..., :1]
    mirror = normal.copy()
    mirror[..., :1] += np.where(first >= 0.0, 1.0, -1.0)
    scaled = normal[..., 1:] / (1.0 + np.abs(first))
    return np.asarray(np.eye(size)[1:] - scaled[..., :, None] * mirror[..., None, :])


def eigh(matrix: AnyArray) -> tuple[FloatArray, AnyArray]:
    """Eigenvalues (ascending) and eigenvectors of real symmetric or complex Hermitian matrices; NaN rows stay NaN."""
    finite = _finite(matrix)
    values, vectors = np.linalg.eigh(_substitute(matrix, finite))
    values[~finite] = np.nan
    return values, vectors


def eigvalsh(matrix: FloatArray) -> FloatArray:
    """Eigenvalues of symmetric matrices, ascending; NaN rows stay NaN."""
    finite = _finite(matrix)
    values = np.linalg.eigvalsh(_substitute(matrix, finite))
    values[~finite] = np.nan
    return np.asarray(values)


def svdvals(matrix: FloatArray) -> FloatArray:
    """Singular values, descending; NaN rows stay NaN."""
    finite = _finite(matrix)
    values = np.linalg.svd(_substitute(matrix, finite), compute_uv=False)
    values[~finite] = np.nan
    return np.asarray(values)


def nearest_rotation(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rotation R with the largest tr(RᵀM), and how clearly it is the only one.

    With M = U diag(s) Vᵀ and σ = det(UVᵀ) the maximiser is R = U diag(1, …, 1, σ) Vᵀ. It is unique iff
    s_{m−1} + σ s_m > 0; that sum is returned as the gap ``[...]``.
    """
    if matrix.shape[-1] == 3:
        rows = np.ascontiguousarray(matrix.reshape(-1, 3, 3))
        rotations, gaps = np.empty_like(rows), np.empty(len(rows))
        nearest_rotations(rows, rotations, gaps)
        hard = np.isnan(gaps)
        if hard.any():
            rotations[hard], gaps[hard] = _by_singular_values(rows[hard])
        return rotations.reshape(matrix.shape), gaps.reshape(matrix.shape[:-2])
    return _by_singular_values(matrix)


def _by_singular_values(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    finite = _finite(matrix)
    left, values, right = np.linalg.svd(_substitute(matrix, finite))
    sign = np.where(np.linalg.det(left @ right) < 0.0, -1.0, 1.0)
    left[..., :, -1] *= sign[..., None]
    rotation = left @ right
    rotation[~finite] = np.nan
    gap = np.where(finite, values[..., -2] + sign * values[..., -1], np.nan)
    return rotation, gap


def cholesky(matrix: FloatArray) -> FloatArray:
    """Lower factor L with LLᵀ = M; NaN for matrices that are not positive definite or hold NaN."""
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        pass
    # One bad matrix spoils the batch for LAPACK, so the rows go one by one.
    rows = matrix.reshape(-1, *matrix.shape[-2:])
    factor = np.full(rows.shape, np.nan)
    for index, row in enumerate(rows):
        try:
            factor[index] = np.linalg.cholesky(row)
        except np.linalg.LinAlgError:
            continue
    return factor.reshape(matrix.shape)


def _finite(matrix: AnyArray) -> BoolArray:
    return np.asarray(np.isfinite(matrix).all(axis=(-2, -1)))


def _substitute(matrix: AnyArray, finite: BoolArray) -> AnyArray:
    if finite.all():
        return matrix
    return np.asarray(np.where(finite[..., None, None], matrix, np.eye(matrix.shape[-1])))
