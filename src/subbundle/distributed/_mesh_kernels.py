"""A Numba loop of tiled meshes: planes of seeds blended on a brick of the grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subbundle._compiled import kernel
from subbundle._types import FloatArray


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
