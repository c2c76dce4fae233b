"""Symmetric eigenproblems inside kernels, eigenvalues descending."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel


@kernel
def eigh(matrix, values, vectors):
    """Write eigenvalues (descending) and orthonormal eigenvectors (columns, largest entry positive) of ``matrix``.

    Cyclic Jacobi rotations: they keep full accuracy when eigenvalues nearly coincide, where the trigonometric
    formula for three dimensions loses half of the digits, and up to sixteen dimensions they are as fast as LAPACK,
    whose call takes longer to compile than all the rest. ``matrix`` is overwritten.
    """
    dim = values.size
    for i in range(dim):
        for j in range(dim):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(30):
        if not _sweep(matrix, vectors):
            break
    for i in range(dim):
        values[i] = max(matrix[i, i], 0.0)  # a second moment has no negative eigenvalue but by rounding
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
def _sweep(a, v):
    """Rotate every pair of axes once; return whether anything was left to do."""
    dim = a.shape[0]
    off, trace = 0.0, 0.0
    for p in range(dim):
        trace += abs(a[p, p])
        for q in range(p + 1, dim):
            off += abs(a[p, q])
    if off <= 1e-17 * trace:
        return False
    for p in range(dim - 1):
        for q in range(p + 1, dim):
            if a[p, q] != 0.0:
                _rotate(a, v, p, q)
    return True


@kernel
def _rotate(a, v, p, q):
    """One Jacobi rotation that annihilates a[p, q]."""
    theta = 0.5 * (a[q, q] - a[p, p]) / a[p, q]
    t = 1.0 / (abs(theta) + np.sqrt(theta * theta + 1.0))
    if theta < 0.0:
        t = -t
    c = 1.0 / np.sqrt(t * t + 1.0)
    s = t * c
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
