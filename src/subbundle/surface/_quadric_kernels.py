"""Robust local quadrics over a tangent plane, one row at a time.

Around p with unit normal n the observations have tangential coordinates (u, v), in bandwidths, and heights z. The
quadric z = c·(1, u, v, u², uv, v²) is fitted with weights

    w = v_n exp(−(u² + v²)/2) (1 − (e/cut)²)²₊,       e = z − c·(1, u, v, …) of the round before.

A window that looks at (u, v) alone wastes no observation for being noisy, which a ball does; the biweight keeps out
other sheets and outliers. Over its tangent plane an arc is no parabola: with A the shape operator, a surface whose
curvature does not change has the height

    ½ II(x, x) · 2/(1 + √(1 − |A x|²)),

exact for spheres and tubes. What that is beyond ½ II(x, x), with II from the round before, is taken from z, so that
wide windows do not flatten round things. After every round p moves by c_0 along n, and n is tilted to the normal of the
quadric.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.cloud._build import LEAF
from subbundle.cloud._search import leaves_within
from subbundle.kernels import exp_minus

REACH = 3.0
_FAST = {"reassoc", "contract", "nsz", "arcp"}
# Powers of u and v in the six terms.
_U = np.array([0, 1, 0, 2, 1, 0])
_V = np.array([0, 0, 1, 0, 1, 2])
# Place of the moment of u^i v^j, i + j ≤ 4, in the list of sums.
_PLACE = np.array([[0, 2, 5, 9, 14], [1, 4, 8, 13, -1], [3, 7, 12, -1, -1], [6, 11, -1, -1, -1], [10, -1, -1, -1, -1]])
_TERMS = 6
_SUMS = 15
# Parts of a cut by which a step may go; diagonal that a singular system is given.
_LONGEST = 1.0
_RIDGE = 1e-9
# By how much the fourth order makes a quadric bend too strongly, in (a |II|)²; sin² of the steepest slope of an arc.
_SWOLLEN, _STEEPEST = 1.2, 0.9
COLUMNS = 4


@kernel
def quadric_rows(tree, points, normals, bandwidths, cuts, rounds, start, stop, moved, tilted, numbers):
    """Fit rows ``start..stop`` of ``points``, ``normals`` [n, 3] with ``bandwidths``, ``cuts`` [n].

    Writes where they come to rest into ``moved``, normals into ``tilted`` [n, 3] and into ``numbers`` [n, COLUMNS]: Σ w
    and (M⁻¹)_00, M the matrix of the normal equations, which is infinite where they could not be solved (such rows stay
    where they were), II_11 + II_22, and Σ w e² / Σ w, e the residuals.
    """
    blocks, weights, boxes = tree
    n_leaves = blocks.shape[0]
    found = np.empty(n_leaves, np.int64)
    p, frame = np.empty(3), np.empty((3, 3))
    sums, right, c = np.empty(_SUMS), np.empty(_TERMS), np.empty(_TERMS)
    system, near = np.empty((_TERMS, _TERMS)), np.empty((4, 8192))
    for row in range(start, stop):
        a, cut = bandwidths[row], cuts[row]
        for j in range(3):
            p[j] = points[row, j]
            frame[j, 2] = normals[row, j]
        for j in range(_TERMS):
            c[j] = 0.0
        solved = True
        for turn in range(rounds):
            _complete(frame)
            # The first round knows no curvature yet and looks further up and down.
            wide = cut + 0.5 * a if turn == 0 else cut
            radius = REACH * a
            sag = abs(c[3]) + abs(c[4]) + abs(c[5])
            radius_sq = radius * radius + (wide + min(sag * REACH * REACH, 2.0 * radius)) ** 2
            count = leaves_within(boxes, n_leaves, p, radius_sq, found)
            if (count + 1) * LEAF > near.shape[1]:
                near = np.empty((4, 2 * (count + 1) * LEAF))
            total = _gather(blocks, weights, found, count, p, frame, a, wide, c, near)
            _low_moments(near, total, sums)
            numbers[row, 0] = sums[0]
            square = _high_moments(near, total, sums, right)
            _assemble(sums, system)
            if not _solve(system, right, c):
                solved = False
                break
            numbers[row, 1] = _gain(system)
            for j in range(_TERMS):
                square -= c[j] * right[j]
            numbers[row, 3] = max(square, 0.0) / sums[0]
            shift = min(max(c[0], -_LONGEST * wide), _LONGEST * wide)
            for j in range(3):
                p[j] += shift * frame[j, 2]
            length = np.sqrt(1.0 + (c[1] * c[1] + c[2] * c[2]) / (a * a))
            for j in range(3):
                frame[j, 2] = (frame[j, 2] - (c[1] * frame[j, 0] + c[2] * frame[j, 1]) / a) / length
            c[0] = 0.0
            c[1] = 0.0
            c[2] = 0.0
        numbers[row, 2] = 2.0 * (c[3] + c[5]) / (a * a)
        if not solved:
            numbers[row, 1], numbers[row, 2], numbers[row, 3] = np.inf, 0.0, np.inf
        for j in range(3):
            moved[row, j] = p[j] if solved else points[row, j]
            tilted[row, j] = frame[j, 2] if solved else normals[row, j]


@kernel
def _complete(frame):
    """Fill the first two columns of ``frame`` with unit vectors across the third."""
    n0, n1, n2 = frame[0, 2], frame[1, 2], frame[2, 2]
    sign = 1.0 if n2 >= 0.0 else -1.0
    s = -1.0 / (sign + n2)
    t = n0 * n1 * s
    frame[0, 0], frame[1, 0], frame[2, 0] = 1.0 + sign * n0 * n0 * s, sign * t, -sign * n0
    frame[0, 1], frame[1, 1], frame[2, 1] = t, sign + n1 * n1 * s, -n1


@kernel(fastmath=_FAST)
def _gather(blocks, weights, found, count, p, frame, a, cut, c, near):
    """List u, v, z and w of the observations in the leaves found in ``near`` [4, :]; return their number.

    Those out of reach stay in the list with no weight: packing them tightly would keep the loop from being vectorised.
    """
    p0, p1, p2 = p[0], p[1], p[2]
    e0, e1, e2 = frame[0, 0] / a, frame[1, 0] / a, frame[2, 0] / a
    f0, f1, f2 = frame[0, 1] / a, frame[1, 1] / a, frame[2, 1] / a
    n0, n1, n2 = frame[0, 2], frame[1, 2], frame[2, 2]
    c3, c4, c5 = c[3], c[4], c[5]
    reach, scale = 0.5 * REACH * REACH, 1.0 / (cut * cut)
    shrink = 1.0 / (1.0 + _SWOLLEN * (4.0 * c3 * c3 + 2.0 * c4 * c4 + 4.0 * c5 * c5) / (a * a))
    steep = shrink * shrink / (a * a)
    for k in range(count):
        leaf, base = found[k], k * LEAF
        for i in range(LEAF):
            y0, y1, y2 = blocks[leaf, 0, i] - p0, blocks[leaf, 1, i] - p1, blocks[leaf, 2, i] - p2
            u, v = y0 * e0 + y1 * e1 + y2 * e2, y0 * f0 + y1 * f1 + y2 * f2
            z = y0 * n0 + y1 * n1 + y2 * n2
            t = 0.5 * (u * u + v * v)
            q2 = c3 * u * u + c4 * u * v + c5 * v * v
            g0, g1 = 2.0 * c3 * u + c4 * v, c4 * u + 2.0 * c5 * v
            level = np.sqrt(1.0 - min((g0 * g0 + g1 * g1) * steep, _STEEPEST))
            z -= shrink * q2 * (1.0 - level) / (1.0 + level)
            e = z - q2
            q = max(1.0 - e * e * scale, 0.0)
            w = exp_minus(min(t, reach)) * q * q * weights[leaf, i]
            near[0, base + i] = u
            near[1, base + i] = v
            near[2, base + i] = z
            near[3, base + i] = w if t < reach else 0.0
    return count * LEAF


@kernel(fastmath=_FAST)
def _low_moments(near, total, sums):
    """Σ w u^i v^j up to degree three."""
    s00 = s10 = s01 = s20 = s11 = s02 = s30 = s21 = s12 = s03 = 0.0
    for i in range(total):
        u, v, w = near[0, i], near[1, i], near[3, i]
        wu, wv = w * u, w * v
        wuu, wvv = wu * u, wv * v
        s00 += w
        s10 += wu
        s01 += wv
        s20 += wuu
        s11 += wu * v
        s02 += wvv
        s30 += wuu * u
        s21 += wuu * v
        s12 += wvv * u
        s03 += wvv * v
    sums[0], sums[1], sums[2], sums[3], sums[4], sums[5] = s00, s10, s01, s20, s11, s02
    sums[6], sums[7], sums[8], sums[9] = s30, s21, s12, s03


@kernel(fastmath=_FAST)
def _high_moments(near, total, sums, right):
    """Σ w u^i v^j of degree four, and Σ w z u^i v^j up to degree two; returns Σ w z²."""
    s40 = s31 = s22 = s13 = s04 = z00 = z10 = z01 = z20 = z11 = z02 = square = 0.0
    for i in range(total):
        u, v, z, w = near[0, i], near[1, i], near[2, i], near[3, i]
        wz = w * z
        uu, uv, vv = u * u, u * v, v * v
        s40 += w * uu * uu
        s31 += w * uu * uv
        s22 += w * uu * vv
        s13 += w * uv * vv
        s04 += w * vv * vv
        square += wz * z
        z00 += wz
        z10 += wz * u
        z01 += wz * v
        z20 += wz * uu
        z11 += wz * uv
        z02 += wz * vv
    sums[10], sums[11], sums[12], sums[13], sums[14] = s40, s31, s22, s13, s04
    right[0], right[1], right[2], right[3], right[4], right[5] = z00, z10, z01, z20, z11, z02
    return square


@kernel
def _assemble(sums, system):
    """The normal equations Σ w φ φᵀ from the moments."""
    for i in range(_TERMS):
        for j in range(_TERMS):
            system[i, j] = sums[_PLACE[_U[i] + _U[j], _V[i] + _V[j]]]


@kernel
def _solve(system, right, c):
    """Cholesky in place; False when the neighbourhood does not determine a quadric."""
    for i in range(_TERMS):
        system[i, i] *= 1.0 + _RIDGE
    floor = 1e-6 * system[0, 0]
    for j in range(_TERMS):
        for i in range(j, _TERMS):
            total = system[i, j]
            for k in range(j):
                total -= system[i, k] * system[j, k]
            if i == j:
                if not total > floor:
                    return False
                system[j, j] = np.sqrt(total)
            else:
                system[i, j] = total / system[j, j]
    for i in range(_TERMS):
        total = right[i]
        for k in range(i):
            total -= system[i, k] * c[k]
        c[i] = total / system[i, i]
    for i in range(_TERMS - 1, -1, -1):
        total = c[i]
        for k in range(i + 1, _TERMS):
            total -= system[k, i] * c[k]
        c[i] = total / system[i, i]
    return True


@kernel
def _gain(factor):
    """(M⁻¹)_00 from the Cholesky factor of M."""
    y = np.empty(_TERMS)
    total = 0.0
    for i in range(_TERMS):
        value = 1.0 if i == 0 else 0.0
        for k in range(i):
            value -= factor[i, k] * y[k]
        y[i] = value / factor[i, i]
        total += y[i] * y[i]
    return total
