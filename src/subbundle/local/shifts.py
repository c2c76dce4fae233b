"""Local means of many points at once, above `BLOCK_DIM` dimensions: every leaf is read once for a block of points.

A point's sums run over the leaves in its reach in their order in memory, whatever the other points of the block are:
its bits do not depend on them. In many dimensions all rows are in reach.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.cloud.build import LEAF
from subbundle.kernels import GAUSSIAN, TOO_FAR, exp_minus, powers
from subbundle.local.moments import FAST
from subbundle.local.moments import log_mass as log_mass_of


@kernel
def local_means(rows, weights, corners, points, widths, kernel, reach, apart, mean, log_mass, effective):
    """Write m(p) [b, d], log Σ w [b] and (Σ w)²/Σ (w²/v) [b] for a block of ``points`` [b, d] with bandwidths [b].

    ``kernel``, ``reach`` and ``apart`` are as in `weigh`. Where no row is in reach the mass is −∞ and ``mean`` stays.
    """
    count, dim = points.shape
    leaves = (rows.shape[0] + LEAF - 1) // LEAF
    away, best, number = np.zeros((count, leaves)), np.empty(count), np.zeros(count, np.int64)
    found, phi = np.full((count, leaves), -1), np.empty((count, leaves, LEAF))
    for b in range(count):
        # The nearest leaf first: its distance bounds the reach of all others.
        best[b] = _distances(rows, _gaps(corners, points, b, away), points, b, apart, phi, 0)
    for leaf in range(leaves):
        for b in range(count):
            if away[b, leaf] < reach * widths[b] ** 2 + (best[b] if kernel == GAUSSIAN else 0.0):
                least = _distances(rows, leaf, points, b, apart, phi, number[b])
                best[b] = min(best[b], least)
                found[b, number[b]] = leaf
                number[b] += 1
    sums, masses = np.zeros((count, dim)), np.zeros(count)
    for b in range(count):
        area = widths[b] ** 2
        shift = best[b] / area if kernel == GAUSSIAN else 0.0
        squares = 0.0
        if best[b] < TOO_FAR * area:
            masses[b], squares = _weigh(phi, weights, found, b, number[b], 1.0 / area, shift, kernel, reach)
        log_mass[b] = log_mass_of(masses[b], shift)
        effective[b] = masses[b] ** 2 / squares if masses[b] > 0.0 else 0.0
        number[b] = 0
    for leaf in range(leaves):
        for b in range(count):
            if number[b] < leaves and found[b, number[b]] == leaf:
                _add(rows, leaf, phi, b, number[b], sums)
                number[b] += 1
    for b in range(count):
        for j in range(dim if masses[b] > 0.0 else 0):
            mean[b, j] = sums[b, j] / masses[b]


@kernel(fastmath=FAST)
def _gaps(corners, points, b, away):
    """Add the squared distances to the boxes of the leaves to ``away``[b]; the nearest leaf."""
    for j in range(points.shape[1]):
        p = points[b, j]
        for leaf in range(away.shape[1]):
            gap = max(max(corners[0, j, leaf] - p, p - corners[1, j, leaf]), 0.0)
            away[b, leaf] += gap * gap
    nearest = 0
    for leaf in range(away.shape[1]):
        nearest = leaf if away[b, leaf] < away[b, nearest] else nearest
    return nearest


@kernel(fastmath=FAST)
def _distances(rows, leaf, points, b, apart, out, slot):
    """Write the squared distances to the rows of a leaf into ``out``[b, slot], infinite up to ``apart``; the least."""
    least = np.inf
    for i in range(LEAF):
        n = leaf * LEAF + i
        total = np.inf
        if n < rows.shape[0]:
            total = 0.0
            for j in range(points.shape[1]):
                offset = rows[n, j] - points[b, j]
                total += offset * offset
            total = total if total > apart else np.inf
        out[b, slot, i] = total
        least = min(least, total)
    return least


@kernel(fastmath=FAST)
def _weigh(phi, weights, found, b, number, scale, shift, kernel, reach):
    """Replace squared distances by w = v φ; Σ w and Σ w²/v."""
    mass, squares = 0.0, 0.0
    for c in range(number):
        leaf = found[b, c]
        for i in range(LEAF):
            t = phi[b, c, i] * scale - shift
            inside = max(min(t, reach), 0.0)
            value = exp_minus(0.5 * inside) if kernel == GAUSSIAN else powers(kernel, 1.0 - inside / reach)[0]
            value = value if t < reach else 0.0
            w = value * weights[leaf, i]
            phi[b, c, i] = w
            mass += w
            squares += value * w
    return mass, squares


@kernel(fastmath=FAST)
def _add(rows, leaf, phi, b, slot, sums):
    """Add Σ w_n x_n over a leaf to ``sums``[b], four rows for each time that these are read and written."""
    last = rows.shape[0] - 1
    for i in range(0, LEAF, 4):
        n = leaf * LEAF + i
        n0, n1, n2, n3 = min(n, last), min(n + 1, last), min(n + 2, last), min(n + 3, last)
        w0, w1, w2, w3 = phi[b, slot, i], phi[b, slot, i + 1], phi[b, slot, i + 2], phi[b, slot, i + 3]
        for j in range(sums.shape[1]):
            sums[b, j] += (w0 * rows[n0, j] + w1 * rows[n1, j]) + (w2 * rows[n2, j] + w3 * rows[n3, j])
