"""Numba loops of tiled meshes: planes of seeds blended on a brick of the grid, quadrics of centres at vertices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subbundle._compiled import kernel
from subbundle._types import FloatArray, IntArray


@kernel
def blend_planes(
    places: FloatArray, normals: FloatArray, weights: FloatArray, reach: float, field: NDArray[np.float32]
) -> None:
    """Signed distance, in cells, to the planes of the seeds within ``reach`` cells of every grid point, averaged.

    ``places`` [n, 3] are in cells of the brick ``field`` [X, Y, Z], and may lie outside of it. Weights are
    w (1 − r²/R²)⁴; NaN where no seed is near. Sums follow the order of the seeds alone.
    """
    nx, ny, nz = field.shape
    above, below = np.zeros(field.shape), np.zeros(field.shape)
    scale = 1.0 / (reach * reach)
    for n in range(places.shape[0]):
        p0, p1, p2 = places[n, 0], places[n, 1], places[n, 2]
        n0, n1, n2, w = normals[n, 0], normals[n, 1], normals[n, 2], weights[n]
        for a in range(max(int(np.ceil(p0 - reach)), 0), min(int(np.floor(p0 + reach)) + 1, nx)):
            x = a - p0
            for b in range(max(int(np.ceil(p1 - reach)), 0), min(int(np.floor(p1 + reach)) + 1, ny)):
                y = b - p1
                far = 1.0 - (x * x + y * y) * scale
                if far <= 0.0:
                    continue
                height = n0 * x + n1 * y
                for c in range(max(int(np.ceil(p2 - reach)), 0), min(int(np.floor(p2 + reach)) + 1, nz)):
                    z = c - p2
                    q = far - z * z * scale
                    if q > 0.0:
                        q = w * (q * q) * (q * q)
                        above[a, b, c] += q * (height + n2 * z)
                        below[a, b, c] += q
    for a in range(nx):
        for b in range(ny):
            for c in range(nz):
                field[a, b, c] = above[a, b, c] / below[a, b, c] if below[a, b, c] > 0.0 else np.nan


@kernel
def blend_quadrics(
    first: IntArray, near: IntArray, points: FloatArray, normals: FloatArray, centres: FloatArray, frames: FloatArray,
    forms: FloatArray, radii: FloatArray, weights: FloatArray, values: FloatArray, along: float, out: FloatArray,
) -> None:  # fmt: skip
    """Sum at ``points`` [n, 3] the quadrics of the centres ``near[first[i]:first[i + 1]]``, as `surface.blend` does.

    Columns of ``out`` [n, 7 + m] are Σ w, Σ w times the way to the quadric, its normal there, and ``values`` [c, m].
    """
    for i in range(points.shape[0]):
        for place in range(first[i], first[i + 1]):
            k = near[place]
            y0, y1, y2 = points[i, 0] - centres[k, 0], points[i, 1] - centres[k, 1], points[i, 2] - centres[k, 2]
            e = frames[k]
            turn = normals[i, 0] * e[0, 2] + normals[i, 1] * e[1, 2] + normals[i, 2] * e[2, 2]
            if turn <= along:
                continue
            s = y0 * e[0, 0] + y1 * e[1, 0] + y2 * e[2, 0]
            t = y0 * e[0, 1] + y1 * e[1, 1] + y2 * e[2, 1]
            z = y0 * e[0, 2] + y1 * e[1, 2] + y2 * e[2, 2]
            q = 1.0 - (s * s + t * t + z * z) / (radii[k] * radii[k])
            if q <= 0.0:
                continue
            w = weights[k] * q * q
            a, b, c = forms[k, 0], forms[k, 1], forms[k, 2]
            gs, gt = a * s + b * t, b * s + c * t
            # An arc over its tangent: ½ II(τ, τ) · 2/(1 + √(1 − |A τ|²)).
            up = (gs * s + gt * t) / (1.0 + np.sqrt(max(1.0 - gs * gs - gt * gt, 0.1))) - z
            out[i, 0] += w
            for j in range(3):
                out[i, 1 + j] += w * up * e[j, 2]
                out[i, 4 + j] += w * (e[j, 2] - gs * e[j, 0] - gt * e[j, 1])
            for j in range(values.shape[1]):
                out[i, 7 + j] += w * values[k, j]
