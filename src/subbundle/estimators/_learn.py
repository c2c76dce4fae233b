"""From what a user gave an estimator to rows that fit, and to a learned bundle: in R^d or on a known manifold."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from subbundle._types import FloatArray
from subbundle._validation import as_flag, readable, tabular
from subbundle.estimators._checks import check_rank
from subbundle.estimators._on_manifold import prepare_on_manifold
from subbundle.estimators._prepare import Prepared, prepare
from subbundle.spaces.base import Space
from subbundle.spaces.rows import as_observations, check_space


def checked_rows(estimator: Any, X: Any, space: Space | None, **settings: Any) -> FloatArray:
    """``X`` as rows [n, n_features], by scikit-learn's rules; on ``space`` points [n, *shape] are flattened first."""
    if space is not None:
        check_space(space)
        X = readable(X, "X")
        if np.ndim(X) == 1 + len(space.shape) > 2:
            X = np.reshape(X, (len(X), -1))
    rows: FloatArray = validate_data(estimator, tabular(X, "X"), dtype=np.float64, **settings)
    return rows if space is None else as_observations(rows, space)


def learn(estimator: Any, X: FloatArray, rank: int, name: str) -> Prepared:
    """The bundle of ``X`` [n, n_features] with the settings of ``estimator``, whose ``name`` for the rank is given."""
    e, denoise = estimator, as_flag(estimator.denoise, "denoise")
    if e.space is not None:
        return prepare_on_manifold(
            X, rank, space=e.space, bandwidth=e.bandwidth, denoise=denoise, centering=e.centering or "recentred",
            n_jobs=e.n_jobs,
        )  # fmt: skip
    check_rank(rank, name, X)
    return prepare(
        X, rank, bandwidth=e.bandwidth, denoise=denoise, reduce_dim=e.reduce_dim, kernel=e.kernel,
        centering=e.centering or "local", n_jobs=e.n_jobs,
    )  # fmt: skip
