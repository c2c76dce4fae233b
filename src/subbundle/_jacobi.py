"""Symmetric eigenproblems by cyclic Jacobi rotations, inside kernels.

They keep full accuracy when eigenvalues nearly coincide, where the trigonometric formula for three dimensions loses
half of the digits, and up to sixteen dimensions they are as fast as LAPACK, whose call takes longer to compile than all
the rest.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import MOST_ROUNDS

# Sum of the entries off the diagonal, relative to the trace, that is rounding; sweeps that always suffice.
DIAGONAL = 1e-17


@kernel
def diagonalise(a, v):
    """Diagonalise the symmetric matrix ``a`` in place, eigenvalues in no order; write its eigenvectors as columns."""
    dim = a.shape[0]
    for i in range(dim):
        for j in range(dim):
            v[i, j] = 1.0 if i == j else 0.0
    for _ in range(MOST_ROUNDS):
        off, trace = 0.0, 0.0
        for p in range(dim):
            trace += abs(a[p, p])
            for q in range(p + 1, dim):
                off += abs(a[p, q])
        if off <= DIAGONAL * trace:
            return
        for p in range(dim - 1):
            for q in range(p + 1, dim):
                if a[p, q] != 0.0:
                    _rotate(a, v, p, q)


@kernel
def angle(app, aqq, apq):
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
    t, c, s = angle(a[p, p], a[q, q], a[p, q])
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
