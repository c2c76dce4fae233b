"""Points blended from several charts: the weighted mean of their projections."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from subbundle._html import card, dots, endings
from subbundle._types import FloatArray, IntArray, Status, StatusArray
from subbundle.bundles.surroundings import FLAT, Surroundings
from subbundle.charts.chart import Located


@dataclass(frozen=True)
class Blended:
    """Points projected to an atlas.

    Attributes
    ----------
    points : [batch, dim]
        x̂; NaN where no chart is near.
    residuals : [batch]
        |x − x̂|.
    status : [batch]
        OK; LEFT_SUPPORT where no chart is near.
    rows, charts : [pairs]
        Which chart contributes to which row, rows ascending.
    weights : [pairs]
        Its weight; those of a row sum to one.
    projections : [pairs, dim]
        x̂_j.
    coordinates : [pairs, rank]
        Normal coordinates of x̂_j in the chart.
    nearest : [batch]
        The chart that the weights are relative to; −1 where there is none.
    around : Surroundings
        The space around the charts.
    coverage : [batch] or None
        Charts that hold the point, about 1 inside, 0 beyond all; None where this is not known.
    """

    points: FloatArray
    residuals: FloatArray
    status: StatusArray
    rows: IntArray
    charts: IntArray
    weights: FloatArray
    projections: FloatArray
    coordinates: FloatArray
    nearest: IntArray
    around: Surroundings
    coverage: FloatArray | None = None

    @cached_property
    def _sums(self) -> csr_array:
        return sums_over(self.rows, len(self.points), self.weights)

    def mean(self, values: FloatArray) -> FloatArray:
        """Σ_j w_j of ``values`` [pairs] or [pairs, q] over the charts of each row, [batch] or [batch, q]."""
        return np.asarray(self._sums @ values)

    @cached_property
    def n_charts(self) -> IntArray:
        """Number [batch] of charts that contribute: |B|."""
        return np.bincount(self.rows, minlength=len(self.points))

    @cached_property
    def disagreement(self) -> FloatArray:
        """Root mean square distance [batch] of the projections from x̂, with the weights of the blend; 0 for one chart
        alone."""
        apart = self.mean(self.around.distance(self.points[self.rows], self.projections) ** 2)
        return np.where(np.isfinite(self.residuals), np.sqrt(apart), np.nan)

    @property
    def own_coordinates(self) -> FloatArray:
        """Coordinates [batch, rank] in the nearest chart; NaN where there is none."""
        coordinates = np.full((len(self.points), self.coordinates.shape[1]), np.nan)
        own = np.flatnonzero(self.charts == self.nearest[self.rows])
        coordinates[self.rows[own]] = self.coordinates[own]
        return coordinates

    def located(self) -> Located:
        """The same as every `locate` gives it: one row a point, in coordinates of the nearest chart."""
        return Located(
            self.own_coordinates, self.points, self.residuals, self.status,
            coverage=self.coverage, disagreement=self.disagreement, charts=self.nearest,
        )  # fmt: skip

    def covered(self, coverage: FloatArray) -> Blended:
        """The same with a ``coverage`` [batch]; where it is 0 the status is LEFT_SUPPORT."""
        status = np.where(coverage > 0.0, self.status, Status.LEFT_SUPPORT).astype(np.int8)
        return replace(self, coverage=coverage, status=status)

    def _repr_html_(self) -> str:
        facts = [("charts per point", float(self.n_charts.mean()))] if len(self.n_charts) else []
        return card("Blended", [*facts, *endings(self.status)], picture=dots(self.points))


def sums_over(rows: IntArray, n_rows: int, weights: FloatArray) -> csr_array:
    """The matrix [n_rows, pairs] that sums ``weights`` [pairs] times values over the pairs of each row; ``rows`` rise.

    One pair after the other: the same bits whatever the other rows are.
    """
    starts = np.searchsorted(rows, np.arange(n_rows + 1))
    return csr_array((weights, np.arange(len(rows)), starts), shape=(n_rows, len(rows)))


def heaviest(rows: IntArray, n_rows: int, charts: IntArray, weights: FloatArray) -> IntArray:
    """The chart [n_rows] of greatest weight in each row, the first of equals; −1 where there is none."""
    found = np.full(n_rows, -1)
    order = np.lexsort((-weights, rows))
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    found[rows[first]] = charts[order[first]]
    return found


def blend(
    around: Surroundings,
    given: FloatArray,
    rows: IntArray,
    charts: IntArray,
    weights: FloatArray,
    projections: FloatArray,
    coordinates: FloatArray,
    nearest: IntArray,
) -> Blended:
    """Weighted means; on a manifold those of the logs at the projection to the nearest chart. ``weights`` [pairs] of a
    row sum to one."""
    n = len(given)
    held = nearest >= 0
    sums = sums_over(rows, n, weights)
    points, residuals = np.full_like(given, np.nan), np.full(n, np.nan)
    if around is FLAT:
        points[held] = (sums @ projections)[held]
    else:
        reference, own = np.empty_like(given), np.flatnonzero(charts == nearest[rows])
        reference[rows[own]] = projections[own]
        step = sums @ around.displacement(reference[rows], projections)
        points[held] = around.move(reference[held], step[held])
    residuals[held] = around.distance(given[held], points[held])
    status = np.where(held, Status.OK, Status.LEFT_SUPPORT).astype(np.int8)
    return Blended(points, residuals, status, rows, charts, weights, projections, coordinates, nearest, around)
