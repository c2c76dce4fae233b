"""`GeodesicDistance`: distances along the shape of a cloud, as a metric or a matrix."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from subbundle._types import FloatArray, StatusArray, SubbundleWarning
from subbundle._validation import as_choice
from subbundle.bundles.surroundings import surroundings_of
from subbundle.charts.base import Located
from subbundle.estimators._input import check_rank, checked_rank, fewest_rows
from subbundle.estimators._lazy import is_lazy, mapped, sampled
from subbundle.estimators._learn import checked_rows, learn, resolved_rank
from subbundle.estimators._prepare import Prepared, onto_ridge
from subbundle.estimators._shown import ShownWhenFitted
from subbundle.estimators.atlas_embedding import AtlasEmbedding
from subbundle.estimators.state import State, learned_from, state_of
from subbundle.geodesics.connected_components import connected_components
from subbundle.geodesics.distance import distance, pairwise_distance
from subbundle.spaces.base import Space


class GeodesicDistance(ShownWhenFitted, BaseEstimator):
    """Distance between points along the k-dimensional shape that a cloud lies around.

    The distance of x and y is the length of the shortest path on the ridge between their projections to it (see
    `subbundle.distance`). It is infinite between connected components of the cloud at the bandwidth.

    Parameters
    ----------
    rank : int or "auto"
        k, the dimension of the shape; below the number of features. ``"auto"``: that of the data, see
        `subbundle.selection.choose_rank`; 2, with a warning, for fewer than 30 rows. With another one distances are
        wrong: by a fifth for curves and three-spheres with 2. Above 16 rows take long to project, see
        `subbundle.ridge_project`.
    method : {"geodesics", "atlas"}
        Follow geodesics of the principal subbundle, or shortest paths from chart to chart of an `AtlasEmbedding`,
        straightened. The atlas is faster for many points or high rank and more robust to noise at long distances;
        ``denoise``, ``kernel``, ``centering`` and ``tol`` are not used then, and ``space`` must be None.
    bandwidth, denoise, reduce_dim, kernel, centering, space, n_jobs
        As in `PrincipalSubmanifold`; ``bandwidth="local"`` not with the atlas.
    tol : float
        Accuracy of the geodesics, relative to the bandwidth.

    Attributes
    ----------
    rank_ : int
    bandwidth_ : float
    local_bandwidth_ : subbundle.LocalBandwidth or None
        As in `PrincipalSubmanifold`; with geodesics.
    bundle_ : subbundle.PrincipalSubbundle or subbundle.RiemannianSubbundle
        In the kept components; with geodesics.
    estimator_ : subbundle.AtlasEmbedding
        With the atlas.
    points_ : [n_samples, n_kept]
        The training points projected to the shape, in the kept components.
    mean_, axes_, noise_
        The kept components, as in `PrincipalSubmanifold`.
    n_features_in_ : int

    Examples
    --------
    Two points of a noisy S are far apart along it:

    >>> import numpy as np, subbundle as sb
    >>> data = sb.datasets.s_surface(2000, noise=0.02, seed=0)
    >>> metric = sb.GeodesicDistance().fit(data.points)
    >>> start, end = np.array([0.0, 1.0, 0.0]), np.array([0.0, 1.0, 2.0])
    >>> bool(3.0 < metric(start, end) < 3.3)
    True
    """

    def __init__(
        self,
        rank: int | str = "auto",
        *,
        method: str = "geodesics",
        bandwidth: float | str = "auto",
        denoise: bool = True,
        reduce_dim: int | str | None = "auto",
        kernel: str = "auto",
        centering: str | None = None,
        space: Space | None = None,
        tol: float = 1e-4,
        n_jobs: int | None = None,
    ) -> None:
        self.rank = rank
        self.method = method
        self.bandwidth = bandwidth
        self.denoise = denoise
        self.reduce_dim = reduce_dim
        self.kernel = kernel
        self.centering = centering
        self.space = space
        self.tol = tol
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the shape of ``X`` [n_samples, n_features]; ``y`` is ignored.

        A Dask array or data frame is subsampled to at most 50000 rows; a warning reports how many.
        """
        X = sampled(X)
        wanted = checked_rank(self.rank, "rank")
        as_choice(self.method, "method", ("geodesics", "atlas"))
        if self.method == "atlas" and self.space is not None:
            raise ValueError(f"space must be None with method='atlas'; got {self.space!r}. Use method='geodesics'.")
        X = checked_rows(self, X, self.space, ensure_min_samples=fewest_rows(wanted), ensure_min_features=2)
        rank = resolved_rank(wanted, "rank", X, self.space, of_few=2)
        if self.method == "atlas":
            check_rank(rank, "rank", X)
            with warnings.catch_warnings():
                # Its warnings concern the layout, which distances do not use.
                warnings.simplefilter("ignore", SubbundleWarning)
                self._set_atlas(self._new_atlas(rank).fit(X), X)
            return self
        learned = learn(self, X, rank, "rank")
        if learned.remark:
            warnings.warn(learned.remark, SubbundleWarning, stacklevel=2)
        self._set(learned, self._onto_shape(learned, X)[0])
        return self

    def pairwise(self, X: Any = None, Y: Any = None) -> FloatArray:
        """Matrix [n, m] of the distances from ``X`` [n, n_features] to ``Y`` [m, n_features].

        Without ``Y`` the distances among ``X``, symmetric; without both, those among the training points.
        Unconnected pairs are infinite. Between two rows off the data the entry is NaN, with a warning. For a Dask
        collection ``X`` and landmarks ``Y`` in memory the matrix is one, too, with the partitions of ``X``.
        """
        check_is_fitted(self)
        if is_lazy(X):
            if Y is None or is_lazy(Y):
                raise ValueError("pairwise of a Dask collection needs landmarks Y in memory. Write pairwise(X, Y).")
            landmarks = self._checked(Y)
            return mapped(partial(self.pairwise, Y=Y), X, [f"landmark{i}" for i in range(len(landmarks))])
        if X is None and Y is not None:
            raise ValueError("pairwise takes Y only together with X; got Y alone. Write pairwise(Y).")
        if self.method == "atlas":
            points = self._rows if X is None else self._checked(X)
            return self.estimator_.distance(points, None if Y is None else self._checked(Y))
        points = self.points_ if X is None else self._onto_shape(self._learned, self._checked(X))[0]
        others = None if Y is None else self._onto_shape(self._learned, self._checked(Y))[0]
        return pairwise_distance(self.bundle_, points, others, tol=self.tol)

    def __call__(self, x: Any, y: Any) -> float:
        """Distance between two points [n_features]: a callable metric."""
        check_is_fitted(self)
        rows = self._checked(np.stack([np.asarray(x), np.asarray(y)]))
        if self.method == "atlas":
            return float(self.estimator_.paired_distance(rows[:1], rows[1:])[0])
        rows = self._onto_shape(self._learned, rows)[0]
        return float(distance(self.bundle_, rows[0], rows[1], tol=self.tol))

    def locate(self, X: Any) -> Located:
        """Projection, residual, status and connected component of each row of ``X``; see `subbundle.Located`.

        With geodesics there are no coordinates, and with ``denoise=False`` points are not projected; with the atlas as
        in `AtlasEmbedding`.
        """
        check_is_fitted(self)
        rows = self._checked(X)
        if self.method == "atlas":
            return self.estimator_.locate(rows)
        inside, status = self._onto_shape(self._learned, rows)
        points = self._components.leave(inside)
        residuals = surroundings_of(self.bundle_).distance(rows, points)
        labels = connected_components(self.bundle_).label(inside)
        return Located(np.empty((len(rows), 0)), points, residuals, status, labels=labels)

    def _set(self, learned: Prepared, points: FloatArray) -> None:
        self._learned, self._components, self.points_ = learned, learned.components, points
        self.mean_, self.axes_ = learned.components.mean, learned.components.axes
        self.noise_ = learned.components.noise
        self.bandwidth_, self.local_bandwidth_ = learned.bandwidth, learned.local_bandwidth
        self.bundle_, self.rank_ = learned.bundle, learned.bundle.rank

    def _new_atlas(self, rank: int) -> AtlasEmbedding:
        return AtlasEmbedding(rank, bandwidth=self.bandwidth, reduce_dim=self.reduce_dim, n_jobs=self.n_jobs)

    def _set_atlas(self, atlas: AtlasEmbedding, rows: FloatArray) -> None:
        self.estimator_, self.bandwidth_, self.rank_ = atlas, atlas.bandwidth_, atlas.n_components_
        self.mean_, self.axes_, self.noise_ = atlas.mean_, atlas.axes_, atlas.noise_
        self._rows, self.points_ = rows, atlas._components.enter(atlas.locate(rows).points)

    def _checked(self, X: Any) -> FloatArray:
        return checked_rows(self, X, self.space, reset=False)

    def _onto_shape(self, learned: Prepared, X: FloatArray) -> tuple[FloatArray, StatusArray]:
        """Rows of ``X`` in the kept components, projected to the ridge unless ``denoise`` is off; their status."""
        points = learned.components.enter(X)
        if self.denoise:
            return onto_ridge(learned.bundle, points)
        return points, learned.bundle.frame(points).status

    def _state(self) -> State:
        if self.method == "atlas":
            values, arrays = self.estimator_._state()
            return values, arrays | {"points_": self._rows}
        values, arrays = state_of(self._learned)
        return values, arrays | {"points_": self.points_}

    def _restore(self, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        if self.method == "atlas":
            atlas = self._new_atlas(arrays["atlas.frames"].shape[2])
            atlas.n_features_in_ = self.n_features_in_
            atlas._restore(values, arrays)
            self._set_atlas(atlas, arrays["points_"])
        else:
            self._set(learned_from(values, arrays, self.n_jobs), arrays["points_"])
