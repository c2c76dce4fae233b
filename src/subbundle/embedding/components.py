"""Principal components of a table without those of noise alone.

Isotropic noise has equal variance in all directions; a manifold of low dimension in few of them. Of n
observations of noise in p dimensions, γ = p/n, the eigenvalues of the covariance reach up to s² (1 + √γ)², and their
second and third moments are s⁴ (1 + γ) and s⁶ (1 + 3γ + γ²). If at least half of the eigenvalues form such a tail, it
is attributed to noise and left out: neighbourhoods and distances are then those of the signal. Spectra of images have
no such tail; there only the components of the last 1e-5 of the variance are left out: no distance changes by more.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray
from subbundle.embedding import tuning
from subbundle.local.frames import leading_directions
from subbundle.selection.components import Spectrum
from subbundle.selection.tuning import UNNOTICED


def above_flat_tail(spectrum: Spectrum) -> int:
    """Number of components above the noise, or above a negligible fraction of the variance."""
    count, dim = spectrum.rows.shape
    values = spectrum.values[: min(count - 1, dim)]
    left = np.cumsum(values[::-1])[::-1]
    for kept in range(1, len(values) // 2 + 1):
        size, ratio = dim - kept, (dim - kept) / count
        floor = left[kept] / size
        if values[kept] <= (1.0 + UNNOTICED) * floor * (1.0 + np.sqrt(ratio)) ** 2:
            second, third = (np.sum((values[kept:] / max(floor, 1e-300)) ** power) / size for power in (2, 3))
            # The relative error of a moment is that of the variance times its order.
            flat = abs(second / (1.0 + ratio) - 1.0) < 2.0 * UNNOTICED
            flat &= abs(third / (1.0 + 3.0 * ratio + ratio**2) - 1.0) < 3.0 * UNNOTICED
            if flat and floor > 1e-12 * values[0]:
                return kept
            break
    return int(np.count_nonzero(left > tuning.TRACE_OF_VARIANCE * left[0]))


def onto_principal_components(points: FloatArray, masses: FloatArray, queries: FloatArray, rank: int) -> FloatArray:
    """``queries`` [q, D] projected to the k leading principal components of ``points`` [n, D] with weights ``masses``
    [n]."""
    mean = masses @ points / masses.sum()
    axes = leading_directions((np.sqrt(masses)[:, None] * (points - mean))[None], rank)[0]
    return np.asarray(mean + (queries - mean) @ axes.T @ axes)


def principal_motion(positions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rotation [k, k] and centre [k] with (z − centre) @ rotation along the principal axes, longest first."""
    centre = positions.mean(axis=0)
    centred = positions - centre
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    # The sign of an axis is that of positive skewness; for symmetric data that of the eigenvector.
    return axes * np.where(np.sum((centred @ axes) ** 3, axis=0) < 0.0, -1.0, 1.0), centre
