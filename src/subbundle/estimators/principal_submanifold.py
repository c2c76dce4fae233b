"""`PrincipalSubmanifold`: normal coordinates on the principal submanifold of a cloud, as a transformer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from subbundle._types import FloatArray, Status, StatusArray, SubbundleWarning, all_finite, count_statuses, evenly
from subbundle._validation import as_choice
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.charts.chart import Chart, Located
from subbundle.embedding.quality import ROWS, Quality, quality
from subbundle.estimators._input import FEW, checked_coordinates, checked_rank, explained, fewest_rows
from subbundle.estimators._lazy import sampled
from subbundle.estimators._learn import checked_rows, find_base_point, first_chart, kept_variance, learn, resolved_rank
from subbundle.estimators._prepare import Prepared
from subbundle.estimators.coordinates import GivesCoordinates
from subbundle.estimators.state import State, learned_from, state_of
from subbundle.spaces.base import Space

# Names in a file: arrays of the chart, and those of the training points.
_CHART, _OWN = "chart.", ("embedding_", "status_", "residuals_")


class PrincipalSubmanifold(GivesCoordinates, BaseEstimator):
    """Coordinates on the principal submanifold of a cloud, with an inverse.

    The geodesics of the principal subbundle from a base point μ, in all directions of its k-dimensional subspace, form
    a submanifold. A point exp_μ(v) on it has the coordinates v ∈ R^k: |v| is the length of the geodesic from μ, v/|v|
    its initial direction. Distances from μ are preserved. The chart ends at the border of the support and at the cut
    locus.

    Parameters
    ----------
    n_components : int or "auto"
        k, the dimension of the submanifold; below the number of features, and at most 12: geodesics go in all
        directions. ``"auto"``: that of the data, see `subbundle.selection.choose_rank`.
    bandwidth : float, "auto" or "local"
        Standard deviation of the Gaussian that weights neighbours, in the units of the data. ``"auto"``: that of least
        estimated error of the ridge, see `subbundle.selection.bandwidth`. ``"local"``: a function of the point, where
        this is estimated to reduce the error, see `subbundle.selection.local_bandwidth`; not with ``space``.
    base_point : "frechet", "learned" or array [n_features]
        Origin of the coordinates. ``"frechet"`` (or ``"auto"``): the observation with the least mean distance to the
        others; ``"learned"``: the same with distances along the shape. All are projected onto the ridge first.
    radius : float or "auto"
        Largest distance from the base point. ``"auto"``: as far as the data and the geodesics allow.
    denoise : bool
        Project the observations onto the ridge first, and estimate the subspaces again from the projections, at 0.67
        times the bandwidth. False: the bundle of the observations themselves.
    reduce_dim : "auto", None or int
        Work in the principal components above the noise floor, up to 10 of them (with more than 4 features;
        ``"auto"``), in all features (None, which takes minutes where they are hundreds), or in so many components.
        Features should have comparable units and noise.
    kernel : str
        As in `subbundle.PrincipalSubbundle`.
    centering : str or None
        As in `subbundle.PrincipalSubbundle` or `subbundle.RiemannianSubbundle`; None for their defaults.
    space : subbundle.spaces.Space or None
        The manifold that the observations lie on, if it is known: ``sb.spaces.Sphere(2)``. Features are then the
        entries of its points, matrices row after row; `fit` and `transform` also take [n_samples, *space.shape].
        Distances, curvature and errors are those on the manifold, and `inverse_transform` returns points of it.
        ``reduce_dim`` and ``kernel`` are not used then.
    outside : {"nearest", "nan"}
        What `transform` returns for points beyond the chart: coordinates of the nearest point on its border, or NaN.
    n_jobs : int or None
        Threads; None for all cores.

    Attributes
    ----------
    n_components_ : int
    bandwidth_, radius_ : float
        As given or chosen. With ``bandwidth="local"`` its median; the radius is the distance of the outermost point of
        the chart.
    local_bandwidth_ : subbundle.LocalBandwidth or None
        The bandwidth as a function of the point, in the kept components; None where it is the same everywhere.
    base_point_ : [n_features]
    embedding_ : [n_samples, n_components]
        Coordinates of the training points.
    status_ : [n_samples]
        `subbundle.Status` of each: OK inside the chart, LEFT_SUPPORT beyond its border.
    residuals_ : [n_samples]
        Distance of each from its reconstruction.
    quality_ : subbundle.embedding.quality.Quality
        Trustworthiness, continuity and cross-validated prediction error, beside those of principal components; without
        stress, for which distances along the shape would be needed. NaN in files of earlier versions.
    chart_ : subbundle.Chart
        The map itself, in the kept components.
    bundle_ : subbundle.PrincipalSubbundle or subbundle.RiemannianSubbundle
        The subbundle it was made from, in the kept components.
    mean_, axes_ : [n_features], [n_features, n_kept]
        Origin and directions of the kept components.
    noise_ : float
        Standard deviation per feature of the components left out.
    n_features_in_ : int
    feature_names_in_ : [n_features]

    Examples
    --------
    >>> import subbundle as sb
    >>> data = sb.datasets.s_surface(1500, noise=0.02, seed=0)
    >>> model = sb.PrincipalSubmanifold(n_components=2).fit(data.points)
    >>> model.transform(data.points).shape
    (1500, 2)
    """

    normal_coordinates = True
    _quality: Quality | None

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        bandwidth: float | str = "auto",
        base_point: Any = "frechet",
        radius: float | str = "auto",
        denoise: bool = True,
        reduce_dim: int | str | None = "auto",
        kernel: str = "auto",
        centering: str | None = None,
        space: Space | None = None,
        outside: str = "nearest",
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.bandwidth = bandwidth
        self.base_point = base_point
        self.radius = radius
        self.denoise = denoise
        self.reduce_dim = reduce_dim
        self.kernel = kernel
        self.centering = centering
        self.space = space
        self.outside = outside
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the coordinates from ``X`` [n_samples, n_features]; ``y`` is ignored.

        A Dask array or data frame is subsampled to at most 50000 rows; a warning reports how many.
        """
        X = sampled(X)
        as_choice(self.outside, "outside", ("nearest", "nan"))
        wanted = checked_rank(self.n_components, "n_components")
        X = checked_rows(self, X, self.space, ensure_min_samples=fewest_rows(wanted), ensure_min_features=2)
        rank = resolved_rank(wanted, "n_components", X, self.space)
        learned = learn(self, X, rank, "n_components")
        base = find_base_point(learned, self.base_point, self.space)
        self._set(learned, first_chart(learned, base, self.radius, self.space))
        located = self._locate(X)
        self.embedding_, self.residuals_, self.status_ = located
        self._keep_compared(X)
        remarks = " ".join(filter(None, (learned.remark, self._outside_message(located.status))))
        if remarks:
            warnings.warn(remarks, SubbundleWarning, stacklevel=2)
        return self

    def inverse_transform(self, X: Any) -> FloatArray:
        """Points [n_samples, n_features] at coordinates ``X`` [n_samples, n_components].

        Coordinates beyond the border of the chart are shortened to it along their geodesic, or give NaN, depending on
        ``outside``.
        """
        coordinates = checked_coordinates(self, X)
        return self._components.leave(self.chart_.inverse_transform(self._inside(coordinates)))

    def locate(self, X: Any) -> Located:
        """Coordinates, projections, residuals and `subbundle.Status` of every row of ``X``; see `subbundle.Located`."""
        return self._locate(self._checked(X))

    def score(self, X: Any, y: Any = None) -> float:
        """Fraction of the variance of ``X`` that is kept, 1 − Σ|x − x̂|²/Σ|x − x̄|², x̂ the nearest point of the
        submanifold; with ``space``, distances there.

        On points that were not fitted it can be compared between settings of equal ``n_components``.
        """
        X = self._checked(X)
        if self.space is not None:
            return kept_variance(self.chart_, X, self.space)
        kept = self._components.leave(self.chart_.locate(self._components.enter(X), outside="nearest").points)
        return explained(X, np.linalg.norm(X - kept, axis=1))

    @property
    def quality_(self) -> Quality:
        """Trustworthiness, continuity and cross-validated prediction error, beside those of principal components."""
        check_is_fitted(self)
        if self._quality is None:
            self._quality = quality(*self._compared)
        return self._quality

    def _keep_compared(self, X: FloatArray) -> None:
        """Keep the rows of ``X``, in the kept components, that `quality_` compares with their coordinates."""
        # In an order that does not depend on the input order; those without coordinates, NaN, are left out.
        order = np.lexsort(self.embedding_.T)[: np.count_nonzero(all_finite(self.embedding_))]
        few = order[evenly(len(order), ROWS)]
        self._compared = self._components.enter(X[few]), self.embedding_[few]
        self._quality = None if len(few) > 2 else Quality.unknown()

    @property
    def _n_features_out(self) -> int:
        return self.chart_.rank

    def _state(self) -> State:
        values, arrays = state_of(self._learned)
        values["quality"] = self.quality_.as_dict()
        arrays |= {_CHART + key: value for key, value in self.chart_.to_arrays().items()}
        return values, arrays | {name: getattr(self, name) for name in _OWN}

    def _restore(self, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        learned = learned_from(values, arrays, self.n_jobs)
        chart = {key[len(_CHART) :]: value for key, value in arrays.items() if key.startswith(_CHART)}
        self._set(learned, Chart.from_arrays(chart, learned.bundle))
        for name in _OWN:
            setattr(self, name, arrays[name])
        # Files of earlier versions hold neither the quality nor the rows to compute it from.
        figures = values.get("quality")
        self._quality = Quality.from_dict(figures) if figures else Quality.unknown()

    def _set(self, learned: Prepared, chart: Chart) -> None:
        """Set the attributes that `transform` and its inverse read."""
        self._learned, self._components = learned, learned.components
        self.mean_, self.axes_ = learned.components.mean, learned.components.axes
        self.noise_ = learned.components.noise
        self.bandwidth_, self.local_bandwidth_ = learned.bandwidth, learned.local_bandwidth
        self.bundle_: PrincipalSubbundle | RiemannianSubbundle = learned.bundle
        self.chart_, self.n_components_, self.radius_ = chart, chart.rank, chart.radius
        self.base_point_ = self._components.leave(chart.base_point[None])[0]

    def _checked(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return checked_rows(self, X, self.space, reset=False)

    def _locate(self, X: FloatArray) -> Located:
        """Rows of ``X`` in the chart, with projections and residuals in the space of the rows."""
        located = self.chart_.locate(self._components.enter(X), outside=self.outside)
        if self.space is not None:
            return located
        points = self._components.leave(located.points)
        offsets = X - points
        return replace(located, points=points, residuals=np.sqrt(np.einsum("nd,nd->n", offsets, offsets)))

    def _found(self, X: FloatArray) -> tuple[FloatArray, StatusArray]:
        located = self._locate(X)
        return located.coordinates, located.status

    def _jacobian_at(self, coordinates: FloatArray) -> FloatArray:
        return self.chart_.jacobian(self._inside(coordinates))

    def _inside(self, coordinates: FloatArray) -> FloatArray:
        """``coordinates`` [n, k], those outside shortened to the border of the star-shaped domain, by bisection."""
        beyond = ~self.chart_.inside(coordinates) & np.isfinite(coordinates).all(axis=1)
        if self.outside == "nan" or not beyond.any():
            return coordinates
        rays = coordinates[beyond]
        low, high = np.zeros(len(rays)), np.ones(len(rays))
        for _ in range(50):
            middle = 0.5 * (low + high)
            held = self.chart_.inside(middle[:, None] * rays)
            low, high = np.where(held, middle, low), np.where(held, high, middle)
        drawn = coordinates.copy()
        drawn[beyond] = low[:, None] * rays
        return drawn

    def _outside_message(self, status: StatusArray) -> str:
        """A sentence where more than a few points lie outside the chart; empty otherwise."""
        outside = status[status != Status.OK]
        if outside.size <= (FEW if self.outside == "nearest" else 0.0) * status.size:
            return ""
        reasons = ", ".join(f"{message}: {count}" for message, count in count_statuses(outside).items())
        given = "the nearest point on the border" if self.outside == "nearest" else "NaN"
        return (
            f"{outside.size} of {status.size} points lie outside the chart ({reasons}) and get {given}; locate(X) "
            "reports which. Use subbundle.AtlasEmbedding, which covers the data by many charts, or a larger bandwidth."
        )
