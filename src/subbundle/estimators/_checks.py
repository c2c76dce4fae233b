"""Checks that the estimators share."""

from __future__ import annotations

import warnings

from subbundle._types import FloatArray, SubbundleWarning


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
