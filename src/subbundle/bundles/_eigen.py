"""Symmetric eigenproblems inside kernels, eigenvalues descending."""

from __future__ import annotations

import numba as nb
import numpy as np


@nb.njit(nogil=True, cache=True)
def eigh(matrix, values, vectors):
    """Write eigenvalues (descending) and orthonormal eigenvectors (columns, largest entry positive) of ``matrix``.

    Three dimensions by cyclic Jacobi rotations, which keep full relative accuracy when eigenvalues nearly coincide,
    where the trigonometric formula loses half of the digits; LAPACK otherwise. ``matrix`` is overwritten.
    """
    if values.size == 3:
        _jacobi3(matrix, vectors)
        for i in range(3):
            values[i] = matrix[i, i]
        _sort3(values, vectors)
    else:
        ascending, columns = np.linalg.eigh(matrix)
        values[:] = ascending[::-1]
        vectors[:] = columns[:, ::-1]
    for j in range(values.size):
        values[j] = max(values[j], 0.0)  # a second moment has no negative eigenvalue but by rounding
        largest = 0
        for i in range(1, values.size):
            if abs(vectors[i, j]) > abs(vectors[largest, j]):
                largest = i
        if vectors[largest, j] < 0.0:
            for i in range(values.size):
                vectors[i, j] = -vectors[i, j]


@nb.njit(nogil=True, cache=True)
def _jacobi3(a, v):
    """Diagonalise ``a`` [3, 3] in place; ``v`` receives the eigenvectors as columns."""
    for i in range(3):
        for j in range(3):
            v[i, j] = 1.0 if i == j else 0.0
    for _ in range(30):
        off = abs(a[0, 1]) + abs(a[0, 2]) + abs(a[1, 2])
        if off <= 1e-17 * (abs(a[0, 0]) + abs(a[1, 1]) + abs(a[2, 2])):
            return
        _rotate(a, v, 0, 1)
        _rotate(a, v, 0, 2)
        _rotate(a, v, 1, 2)


@nb.njit(nogil=True, cache=True, inline="always")
def _rotate(a, v, p, q):
    """One Jacobi rotation that annihilates a[p, q]."""
    apq = a[p, q]
    if apq == 0.0:
        return
    theta = 0.5 * (a[q, q] - a[p, p]) / apq
    t = 1.0 / (abs(theta) + np.sqrt(theta * theta + 1.0))
    if theta < 0.0:
        t = -t
    c = 1.0 / np.sqrt(t * t + 1.0)
    s = t * c
    a[p, p] -= t * apq
    a[q, q] += t * apq
    a[p, q] = 0.0
    a[q, p] = 0.0
    r = 3 - p - q
    arp, arq = a[r, p], a[r, q]
    a[r, p] = c * arp - s * arq
    a[r, q] = s * arp + c * arq
    a[p, r] = a[r, p]
    a[q, r] = a[r, q]
    for i in range(3):
        vip, viq = v[i, p], v[i, q]
        v[i, p] = c * vip - s * viq
        v[i, q] = s * vip + c * viq


@nb.njit(nogil=True, cache=True)
def _sort3(values, vectors):
    for i in range(2):
        for j in range(2 - i):
            if values[j] < values[j + 1]:
                values[j], values[j + 1] = values[j + 1], values[j]
                for r in range(3):
                    vectors[r, j], vectors[r, j + 1] = vectors[r, j + 1], vectors[r, j]
