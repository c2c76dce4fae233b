"""Symmetric eigenproblems inside kernels, eigenvalues descending."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel

# Sum of the entries off the diagonal, relative to the trace, that is rounding; sweeps that always suffice.
_DIAGONAL = 1e-17
_SWEEPS = 30


@kernel
def eigh(matrix, values, vectors):
    """Write eigenvalues (descending) and orthonormal eigenvectors (columns, largest entry positive) of ``matrix``.

    Cyclic Jacobi rotations: they keep full accuracy when eigenvalues nearly coincide, where the trigonometric
    formula for three dimensions loses half of the digits, and up to sixteen dimensions they are as fast as LAPACK,
    whose call takes longer to compile than all the rest. ``matrix`` is overwritten.
    """
    dim = values.size
    if dim == 3:
        _jacobi3(matrix, values, vectors)
    else:
        for i in range(dim):
            for j in range(dim):
                vectors[i, j] = 1.0 if i == j else 0.0
        for _ in range(_SWEEPS):
            if not _sweep(matrix, vectors):
                break
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
    """The rotations of `_sweep` in three dimensions, unrolled: all numbers stay in registers, twice as fast."""
    a00, a11, a22 = matrix[0, 0], matrix[1, 1], matrix[2, 2]
    a01, a02, a12 = matrix[0, 1], matrix[0, 2], matrix[1, 2]
    v00 = v11 = v22 = 1.0
    v01 = v02 = v10 = v12 = v20 = v21 = 0.0
    for _ in range(_SWEEPS):
        if abs(a01) + abs(a02) + abs(a12) <= _DIAGONAL * (abs(a00) + abs(a11) + abs(a22)):
            break
        if a01 != 0.0:
            t, c, s = _angle(a00, a11, a01)
            a00, a11, a01 = a00 - t * a01, a11 + t * a01, 0.0
            a02, a12 = c * a02 - s * a12, s * a02 + c * a12
            v00, v01 = c * v00 - s * v01, s * v00 + c * v01
            v10, v11 = c * v10 - s * v11, s * v10 + c * v11
            v20, v21 = c * v20 - s * v21, s * v20 + c * v21
        if a02 != 0.0:
            t, c, s = _angle(a00, a22, a02)
            a00, a22, a02 = a00 - t * a02, a22 + t * a02, 0.0
            a01, a12 = c * a01 - s * a12, s * a01 + c * a12
            v00, v02 = c * v00 - s * v02, s * v00 + c * v02
            v10, v12 = c * v10 - s * v12, s * v10 + c * v12
            v20, v22 = c * v20 - s * v22, s * v20 + c * v22
        if a12 != 0.0:
            t, c, s = _angle(a11, a22, a12)
            a11, a22, a12 = a11 - t * a12, a22 + t * a12, 0.0
            a01, a02 = c * a01 - s * a02, s * a01 + c * a02
            v01, v02 = c * v01 - s * v02, s * v01 + c * v02
            v11, v12 = c * v11 - s * v12, s * v11 + c * v12
            v21, v22 = c * v21 - s * v22, s * v21 + c * v22
    values[0], values[1], values[2] = a00, a11, a22
    vectors[0, 0], vectors[0, 1], vectors[0, 2] = v00, v01, v02
    vectors[1, 0], vectors[1, 1], vectors[1, 2] = v10, v11, v12
    vectors[2, 0], vectors[2, 1], vectors[2, 2] = v20, v21, v22


@kernel
def _sweep(a, v):
    """Rotate every pair of axes once; return whether anything was left to do."""
    dim = a.shape[0]
    off, trace = 0.0, 0.0
    for p in range(dim):
        trace += abs(a[p, p])
        for q in range(p + 1, dim):
            off += abs(a[p, q])
    if off <= _DIAGONAL * trace:
        return False
    for p in range(dim - 1):
        for q in range(p + 1, dim):
            if a[p, q] != 0.0:
                _rotate(a, v, p, q)
    return True


@kernel(inline="always")
def _angle(app, aqq, apq):
    """Tangent, cosine and sine of the smaller angle that annihilates a_pq."""
    apart = 0.5 * (aqq - app)
    # At most one, also where the squares underflow.
    t = max(min(apq / (abs(apart) + np.sqrt(apart * apart + apq * apq)), 1.0), -1.0)
    if apart < 0.0:
        t = -t
    c = 1.0 / np.sqrt(t * t + 1.0)
    return t, c, t * c


@kernel
def _rotate(a, v, p, q):
    """One Jacobi rotation that annihilates a[p, q]."""
    t, c, s = _angle(a[p, p], a[q, q], a[p, q])
    a[p, p] -= t * a[p, q]
    a[q, q] += t * a[p, q]
    a[p, q] = 0.0
    a[q, p] = 0.0
    for r in range(a.shape[0]):
        if r != p and r != q:
            arp, arq = a[r, p], a[r, q]
            a[r, p] = c * arp - s * arq
            a[r, q] = s * arp + c * arq
            a[p, r] = a[r, p]
            a[q, r] = a[r, q]
        vrp, vrq = v[r, p], v[r, q]
        v[r, p] = c * vrp - s * vrq
        v[r, q] = s * vrp + c * vrq


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
