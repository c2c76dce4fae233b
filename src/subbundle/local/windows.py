"""Robust windows on surfaces in R³, for `tangential`: gathered once, in single precision relative to their centre.

Later rounds use the neighbours of the first, up to a rim of negligible weight; rounding moves heights by 1e-6 of a
bandwidth. Leaves are those whose box meets an elliptic cylinder of the height of the window.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.cloud.build import GROUP, LEAF
from subbundle.cloud.search import leaves_within
from subbundle.local.moments import FAST
from subbundle.local.tuning import TANGENTIAL_REACH


@kernel
def gathered(tree, found, p, frame, a, stretch, height, raw, near):
    """Fill ``raw`` with coordinates in the frame, in bandwidths, and v_n, of observations in tangential reach.

    Observations higher than ``height`` may be left out. Both arrays are grown together; returned with the count.
    """
    blocks, weights, boxes, corners, _ = tree
    radius = TANGENTIAL_REACH * a * stretch
    count = leaves_within(boxes, corners, blocks.shape[0], p, radius * radius + height * height, found)
    count = _meeting(corners, found, count, p, frame, TANGENTIAL_REACH * a, stretch, height)
    if count * LEAF > raw.shape[1]:
        room = 4, 2 * count * LEAF + 24
        raw, near = np.empty(room, np.float32), np.empty(room, near.dtype)
    _in_frame(blocks, weights, found, count, p, frame, a, stretch, raw)
    return raw, near, _compact(raw, count * LEAF)


@kernel(fastmath=FAST)
def _meeting(corners, found, count, p, frame, reach, stretch, height):
    """Keep of the leaves ``found`` those whose box meets the elliptic window; return how many.

    A box with centre m and half sides h lies between e·m ± |e|·h along an axis e.
    """
    p0, p1, p2 = p[0], p[1], p[2]
    kept = 0
    for k in range(count):
        leaf = found[k]
        h0, h1, h2 = corners[1, 0, leaf], corners[1, 1, leaf], corners[1, 2, leaf]
        l0, l1, l2 = corners[0, 0, leaf], corners[0, 1, leaf], corners[0, 2, leaf]
        m0, m1, m2 = 0.5 * (l0 + h0), 0.5 * (l1 + h1), 0.5 * (l2 + h2)
        h0, h1, h2 = h0 - m0, h1 - m1, h2 - m2
        m0, m1, m2 = m0 - p0, m1 - p1, m2 - p2
        u = _gap(frame, 0, m0, m1, m2, h0, h1, h2) / stretch
        v, z = _gap(frame, 1, m0, m1, m2, h0, h1, h2), _gap(frame, 2, m0, m1, m2, h0, h1, h2)
        found[kept] = leaf
        kept += 1 if (u * u + v * v < reach * reach) & (z < height) else 0
    return kept


@kernel(fastmath=FAST)
def _gap(frame, j, m0, m1, m2, h0, h1, h2):
    """Distance along axis ``j`` from 0 to a box with centre m and half sides h."""
    e0, e1, e2 = frame[0, j], frame[1, j], frame[2, j]
    return max(abs(m0 * e0 + m1 * e1 + m2 * e2) - (h0 * abs(e0) + h1 * abs(e1) + h2 * abs(e2)), 0.0)


@kernel(fastmath=FAST)
def _in_frame(blocks, weights, found, count, p, frame, a, stretch, raw):
    """Coordinates in the frame, and v_n within reach along the tangent space, else zero."""
    p0, p1, p2 = p[0], p[1], p[2]
    e0, e1, e2 = _single(frame[0, 0] / a, frame[1, 0] / a, frame[2, 0] / a)
    f0, f1, f2 = _single(frame[0, 1] / a, frame[1, 1] / a, frame[2, 1] / a)
    n0, n1, n2 = _single(frame[0, 2] / a, frame[1, 2] / a, frame[2, 2] / a)
    along, reach, none = _single(1.0 / (stretch * stretch), TANGENTIAL_REACH * TANGENTIAL_REACH, 0.0)
    # The empty places of a leaf are at coordinates beyond single precision.
    far = 1e6 * a
    for k in range(count):
        leaf, base = found[k], k * LEAF
        for i in range(LEAF):
            y0, y1 = np.float32(min(blocks[leaf, 0, i] - p0, far)), np.float32(min(blocks[leaf, 1, i] - p1, far))
            y2 = np.float32(min(blocks[leaf, 2, i] - p2, far))
            u, v = y0 * e0 + y1 * e1 + y2 * e2, y0 * f0 + y1 * f1 + y2 * f2
            raw[0, base + i] = u
            raw[1, base + i] = v
            raw[2, base + i] = y0 * n0 + y1 * n1 + y2 * n2
            raw[3, base + i] = np.float32(weights[leaf, i]) if along * u * u + v * v < reach else none


@kernel
def _compact(near, total):
    """Move the columns of ``near`` [4, total] with a weight (last row) to the front, in order; return how many.

    By the `GROUP`, a vector register at once, as soon as one column of it has a weight; ``total`` is a multiple of it.
    """
    kept = 0
    for n in range(0, total, GROUP):
        w = near[3, n] + near[3, n + 1] + near[3, n + 2] + near[3, n + 3]
        w += near[3, n + 4] + near[3, n + 5] + near[3, n + 6] + near[3, n + 7]
        for j in range(4):
            # All are read before any is written.
            a, b, c, d = near[j, n], near[j, n + 1], near[j, n + 2], near[j, n + 3]
            e, f, g, h = near[j, n + 4], near[j, n + 5], near[j, n + 6], near[j, n + 7]
            near[j, kept], near[j, kept + 1], near[j, kept + 2], near[j, kept + 3] = a, b, c, d
            near[j, kept + 4], near[j, kept + 5], near[j, kept + 6], near[j, kept + 7] = e, f, g, h
        kept += GROUP if w > 0.0 else 0
    return kept


@kernel(fastmath=FAST)
def weigh(raw, count, start, first, p, frame, a, stretch, cut, fit, shrink, near):
    """Write ``raw``, gathered around ``start``, relative to ``p``, arcs as parabolas, with weights; return Σ w²/v."""
    (t00, t01, t02), d0 = _axis_map(frame, 0, first, start, p, a)
    (t10, t11, t12), d1 = _axis_map(frame, 1, first, start, p, a)
    (t20, t21, t22), d2 = _axis_map(frame, 2, first, start, p, a)
    c3, c4, c5 = _single(fit[3, 0], fit[4, 0], fit[5, 0])
    # A cut below rounding would exclude all observations of a plane.
    scale = np.float32(1.0 / max(cut, 1e-5) ** 2)
    along, reach, squares = _single(1.0 / (stretch * stretch), TANGENTIAL_REACH * TANGENTIAL_REACH, 0.0)
    part, steep, none = _single(shrink, shrink * shrink, 0.0)
    one = np.float32(1.0)
    for n in range(np.uint64(count)):
        x, y, h = raw[0, n], raw[1, n], raw[2, n]
        u, v = t00 * x + t01 * y + t02 * h + d0, t10 * x + t11 * y + t12 * h + d1
        q2 = c3 * u * u + c4 * u * v + c5 * v * v
        g0, g1 = c3 * u + c3 * u + c4 * v, c4 * u + c5 * v + c5 * v
        # An arc ends where its tangent is normal to the plane.
        level = np.sqrt(one - min((g0 * g0 + g1 * g1) * steep, one))
        z = t20 * x + t21 * y + t22 * h + d2 - part * q2 * (one - level) / (one + level)
        q = max(one - (z - q2) * (z - q2) * scale, none)
        w = _gaussian(min(along * u * u + v * v, reach)) * q * q
        near[0, n] = u
        near[1, n] = v
        near[2, n] = z
        near[3, n] = w * raw[3, n]
        squares += w * w * raw[3, n]
    return squares


@kernel
def _single(x, y, z):
    """Three numbers in single precision: one factor in double would make a whole loop double."""
    return np.float32(x), np.float32(y), np.float32(z)


@kernel
def _axis_map(frame, j, first, start, p, a):
    """Affine map from coordinates around ``start`` to axis ``j`` of the frame at ``p``: factors and offset."""
    e0, e1, e2 = frame[0, j], frame[1, j], frame[2, j]
    offset = e0 * (start[0] - p[0]) + e1 * (start[1] - p[1]) + e2 * (start[2] - p[2])
    x = e0 * first[0, 0] + e1 * first[1, 0] + e2 * first[2, 0]
    y = e0 * first[0, 1] + e1 * first[1, 1] + e2 * first[2, 1]
    return _single(x, y, e0 * first[0, 2] + e1 * first[1, 2] + e2 * first[2, 2]), np.float32(offset / a)


@kernel(inline="always")
def _gaussian(t):
    """exp(−t/2) for 0 ≤ t ≤ 9 in single precision: Taylor's series for exp(−t/32), squared four times."""
    y = t * np.float32(-1.0 / 32.0)
    s = y * np.float32(1.0 / 720.0) + np.float32(1.0 / 120.0)
    s = y * s + np.float32(1.0 / 24.0)
    s = y * s + np.float32(1.0 / 6.0)
    s = y * s + np.float32(0.5)
    s = y * s + np.float32(1.0)
    s = y * s + np.float32(1.0)
    s *= s
    s *= s
    s *= s
    return s * s


@kernel
def covers(p, frame, start, first, radius, room):
    """Whether the window gathered around ``start`` covers that at ``p``: shift and tilt, which lifts the rim at
    ``radius``, stay within the margin ``room`` in height."""
    away, cosine = 0.0, 0.0
    for i in range(3):
        away += (p[i] - start[i]) ** 2
        cosine += frame[i, 2] * first[i, 2]
    room -= radius * np.sqrt(max(1.0 - cosine * cosine, 0.0))
    return cosine > 0.0 and room > 0.0 and away < room * room
