"""Numba loops between seeds and a grid: spreading over it, interpolating, local planes; and its Laplacian."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel


@kernel
def splat_divergence(places, vectors, out):
    """Add ∇·V to ``out`` [X, Y, Z], V the ``vectors`` [n, 3] spread trilinearly from ``places`` [n, 3] (in cells).

    Central differences ½ (V(x + 1) − V(x − 1)): V at a grid point contributes to its two neighbours along each axis.
    """
    for n in range(places.shape[0]):
        i, j, k = int(places[n, 0]), int(places[n, 1]), int(places[n, 2])
        x, y, z = places[n, 0] - i, places[n, 1] - j, places[n, 2] - k
        for corner in range(8):
            di, dj, dk = corner & 1, (corner >> 1) & 1, corner >> 2
            w = 0.5 * (x if di else 1.0 - x) * (y if dj else 1.0 - y) * (z if dk else 1.0 - z)
            a, b, c = i + di, j + dj, k + dk
            v0, v1, v2 = w * vectors[n, 0], w * vectors[n, 1], w * vectors[n, 2]
            out[a - 1, b, c] += v0
            out[a + 1, b, c] -= v0
            out[a, b - 1, c] += v1
            out[a, b + 1, c] -= v1
            out[a, b, c - 1] += v2
            out[a, b, c + 1] -= v2


@kernel
def interpolate(grid, places, out):
    """Trilinear values of ``grid`` [X, Y, Z] at ``places`` [n, 3] (in cells) into ``out`` [n]."""
    for n in range(places.shape[0]):
        i, j, k = int(places[n, 0]), int(places[n, 1]), int(places[n, 2])
        x, y, z = places[n, 0] - i, places[n, 1] - j, places[n, 2] - k
        total = 0.0
        for corner in range(8):
            di, dj, dk = corner & 1, (corner >> 1) & 1, corner >> 2
            w = (x if di else 1.0 - x) * (y if dj else 1.0 - y) * (z if dk else 1.0 - z)
            total += w * grid[i + di, j + dj, k + dk]
        out[n] = total


@kernel
def spread(places, values, out):
    """Add ``values`` [n] at ``places`` [n, 3] (in cells) to ``out`` [X, Y, Z]: `interpolate` transposed."""
    for n in range(places.shape[0]):
        i, j, k = int(places[n, 0]), int(places[n, 1]), int(places[n, 2])
        x, y, z = places[n, 0] - i, places[n, 1] - j, places[n, 2] - k
        for corner in range(8):
            di, dj, dk = corner & 1, (corner >> 1) & 1, corner >> 2
            w = (x if di else 1.0 - x) * (y if dj else 1.0 - y) * (z if dk else 1.0 - z)
            out[i + di, j + dj, k + dk] += w * values[n]


@kernel
def laplacian(field, out):
    """6 x − Σ of the six neighbours, on the periodic grid ``field`` [X, Y, Z], into ``out``."""
    nx, ny, nz = field.shape
    for i in range(nx):
        before, after = (i - 1) % nx, (i + 1) % nx
        for j in range(ny):
            left, right = (j - 1) % ny, (j + 1) % ny
            for k in range(nz):
                low, high = (k - 1 if k > 0 else nz - 1), (k + 1 if k + 1 < nz else 0)
                out[i, j, k] = (
                    np.float32(6.0) * field[i, j, k] - field[before, j, k] - field[after, j, k] - field[i, left, k]
                    - field[i, right, k] - field[i, j, low] - field[i, j, high]
                )  # fmt: skip


@kernel
def add_refined(fine, coarse):
    """Add to ``fine`` the trilinear values of ``coarse``, whose cells are twice as wide."""
    line = np.empty(coarse.shape[2], np.float32)
    for i in range(fine.shape[0]):
        i0, x = i // 2, np.float32(0.5) * (i % 2)
        for j in range(fine.shape[1]):
            j0, y = j // 2, np.float32(0.5) * (j % 2)
            for k in range(coarse.shape[2]):
                low = coarse[i0, j0, k] + x * (coarse[i0 + 1, j0, k] - coarse[i0, j0, k])
                high = coarse[i0, j0 + 1, k] + x * (coarse[i0 + 1, j0 + 1, k] - coarse[i0, j0 + 1, k])
                line[k] = low + y * (high - low)
            for k in range(fine.shape[2]):
                fine[i, j, k] += np.float32(0.5) * (line[k // 2] + line[(k + 1) // 2])


@kernel
def local_planes(places, normals, weights, width, band, field, gauge):
    """Signed distance, in cells, to the planes of the seeds within ``band`` cells of every grid point, averaged.

    The sign is local: ``gauge`` [X, Y, Z, 3] points to the side that is positive at a grid point. NaN where no seed is
    near.
    """
    reach = int(np.ceil(band)) + 1
    shape = field.shape
    norm = np.zeros(shape, np.float32)
    for turn in range(2):
        for n in range(places.shape[0]):
            i, j, k = int(places[n, 0]), int(places[n, 1]), int(places[n, 2])
            n0, n1, n2 = normals[n, 0], normals[n, 1], normals[n, 2]
            for a in range(max(i - reach, 0), min(i + reach + 2, shape[0])):
                for b in range(max(j - reach, 0), min(j + reach + 2, shape[1])):
                    for c in range(max(k - reach, 0), min(k + reach + 2, shape[2])):
                        x, y, z = a - places[n, 0], b - places[n, 1], c - places[n, 2]
                        far = x * x + y * y + z * z
                        if far > band * band:
                            continue
                        w = weights[n] * np.exp(-0.5 * far / (width * width))
                        side = gauge[a, b, c, 0] * n0 + gauge[a, b, c, 1] * n1 + gauge[a, b, c, 2] * n2
                        w_signed = -w if side < 0.0 else w
                        if turn == 0:
                            gauge[a, b, c, 0] += w_signed * n0
                            gauge[a, b, c, 1] += w_signed * n1
                            gauge[a, b, c, 2] += w_signed * n2
                        else:
                            field[a, b, c] += w_signed * (n0 * x + n1 * y + n2 * z)
                            norm[a, b, c] += w
    for a in range(shape[0]):
        for b in range(shape[1]):
            for c in range(shape[2]):
                field[a, b, c] = field[a, b, c] / norm[a, b, c] if norm[a, b, c] > 0.0 else np.nan
