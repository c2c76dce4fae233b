"""`AtlasEmbedding`: coordinates for a whole manifold from many small charts, as a transformer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from subbundle._types import FloatArray, IntArray, Status, StatusArray, SubbundleWarning
from subbundle._validation import as_choice, as_points
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.embedding.atlas_distance import AtlasDistance
from subbundle.embedding.developed_atlas import DevelopedAtlas, Placement
from subbundle.estimators._atlas_fit import Learned, developed_at, learn
from subbundle.estimators._atlas_state import restore_atlas, state_of_atlas
from subbundle.estimators._atlas_words import fit_warnings, outside_warning
from subbundle.estimators._checks import check_rank, checked_coordinates, explained
from subbundle.estimators._rank import checked_rank, fewest_rows, settled_rank
from subbundle.estimators._state import State

# Residuals are compared with the typical one of the training points, but never with less than this part of a spacing.
_SHARPEST = 1e-3


class AtlasEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Coordinates for the whole of a curved k-dimensional shape, true to scale, with an inverse.

    The cloud is denoised, covered with small charts that know their curvature, and the charts are laid out in R^k by
    one rigid alignment. A shape that can be flattened (a sheet bent and rolled up in many dimensions) comes out
    undistorted, up to the noise along it; for others `distortion_` says where the picture lies, and
    ``metric="stress"`` spreads the error evenly.

    Parameters
    ----------
    n_components : int or "auto"
        k, the dimension of the shape; below the number of features. ``"auto"``: that of the data, see
        `subbundle.selection.choose_rank`.
    bandwidth : float or "auto"
        Standard deviation of the kernel that denoises, in the units of the data; charts have 2¼ times that radius.
        ``"auto"``: the least estimated error of the middle of the cloud.
    base_point : array [n_features] or None
        Where the coordinates are zero; they then run along the frame of ``bundle_`` at that point and agree with
        `subbundle.log` near it. None: centred, along the principal axes.
    metric : {"rigid", "stress"}
        Lay the charts out as rigid pieces, or such that distances in the coordinates follow those along the shape.
    charts : {"auto", "bandwidth", "neighbours"}
        Size of a chart: by the bandwidth, or flat charts of ``n_neighbors`` points for data too thin for one.
        ``"auto"`` takes neighbours when a point has too few of them for curvature to be seen, or when charts on few
        points contradict each other; ``reason_`` says why.
    n_neighbors : int or "auto"
        Points in such a chart; ``"auto"``: of 2k + 4 and three larger numbers the one whose charts fit each other best.
    closed : {"cut", "regions", "raise"}
        What to do with a shape that closes up (cylinder, sphere, torus, Möbius strip): cut it open far from its centre,
        share it out into regions with coordinates of their own, or refuse.
    reduce_dim : "auto", None or int
        As in `PrincipalSubmanifold`; ``"auto"`` keeps all of up to 8 features.
    outside : {"nearest", "nan"}
        What `transform` gives to points beyond all charts: the coordinates of the nearest chart, continued, or NaN.
    n_jobs : int or None
        Threads; None for all cores.

    Attributes
    ----------
    n_components_ : int
    embedding_ : [n_samples, n_components]
        Coordinates of the training points.
    residuals_, coverage_, disagreement_, distortion_, labels_, status_ : [n_samples]
        Of the training points, as in `locate`.
    n_parts_ : int
        Connected parts, or regions. Each is laid out on its own, side by side; distances between them mean nothing.
    alignment_residual_ : float
        How far the charts contradict each other, in chart radii: below 0.01 for a shape that can be flattened.
    cut_ : float
        Part of the links between charts that were cut because the shape closes up.
    bandwidth_ : float
        NaN for charts made of neighbours.
    n_neighbors_ : int
        Points per chart; 0 for charts made with a bandwidth.
    reason_ : str
        Why charts have the size they have.
    atlas_ : subbundle.embedding.developed_atlas.DevelopedAtlas
        Charts and their layout, in the kept components.
    bundle_ : subbundle.PrincipalSubbundle
        Of the denoised cloud at the size of the charts, in the kept components.
    base_point_ : [n_features]
        Only with a ``base_point``: the point of the shape nearest to it.
    mean_, axes_, noise_
        The kept components, as in `PrincipalSubmanifold`.
    n_features_in_ : int
    feature_names_in_ : [n_features]

    Examples
    --------
    >>> import subbundle as sb
    >>> data = sb.datasets.s_surface(1500, noise=0.02, seed=0)
    >>> model = sb.AtlasEmbedding(n_components=2).fit(data.points)
    >>> model.embedding_.shape
    (1500, 2)
    >>> bool(abs(model.embedding_[:, 0].max() - model.embedding_[:, 0].min() - 3 * 3.1416) < 0.2)
    True
    """

    atlas_: DevelopedAtlas
    _bundle: PrincipalSubbundle | None
    _cloud: FloatArray

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        bandwidth: float | str = "auto",
        base_point: Any = None,
        metric: str = "rigid",
        charts: str = "auto",
        n_neighbors: int | str = "auto",
        closed: str = "cut",
        reduce_dim: int | str | None = "auto",
        outside: str = "nearest",
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.bandwidth = bandwidth
        self.base_point = base_point
        self.metric = metric
        self.charts = charts
        self.n_neighbors = n_neighbors
        self.closed = closed
        self.reduce_dim = reduce_dim
        self.outside = outside
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the coordinates from ``X`` [n_samples, n_features]; ``y`` is ignored."""
        as_choice(self.metric, "metric", ("rigid", "stress"))
        as_choice(self.charts, "charts", ("auto", "bandwidth", "neighbours"))
        as_choice(self.closed, "closed", ("cut", "regions", "raise"))
        as_choice(self.outside, "outside", ("nearest", "nan"))
        wanted = checked_rank(self.n_components, "n_components")
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=fewest_rows(wanted), ensure_min_features=2)
        rank = settled_rank(wanted, "n_components", X)
        check_rank(rank, "n_components", X)
        learned = learn(
            X, rank, bandwidth=self.bandwidth, charts=self.charts, n_neighbors=self.n_neighbors, closed=self.closed,
            metric=self.metric, reduce_dim=self.reduce_dim, n_jobs=self.n_jobs,
        )  # fmt: skip
        self._set(learned)
        if self.base_point is not None:
            base = as_points(self.base_point, "base_point", dim=X.shape[1], ndim=1)
            self.atlas_, foot = developed_at(self.atlas_, self._components.enter(base[None])[0], self.bundle_)
            self.base_point_ = self._components.leave(foot[None])[0]
        placed, residuals = self._place(X)
        self.embedding_, self.status_ = self._shown(placed)
        self.residuals_, self.coverage_, self.disagreement_ = residuals, placed.coverage, placed.disagreement
        self.distortion_, self.labels_ = placed.distortion, placed.labels
        for words in fit_warnings(self):
            warnings.warn(words, SubbundleWarning, stacklevel=2)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> FloatArray:
        """Fit, and return the coordinates [n_samples, n_components] of the training points."""
        return self.fit(X).embedding_

    def transform(self, X: Any) -> FloatArray:
        """Coordinates [n_samples, n_components] of ``X``; see ``outside`` for points beyond all charts."""
        placed, _ = self._place(self._checked(X))
        coordinates, status = self._shown(placed)
        words = outside_warning(status, self.outside)
        if words:
            warnings.warn(words, SubbundleWarning, stacklevel=2)
        return coordinates

    def inverse_transform(self, X: Any) -> FloatArray:
        """Points [n_samples, n_features] of the shape at coordinates ``X`` [n_samples, n_components].

        Beyond the charts the nearest one is continued, or NaN given, as ``outside`` says.
        """
        coordinates = checked_coordinates(self, X)
        known = np.isfinite(coordinates).all(axis=1)
        points = np.full((len(coordinates), self.axes_.shape[1]), np.nan)
        points[known], coverage = self.atlas_.points_at(coordinates[known])
        if self.outside == "nan":
            points[np.flatnonzero(known)[coverage == 0.0]] = np.nan
        return self._components.leave(points)

    def locate(self, X: Any) -> dict[str, Any]:
        """Everything that is known of each row of ``X``.

        Returns
        -------
        dict of arrays
            ``coordinates`` [n, n_components]; ``residual``: distance off the shape; ``coverage``: charts that hold the
            point, about 1 inside, 0 beyond all; ``disagreement``: standard deviation of what they say; ``distortion``:
            largest |log| of the factor by which lengths change in the coordinates there; ``label``: connected part;
            ``novelty``: see `novelty`; ``status``: OK, or LEFT_SUPPORT beyond all charts.
        """
        placed, residuals = self._place(self._checked(X))
        coordinates, status = self._shown(placed)
        return {
            "coordinates": coordinates, "residual": residuals, "coverage": placed.coverage,
            "disagreement": placed.disagreement, "distortion": placed.distortion, "label": placed.labels,
            "novelty": self._novelty(placed, residuals), "status": status,
        }  # fmt: skip

    def novelty(self, X: Any) -> FloatArray:
        """Distance of each row of ``X`` from the part of the shape that the data covers, in typical residuals of the
        training points. About 1 for more of the same; much larger for what was not there."""
        return self._novelty(*self._place(self._checked(X)))

    def loadings(self, X: Any) -> FloatArray:
        """How each feature changes along each coordinate, [n, n_features, n_components], at coordinates ``X``."""
        coordinates = checked_coordinates(self, X)
        known = np.isfinite(coordinates).all(axis=1)
        jacobian = np.full((len(coordinates), self.axes_.shape[1], coordinates.shape[1]), np.nan)
        jacobian[known] = self.atlas_.jacobian(coordinates[known])
        moved: FloatArray = np.einsum("dr,nrk->ndk", self.axes_, jacobian)
        return moved

    def distance(self, X: Any, Y: Any = None) -> FloatArray:
        """Matrix [n, m] of the distances along the shape from ``X`` [n, n_features] to ``Y``, or among ``X``.

        Shortest paths from chart to chart, straightened; infinite between separate parts. Cuts do not matter.
        """
        points = self._components.enter(self._checked(X))
        others = None if Y is None else self._components.enter(self._checked(Y))
        return AtlasDistance(self.atlas_, self._joined, n_jobs=self.n_jobs).pairwise(points, others)

    def paired_distance(self, X: Any, Y: Any) -> FloatArray:
        """Distance along the shape from each row of ``X`` to the same row of ``Y``, [n]."""
        X, Y = self._components.enter(self._checked(X)), self._components.enter(self._checked(Y))
        return AtlasDistance(self.atlas_, self._joined, n_jobs=self.n_jobs).between(X, Y)

    def score(self, X: Any, y: Any = None) -> float:
        """Part of the variance of ``X`` that is kept, 1 − Σ|x − x̂|²/Σ|x − x̄|², x̂ the nearest point of the shape."""
        X = self._checked(X)
        return explained(X, self._place(X)[1])

    @property
    def bundle_(self) -> PrincipalSubbundle:
        """The principal subbundle of the points that the charts were made from, at the size of the charts."""
        check_is_fitted(self)
        if self._bundle is None:
            width = float(np.median(self.atlas_.radii)) / 3.0
            self._bundle = PrincipalSubbundle(self._cloud, self.atlas_.rank, width, n_jobs=self.n_jobs)
        return self._bundle

    @property
    def _n_features_out(self) -> int:
        return self.atlas_.rank

    def _set(self, learned: Learned) -> None:
        """Everything that `transform` and its inverse need."""
        self._components = learned.components
        self.mean_, self.axes_, self.noise_ = (
            learned.components.mean, learned.components.axes, learned.components.noise
        )  # fmt: skip
        self.atlas_, self.n_components_ = learned.atlas, learned.atlas.rank
        self._bundle = None
        self._cloud = learned.development.points
        self.bandwidth_, self.n_neighbors_, self.reason_ = learned.bandwidth, learned.n_neighbors, learned.reason
        self.alignment_residual_, self.cut_ = learned.development.alignment.residual, learned.development.cut
        self.n_parts_ = int(learned.atlas.labels.max()) + 1
        self._joined: IntArray = learned.development.joined

    def _state(self) -> State:
        return state_of_atlas(self)

    def _restore(self, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        restore_atlas(self, values, arrays)

    def _checked(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        checked: FloatArray = validate_data(self, X, dtype=np.float64, reset=False)
        return checked

    def _place(self, X: FloatArray) -> tuple[Placement, FloatArray]:
        """Rows of ``X`` on the atlas, and their distances from it."""
        placed = self.atlas_.place(self._components.enter(X))
        offsets = X - self._components.leave(placed.feet)
        return placed, np.sqrt(np.einsum("nd,nd->n", offsets, offsets))

    def _shown(self, placed: Placement) -> tuple[FloatArray, StatusArray]:
        """Coordinates and status."""
        status = np.where(placed.coverage > 0.0, Status.OK, Status.LEFT_SUPPORT).astype(np.int8)
        if self.outside == "nearest":
            return placed.coordinates, status
        return np.where((status == Status.OK)[:, None], placed.coordinates, np.nan), status

    def _novelty(self, placed: Placement, residuals: FloatArray) -> FloatArray:
        scale = max(float(np.sqrt(np.mean(self.residuals_**2))), _SHARPEST * float(np.median(self.atlas_.spacings)))
        return np.asarray(np.hypot(residuals, placed.outside) / scale)
