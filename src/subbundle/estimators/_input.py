"""What estimators accept: tables, dense or sparse or with missing values, distances instead of features, ranks."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from subbundle._numbers import SINGULAR
from subbundle._types import FloatArray, SubbundleWarning
from subbundle._validation import as_integer, as_points, tabular

# Fraction of the points outside all charts above which a warning is issued.
FEW = 0.02


def check_rank(rank: int, name: str, X: FloatArray) -> None:
    """Raise when ``rank`` exceeds the number of features of ``X`` [n, d]; warn when it is equal."""
    dim = X.shape[1]
    if rank > dim:
        raise ValueError(
            f"{name} must be below the number of features; got {name}={rank} and n_features={dim}. "
            f"Use {name}={dim - 1} or less."
        )
    if rank == dim:
        warnings.warn(
            f"{name}={rank} is the number of features: no dimension is reduced, and the geometry is Euclidean. "
            f"Use {name}={dim - 1} or less for a shape of lower dimension.",
            SubbundleWarning,
            stacklevel=3,
        )


def checked_coordinates(estimator: Any, X: Any) -> FloatArray:
    """``X`` [n, k], coordinates of a fitted ``estimator``; NaN for points without coordinates is kept."""
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


def fewest_rows(rank: Any) -> int:
    """Minimum number of observations, for the first check of the input."""
    return 2 if isinstance(rank, str) else int(rank) + 2


def checked_rank(rank: Any, name: str) -> int | str:
    """``rank`` as a positive integer, or ``"auto"``."""
    if isinstance(rank, str):
        if rank != "auto":
            raise ValueError(f"{name} must be a positive integer or 'auto'; got {rank!r}.")
        return rank
    return as_integer(rank, name, low=1)


def read_table(estimator: Any, X: Any, *, reset: bool, least: int = 1) -> FloatArray:
    """``X`` as a dense array [n, d]; NaN only where ``estimator.missing`` is ``"local"``."""
    table = validate_data(
        estimator, tabular(X, "X"), dtype=np.float64, reset=reset, accept_sparse=("csr", "csc", "coo"),
        ensure_min_samples=least, ensure_min_features=2 if reset else 1, ensure_all_finite="allow-nan",
    )  # fmt: skip
    dense: FloatArray = np.ascontiguousarray(table.toarray() if issparse(table) else table)
    missing = np.isnan(dense).any(axis=1)
    if missing.any() and estimator.missing != "local":
        raise ValueError(
            f"X must have no missing values; {np.count_nonzero(missing)} of {len(dense)} rows have NaN, first in row "
            f"{int(np.argmax(missing))}. Write missing='local' to locate such rows by their observed features, or "
            "impute or drop them first."
        )
    if np.isinf(dense).any():
        raise ValueError("X must be finite; it has entries of infinity. Drop such rows, or write NaN for them.")
    return dense


def weighted_rows(rows: FloatArray, sample_weight: Any, least: int) -> tuple[FloatArray, FloatArray]:
    """The complete ones of ``rows`` [n, d] with positive weight, at least ``least``; and their weights."""
    weights = np.ones(len(rows))
    if sample_weight is not None:
        weights = as_points(sample_weight, "sample_weight", ndim=None)
        if weights.shape != (len(rows),):
            raise ValueError(f"sample_weight must have one number per row, {len(rows)}; got shape {weights.shape}.")
        if (weights < 0.0).any():
            raise ValueError(
                f"sample_weight must not be negative; got {weights.min():g}. Write 0 for rows to leave out of the fit."
            )
    complete = np.isfinite(rows).all(axis=1)
    chosen = complete & (weights > 0.0)
    if np.count_nonzero(chosen) < least:
        raise ValueError(
            f"X must have at least {least} rows without missing values and with a weight above zero; got "
            f"{np.count_nonzero(chosen)}. Impute missing values of some first, or give more rows a weight."
        )
    return rows[chosen], weights[chosen]


def filled_from(rows: FloatArray, complete: FloatArray) -> FloatArray:
    """``rows`` [n, d] with missing entries from the row of ``complete`` [m, d] nearest in the observed features."""
    filled = rows.copy()
    for i in np.flatnonzero(np.isnan(rows).any(axis=1)):
        known = np.isfinite(rows[i])
        nearest = int(np.argmin(np.sum((complete[:, known] - rows[i, known]) ** 2, axis=1)))
        filled[i, ~known] = complete[nearest, ~known]
    return filled


@dataclass(frozen=True, slots=True)
class DistanceCoordinates:
    """Classical scaling of a matrix of distances, with all positive eigenvalues.

    Attributes
    ----------
    points : [n, r]
        Coordinates of the training rows.
    means : [n]
        Mean squared distance of each of them to the others.
    axes : [n, r]
        Eigenvectors over √λ: centred squared distances times −½ of these are coordinates.
    """

    points: FloatArray
    means: FloatArray
    axes: FloatArray

    @classmethod
    def of(cls, distances: FloatArray) -> DistanceCoordinates:
        """From ``distances`` [n, n] between all rows."""
        if distances.shape[0] != distances.shape[1]:
            raise ValueError(
                f"X must be a square matrix of distances with metric='precomputed'; got shape {distances.shape}. Pass "
                "all pairs of rows, or the features themselves with metric='auto'."
            )
        if (distances < 0.0).any() or not np.allclose(distances, distances.T, rtol=1e-6, atol=1e-12):
            raise ValueError(
                "X must be symmetric and have no negative entries with metric='precomputed'. Pass (X + X.T)/2 if it "
                "is symmetric up to rounding."
            )
        squared = distances**2
        means = squared.mean(axis=0)
        inner = -0.5 * (squared - means - means[:, None] + means.mean())
        values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
        kept = values > SINGULAR * max(float(values[-1]), 1e-300)
        values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
        return cls(np.ascontiguousarray(vectors * np.sqrt(values)), means, vectors / np.sqrt(values))

    def enter(self, distances: FloatArray) -> FloatArray:
        """Coordinates [m, r] of rows with ``distances`` [m, n] to the training rows (Gower's formula)."""
        return np.asarray(-0.5 * (distances**2 - self.means) @ self.axes)
