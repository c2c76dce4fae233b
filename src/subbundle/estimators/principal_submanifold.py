"""`PrincipalSubmanifold`: normal coordinates on the submanifold through the middle of a cloud, as a transformer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from subbundle._types import FloatArray, Status, StatusArray, SubbundleWarning, count_statuses
from subbundle._validation import as_choice, as_points
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge import carry_to_ridge
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.charts.chart import Chart, Located
from subbundle.estimators._checks import checked_coordinates, explained
from subbundle.estimators._lazy import is_lazy, mapped, sampled
from subbundle.estimators._learn import checked_rows, learn
from subbundle.estimators._on_manifold import find_base_point_on_manifold, kept_variance
from subbundle.estimators._prepare import Prepared
from subbundle.estimators._rank import checked_rank, fewest_rows, settled_rank
from subbundle.estimators._shown import ShownWhenFitted
from subbundle.estimators._state import State, learned_from, state_of
from subbundle.selection.base_point import CANDIDATES, central_landmarks, central_points
from subbundle.spaces.base import Space

# Names in a file: arrays of the chart, and those of the training points.
_CHART, _OWN = "chart.", ("embedding_", "status_", "residuals_")
# Geodesics of a two-dimensional chart: its interpolant is then good to a hundredth of a bandwidth or better, far below
# the noise, at half the time of the thousandth that `Chart` aims at. In higher ranks so many for each doubling.
_RAYS, _RAYS_ABOVE = 256, 50
# Components up to which that many are followed; beyond, their number falls with the eighth power, as a step takes
# longer and thin data needs more of them, but not below a fraction.
_FEW_COMPONENTS, _LEAST_FRACTION = 8, 0.12
# Part of the points that may lie outside the chart before it is worth a warning.
_FEW = 0.02


class PrincipalSubmanifold(ShownWhenFitted, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Coordinates on the principal submanifold of a cloud, with an inverse.

    Geodesics of the principal subbundle leave a base point μ in all directions of a k-dimensional subspace and trace a
    submanifold; a point on it has the coordinates v ∈ R^k of the geodesic that leads there: |v| is its length, v/|v|
    its direction. Distances from μ are true to scale. Coordinates end where the data ends and where geodesics meet
    again.

    Parameters
    ----------
    n_components : int or "auto"
        k, the dimension of the submanifold; below the number of features. ``"auto"``: that of the data, see
        `subbundle.selection.choose_rank`.
    bandwidth : float, "auto" or "local"
        Standard deviation of the Gaussian that weighs neighbours, in the units of the data. ``"auto"``: the least
        estimated error of the middle of the cloud, see `subbundle.selection.bandwidth`. ``"local"``: one for every
        place, where that is estimated to be worth it, see `subbundle.selection.local_bandwidth`; not with ``space``.
    base_point : "frechet", "learned" or array [n_features]
        Where the coordinates start. ``"frechet"`` (or ``"auto"``): the observation with the least mean distance to the
        others; ``"learned"``: the same with distances along the shape. All are carried into the middle of the cloud
        first.
    radius : float or "auto"
        Largest distance from the base point. ``"auto"``: as far as the data and the geodesics allow.
    denoise : bool
        Carry the observations into the middle of the cloud first, and learn the subspaces again from there, at 0.67
        times the bandwidth. False: the bundle of the observations as they are.
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
        Neighbours, bends and errors are measured on the manifold, and `inverse_transform` ends on it. ``reduce_dim``
        and ``kernel`` have no part in that.
    outside : {"nearest", "nan"}
        What `transform` gives to points that the coordinates do not reach: those of the nearest point on the border,
        or NaN.
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
    chart_ : subbundle.Chart
        The map itself, in the kept components.
    bundle_ : subbundle.PrincipalSubbundle or subbundle.RiemannianSubbundle
        The subbundle it was made from, in the kept components.
    mean_, axes_ : [n_features], [n_features, n_kept]
        Origin and directions of the kept components.
    noise_ : float
        Standard deviation per feature of what was left out with the other components.
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

        Of a Dask array or data frame a sample of at most 50000 rows is learned from; a warning says how many.
        """
        X = sampled(X)
        as_choice(self.outside, "outside", ("nearest", "nan"))
        wanted = checked_rank(self.n_components, "n_components")
        X = checked_rows(self, X, self.space, ensure_min_samples=fewest_rows(wanted), ensure_min_features=2)
        rank = settled_rank(wanted, "n_components", X, self.space)
        learned = learn(self, X, rank, "n_components")
        base = find_base_point(learned, self.base_point)
        self._set(learned, _chart(learned, base, self.radius))
        located, residuals = self._locate(X)
        self.embedding_, self.status_, self.residuals_ = located.coordinates, located.status, residuals
        remarks = " ".join(filter(None, (learned.remark, self._outside_remark(located.status))))
        if remarks:
            warnings.warn(remarks, SubbundleWarning, stacklevel=2)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> FloatArray:
        """Fit, and return the coordinates [n_samples, n_components] of the training points."""
        return self.fit(X).transform(X) if is_lazy(X) else self.fit(X).embedding_

    def transform(self, X: Any) -> FloatArray:
        """Coordinates [n_samples, n_components] of ``X``; see ``outside`` for points that have none.

        Dask arrays and data frames give such again, lazily, with the same partitions.
        """
        if is_lazy(X):
            check_is_fitted(self)
            return mapped(self.transform, X, [str(name) for name in self.get_feature_names_out()])
        located, _ = self._locate(self._checked(X))
        remark = self._outside_remark(located.status)
        if remark:
            warnings.warn(remark, SubbundleWarning, stacklevel=2)
        return located.coordinates

    def inverse_transform(self, X: Any) -> FloatArray:
        """Points [n_samples, n_features] at coordinates ``X`` [n_samples, n_components].

        Coordinates beyond the border of the chart are drawn back along their geodesic to it, or give NaN, as
        ``outside`` says.
        """
        coordinates = checked_coordinates(self, X)
        return self._components.leave(self.chart_.inverse_transform(self._inside(coordinates)))

    def locate(self, X: Any) -> tuple[FloatArray, FloatArray, StatusArray]:
        """Coordinates, distances from the reconstruction, and `subbundle.Status` of every row of ``X``."""
        located, residuals = self._locate(self._checked(X))
        return located.coordinates, residuals, located.status

    def loadings(self, X: Any) -> FloatArray:
        """How each feature changes along each coordinate, [n, n_features, n_components], at coordinates ``X``."""
        coordinates = checked_coordinates(self, X)
        jacobian = self.chart_.jacobian(self._inside(coordinates))
        moved: FloatArray = np.einsum("dr,nrk->ndk", self.axes_, jacobian)
        return moved

    def score(self, X: Any, y: Any = None) -> float:
        """Part of the variance of ``X`` that is kept, 1 − Σ|x − x̂|²/Σ|x − x̄|², x̂ the nearest point of the
        submanifold; with ``space``, distances there.

        On points that were not fitted it can be compared between settings of equal ``n_components``.
        """
        X = self._checked(X)
        if self.space is not None:
            return kept_variance(self.chart_, X, self.space)
        kept = self._components.leave(self.chart_.locate(self._components.enter(X), outside="nearest").points)
        return explained(X, np.linalg.norm(X - kept, axis=1))

    @property
    def _n_features_out(self) -> int:
        return self.chart_.rank

    def _state(self) -> State:
        values, arrays = state_of(self._learned)
        arrays |= {_CHART + key: value for key, value in self.chart_.to_arrays().items()}
        return values, arrays | {name: getattr(self, name) for name in _OWN}

    def _restore(self, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        learned = learned_from(values, arrays, self.n_jobs)
        chart = {key[len(_CHART) :]: value for key, value in arrays.items() if key.startswith(_CHART)}
        self._set(learned, Chart.from_arrays(chart, learned.bundle))
        for name in _OWN:
            setattr(self, name, arrays[name])

    def _set(self, learned: Prepared, chart: Chart) -> None:
        """Everything that `transform` and its inverse need."""
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

    def _locate(self, X: FloatArray) -> tuple[Located, FloatArray]:
        """Rows of ``X`` in the chart, and their distances from where they land."""
        located = self.chart_.locate(self._components.enter(X), outside=self.outside)
        if self.space is not None:
            return located, located.residuals
        offsets = X - self._components.leave(located.points)
        return located, np.sqrt(np.einsum("nd,nd->n", offsets, offsets))

    def _inside(self, coordinates: FloatArray) -> FloatArray:
        """``coordinates`` [n, k], those outside drawn back along their ray, which meets the border once."""
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

    def _outside_remark(self, status: StatusArray) -> str:
        """A sentence where more points than a few have no place in the chart; empty otherwise."""
        outside = status[status != Status.OK]
        if outside.size <= (_FEW if self.outside == "nearest" else 0.0) * status.size:
            return ""
        reasons = ", ".join(f"{words}: {count}" for words, count in count_statuses(outside).items())
        given = "the nearest point on the border" if self.outside == "nearest" else "NaN"
        return (
            f"{outside.size} of {status.size} points lie outside the chart ({reasons}) and get {given}; locate(X) "
            "reports which. Where one chart does not cover the data, subbundle.AtlasEmbedding does with many; a larger "
            "bandwidth or another base_point may reach further."
        )


def _chart(learned: Prepared, base: FloatArray, radius: float | str) -> Chart:
    """The chart at ``base`` [r]: in many components of fewer geodesics, none longer than the data is wide."""
    bundle, rank = learned.bundle, learned.bundle.rank
    fraction = (_FEW_COMPONENTS / learned.components.axes.shape[1]) ** 8
    if isinstance(bundle, RiemannianSubbundle) or fraction >= 1.0 or rank == 1:
        return Chart(bundle, base, radius, n_geodesics=_RAYS if rank == 2 else None)
    full = _RAYS if rank == 2 else _RAYS_ABOVE * 2 ** (rank - 1)
    rays = int(max(fraction, _LEAST_FRACTION) * full)
    return Chart(bundle, base, radius, n_geodesics=rays, max_radius=bundle.cloud.size)


def find_base_point(learned: Prepared, base_point: Any) -> FloatArray:
    """The base point [r] in the kept components, carried onto the ridge."""
    bundle = learned.bundle
    if isinstance(bundle, RiemannianSubbundle):
        return find_base_point_on_manifold(bundle, base_point)
    if isinstance(base_point, str):
        learned_distance = as_choice(base_point, "base_point", ("frechet", "learned", "auto")) == "learned"
        candidates = (
            central_landmarks(bundle, CANDIDATES)[0] if learned_distance else central_points(bundle.cloud, CANDIDATES)
        )
        wanted = f"one of the {len(candidates)} most central observations"
        hint = "Pass another bandwidth, or a base_point inside the data."
    else:
        given = as_points(base_point, "base_point", dim=len(learned.components.mean), ndim=1)
        candidates, wanted = learned.components.enter(given[None]), "the given base_point"
        hint = "Choose a point on the data, for instance one of its rows."
    carried = carry_to_ridge(bundle, candidates)
    good = np.flatnonzero(carried.status == Status.OK)
    if good.size == 0:
        reason = Status(int(carried.status[0])).words
        raise ValueError(f"{wanted} must lie where the subspaces are defined; none does ({reason}). {hint}")
    found: FloatArray = carried.points[good[0]]
    return found
