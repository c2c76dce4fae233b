"""Numba loops of tiled meshes: seeds blended on a brick of the grid, and sums over near and far sources."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._types import FloatArray, IntArray


@kernel
def blend(
    places: FloatArray, normals: FloatArray, areas: FloatArray, values: FloatArray, reach: float, height: FloatArray,
    value: FloatArray, weight: FloatArray,
) -> None:  # fmt: skip
    """Sums over the seeds within ``reach`` R of every grid point of a brick [X, Y, Z]: of A h, A v and A.

    ``places`` [n, 3] are in cells of the brick, and may lie outside of it; A are ``areas`` [n], v ``values`` [n] and h
    heights over the planes of the seeds, weighted by (1 − r²/R²)⁴. Sums follow the order of the seeds alone.
    """
    nx, ny, nz = weight.shape
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
                        height[a, b, c] += q * (over + n2 * z)
                        value[a, b, c] += q * v
                        weight[a, b, c] += q


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
    fine_ends: IntArray, coarse: FloatArray, coarse_cells: IntArray, far: FloatArray, soft: float, out: FloatArray,
) -> None:  # fmt: skip
    """4π w at ``targets`` [3, t], in groups between ``begins`` [g + 1], each in one of ``cells`` [g, 3].

    Sources [n, 6] are places and moments: single ``seeds``, ``fine`` blocks as wide as the cells, ``coarse`` ones of
    twice that, and ``far`` ones. The seeds of a fine block are those between its ``fine_ends`` [n, 2]. The sums of a
    target follow the order of the sources.
    """
    most = fine.shape[0] + coarse.shape[0] + far.shape[0]
    for n in range(fine.shape[0]):
        most += fine_ends[n, 1] - fine_ends[n, 0]
    chosen = np.empty((most, 6))
    for g in range(cells.shape[0]):
        t0, t1, t2 = cells[g, 0], cells[g, 1], cells[g, 2]
        h0, h1, h2 = t0 >> 1, t1 >> 1, t2 >> 1
        count = 0
        for n in range(fine.shape[0]):
            c0, c1, c2 = fine_cells[n, 0], fine_cells[n, 1], fine_cells[n, 2]
            if max(abs(c0 - t0), abs(c1 - t1), abs(c2 - t2)) <= 1:
                for m in range(fine_ends[n, 0], fine_ends[n, 1]):
                    chosen[count] = seeds[m]
                    count += 1
            elif max(abs((c0 >> 1) - h0), abs((c1 >> 1) - h1), abs((c2 >> 1) - h2)) <= 1:
                chosen[count] = fine[n]
                count += 1
        for n in range(coarse.shape[0]):
            if max(abs(coarse_cells[n, 0] - h0), abs(coarse_cells[n, 1] - h1), abs(coarse_cells[n, 2] - h2)) > 1:
                chosen[count] = coarse[n]
                count += 1
        for n in range(far.shape[0]):
            chosen[count] = far[n]
            count += 1
        first, last = begins[g], begins[g + 1]
        tx, ty, tz, sums = targets[0, first:last], targets[1, first:last], targets[2, first:last], out[first:last]
        for n in range(count):
            s0, s1, s2 = chosen[n, 0], chosen[n, 1], chosen[n, 2]
            m0, m1, m2 = chosen[n, 3], chosen[n, 4], chosen[n, 5]
            for t in range(sums.shape[0]):
                x, y, z = s0 - tx[t], s1 - ty[t], s2 - tz[t]
                q = x * x + y * y + z * z
                sums[t] += (x * m0 + y * m1 + z * m2) / np.sqrt(q * q * q + soft)
