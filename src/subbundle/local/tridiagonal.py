"""Leading eigenpairs of a symmetric matrix by Householder's reflections, for a third of the time of a full
decomposition.

The matrix becomes tridiagonal, H A H = T; Sturm counts divide intervals around the leading eigenvalues of T; inverse
iteration finds their eigenvectors, each orthogonalised against those before, also for equal eigenvalues.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.cloud.build import LEAF

FAST = {"reassoc", "contract"}


@kernel
def tridiagonal(matrix, start, rank, tolerance):
    """Leading ``rank + 1`` eigenvalues and ``rank`` eigenvectors; arguments and results as in `leading.krylov`."""
    dim = matrix.shape[0]
    count = min(rank + 1, dim)
    values, basis = np.zeros(count), np.empty((rank, dim))
    scale = 0.0
    for i in range(dim):
        scale = max(scale, matrix[i, i])
    a, diagonal, off_diagonal, strength = np.zeros((dim, dim)), np.zeros(dim), np.zeros(dim), np.zeros(dim)
    if scale > 0.0:
        for i in range(dim):
            for j in range(dim):
                a[i, j] = matrix[i, j] / scale
        _reduce(a, diagonal, off_diagonal, strength)
        _largest(diagonal, off_diagonal, values)
    for i in range(rank):
        for c in range(dim):
            basis[i, c] = start[i, c]
        for _ in range(2):
            _solve(diagonal, off_diagonal, values[i], basis[i])
            orthonormalise(basis, i, 1)
    worst = _residual(diagonal, off_diagonal, values, basis)
    _reflect_back(a, strength, basis)
    for i in range(count):
        values[i] = max(scale * values[i], 0.0)
    vectors = np.empty((dim, rank))
    for i in range(rank):
        for c in range(dim):
            vectors[c, i] = basis[i, c]
    return worst <= tolerance * values[0] / max(scale, 1e-300), values, vectors


@kernel(fastmath=FAST)
def _reduce(a, diagonal, off_diagonal, strength):
    """Make ``a`` tridiagonal, last row first; its row i keeps the vector v, up to i, of I − ``strength``[i] v vᵀ."""
    v, w = np.empty(a.shape[0]), np.empty(a.shape[0])
    for i in range(a.shape[0] - 1, 0, -1):
        last, square = a[i, i - 1], 0.0
        for c in range(i):
            v[c] = a[i, c]
            square += v[c] * v[c]
        diagonal[i], off_diagonal[i - 1] = a[i, i], last
        if square == last * last:
            continue
        off_diagonal[i - 1] = -np.sqrt(square) if last > 0.0 else np.sqrt(square)
        v[i - 1] -= off_diagonal[i - 1]
        strength[i] = 1.0 / (square - off_diagonal[i - 1] * last)
        along = 0.0
        for r in range(i):
            total = 0.0
            for c in range(i):
                total += a[r, c] * v[c]
            w[r] = strength[i] * total
            along += w[r] * v[r]
        for r in range(i):
            w[r] -= 0.5 * strength[i] * along * v[r]
        for r in range(i):
            vr, wr = v[r], w[r]
            for c in range(i):
                a[r, c] -= vr * w[c] + wr * v[c]
        for c in range(i):
            a[i, c] = v[c]
    diagonal[0] = a[0, 0]


@kernel
def _largest(diagonal, off_diagonal, values):
    """Write the largest eigenvalues of T, descending, each to rounding of the first."""
    high, low = 0.0, 0.0
    for j in range(diagonal.size):
        around = abs(off_diagonal[j]) + (abs(off_diagonal[j - 1]) if j > 0 else 0.0)
        high, low = max(high, diagonal[j] + around), min(low, diagonal[j] - around)
    below = np.empty(LEAF)  # so many shifts at a time that divisions are vectorised
    rounding = 2e-16 * (high - low)
    high += rounding
    for i in range(values.size):
        bottom = low - rounding
        while high - bottom > 2.0 * rounding:
            step = (high - bottom) / (below.size + 1)
            _count_below(diagonal, off_diagonal, bottom, step, below)
            place = 0
            while place < below.size and below[place] < diagonal.size - i:
                place += 1
            high, bottom = bottom + (place + 1) * step, bottom + place * step
        values[i] = 0.5 * (bottom + high)


@kernel
def _count_below(diagonal, off_diagonal, bottom, step, below):
    """Numbers of eigenvalues of T below bottom + (1, 2, …) step: the negative pivots of T minus that."""
    pivots, shifts = np.empty(below.size), np.empty(below.size)
    for s in range(below.size):
        below[s], pivots[s], shifts[s] = 0.0, 1.0, bottom + (s + 1) * step
    square = 0.0
    for j in range(diagonal.size):
        d = diagonal[j]
        for s in range(below.size):
            pivot = d - shifts[s] - square / pivots[s]
            pivot = pivot if abs(pivot) > 1e-200 else -1e-200
            pivots[s] = pivot
            below[s] += 1.0 if pivot < 0.0 else 0.0
        square = off_diagonal[j] * off_diagonal[j]


@kernel
def _solve(diagonal, off_diagonal, shift, x):
    """Replace ``x`` by (T − shift)⁻¹ x, by elimination with row exchanges; zero pivots are replaced by rounding."""
    dim = diagonal.size
    upper = np.empty((dim, 3))
    a, b = diagonal[0] - shift, off_diagonal[0]
    for j in range(dim - 1):
        under, d, e = off_diagonal[j], diagonal[j + 1] - shift, off_diagonal[j + 1]
        if abs(under) > abs(a):
            factor = a / under
            upper[j, 0], upper[j, 1], upper[j, 2] = under, d, e
            a, b = b - factor * d, -factor * e
            x[j], x[j + 1] = x[j + 1], x[j] - factor * x[j + 1]
        else:
            a = a if abs(a) > 1e-16 else 1e-16
            factor = under / a
            upper[j, 0], upper[j, 1], upper[j, 2] = a, b, 0.0
            a, b = d - factor * b, e
            x[j + 1] -= factor * x[j]
    upper[dim - 1, 0] = a if abs(a) > 1e-16 else 1e-16
    for j in range(dim - 1, -1, -1):
        if j + 1 < dim:
            x[j] -= upper[j, 1] * x[j + 1]
        if j + 2 < dim:
            x[j] -= upper[j, 2] * x[j + 2]
        x[j] /= upper[j, 0]


@kernel
def _residual(diagonal, off_diagonal, values, basis):
    """√Σ |T x − λ x|² over the rows x of ``basis``."""
    dim = diagonal.size
    total = 0.0
    for i in range(basis.shape[0]):
        for j in range(dim):
            left = (diagonal[j] - values[i]) * basis[i, j]
            left += off_diagonal[j - 1] * basis[i, j - 1] if j > 0 else 0.0
            left += off_diagonal[j] * basis[i, j + 1] if j + 1 < dim else 0.0
            total += left * left
    return np.sqrt(total)


@kernel(fastmath=FAST)
def _reflect_back(a, strength, basis):
    """Apply the reflections of `_reduce`, last first, to the rows of ``basis``."""
    for i in range(basis.shape[0]):
        for r in range(1, a.shape[0]):
            along = 0.0
            for c in range(r):
                along += a[r, c] * basis[i, c]
            along *= strength[r]
            for c in range(r):
                basis[i, c] -= along * a[r, c]


@kernel(fastmath=FAST)
def orthonormalise(basis, size, width):
    """Gram–Schmidt of the rows ``size .. size + width`` of ``basis`` against all rows before.

    A row that vanishes, because the space is exhausted, is replaced by a coordinate vector.
    """
    for i in range(size, size + width):
        spare, left = 0, 0.0
        while left == 0.0:
            before = cleared(basis, 0, basis[i])
            left = cleared(basis, i, basis[i])
            if left <= 1e-13 * before:
                left = 0.0
                for c in range(basis.shape[1]):
                    basis[i, c] = 1.0 if c == spare else 0.0
                spare += 1
        for c in range(basis.shape[1]):
            basis[i, c] /= left


@kernel(fastmath=FAST)
def cleared(basis, count, vector):
    """Make ``vector`` orthogonal to the first rows of ``basis``, twice, which is enough; its length."""
    for _ in range(2):
        for m in range(count):
            overlap = 0.0
            for j in range(vector.size):
                overlap += basis[m, j] * vector[j]
            for j in range(vector.size):
                vector[j] -= overlap * basis[m, j]
    total = 0.0
    for j in range(vector.size):
        total += vector[j] * vector[j]
    return np.sqrt(total)
