"""Numba loops over points in the cells of a grid: their keys, the order of these, and sums over a cell."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel

# Offsets inside a cell are rounded to this fraction of its side.
FINE = 2.0**30


@kernel
def number_cells(points, origin, side, keys):
    """Write the key of the cell of every point; return how many cells there are along the longest side."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for n in range(points.shape[0]):
        for j in range(3):
            cell = np.floor((points[n, j] - origin[j]) / side)
            low[j], high[j] = min(low[j], cell), max(high[j], cell)
    for n in range(points.shape[0]):
        keys[n] = 0
        for j in range(3):
            cell = np.floor((points[n, j] - origin[j]) / side)
            keys[n] = keys[n] * int(high[j] - low[j] + 1.0) + int(cell - low[j])
    return max(high[0] - low[0], high[1] - low[1], high[2] - low[2]) + 1.0


@kernel
def sum_cells(points, weights, origin, side, keys, order, corners, sums):
    """Corners of the cells and Σ of offsets and of weights of the points in each; ``order`` sorts ``keys``."""
    count, before = -1, -1
    for n in order:
        if keys[n] != before:
            before, count = keys[n], count + 1
            for j in range(4):
                sums[count, j] = 0.0
        for j in range(3):
            scaled = (points[n, j] - origin[j]) / side
            corners[count, j] = np.floor(scaled)
            sums[count, j] += np.rint((scaled - corners[count, j]) * FINE) * weights[n]
        sums[count, 3] += weights[n]
    return count + 1


@kernel
def sort_digits(keys, order, spare):
    """Sort by eleven bits after the other, the lowest first: a fifth of the time of comparing."""
    most, shift = 0, 0
    for n in range(keys.size):
        most = max(most, keys[n])
    while most >> shift > 0:
        place = np.zeros(2049, np.int64)
        for n in range(keys.size):
            place[1 + (keys[n] >> shift & 2047)] += 1
        for digit in range(2048):
            place[digit + 1] += place[digit]
        for n in order:
            digit = keys[n] >> shift & 2047
            spare[place[digit]] = n
            place[digit] += 1
        order, spare = spare, order
        shift += 11
    return order
