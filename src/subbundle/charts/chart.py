"""Normal coordinates: exp restricted to the dual subspace at a base point, as a map that can be inverted.

    v ∈ R^k  ↦  exp_μ(F v) ∈ R^D,        |v| = length of the geodesic from μ,

on a star-shaped domain around v = 0. Along each direction it ends where the geodesic leaves the support of the data,
where it meets its neighbours (a fold), or where another geodesic is shorter (a cut): beyond these, exp is not
one-to-one. exp is interpolated on a fan of geodesics, with a reported error; for k ≥ 3 searches along geodesics
can make it exact.

On a manifold, nearest refers to its distance. The search runs under a local map of the manifold around the base point
(see `bundles.surroundings`); where that distorts, the result is moved to where the distance on the manifold is least.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._html import card, dots
from subbundle._types import BoolArray, FloatArray, Status, all_finite
from subbundle._validation import as_batch, as_choice
from subbundle.bundles.base import Subbundle
from subbundle.bundles.surroundings import FLAT, LocalMap, Surroundings, surroundings_of
from subbundle.charts import chart_data
from subbundle.charts._search import Model, nearest_in_metric
from subbundle.charts.base import Located, SingleChart
from subbundle.charts.chart_build import trace_fan
from subbundle.charts.fan_domain import count_endings

__all__ = ["Chart", "Located"]


class Chart(SingleChart):
    """Normal coordinates around ``base_point`` [dim], in both directions.

    Parameters
    ----------
    bundle : Subbundle
        Known in closed form or learned from data, as `PrincipalSubbundle`.
    base_point : [dim]
        Where the coordinates are zero; project it to the ridge first (`carry_to_ridge`).
    radius : float or "auto"
        Largest distance from the base point. ``"auto"``: as far as the data and the folds of exp allow.
    n_geodesics : int, optional
        Directions of the fan. Unless given: 2 for rank 1; for higher ranks as many as the tolerance needs, up to 512
        for rank 2 and 200·2^(k−1) above, a quarter of these on manifolds without closed forms (`RiemannianSubbundle`).
    tol : float, optional
        Largest error of the chart, relative to the bundle's length scale. Unless given, 1e-3 (k ≤ 2) or 1e-2 (k ≥ 3),
        as far as the number of geodesics allows; ``interpolation_error`` reports the error. For k ≥ 3 with a given
        tolerance geodesics are computed at every use: exact, and a thousand times slower.
    max_radius : float, optional
        Bound for ``"auto"``. Required without data.

    See Also
    --------
    PrincipalSubmanifold : the same as an estimator, with preparation of the data.
    Atlas : many charts.
    log : the coordinates of single points, exactly.

    Examples
    --------
    On the sphere the coordinates are the polar angle times the direction, up to the neighbourhood of the antipode:

    >>> import numpy as np
    >>> from subbundle.bundles.analytic import SphereTangent
    >>> chart = Chart(SphereTangent(2), [0, 0, 1.0], max_radius=4.0)
    >>> np.round(chart.transform([0.0, 1.0, 0.0]) / np.pi, 4) + 0.0
    array([0. , 0.5])
    >>> np.round(chart.inverse_transform([[np.pi / 2, 0.0]]), 4) + 0.0
    array([[1., 0., 0.]])
    >>> bool(2.5 < chart.injectivity_radius < np.pi)
    True
    """

    def __init__(
        self,
        bundle: Subbundle,
        base_point: Any,
        radius: float | str = "auto",
        *,
        n_geodesics: int | None = None,
        tol: float | None = None,
        max_radius: float | None = None,
    ) -> None:
        self._bundle: Subbundle | None = bundle
        self._data = trace_fan(bundle, base_point, radius, n_geodesics, tol, max_radius)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], bundle: Subbundle | None = None) -> Chart:
        """The inverse of `to_arrays`. A chart that follows geodesics (k ≥ 3 with ``tol``) needs the bundle, and
        so does one on a manifold."""
        chart = cls.__new__(cls)
        chart._bundle, chart._data = bundle, chart_data.from_arrays(arrays)
        if bundle is not None and (bundle.ambient_dim, bundle.rank) != chart._data.frame.shape:
            raise ValueError(f"arrays must be those of a chart of the bundle; its frame is {chart._data.frame.shape}.")
        columns = chart._local_map.enter(chart.base_point[None]).shape[1]
        if columns != chart._data.points.shape[2]:
            raise ValueError(
                f"arrays must fit the bundle: their images have {chart._data.points.shape[2]} columns, those of its "
                f"space {columns}. Pass Chart.from_arrays(arrays, bundle) with the bundle the chart was made from."
            )
        chart._data.model(bundle)
        return chart

    @classmethod
    def _of(cls, data: chart_data.ChartData, bundle: Subbundle) -> Chart:
        """The chart of a fan that was traced elsewhere."""
        chart = cls.__new__(cls)
        chart._bundle, chart._data = bundle, data
        return chart

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The chart as arrays that `numpy.savez` can keep."""
        return self._data.to_arrays()

    @cached_property
    def _model(self) -> Model:
        return self._data.model(self._bundle)

    @property
    def _local_map(self) -> LocalMap:
        return self._around.local_map(self.base_point)

    @property
    def _around(self) -> Surroundings:
        return surroundings_of(self._bundle)

    @property
    def bundle(self) -> Subbundle | None:
        """The bundle that the chart was made from, if it is known."""
        return self._bundle

    @property
    def base_point(self) -> FloatArray:
        """μ [dim]."""
        return self._data.base_point

    @property
    def frame(self) -> FloatArray:
        """F [dim, rank]: the directions of the coordinate axes at the base point."""
        return self._data.frame

    @property
    def rank(self) -> int:
        """k."""
        return self._data.rank

    @property
    def radius(self) -> float:
        """Distance of the outermost point covered."""
        return float(self._data.extents.max())

    @property
    def injectivity_radius(self) -> float:
        """Radius of the largest ball in which exp was found to be one-to-one; infinite if there is no fold or cut."""
        return self._data.injectivity_radius

    @property
    def interpolation_error(self) -> float:
        """Distance between the interpolant and independent geodesics: 99 % of the positions compared lie within it.

        0 where every point is a search by geodesics (k ≥ 3 with ``tol``).
        """
        return self._data.interpolation_error

    @property
    def max_residual(self) -> float:
        """Distance up to which points belong to the chart: 3 √(a² + s²).

        a is the bandwidth, s² the variance of the data across the subspaces; in high dimension s is the larger.
        """
        return self._data.max_residual

    @property
    def directions(self) -> FloatArray:
        """Unit coordinates [L, rank] of the geodesics of the fan."""
        return self._data.directions

    @property
    def extents(self) -> FloatArray:
        """Extent [L] of the chart along each geodesic of the fan."""
        return self._data.extents

    @property
    def endings(self) -> dict[str, int]:
        """Number of geodesics of the fan that ended for each reason, the most frequent first."""
        return count_endings(self._data.endings)

    def __repr__(self) -> str:
        return (
            f"Chart(rank {self.rank} in R^{len(self.base_point)}, radius={self.radius:.4g}, "
            f"{len(self.extents)} geodesics, injectivity_radius={self.injectivity_radius:.4g})"
        )

    def _repr_html_(self) -> str:
        facts = [("rank", self.rank), ("radius", self.radius), ("one-to-one up to", self.injectivity_radius)]
        facts += [("interpolation error", self.interpolation_error), *self.endings.items()]
        return card("Chart", facts, picture=dots(self.extents[:, None] * self.directions))

    def locate(self, points: Any, *, outside: str = "nan") -> Located:
        """Project ``points`` [batch, dim] or [dim] to the chart.

        Parameters
        ----------
        outside : {"nan", "nearest"}
            Points that the chart does not cover get NaN, or the nearest point on its border. Their status is not OK.
        """
        outside = as_choice(outside, "outside", ("nan", "nearest"))
        rows, single = as_batch(points, "points", len(self.base_point))
        points = self._around.validate(rows, "points")
        targets = self._local_map.enter(points)
        unmapped = ~all_finite(targets)
        targets[unmapped] = 0.0
        coordinates, found, residuals, converged = self._model.nearest(targets)
        if self._around is not FLAT:
            nearest_in_metric(self._around, self._local_map, self._model, points, coordinates, found)
        beyond = ~self._model.inside(coordinates)
        status = np.where(converged, Status.OK, Status.NOT_CONVERGED).astype(np.int8)
        if outside == "nearest" and beyond.any():
            coordinates[beyond], found[beyond], residuals[beyond] = self._model.nearest_on_border(targets[beyond])
        found = self._local_map.leave(found)
        if self._around is not FLAT:
            residuals = self._around.distance(points, found)
        status[beyond | (residuals > self.max_residual)] = Status.LEFT_SUPPORT
        bad = unmapped if outside == "nearest" else status != Status.OK
        status[unmapped] = Status.LEFT_SUPPORT
        coordinates[bad], found[bad], residuals[bad] = np.nan, np.nan, np.nan
        located = Located(coordinates, found, residuals, status)
        return located.first() if single else located

    def sample(self) -> FloatArray:
        """Points [n, dim] on the chart: the nodes of its geodesics inside the domain, the base point first."""
        return self._local_map.leave(self._model.nodes[0])

    def extent_along(self, coordinates: Any) -> FloatArray:
        """Extent [batch] of the domain along the directions of ``coordinates`` [batch, rank]; NaN for NaN."""
        given, _ = self._in_domain(coordinates)
        known = np.isfinite(given).all(axis=1)
        result = np.full(len(given), np.nan)
        result[known] = self._model.extent(given[known])
        return result

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.base_point), self.rank

    def _contains(self, coordinates: FloatArray) -> BoolArray:
        return self._model.inside(coordinates)

    def _points_at(self, coordinates: FloatArray) -> FloatArray:
        return self._local_map.leave(self._model.evaluate(coordinates))

    def _jacobians_at(self, coordinates: FloatArray) -> FloatArray:
        jacobians = self._model.jacobians(coordinates)
        if self._around is FLAT:
            return jacobians
        at = self._model.evaluate(coordinates)
        return np.stack([self._local_map.pull(at, jacobians[:, :, i]) for i in range(self.rank)], axis=2)
