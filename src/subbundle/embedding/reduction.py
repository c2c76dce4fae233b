"""The principal components in which a table is worked on: all but flat noise, or all but a last trace of variance.

Isotropic noise fills all directions evenly; a shape takes few of them. Of n observations of noise in p dimensions, γ =
p/n, the eigenvalues of the covariance reach up to s² (1 + √γ)², and their second and third moments are s⁴ (1 + γ) and
s⁶ (1 + 3γ + γ²). If at least half of the eigenvalues form a tail that is so, the tail is noise and is left out:
neighbourhoods and distances are then those of the shape. Spectra of images have no such tail; there only the components
that hold the last 1e-5 of the variance go, which moves no distance by more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle._validation import as_choice, as_integer
from subbundle.selection.components import MARGIN, Components, all_components, first_components

# Up to so many features nothing is left out: a floor of noise cannot be seen in so few.
_FEW_FEATURES = 8
# Margin of the two moments, and the fraction of the variance that may go in any case.
_MOMENT, _TRACE = 0.1, 1e-5


def kept_components(points: FloatArray, rank: int, reduce_dim: int | str | None) -> Components:
    """The components of ``points`` [n, d] for a shape of dimension ``rank``; at least one more than that."""
    count, dim = points.shape
    if reduce_dim is None or (str(reduce_dim) == "auto" and dim <= _FEW_FEATURES):
        found = all_components(points)
    elif isinstance(reduce_dim, str):
        as_choice(reduce_dim, "reduce_dim", ("auto",))
        found = first_components(points, max(_telling(points), min(rank + 1, count, dim)))
    else:
        number = as_integer(reduce_dim, "reduce_dim", low=rank + 1, high=min(count, dim), why="or 'auto', or None")
        found = first_components(points, number)
    missing = rank + 1 - found.axes.shape[1]
    if missing <= 0:
        return found
    # A shape that fills its space lies flat in a space of one dimension more.
    return Components(found.mean, np.pad(found.axes, ((0, 0), (0, missing))), found.noise)


def _telling(points: FloatArray) -> int:
    """How many components are more than noise, or than a trace."""
    count, dim = points.shape
    offsets = points - points.mean(axis=0)
    gram: Any = offsets.T @ offsets if dim <= count else offsets @ offsets.T
    values = np.maximum(np.linalg.eigvalsh(gram)[::-1], 0.0) / count
    values = values[: min(count - 1, dim)]
    left = np.cumsum(values[::-1])[::-1]
    for kept in range(1, len(values) // 2 + 1):
        size, ratio = dim - kept, (dim - kept) / count
        floor = left[kept] / size
        if values[kept] <= MARGIN * floor * (1.0 + np.sqrt(ratio)) ** 2:
            second, third = (np.sum((values[kept:] / max(floor, 1e-300)) ** power) / size for power in (2, 3))
            flat = abs(second / (1.0 + ratio) - 1.0) < _MOMENT
            flat &= abs(third / (1.0 + 3.0 * ratio + ratio**2) - 1.0) < _MOMENT
            if flat and floor > 1e-12 * values[0]:
                return kept
            break
    return int(np.count_nonzero(left > _TRACE * left[0]))
