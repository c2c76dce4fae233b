"""Weighted moments of gathered neighbours about their point."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.local.settings import COMMON

FAST = {"reassoc", "contract", "nsz", "arcp"}


@kernel
def moments(near, count, cases, shift, sigma):
    """Write m − p into ``shift`` [d] and the second moment about m into ``sigma`` [d, d]; return Σ w.

    With ``cases`` COMMON only three dimensions are compiled.
    """
    dim = shift.size
    mass = _sums3(near, count, shift, sigma) if cases is COMMON or dim == 3 else _sums(near, count, shift, sigma)
    if not mass > 0.0:
        return 0.0
    for i in range(dim):
        shift[i] /= mass
    for i in range(dim):
        for j in range(i + 1):
            sigma[i, j] = sigma[i, j] / mass - shift[i] * shift[j]
            sigma[j, i] = sigma[i, j]
    return mass


# In three dimensions the ten sums Σ w, Σ w y, Σ w y yᵀ are a tuple, which stays in registers: a sum is one `added3` for
# each neighbour, whoever has the neighbours, and `write3` at the end.


@kernel
def nothing3():
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
def write3(sums, first, second):
    """Write Σ w y into ``first`` [3] and Σ w y yᵀ into ``second`` [3, 3]; return Σ w."""
    s, s0, s1, s2, s00, s01, s02, s11, s12, s22 = sums
    first[0], first[1], first[2] = s0, s1, s2
    second[0, 0], second[0, 1], second[0, 2] = s00, s01, s02
    second[1, 0], second[1, 1], second[1, 2] = s01, s11, s12
    second[2, 0], second[2, 1], second[2, 2] = s02, s12, s22
    return s


@kernel(fastmath=FAST)
def _sums3(near, count, first, second):
    sums = nothing3()
    for n in range(count):
        sums = added3(sums, near[3, n], near[0, n], near[1, n], near[2, n])
    return write3(sums, first, second)


# Columns of neighbours that the general passes work on at a time; they stay in the first cache.
TILE = 128


@kernel(fastmath=FAST)
def _sums(near, count, first, second):
    dim = first.size
    mass = 0.0
    for i in range(dim):
        first[i] = 0.0
        for j in range(dim):
            second[i, j] = 0.0
    weighted = np.empty(TILE)
    for start in range(0, count, TILE):
        width = min(TILE, count - start)
        for n in range(width):
            mass += near[dim, start + n]
        for i in range(dim):
            # Written in one loop and summed in another: a loop that does both is compiled twice, with and without
            # vectors, and takes the one or the other by where the arrays happen to lie in memory.
            for n in range(width):
                weighted[n] = near[dim, start + n] * near[i, start + n]
            total = 0.0
            for n in range(width):
                total += weighted[n]
            first[i] += total
            for j in range(i + 1):
                total = 0.0
                for n in range(width):
                    total += weighted[n] * near[j, start + n]
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
