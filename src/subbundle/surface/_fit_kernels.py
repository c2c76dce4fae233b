"""The second-order ridge of a weighted cloud in R³, one row at a time.

For a point p and a bandwidth a, with weights w_n = v_n exp(−|x_n − p|²/2a²) of the observations nearer than `REACH` a,
one pass gives the local mean m and the second moment Σ = E diag(λ) Eᵀ, a second pass the three third moments
T_ij = Σ w z_i z_j z_3 / (a² Σ w), i, j ≤ 2, in the frame E. The second fundamental form is

    II_ij = ½ T_ij (1/(λ_i − λ_3) + 1/(λ_j − λ_3)),

and the height of the surface over p along the normal e_3

    h = e_3·(m − p) − ½ (λ_1 II_11 + λ_2 II_22) + ½ II(τ, τ),        τ = P (p − m).

The mean shift contracts by λ_3/a² a step, so h is divided by 1 − λ_3/a² (Newton's step for noise around a plane).
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.cloud._build import LEAF
from subbundle.cloud._search import leaves_within
from subbundle.kernels import exp_minus
from subbundle.local.eigen import eigh

# Bandwidths beyond which an observation has no weight; at 2.5 the accuracy falls by a seventh.
REACH = 3.5
_FAST = {"reassoc", "contract", "nsz", "arcp"}
# Least divisor of a step, and longest step in bandwidths.
_LEAST_DIVISOR, _LONGEST = 0.4, 1.0
COLUMNS = 7


@kernel
def fit_rows(tree, points, bandwidths, rounds, start, stop, moved, normals, values, numbers):
    """Carry rows ``start..stop`` of ``points`` [n, 3] to the ridge by ``rounds`` steps (0: look only).

    Parameters
    ----------
    tree : (blocks [leaves, 3, LEAF], weights [leaves, LEAF], boxes)
    bandwidths : [n]
    moved, normals, values : [n, 3]
        Written: where the points come to rest, e_3 and λ as seen before the last step.
    numbers : [n, COLUMNS]
        Written: mass Σ w, height h still to go, |P (m − p)|, II_11, II_12, II_22, Σ w²/Σ w.
    """
    blocks, weights, boxes = tree
    n_leaves = blocks.shape[0]
    found = np.empty(n_leaves, np.int64)
    store = np.empty((n_leaves, LEAF))
    p, first, second = np.empty(3), np.empty(3), np.empty((3, 3))
    lam, frame, third = np.empty(3), np.empty((3, 3)), np.empty(3)
    for row in range(start, stop):
        a = bandwidths[row]
        for j in range(3):
            p[j] = points[row, j]
        for _ in range(max(rounds, 1)):
            count = leaves_within(boxes, n_leaves, p, REACH * REACH * a * a, found)
            mass, squares = _weigh(blocks, weights, found, count, p, a, store, first, second)
            if not mass > 0.0:
                for j in range(3):
                    normals[row, j] = 0.0
                    values[row, j] = 0.0
                for j in range(COLUMNS):
                    numbers[row, j] = 0.0
                break
            for i in range(3):
                first[i] /= mass
            for i in range(3):
                for j in range(3):
                    second[i, j] = second[i, j] / mass - first[i] * first[j]
            eigh(second, lam, frame)
            _third(blocks, found, count, store, p, first, frame, third)
            height, along = _height(a, mass, lam, frame, first, third)
            numbers[row, 0], numbers[row, 1], numbers[row, 2], numbers[row, 6] = mass, height, along, squares / mass
            for j in range(3):
                normals[row, j] = frame[j, 2]
                values[row, j] = lam[j]
                numbers[row, 3 + j] = third[j]
            if rounds > 0:
                step = height / max(1.0 - lam[2] / (a * a), _LEAST_DIVISOR)
                step = min(max(step, -_LONGEST * a), _LONGEST * a)
                for j in range(3):
                    p[j] += step * frame[j, 2]
        for j in range(3):
            moved[row, j] = p[j]


@kernel(fastmath=_FAST)
def _weigh(blocks, weights, found, count, p, a, store, first, second):
    """Fill ``store`` with the weights, ``first`` and ``second`` with moments about p; return Σ w and Σ w²."""
    p0, p1, p2 = p[0], p[1], p[2]
    scale, reach = 0.5 / (a * a), 0.5 * REACH * REACH
    s = q = s0 = s1 = s2 = s00 = s01 = s02 = s11 = s12 = s22 = 0.0
    for c in range(count):
        leaf = found[c]
        for i in range(LEAF):
            y0, y1, y2 = blocks[leaf, 0, i] - p0, blocks[leaf, 1, i] - p1, blocks[leaf, 2, i] - p2
            t = (y0 * y0 + y1 * y1 + y2 * y2) * scale
            w = exp_minus(min(t, reach)) * weights[leaf, i]
            w = w if t < reach else 0.0
            store[c, i] = w
            w0, w1, w2 = w * y0, w * y1, w * y2
            s += w
            q += w * w
            s0 += w0
            s1 += w1
            s2 += w2
            s00 += w0 * y0
            s01 += w0 * y1
            s02 += w0 * y2
            s11 += w1 * y1
            s12 += w1 * y2
            s22 += w2 * y2
    first[0], first[1], first[2] = s0, s1, s2
    second[0, 0], second[0, 1], second[0, 2] = s00, s01, s02
    second[1, 0], second[1, 1], second[1, 2] = s01, s11, s12
    second[2, 0], second[2, 1], second[2, 2] = s02, s12, s22
    return s, q


@kernel(fastmath=_FAST)
def _third(blocks, found, count, store, p, shift, frame, third):
    """Σ w z_1² z_3, Σ w z_1 z_2 z_3 and Σ w z_2² z_3 in the frame, z = x − m, into ``third``."""
    c0, c1, c2 = p[0] + shift[0], p[1] + shift[1], p[2] + shift[2]
    e0, e1, e2 = frame[0, 0], frame[1, 0], frame[2, 0]
    f0, f1, f2 = frame[0, 1], frame[1, 1], frame[2, 1]
    n0, n1, n2 = frame[0, 2], frame[1, 2], frame[2, 2]
    s0 = s1 = s2 = 0.0
    for c in range(count):
        leaf = found[c]
        for i in range(LEAF):
            z0, z1, z2 = blocks[leaf, 0, i] - c0, blocks[leaf, 1, i] - c1, blocks[leaf, 2, i] - c2
            u, v = z0 * e0 + z1 * e1 + z2 * e2, z0 * f0 + z1 * f1 + z2 * f2
            w = store[c, i] * (z0 * n0 + z1 * n1 + z2 * n2)
            s0 += w * u * u
            s1 += w * u * v
            s2 += w * v * v
    third[0], third[1], third[2] = s0, s1, s2


@kernel
def _height(a, mass, lam, frame, shift, third):
    """Turn ``third`` into II_11, II_12, II_22; return h and |P (m − p)|."""
    floor = 1e-3 * lam[0] + 1e-300
    first, second = 1.0 / max(lam[0] - lam[2], floor), 1.0 / max(lam[1] - lam[2], floor)
    scale = 1.0 / (a * a * mass)
    third[0] *= scale * first
    third[1] *= scale * 0.5 * (first + second)
    third[2] *= scale * second
    u = v = up = 0.0
    for j in range(3):
        u += frame[j, 0] * shift[j]
        v += frame[j, 1] * shift[j]
        up += frame[j, 2] * shift[j]
    bend = (u * u - lam[0]) * third[0] + 2.0 * u * v * third[1] + (v * v - lam[1]) * third[2]
    return up + 0.5 * bend, np.sqrt(u * u + v * v)
