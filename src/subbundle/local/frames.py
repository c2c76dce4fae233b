"""Orthonormal bases that begin with given tangents."""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray


def completed(tangents: FloatArray) -> FloatArray:
    """Orthonormal bases [n, d, d] whose first columns are ``tangents`` [n, d, k]; rows of NaN stay NaN."""
    batch, dim, k = tangents.shape
    basis = np.full((batch, dim, dim), np.nan)
    basis[:, :, :k] = tangents
    if (dim, k) == (3, 2):
        basis[:, :, 2] = np.cross(tangents[:, :, 0], tangents[:, :, 1])
        return basis
    known = np.isfinite(tangents).all(axis=(1, 2))
    basis[known, :, k:] = np.linalg.qr(tangents[known], mode="complete")[0][:, :, k:]
    return basis


def beside(normals: FloatArray) -> FloatArray:
    """Orthonormal tangents [n, 3, 2] across unit ``normals`` [n, 3], t_1 × t_2 = n; continuous but at n_3 = 0."""
    x, y, z = normals.T
    sign = np.where(z >= 0.0, 1.0, -1.0)
    s = -1.0 / (sign + z)
    t = x * y * s
    first = np.stack([1.0 + sign * x * x * s, sign * t, -sign * x], axis=1)
    return np.stack([first, np.stack([t, sign + y * y * s, -y], axis=1)], axis=2)
