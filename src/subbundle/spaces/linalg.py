"""Batched linear algebra of the spaces: products over the last axes, ratios without 0/0, guarded eigenproblems.

LAPACK refuses a whole batch when one matrix holds NaN; here such a matrix gives NaN and the others their result.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._compiled import kernel
from subbundle._elementwise import sin
from subbundle._numbers import MOST_ROUNDS, NOTICEABLE, SINGULAR
from subbundle._types import BoolArray, FloatArray

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
    """The rotation R with the largest tr(RᵀM), and the gap that makes it unique.

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
    # LAPACK refuses the whole batch for one bad matrix, so rows are factorised one by one.
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


@kernel
def nearest_rotations(matrices: FloatArray, rotations: FloatArray, gaps: FloatArray) -> None:
    """Write rotations [n, 3, 3] and gaps [n] of ``matrices`` [n, 3, 3] by Newton steps; NaN gaps where these fail.

    With B = RᵀM, S its symmetric part and [w]× = B − Bᵀ, turning R by the rotation vector a with

        (tr(S) I − S) a = w

    makes B symmetric to second order. A symmetric B = V diag(s_1, s_2, σ s_3) Vᵀ is the best one iff G = tr(S) I − S,
    whose eigenvalues are the sums of two of these, is positive definite; the smallest of them is the gap. Shapes of a
    cloud are aligned with each other, so few steps suffice; where G is not definite in between, the singular value
    decomposition is used, which takes thirty times as long.
    """
    b = np.empty((3, 3))
    for n in range(matrices.shape[0]):
        gaps[n] = _nearest_rotation(matrices[n], rotations[n], b)


@kernel
def _nearest_rotation(m: FloatArray, r: FloatArray, b: FloatArray) -> float:
    q0, q1, q2, q3 = 1.0, 0.0, 0.0, 0.0
    for _ in range(MOST_ROUNDS):
        _turn(q0, q1, q2, q3, r)
        for i in range(3):
            for j in range(3):
                b[i, j] = r[0, i] * m[0, j] + r[1, i] * m[1, j] + r[2, i] * m[2, j]
        # G, its minors, and the solution by cofactors.
        g00, g11, g22 = b[1, 1] + b[2, 2], b[0, 0] + b[2, 2], b[0, 0] + b[1, 1]
        g01, g02, g12 = -0.5 * (b[0, 1] + b[1, 0]), -0.5 * (b[0, 2] + b[2, 0]), -0.5 * (b[1, 2] + b[2, 1])
        c00, c01, c02 = g11 * g22 - g12 * g12, g02 * g12 - g01 * g22, g01 * g12 - g02 * g11
        determinant = g00 * c00 + g01 * c01 + g02 * c02
        if not (g00 > 0.0 and g00 * g11 - g01 * g01 > 0.0 and determinant > 0.0):
            return np.nan
        c11, c12, c22 = g00 * g22 - g02 * g02, g01 * g02 - g00 * g12, g00 * g11 - g01 * g01
        w0, w1, w2 = b[2, 1] - b[1, 2], b[0, 2] - b[2, 0], b[1, 0] - b[0, 1]
        a0 = 0.5 * (c00 * w0 + c01 * w1 + c02 * w2) / determinant
        a1 = 0.5 * (c01 * w0 + c11 * w1 + c12 * w2) / determinant
        a2 = 0.5 * (c02 * w0 + c12 * w1 + c22 * w2) / determinant
        p0 = q0 - q1 * a0 - q2 * a1 - q3 * a2
        p1 = q1 + q0 * a0 + q2 * a2 - q3 * a1
        p2 = q2 + q0 * a1 + q3 * a0 - q1 * a2
        p3 = q3 + q0 * a2 + q1 * a1 - q2 * a0
        size = 1.0 / math.sqrt(p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
        q0, q1, q2, q3 = p0 * size, p1 * size, p2 * size, p3 * size
        if 4.0 * (a0 * a0 + a1 * a1 + a2 * a2) <= SINGULAR * SINGULAR:
            _turn(q0, q1, q2, q3, r)
            gap = _smallest(g00, g11, g22, g01, g02, g12)
            return gap if gap > NOTICEABLE * (g00 + g11 + g22) else np.nan
    return np.nan


@kernel
def _turn(q0: float, q1: float, q2: float, q3: float, r: FloatArray) -> None:
    """Write the rotation of a unit quaternion."""
    r[0, 0], r[1, 1], r[2, 2] = (
        1.0 - 2.0 * (q2 * q2 + q3 * q3),
        1.0 - 2.0 * (q1 * q1 + q3 * q3),
        1.0 - 2.0 * (q1 * q1 + q2 * q2),
    )
    r[0, 1], r[1, 0] = 2.0 * (q1 * q2 - q0 * q3), 2.0 * (q1 * q2 + q0 * q3)
    r[0, 2], r[2, 0] = 2.0 * (q1 * q3 + q0 * q2), 2.0 * (q1 * q3 - q0 * q2)
    r[1, 2], r[2, 1] = 2.0 * (q2 * q3 - q0 * q1), 2.0 * (q2 * q3 + q0 * q1)


@kernel
def _smallest(g00: float, g11: float, g22: float, g01: float, g02: float, g12: float) -> float:
    """Smallest eigenvalue of a symmetric matrix, by the cosine formula."""
    mean = (g00 + g11 + g22) / 3.0
    d0, d1, d2 = g00 - mean, g11 - mean, g22 - mean
    off = g01 * g01 + g02 * g02 + g12 * g12
    spread = math.sqrt((d0 * d0 + d1 * d1 + d2 * d2 + 2.0 * off) / 6.0)
    if not spread > 0.0:
        return mean
    determinant = d0 * (d1 * d2 - g12 * g12) - g01 * (g01 * d2 - g12 * g02) + g02 * (g01 * g12 - d1 * g02)
    angle = math.acos(min(1.0, max(-1.0, 0.5 * determinant / spread**3))) / 3.0
    return mean + 2.0 * spread * math.cos(angle + 2.0 * math.pi / 3.0)
