"""What bundles do alike with their arguments and eigenvectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle._validation import as_real


def as_pair(points: Any, covectors: Any, dim: int) -> tuple[FloatArray, FloatArray]:
    """Points and covectors as two arrays [batch, dim], or an error."""
    points, covectors = as_real(points, "points"), as_real(covectors, "covectors")
    if points.ndim != 2 or points.shape[1] != dim or covectors.shape != points.shape:
        raise ValueError(
            f"points and covectors must both have shape (batch, {dim}); got {points.shape} and {covectors.shape}. "
            "Repeat the shorter one with np.broadcast_to."
        )
    return points, covectors


def relative_gap(values: FloatArray, rank: int) -> FloatArray:
    """(λ_k − λ_{k+1})/λ_k [batch] of eigenvalues [batch, d]; 1 in full rank, where there is no further eigenvalue."""
    if rank == values.shape[1]:
        return np.ones(len(values))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(values[:, rank - 1] > 0.0, 1.0 - values[:, rank] / values[:, rank - 1], 0.0)


def sign_of_largest(columns: FloatArray) -> FloatArray:
    """±1 [batch, 1, k] that makes the largest entry of each column of [batch, D, k] positive."""
    largest = np.take_along_axis(columns, np.abs(columns).argmax(axis=1, keepdims=True), axis=1)
    return np.where(largest < 0.0, -1.0, 1.0)
