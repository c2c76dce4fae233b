"""Numba loops of tiled meshes: seeds blended on a brick of the grid, and sums over near and far sources."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._types import FloatArray, IntArray


@kernel
def blend(
    places: FloatArray, normals: FloatArray, areas: FloatArray, values: FloatArray, reach: float, sums: FloatArray,
) -> None:  # fmt: skip
    """``sums`` [X, Y, Z, 4] over the seeds within ``reach`` R of every grid point of a brick: of A, A h, A h² and A v.

    ``places`` [n, 3] are in cells of the brick, and may lie outside of it; A are ``areas`` [n], v ``values`` [n] and h
    heights over the planes of the seeds, weighted by (1 − r²/R²)⁴. Sums follow the order of the seeds alone.
    """
    nx, ny, nz, _ = sums.shape
    scale = 1.0 / (reach * reach)
    for n in range(places.shape[0]):
        p0, p1, p2 = places[n, 0], places[n, 1], places[n, 2]
        n0, n1, n2, area, v = normals[n, 0], normals[n, 1], normals[n, 2], areas[n], values[n]
        for a in range(max(int(np.ceil(p0 - reach)), 0), min(int(np.floor(p0 + reach)) + 1, nx)):
            x = a - p0
            for b in range(max(int(np.ceil(p1 - reach)), 0), min(int(np.floor(p1 + reach)) + 1, ny)):
                y = b - p1
                far = 1.0 - (x * x + y * y) * scale
                if far <= 0.0:
                    continue
                over = n0 * x + n1 * y
                for c in range(max(int(np.ceil(p2 - reach)), 0), min(int(np.floor(p2 + reach)) + 1, nz)):
                    z = c - p2
                    q = far - z * z * scale
                    if q > 0.0:
                        q = area * (q * q) * (q * q)
                        h = over + n2 * z
                        sums[a, b, c, 0] += q
                        sums[a, b, c, 1] += q * h
                        sums[a, b, c, 2] += q * h * h
                        sums[a, b, c, 3] += q * v


@kernel
def far_nodes(keys: IntArray, block: IntArray, top: int, shift: int, out: IntArray) -> int:
    """Rows of the nodes that stand for all that is not next to ``block`` [3], into ``out``; how many there are.

    At each level of halving these are the children of the parent's neighbours that are not neighbours themselves.
    ``keys`` are sorted: cell numbers of ``shift`` bits, first axis first, and four bits for the level.
    """
    count, half = 0, 1 << (shift - 1)
    for level in range(top):
        b0, b1, b2 = block[0] >> level, block[1] >> level, block[2] >> level
        p0, p1, p2 = 2 * (b0 >> 1), 2 * (b1 >> 1), 2 * (b2 >> 1)
        for i in range(p0 - 2, p0 + 4):
            for j in range(p1 - 2, p1 + 4):
                # Along the last axis cells follow each other, but for those of other levels.
                line = ((i + half) << (2 * shift)) | ((j + half) << shift)
                row = np.searchsorted(keys, ((line | (p2 - 2 + half)) << 4))
                end = ((line | (p2 + 3 + half)) << 4) | 15
                while row < keys.shape[0] and keys[row] <= end:
                    if keys[row] & 15 == level:
                        k = ((keys[row] >> 4) & ((1 << shift) - 1)) - half
                        if max(abs(i - b0), abs(j - b1), abs(k - b2)) > 1:
                            out[count] = row
                            count += 1
                    row += 1
    return count


@kernel
def sum_sources(
    targets: FloatArray, begins: IntArray, cells: IntArray, seeds: FloatArray, fine: FloatArray, fine_cells: IntArray,
    fine_ends: IntArray, near_fine: IntArray, coarse: FloatArray, coarse_cells: IntArray, near_coarse: IntArray,
    far: FloatArray, soft: float, side: float, out: FloatArray,
) -> None:  # fmt: skip
    """4π w at ``targets`` [3, t], in groups between ``begins`` [g + 1], each in one of ``cells`` [g, 3] of ``side``.

    Sources [n, 6] are places and moments: single ``seeds``, ``fine`` blocks as wide as the cells, ``coarse`` ones of
    twice that, and ``far`` ones. Of the blocks those in the ranges ``near_…`` [r, 2] count. The seeds of a fine block
    are those between its ``fine_ends`` [n, 2]. The sums of a target follow the order of the sources; they are in
    single precision from the middle of the cell, where twice as many fit into a register and roots take half as long.
    """
    most = far.shape[0]
    for r in range(near_fine.shape[0]):
        most += near_coarse[r, 1] - near_coarse[r, 0]
        for n in range(near_fine[r, 0], near_fine[r, 1]):
            most += 1 + fine_ends[n, 1] - fine_ends[n, 0]
    chosen, widest = np.empty((most, 6), np.float32), 0
    for g in range(cells.shape[0]):
        widest = max(widest, begins[g + 1] - begins[g])
    local, sums, small = np.empty((3, widest), np.float32), np.empty(widest, np.float32), np.float32(soft)
    middle = np.empty(3)
    for g in range(cells.shape[0]):
        t0, t1, t2 = cells[g, 0], cells[g, 1], cells[g, 2]
        h0, h1, h2 = t0 >> 1, t1 >> 1, t2 >> 1
        first, size, count = begins[g], begins[g + 1] - begins[g], 0
        for k in range(3):
            middle[k] = side * (cells[g, k] + 0.5)
            for t in range(size):
                local[k, t] = targets[k, first + t] - middle[k]
        for r in range(near_fine.shape[0]):
            for n in range(near_fine[r, 0], near_fine[r, 1]):
                c0, c1, c2 = fine_cells[n, 0], fine_cells[n, 1], fine_cells[n, 2]
                if max(abs(c0 - t0), abs(c1 - t1), abs(c2 - t2)) <= 1:
                    for m in range(fine_ends[n, 0], fine_ends[n, 1]):
                        _put(seeds, m, middle, chosen, count)
                        count += 1
                elif max(abs((c0 >> 1) - h0), abs((c1 >> 1) - h1), abs((c2 >> 1) - h2)) <= 1:
                    _put(fine, n, middle, chosen, count)
                    count += 1
        for r in range(near_coarse.shape[0]):
            for n in range(near_coarse[r, 0], near_coarse[r, 1]):
                c0, c1, c2 = coarse_cells[n, 0], coarse_cells[n, 1], coarse_cells[n, 2]
                if max(abs(c0 - h0), abs(c1 - h1), abs(c2 - h2)) > 1:
                    _put(coarse, n, middle, chosen, count)
                    count += 1
        for n in range(far.shape[0]):
            _put(far, n, middle, chosen, count + n)
        count += far.shape[0]
        for t in range(size):
            sums[t] = 0.0
        for n in range(count):
            s0, s1, s2 = chosen[n, 0], chosen[n, 1], chosen[n, 2]
            m0, m1, m2 = chosen[n, 3], chosen[n, 4], chosen[n, 5]
            for t in range(size):
                x, y, z = s0 - local[0, t], s1 - local[1, t], s2 - local[2, t]
                q = x * x + y * y + z * z
                sums[t] += (x * m0 + y * m1 + z * m2) / np.sqrt(q * q * q + small)
        for t in range(size):
            out[first + t] = sums[t]


@kernel
def _put(sources: FloatArray, n: int, middle: FloatArray, chosen: FloatArray, at: int) -> None:
    for k in range(3):
        chosen[at, k] = sources[n, k] - middle[k]
        chosen[at, k + 3] = sources[n, k + 3]
