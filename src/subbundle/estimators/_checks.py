"""Checks that the estimators share."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from subbundle._types import FloatArray, SubbundleWarning
from subbundle._validation import tabular

# Fraction of the points that may lie outside all charts before it is worth a warning.
FEW = 0.02


def check_rank(rank: int, name: str, X: FloatArray) -> None:
    """Raise when the features of ``X`` [n, d] have no room for ``rank`` dimensions; warn when they have no more than
    that."""
    dim = X.shape[1]
    if rank > dim:
        raise ValueError(
            f"{name} must be below the number of features; got {name}={rank} and n_features={dim}. "
            f"Use {name}={dim - 1} or less."
        )
    if rank == dim:
        warnings.warn(
            f"{name}={rank} is the number of features: there is nothing to reduce, and the geometry is that of the "
            f"plain Euclidean space. Use {name}={dim - 1} or less for a shape inside it.",
            SubbundleWarning,
            stacklevel=3,
        )


def checked_coordinates(estimator: Any, X: Any) -> FloatArray:
    """``X`` [n, k], coordinates of a fitted ``estimator``; NaN stands for a point that has none and stays NaN."""
    check_is_fitted(estimator)
    rank = estimator._n_features_out
    coordinates: FloatArray = check_array(tabular(X, "X"), dtype=np.float64, ensure_all_finite="allow-nan")
    if coordinates.shape[1] != rank:
        raise ValueError(
            f"X must have one column per component, {rank}; got shape {coordinates.shape}. "
            "inverse_transform and loadings take what transform returns."
        )
    return coordinates


def explained(X: FloatArray, residuals: FloatArray) -> float:
    """1 − Σ r²/Σ|x − x̄|² for the rows of ``X`` [n, d] and their ``residuals`` r [n]."""
    total, lost = float(np.sum((X - X.mean(axis=0)) ** 2)), float(np.sum(residuals**2))
    return 1.0 - lost / total if total > 0.0 else (1.0 if lost == 0.0 else -np.inf)
