"""Logarithms and distances of small positive definite matrices, in compiled loops.

A bundle needs the logs of all observations at several points: a million of 2 × 2 or 3 × 3 matrices, for each of which a
call of LAPACK costs more than the arithmetic. Here L⁻¹ and the eigenpairs (Jacobi rotations) are computed in
place, and L only when the base point changes. The formulas are those of `SPD`: near x the eigenvalues of L⁻¹ (y − x)
L⁻ᵀ and log1p, elsewhere those of L⁻¹ y L⁻ᵀ and log.
"""

from __future__ import annotations

import math

import numpy as np

from subbundle._compiled import kernel
from subbundle._jacobi import diagonalise

MOST_ROWS = 6
"""Matrices up to this size are treated here; LAPACK is as fast for larger ones."""


@kernel
def log_rows(points, bases, logs):
    """Write log_x(y) for ``points`` and ``bases`` [m, n, n] into ``logs``; NaN where x or y is not definite."""
    size = points.shape[1]
    lower, inverse = np.empty((size, size)), np.empty((size, size))
    matrix, vectors, values = np.empty((size, size)), np.empty((size, size)), np.empty(size)
    definite = False
    for row in range(points.shape[0]):
        if row == 0 or not _same(bases[row], bases[row - 1]):
            definite = _factor(bases[row], lower, inverse)
        if not (definite and _logarithms(points[row], bases[row], inverse, matrix, vectors, values)):
            logs[row] = np.nan
            continue
        # lower @ vectors, then its columns times the logarithms.
        for i in range(size):
            for j in range(size):
                total = 0.0
                for k in range(i + 1):
                    total += lower[i, k] * vectors[k, j]
                matrix[i, j] = total
        for i in range(size):
            for j in range(i + 1):
                total = 0.0
                for k in range(size):
                    total += matrix[i, k] * values[k] * matrix[j, k]
                logs[row, i, j] = total
                logs[row, j, i] = total


@kernel
def dist_rows(points, bases, distances):
    """Write √(Σ log² λ_i) for ``points`` and ``bases`` [m, n, n] into ``distances`` [m]."""
    size = points.shape[1]
    lower, inverse = np.empty((size, size)), np.empty((size, size))
    matrix, vectors, values = np.empty((size, size)), np.empty((size, size)), np.empty(size)
    definite = False
    for row in range(points.shape[0]):
        if row == 0 or not _same(bases[row], bases[row - 1]):
            definite = _factor(bases[row], lower, inverse)
        distances[row] = np.nan
        if definite and _logarithms(points[row], bases[row], inverse, matrix, vectors, values):
            total = 0.0
            for k in range(size):
                total += values[k] * values[k]
            distances[row] = math.sqrt(total)


@kernel
def _same(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            if a[i, j] != b[i, j]:
                return False
    return True


@kernel
def _factor(x, lower, inverse):
    """Write the Cholesky factor of x and its inverse; return whether x is positive definite."""
    size = x.shape[0]
    for i in range(size):
        for j in range(i + 1):
            total = x[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            if i > j:
                lower[i, j] = total / lower[j, j]
            elif total > 0.0 and np.isfinite(total):
                lower[i, i] = math.sqrt(total)
            else:
                return False
    for j in range(size):
        for i in range(size):
            total = 1.0 if i == j else 0.0
            for k in range(j, i):
                total -= lower[i, k] * inverse[k, j]
            inverse[i, j] = total / lower[i, i] if i >= j else 0.0
    return True


@kernel
def _logarithms(y, x, inverse, matrix, vectors, values):
    """Write the logarithms of the eigenvalues of L⁻¹ y L⁻ᵀ and its eigenvectors; return whether they exist."""
    size = y.shape[0]
    square = _congruence(inverse, y, x, 1.0, matrix, vectors)
    near = square < 0.25
    if not near:
        square = _congruence(inverse, y, x, 0.0, matrix, vectors)
    if not np.isfinite(square):
        return False
    diagonalise(matrix, vectors)
    for k in range(size):
        value = matrix[k, k]
        if not near and value <= 0.0:
            return False
        values[k] = math.log1p(value) if near else math.log(value)
    return True


@kernel
def _congruence(inverse, y, x, minus, result, work):
    """Write L⁻¹ (y − minus · x) L⁻ᵀ; return the sum of the squares of its entries."""
    size = y.shape[0]
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(i + 1):
                total += inverse[i, k] * (y[k, j] - minus * x[k, j])
            work[i, j] = total
    square = 0.0
    for i in range(size):
        for j in range(i + 1):
            total = 0.0
            for k in range(j + 1):
                total += work[i, k] * inverse[j, k]
            result[i, j] = total
            result[j, i] = total
            square += total * total if i == j else 2.0 * total * total
    return square
