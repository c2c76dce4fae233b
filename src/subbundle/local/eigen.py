"""Eigenpairs of second moments inside kernels, eigenvalues descending."""

from __future__ import annotations

from subbundle._compiled import kernel
from subbundle._jacobi import DIAGONAL, angle, diagonalise
from subbundle._numbers import MOST_ROUNDS
from subbundle.local.settings import COMMON


@kernel
def eigh(matrix, cases, values, vectors):
    """Write eigenvalues (descending) and orthonormal eigenvectors (columns, largest entry positive) of ``matrix``.

    By Jacobi rotations; ``matrix`` is overwritten. With ``cases`` COMMON only three dimensions are compiled.
    """
    dim = values.size
    if cases is COMMON or dim == 3:
        _jacobi3(matrix, values, vectors)
    else:
        diagonalise(matrix, vectors)
        for i in range(dim):
            values[i] = matrix[i, i]
    for i in range(dim):
        values[i] = max(values[i], 0.0)  # a second moment has no negative eigenvalue but by rounding
    _sort(values, vectors)
    for j in range(dim):
        largest = 0
        for i in range(1, dim):
            if abs(vectors[i, j]) > abs(vectors[largest, j]):
                largest = i
        if vectors[largest, j] < 0.0:
            for i in range(dim):
                vectors[i, j] = -vectors[i, j]


@kernel
def _jacobi3(matrix, values, vectors):
    """`diagonalise` in three dimensions, unrolled: all numbers stay in registers, twice as fast."""
    a00, a11, a22 = matrix[0, 0], matrix[1, 1], matrix[2, 2]
    a01, a02, a12 = matrix[0, 1], matrix[0, 2], matrix[1, 2]
    v00 = v11 = v22 = 1.0
    v01 = v02 = v10 = v12 = v20 = v21 = 0.0
    for _ in range(MOST_ROUNDS):
        if abs(a01) + abs(a02) + abs(a12) <= DIAGONAL * (abs(a00) + abs(a11) + abs(a22)):
            break
        if a01 != 0.0:
            t, c, s = angle(a00, a11, a01)
            a00, a11, a01 = a00 - t * a01, a11 + t * a01, 0.0
            a02, a12 = _turned(c, s, a02, a12)
            v00, v01 = _turned(c, s, v00, v01)
            v10, v11 = _turned(c, s, v10, v11)
            v20, v21 = _turned(c, s, v20, v21)
        if a02 != 0.0:
            t, c, s = angle(a00, a22, a02)
            a00, a22, a02 = a00 - t * a02, a22 + t * a02, 0.0
            a01, a12 = _turned(c, s, a01, a12)
            v00, v02 = _turned(c, s, v00, v02)
            v10, v12 = _turned(c, s, v10, v12)
            v20, v22 = _turned(c, s, v20, v22)
        if a12 != 0.0:
            t, c, s = angle(a11, a22, a12)
            a11, a22, a12 = a11 - t * a12, a22 + t * a12, 0.0
            a01, a02 = _turned(c, s, a01, a02)
            v01, v02 = _turned(c, s, v01, v02)
            v11, v12 = _turned(c, s, v11, v12)
            v21, v22 = _turned(c, s, v21, v22)
    values[0], values[1], values[2] = a00, a11, a22
    vectors[0, 0], vectors[0, 1], vectors[0, 2] = v00, v01, v02
    vectors[1, 0], vectors[1, 1], vectors[1, 2] = v10, v11, v12
    vectors[2, 0], vectors[2, 1], vectors[2, 2] = v20, v21, v22


@kernel
def _turned(c, s, x, y):
    return c * x - s * y, s * x + c * y


@kernel
def _sort(values, vectors):
    """Insertion sort of the pairs by falling eigenvalue."""
    for i in range(1, values.size):
        j = i
        while j > 0 and values[j] > values[j - 1]:
            values[j], values[j - 1] = values[j - 1], values[j]
            for r in range(values.size):
                vectors[r, j], vectors[r, j - 1] = vectors[r, j - 1], vectors[r, j]
            j -= 1
