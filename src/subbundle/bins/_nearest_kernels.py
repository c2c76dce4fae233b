"""Numba loops over bins: a counting sort of points into bins, and nearest neighbours from the surrounding bins."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel

# Largest number of bins searched on either side of a query.
_FURTHEST = 3
# Fraction of a side by which rounding may put a point into a neighbouring bin.
_ROUNDING = 1e-9


@kernel
def sort_into_bins(points, low, side, shape, first, order, ordered):
    """Write the rows of ``points`` [n, 3] by bin, those of a bin rising, into ``order`` [n], and the points as well.

    The bin (i, j, k) of ``shape`` [3] begins at ``low + side * (i, j, k)`` and has the places from ``first[bin]`` to
    ``first[bin + 1]``, bin = (i ny + j) nz + k; ``first`` is passed filled with zeros. Points
    beyond are in the outermost bins.
    """
    n, size = points.shape[0], first.size
    which = np.empty(n, np.int64)
    for p in range(n):
        i = max(min(int((points[p, 0] - low[0]) / side), shape[0] - 1), 0)
        j = max(min(int((points[p, 1] - low[1]) / side), shape[1] - 1), 0)
        k = max(min(int((points[p, 2] - low[2]) / side), shape[2] - 1), 0)
        which[p] = (i * shape[1] + j) * shape[2] + k
        first[which[p] + 1] += 1
    for b in range(1, size):
        first[b] += first[b - 1]
    # Filled from the last row on: every bin's end is decremented to its beginning.
    for p in range(n - 1, -1, -1):
        first[which[p] + 1] -= 1
        place = first[which[p] + 1]
        order[place] = p
        for axis in range(3):
            ordered[place, axis] = points[p, axis]
    for b in range(size - 1):
        first[b] = first[b + 1]
    first[size - 1] = n


@kernel
def nearest_in_bins(points, order, first, low, side, shape, visited, places, distances, rows):
    """Nearest of the points sorted by `sort_into_bins` to ``places`` [m, 3]: ``distances``, ``rows`` [m, k].

    Places are visited in the order ``visited`` [m], so that neighbours find the same bins in the processor's cache. One
    is done when its k-th neighbour is nearer than all bins not searched; else its last row is −1.
    """
    count = rows.shape[1]
    for m in visited:
        x, y, z = places[m, 0] - low[0], places[m, 1] - low[1], places[m, 2] - low[2]
        i, j, k = int(np.floor(x / side)), int(np.floor(y / side)), int(np.floor(z / side))
        inside = min(_margin(x, i, side), _margin(y, j, side), _margin(z, k, side))
        found = False
        for reach in range(1, _FURTHEST + 1):
            for c in range(count):
                distances[m, c], rows[m, c] = np.inf, -1
            _search_bin(points, order, first, low, side, shape, places, m, i, j, k, reach, distances, rows)
            edge = inside + reach * side
            if distances[m, count - 1] < edge * edge:
                found = True
                break
        for c in range(count):
            distances[m, c] = np.sqrt(distances[m, c])
        if not found:
            rows[m, count - 1] = -1


@kernel
def _margin(x, i, side):
    """Distance from ``x`` to the nearer side of its bin ``i``, with a margin for rounding."""
    return min(x - i * side, (i + 1) * side - x) - _ROUNDING * side


@kernel
def _search_bin(points, order, first, low, side, shape, places, m, i, j, k, reach, best, rows):
    """Sort the points of the bins up to ``reach`` around (i, j, k) into row ``m`` of ``best``, ``rows``, by distance².

    Takes whole arrays, as `cloud.search.box_distance_sq` does.
    """
    begin, end, last = max(k - reach, 0), min(k + reach + 1, shape[2]), rows.shape[1] - 1
    if begin >= end:
        return
    p0, p1, p2 = places[m, 0], places[m, 1], places[m, 2]
    # The column of the query comes first: most of the neighbouring ones are then too far away.
    for s in range(2 * reach + 1):
        a = i + ((s + 1) // 2 if s % 2 else -(s // 2))
        if a < 0 or a >= shape[0]:
            continue
        u = _gap(p0 - low[0], a, side)
        for t in range(2 * reach + 1):
            b = j + ((t + 1) // 2 if t % 2 else -(t // 2))
            if b < 0 or b >= shape[1]:
                continue
            v = _gap(p1 - low[1], b, side)
            if u * u + v * v > best[m, last]:
                continue
            base = (a * shape[1] + b) * shape[2]
            for n in range(first[base + begin], first[base + end]):
                x, y, z = points[n, 0] - p0, points[n, 1] - p1, points[n, 2] - p2
                square, row, c = x * x + y * y + z * z, order[n], last + 1
                while c > 0 and (square < best[m, c - 1] or (square == best[m, c - 1] and row < rows[m, c - 1])):
                    if c <= last:
                        best[m, c], rows[m, c] = best[m, c - 1], rows[m, c - 1]
                    c -= 1
                if c <= last:
                    best[m, c], rows[m, c] = square, row


@kernel
def _gap(x, a, side):
    """Distance from ``x`` to the bins ``a`` of an axis, with a margin for rounding."""
    return max(max(a * side - x, x - (a + 1) * side) - _ROUNDING * side, 0.0)
