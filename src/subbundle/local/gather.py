"""The neighbours of a point, packed for the passes that follow: offsets y_n = x_n − p [d, n] and weights w_n [n].

Leaves that a ball meets are weighed in vector code. Above three dimensions observations without weight are dropped, so
that moments, regression and standard errors run over neighbours only; in three the passes that follow are too short for
that to pay, and the moments are summed along with the weights instead.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.cloud.build import LEAF
from subbundle.cloud.search import leaves_within, nearest_sq
from subbundle.kernels import GAUSSIAN, TOO_FAR, exp_minus, powers
from subbundle.local.moments import added3, zeros3
from subbundle.local.settings import ALL, COMMON
from subbundle.local.tuning import FAINT


@kernel
def ball(tree, point, bandwidth, kernel, reach, apart, slopes, cases, found, near):
    """Gather the ball around ``point`` with weights w_n = v_n φ(|x_n − p|²/a²).

    Parameters
    ----------
    tree : (blocks [leaves, d, LEAF], weights [leaves, LEAF], boxes, corners, n_points)
        Weights v_n are zero at the empty places of the last leaf.
    kernel, reach : int, float
        Power of a compact profile, or `GAUSSIAN`, and t at which it ends, for the Gaussian beyond that of the nearest.
    apart : float
        Observations no further than this (squared) are left out; −1 keeps all, 0 leaves out the point itself.
    slopes : True or None
        Whether to write ψ_n = −2 v_n φ′_n too; see `slope_row`.
    cases : COMMON or ALL
        COMMON in three dimensions.
    found : [leaves] int64
        Scratch.
    near : [d + 1, capacity], or [d + 2, capacity] with ``slopes``
        Written: y_n, w_n, ψ_n. Grown when it is too small.

    Returns
    -------
    near, count, shift, squares : array, int, float, float
        ``shift`` is the t that the Gaussian's weights are relative to: that of the nearest observation where it is far.
        ``squares`` is Σ w_n²/v_n: an observation of weight v counts as v observations.
    sums : tuple
        Those of `added3`, in three dimensions.
    """
    blocks, weights, boxes, corners, n_points = tree
    area, shift, searched = bandwidth * bandwidth, 0.0, False
    while True:
        leaves = leaves_within(boxes, corners, blocks.shape[0], point, (shift + reach) * area, found)
        near = _with_capacity(near, leaves)
        count, sums = leaves * LEAF, zeros3()
        if cases is COMMON or point.size == 3:
            if kernel != GAUSSIAN:
                peak, squares, sums = _weighed3(
                    blocks, weights, found, leaves, point, 1.0 / area, shift, kernel, reach, apart, slopes, None, near
                )
            else:
                peak, squares, sums = _weighed3(
                    blocks, weights, found, leaves, point, 1.0 / area, shift, kernel, reach, apart, slopes, ALL, near
                )
        else:
            count, peak, squares = _weighed(
                blocks, weights, found, leaves, point, 1.0 / area, shift, kernel, reach, apart, slopes, near
            )
        # On the data a weight exceeds FAINT, and no search for the nearest observation is needed.
        if kernel != GAUSSIAN or searched or peak > FAINT:
            return near, count, shift, squares, sums
        shift, searched = nearest_sq(blocks, boxes, n_points, point, apart) / area, True
        if not shift < TOO_FAR:
            return near, 0, 0.0, 0.0, zeros3()


@kernel
def slope_row(kernel, dim):
    """The row of `ball`'s neighbours that holds ψ_n: the Gaussian's is φ_n itself."""
    return dim if kernel == GAUSSIAN else dim + 1


@kernel
def _with_capacity(near, leaves):
    if leaves * LEAF > near.shape[1]:
        # Not a power of two: rows that lie a page apart would push one another out of the cache.
        return np.empty((near.shape[0], 2 * leaves * LEAF + 24))
    return near


# Only finite numbers reach these loops, so the compiler may assume it; that is what lets it vectorise the comparisons.
# They index whole arrays: a view of a leaf would count its references, and threads would wait for one another.


@kernel(fastmath=True)
def _weighed3(blocks, weights, found, leaves, point, scale, shift, kernel, reach, apart, slopes, gaussian, near):
    """Offsets, weights and moments in one pass, t = |y|² ``scale``; return a mean of φ, which the largest exceeds,
    Σ w²/v and the ten sums. With ψ, w is not written: its sums suffice."""
    p0, p1, p2 = point[0], point[1], point[2]
    squares, sums = 0.0, zeros3()
    end, slope = scale / reach, 2.0 * kernel / reach
    for c in range(leaves):
        leaf, base = found[c], c * LEAF
        for i in range(LEAF):
            y0, y1, y2 = blocks[leaf, 0, i] - p0, blocks[leaf, 1, i] - p1, blocks[leaf, 2, i] - p2
            square = y0 * y0 + y1 * y1 + y2 * y2
            if gaussian is None:
                u = max(1.0 - square * end, 0.0)
                phi, lower = powers(kernel, u if square > apart else 0.0)
            else:
                t = square * scale - shift
                phi = exp_minus(0.5 * max(min(t, reach), 0.0))
                phi = phi if (t < reach) & (square > apart) else 0.0
            w = phi * weights[leaf, i]
            near[0, base + i] = y0
            near[1, base + i] = y1
            near[2, base + i] = y2
            if slopes is not None and gaussian is None:
                near[4, base + i] = slope * lower * weights[leaf, i]
            else:
                near[3, base + i] = w
            squares += phi * w
            sums = added3(sums, w, y0, y1, y2)
    return squares / sums[0], squares, sums


@kernel(fastmath=True)
def _weighed(blocks, weights, found, leaves, point, scale, shift, kernel, reach, apart, slopes, near):
    """Offsets and weights of the observations that have one, leaf by leaf; return their number, a multiple of `LEAF`,
    the largest φ, and Σ w²/v."""
    dim = point.size
    phi, psi, places = np.empty(LEAF), np.empty(LEAF), np.empty(LEAF, np.int64)
    count, peak, squares, slope = 0, 0.0, 0.0, 2.0 * kernel / reach
    for c in range(leaves):
        leaf = found[c]
        for i in range(LEAF):
            psi[i] = 0.0
        for j in range(dim):
            for i in range(LEAF):
                offset = blocks[leaf, j, i] - point[j]
                psi[i] += offset * offset
        if kernel == GAUSSIAN:
            for i in range(LEAF):
                t = psi[i] * scale - shift
                value = exp_minus(0.5 * max(min(t, reach), 0.0))
                phi[i] = value if (t < reach) & (psi[i] > apart) else 0.0
        else:
            for i in range(LEAF):
                u = max(1.0 - psi[i] * scale / reach, 0.0)
                phi[i], lower = powers(kernel, u if psi[i] > apart else 0.0)
                psi[i] = slope * lower
        for i in range(LEAF):
            peak = max(peak, phi[i])
        kept = 0
        for i in range(LEAF):
            places[kept] = i
            kept += 1 if phi[i] > 0.0 else 0
        for j in range(dim):
            for m in range(kept):
                near[j, count + m] = blocks[leaf, j, places[m]] - point[j]
        for m in range(kept):
            i = places[m]
            near[dim, count + m] = phi[i] * weights[leaf, i]
            squares += phi[i] * phi[i] * weights[leaf, i]
            if slopes is not None and kernel != GAUSSIAN:
                near[dim + 1, count + m] = psi[i] * weights[leaf, i]
        count += kept
    # Padded to whole leaves with zero weights: loops of a known length are several times as fast.
    while count % LEAF > 0:
        for j in range(near.shape[0]):
            near[j, count] = 0.0
        count += 1
    return count, peak, squares
