"""Points blended from several charts: the weighted mean of their projections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from subbundle._html import card, dots, endings
from subbundle._types import FloatArray, IntArray, Status, StatusArray
from subbundle.bundles.surroundings import Surroundings
from subbundle.charts.chart import Located


@dataclass(frozen=True, slots=True)
class Blended:
    """Points projected to an atlas.

    Attributes
    ----------
    points : [batch, dim]
        x̂; NaN where no chart is near.
    residuals : [batch]
        |x − x̂|.
    n_charts : [batch]
        Number of charts that contribute: |B|.
    disagreement : [batch]
        Root mean square distance of their projections from x̂, with the weights of the blend; 0 for one chart alone.
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
    coverage : [batch] or None
        Charts that hold the point, about 1 inside, 0 beyond all; None where this is not known.
    """

    points: FloatArray
    residuals: FloatArray
    n_charts: IntArray
    disagreement: FloatArray
    status: StatusArray
    rows: IntArray
    charts: IntArray
    weights: FloatArray
    projections: FloatArray
    coordinates: FloatArray
    nearest: IntArray
    coverage: FloatArray | None = None

    def mean(self, values: FloatArray) -> FloatArray:
        """Σ_j w_j of ``values`` [pairs] or [pairs, …] over the charts of each row, [batch] or [batch, …]."""
        return mean_over(self.rows, len(self.points), self.weights, values)

    def located(self) -> Located:
        """The same as every `locate` gives it: one row a point, in coordinates of the nearest chart."""
        coordinates = np.full((len(self.points), self.coordinates.shape[1]), np.nan)
        own = np.flatnonzero(self.charts == self.nearest[self.rows])
        coordinates[self.rows[own]] = self.coordinates[own]
        return Located(
            coordinates, self.points, self.residuals, self.status, disagreement=self.disagreement, charts=self.nearest
        )

    def _repr_html_(self) -> str:
        facts = [("charts per point", float(self.n_charts.mean()))] if len(self.n_charts) else []
        return card("Blended", [*facts, *endings(self.status)], picture=dots(self.points))


def mean_over(rows: IntArray, n_rows: int, weights: FloatArray, values: FloatArray) -> FloatArray:
    """Σ of ``weights`` [pairs] times ``values`` [pairs, …] over the pairs of each of ``n_rows``; ``rows`` [pairs] rise.

    Row by row, one pair after the other: the same bits whatever the other rows are.
    """
    starts = np.searchsorted(rows, np.arange(n_rows + 1))
    return np.asarray(csr_array((weights, np.arange(len(rows)), starts), shape=(n_rows, len(rows))) @ values)


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
    coverage: FloatArray | None = None,
) -> Blended:
    """Weighted means; on a manifold those of the logs at the projection to the nearest chart.

    ``weights`` [pairs] need not sum to one.
    """
    n = len(given)
    count = np.bincount(rows, minlength=n)
    held = count > 0
    weights = weights / mean_over(rows, n, weights, np.ones(len(rows)))[rows]
    own = np.flatnonzero(charts == nearest[rows])
    reference = np.full_like(given, np.nan)
    reference[rows[own]] = projections[own]
    step = mean_over(rows, n, weights, around.displacement(reference[rows], projections))
    points = np.full_like(given, np.nan)
    points[held] = around.move(reference[held], step[held])
    residuals = np.full(n, np.nan)
    residuals[held] = around.distance(given[held], points[held])
    spread = np.where(held, mean_over(rows, n, weights, around.distance(points[rows], projections) ** 2), np.nan)
    return Blended(
        points=points,
        residuals=residuals,
        n_charts=count,
        disagreement=np.sqrt(spread),
        status=np.where(held, Status.OK, Status.LEFT_SUPPORT).astype(np.int8),
        rows=rows,
        charts=charts,
        weights=weights,
        projections=projections,
        coordinates=coordinates,
        nearest=nearest,
        coverage=coverage,
    )
