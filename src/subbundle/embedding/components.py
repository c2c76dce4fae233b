"""Principal components of a table without those of noise alone.

Isotropic noise has equal variance in all directions; a manifold of low dimension in few of them. Of n
observations of noise in p dimensions, γ = p/n, the eigenvalues of the covariance reach up to s² (1 + √γ)², and their
second and third moments are s⁴ (1 + γ) and s⁶ (1 + 3γ + γ²). If at least half of the eigenvalues form such a tail, it
is attributed to noise and left out: neighbourhoods and distances are then those of the signal. Spectra of images have
no such tail; there only the components of the last 1e-5 of the variance are left out: no distance changes by more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle._validation import as_choice, as_integer
from subbundle.embedding import tuning
from subbundle.selection.components import Components, all_components, first_components
from subbundle.selection.tuning import UNNOTICED


def kept_components(points: FloatArray, rank: int, reduce_dim: int | str | None) -> Components:
    """The components of ``points`` [n, d] for a manifold of dimension ``rank``; at least one more than that."""
    count, dim = points.shape
    if reduce_dim is None or (str(reduce_dim) == "auto" and dim <= tuning.FEW_FEATURES):
        found = all_components(points)
    elif isinstance(reduce_dim, str):
        as_choice(reduce_dim, "reduce_dim", ("auto",))
        found = first_components(points, max(_components_above_noise(points), min(rank + 1, count, dim)))
    else:
        number = as_integer(reduce_dim, "reduce_dim", low=rank + 1, high=min(count, dim), why="or 'auto', or None")
        found = first_components(points, number)
    missing = rank + 1 - found.axes.shape[1]
    if missing <= 0:
        return found
    # A manifold of full dimension is flat in a space of one dimension more.
    return Components(found.mean, np.pad(found.axes, ((0, 0), (0, missing))), found.noise)


def _components_above_noise(points: FloatArray) -> int:
    """Number of components above the noise, or above a negligible fraction of the variance."""
    count, dim = points.shape
    offsets = points - points.mean(axis=0)
    gram: Any = offsets.T @ offsets if dim <= count else offsets @ offsets.T
    values = np.maximum(np.linalg.eigvalsh(gram)[::-1], 0.0) / count
    values = values[: min(count - 1, dim)]
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
