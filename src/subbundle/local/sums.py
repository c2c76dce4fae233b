"""The three sums over neighbours that the bundle is made of: mass and moments, and the contracted third moment.

Each exists twice: fully unrolled for three dimensions, where the sums stay in vector registers (four times faster),
and for any dimension. Sums are over leaves in memory order, so they do not depend on anything but the point.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.cloud.build import LEAF
from subbundle.cloud.search import leaves_within
from subbundle.kernels import GAUSSIAN, powers
from subbundle.local.moments import FAST, added3, nothing3, write3
from subbundle.local.settings import COMMON
from subbundle.local.weights import profile, weigh


@kernel(fastmath=FAST)
def first_moment(blocks, found, count, weights, point, first):
    """Return Σ w_n and Σ w_n²; write Σ w_n (x_n − p) into ``first`` [d]."""
    mass = squares = 0.0
    for j in range(point.size):
        first[j] = 0.0
    for c in range(count):
        for i in range(LEAF):
            mass += weights[c, i]
            squares += weights[c, i] * weights[c, i]
        for j in range(point.size):
            total = 0.0
            for i in range(LEAF):
                total += weights[c, i] * (blocks[found[c], j, i] - point[j])
            first[j] += total
    return mass, squares


@kernel
def window_moments(tree, point, bandwidth, kernel, reach, cases, found, phi, psi, first, second):
    """`weigh` the neighbours of ``point`` and form their `moments`; return Σ φ_n, the number of leaves, and the shift.

    With a compact kernel in three dimensions both are one pass, and only ``psi`` is written.
    """
    if cases is not COMMON and (kernel == GAUSSIAN or point.size != 3):
        count, shift = weigh(tree, point, bandwidth, kernel, reach, -1.0, cases, found, phi, psi)
        return moments(tree[0], found, count, profile(kernel, phi, psi), point, first, second), count, shift
    blocks, area = tree[0], reach * bandwidth * bandwidth
    count = leaves_within(tree[2], tree[3], blocks.shape[0], point, area, found)
    mass = _compact_moments3(blocks, found, count, kernel, point, 1.0 / area, 2.0 * kernel / reach, psi, first, second)
    return mass, count, 0.0


@kernel(fastmath=True)
def _compact_moments3(blocks, found, count, power, point, scale, slope, psi, first, second):
    p0, p1, p2 = point[0], point[1], point[2]
    sums = nothing3()
    for c in range(count):
        leaf = found[c]
        for i in range(LEAF):
            y0, y1, y2 = blocks[leaf, 0, i] - p0, blocks[leaf, 1, i] - p1, blocks[leaf, 2, i] - p2
            w, lower = powers(power, max(1.0 - (y0 * y0 + y1 * y1 + y2 * y2) * scale, 0.0))
            psi[c, i] = slope * lower
            sums = added3(sums, w, y0, y1, y2)
    return write3(sums, first, second)


@kernel
def moments(blocks, found, count, weights, point, first, second):
    """Return Σ w_n; write Σ w_n (x_n − p) into ``first`` [d] and Σ w_n (x_n − p)(x_n − p)ᵀ into ``second`` [d, d]."""
    if point.size == 3:
        return _moments3(blocks, found, count, weights, point, first, second)
    return _moments_any(blocks, found, count, weights, point, first, second)


@kernel(fastmath=FAST)
def _moments3(blocks, found, count, weights, point, first, second):
    p0, p1, p2 = point[0], point[1], point[2]
    sums = nothing3()
    for c in range(count):
        leaf = found[c]
        for i in range(LEAF):
            y0, y1, y2 = blocks[leaf, 0, i] - p0, blocks[leaf, 1, i] - p1, blocks[leaf, 2, i] - p2
            sums = added3(sums, weights[c, i], y0, y1, y2)
    return write3(sums, first, second)


@kernel(fastmath=FAST)
def _moments_any(blocks, found, count, weights, point, first, second):
    dim = point.size
    offsets = np.empty((dim, LEAF))
    weighted = np.empty(LEAF)
    for j in range(dim):
        first[j] = 0.0
        for m in range(dim):
            second[j, m] = 0.0
    mass = 0.0
    for c in range(count):
        for i in range(LEAF):
            mass += weights[c, i]
        for j in range(dim):
            for i in range(LEAF):
                offsets[j, i] = blocks[found[c], j, i] - point[j]
        for j in range(dim):
            # In two loops, so that where the arrays lie in memory cannot decide how the sum is formed (`moments`).
            for i in range(LEAF):
                weighted[i] = weights[c, i] * offsets[j, i]
            total = 0.0
            for i in range(LEAF):
                total += weighted[i]
            first[j] += total
            for m in range(j + 1):
                total = 0.0
                for i in range(LEAF):
                    total += weighted[i] * offsets[m, i]
                second[j, m] += total
    for j in range(dim):
        for m in range(j):
            second[m, j] = second[j, m]
    return mass


@kernel
def contracted(blocks, found, count, weights, centre, matrix, result):
    """With y_n = x_n − centre and q_n = y_nᵀ A y_n: return Σ w_n q_n and write Σ w_n q_n y_n into ``result`` [d]."""
    if centre.size == 3:
        return contracted3(blocks, found, count, weights, centre, matrix, result)[0]
    return _contracted_any(blocks, found, count, weights, centre, matrix, result)


@kernel(fastmath=FAST)
def contracted3(blocks, found, count, weights, centre, matrix, result):
    """`contracted` in three dimensions, and Σ w_n q_n |y_n|² with it, for bandwidths that vary."""
    c0, c1, c2 = centre[0], centre[1], centre[2]
    a00, a11, a22 = matrix[0, 0], matrix[1, 1], matrix[2, 2]
    a01, a02, a12 = 2.0 * matrix[0, 1], 2.0 * matrix[0, 2], 2.0 * matrix[1, 2]
    s = s0 = s1 = s2 = spread = 0.0
    for c in range(count):
        leaf = found[c]
        for i in range(LEAF):
            y0, y1, y2 = blocks[leaf, 0, i] - c0, blocks[leaf, 1, i] - c1, blocks[leaf, 2, i] - c2
            q = weights[c, i] * (y0 * (a00 * y0 + a01 * y1 + a02 * y2) + y1 * (a11 * y1 + a12 * y2) + a22 * y2 * y2)
            s += q
            s0 += q * y0
            s1 += q * y1
            s2 += q * y2
            spread += q * (y0 * y0 + y1 * y1 + y2 * y2)
    result[0], result[1], result[2] = s0, s1, s2
    return s, spread


@kernel(fastmath=FAST)
def _contracted_any(blocks, found, count, weights, centre, matrix, result):
    dim = centre.size
    offsets = np.empty((dim, LEAF))
    q = np.empty(LEAF)
    for j in range(dim):
        result[j] = 0.0
    total_q = 0.0
    for c in range(count):
        for j in range(dim):
            for i in range(LEAF):
                offsets[j, i] = blocks[found[c], j, i] - centre[j]
        for i in range(LEAF):
            q[i] = 0.0
        for j in range(dim):
            for m in range(j + 1):
                factor = matrix[j, m] if m == j else 2.0 * matrix[j, m]
                for i in range(LEAF):
                    q[i] += factor * offsets[j, i] * offsets[m, i]
        for i in range(LEAF):
            q[i] *= weights[c, i]
            total_q += q[i]
        for j in range(dim):
            total = 0.0
            for i in range(LEAF):
                total += q[i] * offsets[j, i]
            result[j] += total
    return total_q
