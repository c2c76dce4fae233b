"""`SurfaceReconstructor`: a mesh of the surface near points of R^d, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray
from subbundle._validation import tabular
from subbundle.estimators._shown import ShownWhenFitted
from subbundle.surface.ambient import project_to_surface
from subbundle.surface.prepare import LEAST_POINTS
from subbundle.surface.reconstruct import reconstruct
from subbundle.triangles.mesh import Mesh


class SurfaceReconstructor(ShownWhenFitted, BaseEstimator):
    """Reconstruct a surface from unoriented, noisy points.

    Parameters
    ----------
    bandwidth, closed, opening, n_jobs
        As in `subbundle.reconstruct`.

    Attributes
    ----------
    mesh_ : Mesh
    noise_, bandwidth_ : float
        As in ``mesh_.summary``.
    n_features_in_ : int
        d.

    Examples
    --------
    >>> import subbundle as sb
    >>> data = sb.datasets.sphere(3000, noise=0.02, seed=0)
    >>> model = sb.SurfaceReconstructor().fit(data.points)
    >>> model.mesh_.euler_characteristic
    2
    >>> bool(data.distance(model.transform(data.points)).mean() < 0.5 * data.distance(data.points).mean())
    True
    """

    def __init__(
        self,
        *,
        bandwidth: float | str = "auto",
        closed: bool = False,
        opening: float = 3.0,
        n_jobs: int | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.closed = closed
        self.opening = opening
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, *, attributes: Mapping[str, Any] | None = None) -> Self:
        """Reconstruct the surface of ``X`` [n_samples, d], d ≥ 3; ``y`` is ignored."""
        X = validate_data(self, tabular(X, "X"), dtype=np.float64, ensure_min_samples=LEAST_POINTS)
        self.mesh_: Mesh = reconstruct(
            X, bandwidth=self.bandwidth, closed=self.closed, opening=self.opening, attributes=attributes,
            n_jobs=self.n_jobs,
        )  # fmt: skip
        assert self.mesh_.summary is not None
        self.noise_, self.bandwidth_ = self.mesh_.summary.noise, self.mesh_.summary.bandwidth
        self._points = X
        return self

    def transform(self, X: Any) -> FloatArray:
        """Rows of ``X`` [n, d] projected onto the surface: to the second-order ridge of the points it was fitted to.

        Rows with none of them nearby are unchanged.
        """
        check_is_fitted(self)
        X = validate_data(self, tabular(X, "X"), dtype=np.float64, reset=False)
        return project_to_surface(self._points, X, self.bandwidth_, resolve_jobs(self.n_jobs))

    def fit_transform(self, X: Any, y: Any = None) -> FloatArray:
        """Reconstruct the surface of ``X`` and project ``X`` onto it."""
        return self.fit(X).transform(X)
