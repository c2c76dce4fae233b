"""Kernel weights of the observations in the leaves that a ball meets."""

from __future__ import annotations

from subbundle._compiled import kernel
from subbundle.cloud.build import LEAF
from subbundle.cloud.search import leaves_within, nearest_sq
from subbundle.kernels import GAUSSIAN, TOO_FAR, exp_minus, powers
from subbundle.local.settings import COMMON
from subbundle.local.tuning import FAINT


@kernel
def profile(kernel, phi, psi):
    """The array that holds φ_n."""
    return psi if kernel == GAUSSIAN else phi


@kernel
def weigh(tree, point, bandwidth, kernel, reach, apart, cases, found, phi, psi):
    """Find the neighbours of ``point`` and write their weights leaf by leaf.

    Parameters
    ----------
    tree : (blocks, weights, boxes, corners, n_points)
    kernel, reach : int, float
        Power of a compact profile, or `GAUSSIAN`, and t at which it ends, for the Gaussian beyond that of the nearest.
    apart : float
        Observations no further than this (squared) are left out; −1 keeps all, 0 leaves out the point itself.
    cases : COMMON or ALL
        COMMON in three dimensions with a compact kernel.
    found : [leaves] int64, phi, psi : [leaves, LEAF]
        Scratch. The first ``count`` entries are filled: leaf numbers, ψ_n = −2 φ′_n of their points, and φ_n, but
        only for compact kernels: the Gaussian's is ψ_n itself (see `profile`).

    Returns
    -------
    count : int
        How many leaves were found; 0 when no observation is in reach.
    shift : float
        t of the nearest observation for the Gaussian (its φ is relative to that one), else 0.
    """
    blocks, _, boxes, _, n_points = tree
    count, shift = 0, 0.0
    if kernel != GAUSSIAN or apart < 0.0:
        # On the data the nearest observation is so near that it need not be looked for.
        count = _fill(tree, point, bandwidth, kernel, reach, 0.0, cases, found, phi, psi)
    if cases is not COMMON and kernel == GAUSSIAN and _largest(count, psi) < FAINT:
        near = nearest_sq(blocks, boxes, n_points, point, apart)
        if not near < TOO_FAR * bandwidth * bandwidth:
            return 0, 0.0
        shift = near / (bandwidth * bandwidth)
        count = _fill(tree, point, bandwidth, kernel, reach, near, cases, found, phi, psi)
    if apart >= 0.0:
        _leave_out(blocks, found, count, point, apart, phi, psi)
    return count, shift


@kernel
def _fill(tree, point, bandwidth, kernel, reach, near, cases, found, phi, psi):
    """Find the leaves in reach, ``near`` being the squared distance that counts as zero, and write their weights."""
    blocks = tree[0]
    count = leaves_within(tree[2], tree[3], blocks.shape[0], point, near + reach * bandwidth * bandwidth, found)
    scale = 1.0 / (bandwidth * bandwidth)
    if cases is not COMMON and kernel == GAUSSIAN and point.size == 3:
        _gaussian3(blocks, found, count, point, scale, near * scale, reach, psi)
        return count
    _squared_distances(blocks, found, count, point, psi)
    if cases is not COMMON and kernel == GAUSSIAN:
        _gaussian(count, scale, near * scale, reach, psi)
        return count
    _compact(count, kernel, scale / reach, 2.0 * kernel / reach, phi, psi)
    return count


# Only finite numbers reach these loops, so the compiler may assume it; that is what lets it vectorise the comparisons.
# They index whole arrays: a view of a leaf would count its references, and threads would wait for one another.


@kernel(fastmath=True)
def _gaussian3(blocks, found, count, point, scale, shift, reach, psi):
    """ψ = φ = exp(−(t − shift)/2), zero beyond the reach; unrolled, as this is half of the time of a field."""
    p0, p1, p2 = point[0], point[1], point[2]
    for c in range(count):
        leaf = found[c]
        for i in range(LEAF):
            y0, y1, y2 = blocks[leaf, 0, i] - p0, blocks[leaf, 1, i] - p1, blocks[leaf, 2, i] - p2
            t = (y0 * y0 + y1 * y1 + y2 * y2) * scale - shift
            value = exp_minus(0.5 * max(min(t, reach), 0.0))
            psi[c, i] = value if t < reach else 0.0


@kernel(fastmath=True)
def _largest(count, psi):
    peak = 0.0
    for c in range(count):
        for i in range(LEAF):
            peak = max(peak, psi[c, i])
    return peak


@kernel(fastmath=True)
def _squared_distances(blocks, found, count, point, out):
    for c in range(count):
        leaf = found[c]
        for i in range(LEAF):
            out[c, i] = 0.0
        for j in range(point.size):
            for i in range(LEAF):
                offset = blocks[leaf, j, i] - point[j]
                out[c, i] += offset * offset


@kernel(fastmath=True)
def _gaussian(count, scale, shift, reach, psi):
    """Turn squared distances in ``psi`` into ψ = φ = exp(−(t − shift)/2), zero beyond the reach."""
    for c in range(count):
        for i in range(LEAF):
            t = psi[c, i] * scale - shift
            value = exp_minus(0.5 * max(min(t, reach), 0.0))
            psi[c, i] = value if t < reach else 0.0


@kernel(fastmath=True)
def _compact(count, power, scale, slope, phi, psi):
    """Turn squared distances in ``psi`` into φ = u^m and ψ = ``slope`` u^(m − 1) with u = max(1 − t/R², 0)."""
    for c in range(count):
        for i in range(LEAF):
            phi[c, i], lower = powers(power, max(1.0 - psi[c, i] * scale, 0.0))
            psi[c, i] = slope * lower


@kernel
def _leave_out(blocks, found, count, point, apart, phi, psi):
    for c in range(count):
        for i in range(LEAF):
            total = 0.0
            for j in range(point.size):
                total += (blocks[found[c], j, i] - point[j]) ** 2
            if total <= apart:
                phi[c, i] = 0.0
                psi[c, i] = 0.0


@kernel
def weigh_by_distance(blocks, found, count, point, nearest, weights, out):
    """Write w_n (|x_n − p|² − ``nearest``) into ``out``, for the derivative of the weights by the bandwidth."""
    _squared_distances(blocks, found, count, point, out)
    for c in range(count):
        for i in range(LEAF):
            out[c, i] = weights[c, i] * (out[c, i] - nearest)
