"""What bundles share: checks of arguments, signs of eigenvectors, observations moved into the middle of the cloud."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle._validation import as_real
from subbundle.bundles.tuning import SHIFTS

# Means [n, d], log kernel masses [n] and effective numbers of neighbours [n].
Seen = tuple[FloatArray, FloatArray, FloatArray]


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


def middle_from(first: Seen, mean_shift: Callable[[FloatArray], Seen]) -> Seen:
    """Move points into the middle of the cloud by a few steps of the mean shift.

    ``first`` is the ``mean_shift`` of observations that are left out themselves: in high dimension an observation
    stands alone on its own noise, and its kernel mass is not that where geodesics run.
    """
    mean, log_mass, effective = first
    for _ in range(SHIFTS):
        alive = np.flatnonzero(np.isfinite(mean).all(axis=1))
        log_mass, effective = np.full(len(mean), -np.inf), np.zeros(len(mean))
        if alive.size:
            mean[alive], log_mass[alive], effective[alive] = mean_shift(mean[alive])
    return mean, log_mass, effective


def typical_around(marks: FloatArray, middle: FloatArray, log_mass: FloatArray, smoothing: float) -> FloatArray:
    """Typical log masses [m] around landmarks [m, w], of points in the ``middle`` [n, w] of the cloud: means as those
    of a `LocalBandwidth`, with its ``smoothing``."""
    squared = np.square(marks[:, None] - middle).sum(axis=2)
    weights = np.exp(-0.5 * (squared - squared.min(axis=1, keepdims=True)) / smoothing**2)
    return np.asarray(weights @ log_mass / weights.sum(axis=1))
