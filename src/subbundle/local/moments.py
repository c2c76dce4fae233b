"""Weighted moments of gathered neighbours about their point, and the eigenpairs of second moments."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._jacobi import DIAGONAL, angle, diagonalise
from subbundle._numbers import MOST_ROUNDS
from subbundle.cloud.build import LEAF
from subbundle.local.settings import COMMON

FAST = {"reassoc", "contract", "nsz", "arcp"}


@kernel
def moments(near, count, sums, cases, shift, sigma):
    """Write m − p into ``shift`` [d] and the second moment about m into ``sigma`` [d, d]; return Σ w.

    Neighbours, and ``sums`` in three dimensions, are those of `gather.ball`. With ``cases`` COMMON only three
    dimensions are compiled.
    """
    dim = shift.size
    mass = _write3(sums, shift, sigma) if cases is COMMON or dim == 3 else _sums(near, count, dim, shift, sigma)
    if not mass > 0.0:
        return 0.0
    for i in range(dim):
        shift[i] /= mass
    for i in range(dim):
        for j in range(i + 1):
            sigma[i, j] = sigma[i, j] / mass - shift[i] * shift[j]
            sigma[j, i] = sigma[i, j]
    return mass


@kernel
def uncentre(shift, sigma):
    """Turn the second moment about m into that about p."""
    for i in range(shift.size):
        for j in range(shift.size):
            sigma[i, j] += shift[i] * shift[j]


@kernel
def log_mass(mass, nearest):
    """Log of Σ w, whose weights are relative to t = ``nearest``."""
    return np.log(mass) - 0.5 * nearest if mass > 0.0 else -np.inf


# In three dimensions the ten sums Σ w, Σ w y, Σ w y yᵀ are a tuple, which stays in registers while neighbours are
# gathered, one `added3` for each.


@kernel
def zeros3():
    """Ten sums over no neighbours."""
    return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@kernel(fastmath=FAST)
def added3(sums, w, y0, y1, y2):
    """The ten sums and those of one more neighbour of weight ``w`` at the offset y."""
    s, s0, s1, s2, s00, s01, s02, s11, s12, s22 = sums
    w0, w1, w2 = w * y0, w * y1, w * y2
    return (
        s + w, s0 + w0, s1 + w1, s2 + w2,
        s00 + w0 * y0, s01 + w0 * y1, s02 + w0 * y2, s11 + w1 * y1, s12 + w1 * y2, s22 + w2 * y2,
    )  # fmt: skip


@kernel
def _write3(sums, first, second):
    """Write Σ w y into ``first`` [3] and Σ w y yᵀ into ``second`` [3, 3]; return Σ w."""
    s, s0, s1, s2, s00, s01, s02, s11, s12, s22 = sums
    first[0], first[1], first[2] = s0, s1, s2
    second[0, 0], second[0, 1], second[0, 2] = s00, s01, s02
    second[1, 0], second[1, 1], second[1, 2] = s01, s11, s12
    second[2, 0], second[2, 1], second[2, 2] = s02, s12, s22
    return s


# Columns of neighbours that the general passes work on at a time; they stay in the first cache.
TILE = 128


@kernel
def weighted_sums(near, count, row, first, second):
    """Write Σ w y into ``first`` [d] and the lower half of Σ w y yᵀ into ``second`` [d, d]; return Σ w.

    w stands in ``row``; ``count`` is a multiple of `LEAF`.
    """
    if first.size == 3:
        return _sums3(near, count, row, first, second)
    return _sums(near, count, row, first, second)


@kernel(fastmath=FAST)
def _sums3(near, count, row, first, second):
    sums = zeros3()
    for n in range(np.uint64(count)):
        sums = added3(sums, near[row, n], near[0, n], near[1, n], near[2, n])
    return _write3(sums, first, second)


@kernel(fastmath=FAST)
def _sums(near, count, row, first, second):
    dim = first.size
    mass = 0.0
    for i in range(dim):
        first[i] = 0.0
        for j in range(dim):
            second[i, j] = 0.0
    offsets, weights, weighted = np.empty((dim, LEAF)), np.empty(LEAF), np.empty(LEAF)
    for start in range(0, count, LEAF):
        # Copied side by side: rows of neighbours lie far apart.
        for n in range(LEAF):
            weights[n] = near[row, start + n]
        for i in range(dim):
            for n in range(LEAF):
                offsets[i, n] = near[i, start + n]
        for n in range(LEAF):
            mass += weights[n]
        for i in range(dim):
            # Written in one loop and summed in another: a loop that does both is compiled twice, with and without
            # vectors, and takes the one or the other by where the arrays happen to lie in memory.
            for n in range(LEAF):
                weighted[n] = weights[n] * offsets[i, n]
            total = 0.0
            for n in range(LEAF):
                total += weighted[n]
            first[i] += total
            for j in range(i + 1):
                total = 0.0
                for n in range(LEAF):
                    total += weighted[n] * offsets[j, n]
                second[i, j] += total
    return mass


@kernel
def to_frame(near, count, basis, scale, cases, tile):
    """Turn the offsets y_n into Eᵀ y_n · ``scale``, in place; ``basis`` [d, d] is E, ``tile`` [d, TILE] scratch.

    With ``cases`` COMMON only three dimensions are compiled.
    """
    if cases is COMMON or basis.shape[0] == 3:
        _to_frame3(near, count, basis, scale)
    else:
        _to_frame(near, count, basis, scale, tile)


@kernel(fastmath=FAST)
def _to_frame3(near, count, basis, scale):
    e00, e01, e02 = scale * basis[0, 0], scale * basis[0, 1], scale * basis[0, 2]
    e10, e11, e12 = scale * basis[1, 0], scale * basis[1, 1], scale * basis[1, 2]
    e20, e21, e22 = scale * basis[2, 0], scale * basis[2, 1], scale * basis[2, 2]
    for n in range(count):
        y0, y1, y2 = near[0, n], near[1, n], near[2, n]
        near[0, n] = e00 * y0 + e10 * y1 + e20 * y2
        near[1, n] = e01 * y0 + e11 * y1 + e21 * y2
        near[2, n] = e02 * y0 + e12 * y1 + e22 * y2


@kernel(fastmath=FAST)
def _to_frame(near, count, basis, scale, tile):
    dim = basis.shape[0]
    for start in range(0, count, tile.shape[1]):
        size = min(tile.shape[1], count - start)
        for m in range(dim):
            for n in range(size):
                tile[m, n] = 0.0
            for j in range(dim):
                factor = scale * basis[j, m]
                for n in range(size):
                    tile[m, n] += factor * near[j, start + n]
        for m in range(dim):
            for n in range(size):
                near[m, start + n] = tile[m, n]


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
            a02, a12 = _rotated(c, s, a02, a12)
            v00, v01 = _rotated(c, s, v00, v01)
            v10, v11 = _rotated(c, s, v10, v11)
            v20, v21 = _rotated(c, s, v20, v21)
        if a02 != 0.0:
            t, c, s = angle(a00, a22, a02)
            a00, a22, a02 = a00 - t * a02, a22 + t * a02, 0.0
            a01, a12 = _rotated(c, s, a01, a12)
            v00, v02 = _rotated(c, s, v00, v02)
            v10, v12 = _rotated(c, s, v10, v12)
            v20, v22 = _rotated(c, s, v20, v22)
        if a12 != 0.0:
            t, c, s = angle(a11, a22, a12)
            a11, a22, a12 = a11 - t * a12, a22 + t * a12, 0.0
            a01, a02 = _rotated(c, s, a01, a02)
            v01, v02 = _rotated(c, s, v01, v02)
            v11, v12 = _rotated(c, s, v11, v12)
            v21, v22 = _rotated(c, s, v21, v22)
    values[0], values[1], values[2] = a00, a11, a22
    vectors[0, 0], vectors[0, 1], vectors[0, 2] = v00, v01, v02
    vectors[1, 0], vectors[1, 1], vectors[1, 2] = v10, v11, v12
    vectors[2, 0], vectors[2, 1], vectors[2, 2] = v20, v21, v22


@kernel
def _rotated(c, s, x, y):
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
