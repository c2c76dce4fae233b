"""`AtlasEmbedding`: coordinates for a whole table from many small charts and a neighbour graph, as a transformer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from subbundle._types import FloatArray, StatusArray, SubbundleWarning
from subbundle._validation import as_choice, as_points
from subbundle.atlas.atlas_distance import AtlasDistance
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.charts.chart import Located
from subbundle.embedding.laid_out_atlas import LaidOutAtlas
from subbundle.estimators._atlas_model import (
    as_shown,
    centred_at,
    completed,
    learn,
    place_rows,
    restore_atlas,
    set_learned,
    set_training,
    state_of_atlas,
)
from subbundle.estimators._input import (
    DistanceCoordinates,
    check_rank,
    checked_coordinates,
    checked_rank,
    explained,
    fewest_rows,
    read_table,
    weighted_rows,
)
from subbundle.estimators._lazy import sampled
from subbundle.estimators._learn import resolved_rank
from subbundle.estimators.atlas_messages import fit_message, outside_message
from subbundle.estimators.coordinates import GivesCoordinates
from subbundle.estimators.state import State
from subbundle.selection.components import Components

_CHOICES = {
    "metric": ("auto", "rigid", "stress", "precomputed"), "closed": ("cut", "raise"), "missing": ("raise", "local"),
    "outside": ("nearest", "nan"),
}  # fmt: skip


class AtlasEmbedding(GivesCoordinates, BaseEstimator):
    """Coordinates for the whole of a curved k-dimensional shape, true to scale, with an inverse.

    A small chart at every row, with curvature where cross-validation supports it, is laid out in R^k together with the
    distances along a graph of neighbours. Consistent charts determine the layout alone: a developable sheet in many
    dimensions is unrolled without distortion, up to the noise along it. The weight of the distances grows with the
    inconsistency of the charts (sparse data, shapes that cannot be flattened). Noise is removed first if this helps.

    Parameters
    ----------
    n_components : int or "auto"
        k, the dimension of the shape; below the number of features. ``"auto"``: that of the data, see
        `subbundle.selection.choose_rank`.
    bandwidth : float, "auto" or None
        Scale over which rows are averaged to remove noise, in the units of the data: the standard deviation of the
        weights. ``"auto"``: that of least estimated risk, which may be zero; None: rows are not averaged.
    n_neighbors : int or "auto"
        Neighbours in a chart. ``"auto"``: the number whose layout predicts rows best when they are left out.
    base_point : array [n_features] or None
        Where the coordinates are zero; they then run along the frame of ``bundle_`` at that point and agree with
        `subbundle.log` near it. None: centred, along the principal axes.
    metric : {"auto", "rigid", "stress", "precomputed"}
        Fit rigid charts, distances along the shape, or (``"auto"``) both, weighted by the inconsistency of the
        charts; ``metric_`` reports which has more weight. Above 6 components ``"auto"`` fits the
        distances: rigid charts take minutes there. ``"precomputed"``: as ``"auto"``, but ``X`` holds the distances
        [n_samples, n_samples] between rows, and `transform` takes distances to the training rows.
    closed : {"cut", "raise"}
        What to do with a closed shape (circle, cylinder, sphere, Möbius strip), which cannot be laid out without a
        cut: cut it open far from its centre, or refuse.
    reduce_dim : "auto", None or int
        Principal components to work in. ``"auto"``: all of up to 4 features, else those above the noise floor, or,
        where there is none, all but a small fraction of the variance.
    missing : {"raise", "local"}
        Refuse rows with missing values (NaN), or locate them by their observed features; they are left out of the
        fit.
    outside : {"nearest", "nan"}
        What `transform` returns for points beyond all charts: the nearest chart, extrapolated, or NaN.
    n_jobs : int or None
        Threads; None for all cores.

    Attributes
    ----------
    n_components_ : int
    embedding_ : [n_samples, n_components]
        Coordinates of the training points.
    residuals_, coverage_, disagreement_, distortion_, labels_, status_ : [n_samples]
        Of the training points, as in `locate`.
    n_connected_components_ : int
        Connected components. Each has its own layout, side by side; distances between them have no meaning.
    quality_ : subbundle.embedding.quality.Quality
        Trustworthiness, continuity, stress and cross-validated prediction error, beside those of principal components.
    alignment_residual_ : float
        Inconsistency of the charts, relative to their size: below 0.01 for a shape that can be flattened.
    metric_ : str
        ``"rigid"`` or ``"stress"``: what had more weight, charts or distances along the shape. ``"linear"``: the rows
        show no shape, and their principal components keep neighbourhoods and predict rows better than a curved layout.
    cut_ : float
        Fraction of the edges between charts that were cut because the shape is closed.
    bandwidth_, n_denoising_neighbors_ : float, int
        Scale and number of the rows averaged over; 0 where rows were not averaged.
    n_neighbors_ : int
        Neighbours in a chart.
    atlas_, bundle_ : subbundle.embedding.laid_out_atlas.LaidOutAtlas, subbundle.PrincipalSubbundle
        Charts (``atlas_.atlas``) and their layout, and the subbundle of their nodes at their size, in the kept
        components.
    base_point_ : [n_features]
        Only with a ``base_point``: the point of the shape nearest to it.
    mean_, axes_, noise_, n_features_in_, feature_names_in_
        As in `PrincipalSubmanifold`.

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

    atlas_: LaidOutAtlas
    embedding_: FloatArray
    _components: Components
    _bundle: PrincipalSubbundle | None
    _distances: DistanceCoordinates | None
    _residual_scale: float

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        bandwidth: float | str | None = "auto",
        n_neighbors: int | str = "auto",
        base_point: Any = None,
        metric: str = "auto",
        closed: str = "cut",
        reduce_dim: int | str | None = "auto",
        missing: str = "raise",
        outside: str = "nearest",
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.base_point = base_point
        self.metric = metric
        self.closed = closed
        self.reduce_dim = reduce_dim
        self.missing = missing
        self.outside = outside
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the coordinates from ``X`` [n_samples, n_features]; ``y`` is ignored.

        ``sample_weight`` [n_samples]: multiplicity of each row; rows of weight zero are located, but not fitted.
        A Dask array or data frame is subsampled to at most 50000 rows; a warning reports how many.
        """
        X = sampled(X, sample_weight=sample_weight)
        for name, choices in _CHOICES.items():
            as_choice(getattr(self, name), name, choices)
        wanted = checked_rank(self.n_components, "n_components")
        table = read_table(self, X, reset=True, least=fewest_rows(wanted))
        self._distances = DistanceCoordinates.of(table) if self.metric == "precomputed" else None
        rows = table if self._distances is None else self._distances.points
        complete, weights = weighted_rows(rows, sample_weight, fewest_rows(wanted))
        rank = resolved_rank(wanted, "n_components", complete)
        check_rank(rank, "n_components", complete)
        learned = learn(
            complete, weights, rank, bandwidth=self.bandwidth, n_neighbors=self.n_neighbors, metric=self.metric,
            closed=self.closed, reduce_dim=self.reduce_dim, n_jobs=self.n_jobs,
        )  # fmt: skip
        set_learned(self, learned)
        if self.base_point is not None:
            base = as_points(self.base_point, "base_point", dim=rows.shape[1], ndim=1)
            self.atlas_, projection = centred_at(self.atlas_, self._components.enter(base[None])[0], self.bundle_)
            self.base_point_ = self._components.leave(projection[None])[0]
        set_training(self, rows)
        message = fit_message(self)
        if message:
            warnings.warn(message, SubbundleWarning, stacklevel=2)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> FloatArray:  # type: ignore[override]
        """Fit, and return the coordinates [n_samples, n_components] of the training points."""
        return super().fit_transform(X, sample_weight=sample_weight)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Points [n_samples, n_features] of the shape at coordinates ``X`` [n_samples, n_components].

        They are drawn towards the mean of the rows nearby as far as it predicts others better than charts do. Beyond
        the charts the nearest one is extrapolated, or NaN returned, depending on ``outside``.
        """
        check_is_fitted(self)
        if self._distances is not None:
            raise ValueError("inverse_transform needs features; with metric='precomputed' there are only distances.")
        coordinates = checked_coordinates(self, X)
        known = np.isfinite(coordinates).all(axis=1)
        points = np.full((len(coordinates), self.axes_.shape[1]), np.nan)
        method = self.atlas_.inverse_transform if self.outside == "nan" else self.atlas_.evaluate
        points[known] = method(coordinates[known])
        return self._components.leave(points)

    def locate(self, X: Any) -> Located:
        """Coordinates, projections, residuals, status, coverage, disagreement, distortion, connected component and
        novelty of each row of ``X``; see `subbundle.Located`."""
        return as_shown(self._placed(self._checked(X)), self.outside)

    def novelty(self, X: Any) -> FloatArray:
        """Distance of each row of ``X`` from the region that the training points cover, in units of their typical
        distance from the shape learned without them. About 1 for rows of the same distribution, larger for others."""
        return np.asarray(self.locate(X).novelty)

    def distance(self, X: Any, Y: Any = None) -> FloatArray:
        """Matrix [n, m] of the distances along the shape from ``X`` [n, n_features] to ``Y``, or among ``X``.

        Shortest paths from chart to chart, straightened; infinite between connected components, unaffected by cuts.
        """
        points = self._components.enter(self._checked(X))
        others = None if Y is None else self._components.enter(self._checked(Y))
        return self._along().pairwise(points, others)

    def paired_distance(self, X: Any, Y: Any) -> FloatArray:
        """Distance along the shape from each row of ``X`` to the same row of ``Y``, [n]."""
        X, Y = self._components.enter(self._checked(X)), self._components.enter(self._checked(Y))
        return self._along().between(X, Y)

    def score(self, X: Any, y: Any = None) -> float:
        """Fraction of the variance of ``X`` kept, 1 − Σ|x − x̂|²/Σ|x − x̄|², x̂ the nearest point of the shape."""
        X = self._checked(X)
        return explained(X, self._placed(X).residuals)

    @property
    def bundle_(self) -> PrincipalSubbundle:
        """The principal subbundle of the nodes of the charts, at their size."""
        check_is_fitted(self)
        if self._bundle is None:
            width = float(np.median(self.atlas_.radii)) / 3.0
            self._bundle = PrincipalSubbundle(self.atlas_.bases, self.atlas_.rank, width, n_jobs=self.n_jobs)
        return self._bundle

    @property
    def _n_features_out(self) -> int:
        return self.atlas_.rank

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "local"
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def _along(self) -> AtlasDistance:
        return AtlasDistance(self.atlas_.atlas, self._tie)

    def _state(self) -> State:
        return state_of_atlas(self)

    def _restore(self, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        restore_atlas(self, values, arrays)

    def _placed(self, rows: FloatArray) -> Located:
        """Complete ``rows`` [n, n_features] located, extrapolated beyond all charts."""
        return place_rows(rows, self._components, self.atlas_, self._residual_scale)

    def _checked(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        table = read_table(self, X, reset=False)
        rows = table if self._distances is None else self._distances.enter(table)
        return completed(rows, self._components, self.atlas_)

    def _found(self, X: FloatArray) -> tuple[FloatArray, StatusArray]:
        located = as_shown(self._placed(X), self.outside)
        return located.coordinates, located.status

    def _outside_message(self, status: StatusArray) -> str:
        return outside_message(status, self.outside)

    def _jacobian_at(self, coordinates: FloatArray) -> FloatArray:
        known = np.isfinite(coordinates).all(axis=1)
        jacobian = np.full((len(coordinates), self.axes_.shape[1], coordinates.shape[1]), np.nan)
        jacobian[known] = self.atlas_.slopes(coordinates[known])
        return jacobian
