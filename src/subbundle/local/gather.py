"""The neighbours of a point, packed for the passes that follow: offsets y_n = x_n − p [d, n] and weights w_n [n].

A ball is gathered leaf by leaf in vector code; what has no weight is then squeezed out, so that moments, regression and
standard errors run over neighbours only.
"""

from __future__ import annotations

import math

import numpy as np

from subbundle._compiled import kernel
from subbundle.cloud.build import GROUP, LEAF
from subbundle.cloud.search import leaves_within, nearest_sq
from subbundle.kernels import GAUSSIAN, TOO_FAR, exp_minus, powers
from subbundle.local.settings import COMMON
from subbundle.local.tuning import FAINT


@kernel
def ball(tree, point, bandwidth, kernel, reach, apart, cases, found, near):
    """Gather the ball around ``point`` with weights v_n φ(|x_n − p|²/a²).

    Parameters
    ----------
    tree : (blocks [leaves, d, LEAF], weights [leaves, LEAF], boxes, corners, n_points)
        Weights v_n are zero at the empty places of the last leaf.
    kernel, reach : int, float
        Power of a compact profile, or `GAUSSIAN`, and t at which it ends, for the Gaussian beyond that of the nearest.
    apart : float
        Observations no further than this (squared) are left out; −1 keeps all, 0 leaves out the point itself.
    cases : COMMON or ALL
        COMMON in three dimensions with a compact kernel where nothing is left out.
    found : [leaves] int64
        Scratch.
    near : [d + 1, capacity]
        Written: y_n, and w_n in the last row. Grown when it is too small.

    Returns
    -------
    near, count, shift, squares : array, int, float, float
        ``shift`` is the t that the Gaussian's weights are relative to: that of the nearest observation where it is far.
        ``squares`` is Σ w_n²/v_n: an observation of weight v counts as v observations.
    """
    blocks, weights, boxes, corners, n_points = tree
    area = bandwidth * bandwidth
    count = leaves_within(boxes, corners, blocks.shape[0], point, reach * area, found)
    near = _room(near, count)
    if cases is COMMON or (kernel != GAUSSIAN and point.size == 3 and apart < 0.0):
        scale = 1.0 / (area * reach)
        _, squares = _weighed3(blocks, weights, found, count, point, scale, kernel, reach, cases, near)
        return near, count * LEAF, 0.0, squares
    if kernel == GAUSSIAN and point.size == 3 and apart < 0.0:
        mass, squares = _weighed3(blocks, weights, found, count, point, 1.0 / area, kernel, reach, cases, near)
        # Σ vφ² / Σ vφ is a mean of φ, so the nearest has at least that.
        if squares > FAINT * mass:
            return near, count * LEAF, 0.0, squares
    least = _distances(blocks, found, count, point, apart, near)
    if kernel != GAUSSIAN:
        squares = _compact(weights, found, count, 1.0 / (area * reach), kernel, near)
        return near, squeeze(near, count * LEAF), 0.0, squares
    shift = 0.0
    if not math.exp(-0.5 * least / area) > FAINT:
        least = nearest_sq(blocks, boxes, n_points, point, apart)
        if not least < TOO_FAR * area:
            return near, 0, 0.0, 0.0
        shift = least / area
        count = leaves_within(boxes, corners, blocks.shape[0], point, least + reach * area, found)
        near = _room(near, count)
        _distances(blocks, found, count, point, apart, near)
    squares = _gaussian(weights, found, count, 1.0 / area, shift, reach, near)
    return near, squeeze(near, count * LEAF), shift, squares


@kernel
def _room(near, count):
    if count * LEAF > near.shape[1]:
        # Not a power of two: rows that lie a page apart would push one another out of the cache.
        return np.empty((near.shape[0], 2 * count * LEAF + 24))
    return near


# Only finite numbers reach these loops, so the compiler may assume it; that is what lets it vectorise the comparisons.


@kernel(fastmath=True)
def _weighed3(blocks, weights, found, count, point, scale, kernel, reach, cases, near):
    """Offsets and weights in one pass, t in units of 1/``scale``; return Σ w and Σ w²/v.

    What has no weight is not squeezed out: the passes that follow are too short in three dimensions for that to pay.
    """
    p0, p1, p2 = point[0], point[1], point[2]
    squares, mass = 0.0, 0.0
    for c in range(count):
        leaf, base = found[c], c * LEAF
        for i in range(LEAF):
            y0, y1, y2 = blocks[leaf, 0, i] - p0, blocks[leaf, 1, i] - p1, blocks[leaf, 2, i] - p2
            t = (y0 * y0 + y1 * y1 + y2 * y2) * scale
            if cases is COMMON or kernel != GAUSSIAN:
                value, _ = powers(kernel, max(1.0 - t, 0.0))
            else:
                value = exp_minus(0.5 * min(t, reach))
                value = value if t < reach else 0.0
            weighted = value * weights[leaf, i]
            near[0, base + i] = y0
            near[1, base + i] = y1
            near[2, base + i] = y2
            near[3, base + i] = weighted
            mass += weighted
            squares += value * weighted
    return mass, squares


@kernel(fastmath=True)
def _distances(blocks, found, count, point, apart, near):
    """Offsets and squared distances of the leaves found, those to leave out very far; returns the least."""
    dim = point.size
    for c in range(count):
        leaf, base = found[c], c * LEAF
        for i in range(LEAF):
            near[dim, base + i] = 0.0
        for j in range(dim):
            for i in range(LEAF):
                offset = blocks[leaf, j, i] - point[j]
                near[j, base + i] = offset
                near[dim, base + i] += offset * offset
    least = 1e300
    if apart >= 0.0:
        for n in range(count * LEAF):
            if near[dim, n] <= apart:
                near[dim, n] = 1e300
    for n in range(count * LEAF):
        least = min(least, near[dim, n])
    return least


@kernel(fastmath=True)
def _gaussian(weights, found, count, scale, shift, reach, near):
    """Turn squared distances into w = v exp(−(t − shift)/2), zero beyond the reach; return Σ w²/v."""
    row = near.shape[0] - 1
    squares = 0.0
    for c in range(count):
        leaf, base = found[c], c * LEAF
        for i in range(LEAF):
            t = near[row, base + i] * scale - shift
            value = exp_minus(0.5 * max(min(t, reach), 0.0))
            value = value if t < reach else 0.0
            near[row, base + i] = value * weights[leaf, i]
            squares += value * value * weights[leaf, i]
    return squares


@kernel(fastmath=True)
def _compact(weights, found, count, scale, power, near):
    """Turn squared distances into w = v (1 − t/R²)₊^m; return Σ w²/v."""
    row = near.shape[0] - 1
    squares = 0.0
    for c in range(count):
        leaf, base = found[c], c * LEAF
        for i in range(LEAF):
            value, _ = powers(power, max(1.0 - near[row, base + i] * scale, 0.0))
            near[row, base + i] = value * weights[leaf, i]
            squares += value * value * weights[leaf, i]
    return squares


@kernel
def squeeze(near, total):
    """Move the columns of ``near`` with a weight (last row) to the front, in order; return how many there are.

    In three dimensions by the `GROUP`, a vector register at once, as soon as one column of it has a weight; ``total``
    is a multiple of it.
    """
    rows = near.shape[0]
    kept = 0
    if rows == 4:
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
    for n in range(total):
        if near[rows - 1, n] > 0.0:
            if kept < n:
                for j in range(rows):
                    near[j, kept] = near[j, n]
            kept += 1
    return kept
