"""Colours and other attributes of the observations at the vertices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import FloatArray
from subbundle.surface import tuning


def check(attributes: Mapping[str, Any] | None, n_points: int) -> dict[str, NDArray[Any]]:
    """The attributes as arrays with one row per point."""
    arrays = {str(name): np.asarray(values) for name, values in (attributes or {}).items()}
    for name, values in arrays.items():
        if values.ndim not in (1, 2) or len(values) != n_points or values.dtype.kind not in "fiub":
            raise ValueError(
                f"attributes[{name!r}] must be numbers with one row per point, {n_points}; got {values.dtype} of shape "
                f"{values.shape}."
            )
    return arrays


def interpolate(
    points: FloatArray, attributes: Mapping[str, NDArray[Any]], vertices: FloatArray, width: float
) -> dict[str, NDArray[Any]]:
    """Attributes at ``vertices`` [n, 3]: Gaussian means, of the given ``width``, over the 8 nearest ``points``.

    Whole numbers other than colours (labels, classes) are those of the nearest point.
    The type of every attribute is kept.
    """
    if not attributes:
        return {}
    count = min(tuning.NEIGHBOURS, len(points))
    far, near = cKDTree(points).query(vertices, k=count)
    far, near = far.reshape(len(vertices), count), near.reshape(len(vertices), count)
    weights = np.exp(-0.5 * (far**2 - far[:, :1] ** 2) / width**2)
    weights /= weights.sum(axis=1, keepdims=True)
    found: dict[str, NDArray[Any]] = {}
    for name, values in attributes.items():
        if values.dtype.kind == "f" or values.dtype == np.uint8:
            mean = np.einsum("nk,nk...->n...", weights, values[near].astype(np.float64))
            found[name] = np.rint(mean).astype(np.uint8) if values.dtype == np.uint8 else mean.astype(values.dtype)
        else:
            found[name] = values[near[:, 0]]
    return found
