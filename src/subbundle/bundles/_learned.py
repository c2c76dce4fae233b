"""Shared by bundles: checks of arguments, gaps, mean shifts of observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle._validation import as_real
from subbundle.bundles.tuning import SHIFTS

# Means [n, d], log kernel masses [n] and effective numbers of neighbours [n].
Shifted = tuple[FloatArray, FloatArray, FloatArray]


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


def mean_shifted(first: Shifted, mean_shift: Callable[[FloatArray], Shifted]) -> Shifted:
    """Points after a few steps of the mean shift, with log masses and effective neighbours.

    ``first`` is the ``mean_shift`` of observations without their own weight: in high dimension an observation is
    isolated by its noise, and its kernel mass is not that on the ridge.
    """
    mean, log_mass, effective = first
    for _ in range(SHIFTS):
        finite = np.flatnonzero(np.isfinite(mean).all(axis=1))
        log_mass, effective = np.full(len(mean), -np.inf), np.zeros(len(mean))
        if finite.size:
            mean[finite], log_mass[finite], effective[finite] = mean_shift(mean[finite])
    return mean, log_mass, effective


def typical_around(marks: FloatArray, shifted: FloatArray, log_mass: FloatArray, smoothing: float) -> FloatArray:
    """Typical log masses [m] at landmarks [m, w] from those at ``shifted`` [n, w]: means as those of a
    `LocalBandwidth`, with its ``smoothing``."""
    squared = np.square(marks[:, None] - shifted).sum(axis=2)
    weights = np.exp(-0.5 * (squared - squared.min(axis=1, keepdims=True)) / smoothing**2)
    return np.asarray(weights @ log_mass / weights.sum(axis=1))
