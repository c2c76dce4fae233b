"""Points blended from several charts: the weighted mean of their projections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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

    def located(self) -> Located:
        """The same as every `locate` gives it: one row a point, in coordinates of the chart of greatest weight."""
        n = len(self.points)
        # Sorted so that the pair of greatest weight, of equals that of the first chart, ends each row's run.
        order = np.lexsort((-self.charts, self.weights, self.rows))
        best = order[np.flatnonzero(np.diff(self.rows[order], append=n))]
        coordinates, charts = np.full((n, self.coordinates.shape[1]), np.nan), np.full(n, -1)
        coordinates[self.rows[best]], charts[self.rows[best]] = self.coordinates[best], self.charts[best]
        return Located(
            coordinates, self.points, self.residuals, self.status, disagreement=self.disagreement, charts=charts
        )

    def _repr_html_(self) -> str:
        facts = [("charts per point", float(self.n_charts.mean()))] if len(self.n_charts) else []
        return card("Blended", [*facts, *endings(self.status)], picture=dots(self.points))


def blend(
    around: Surroundings,
    given: FloatArray,
    rows: IntArray,
    charts: IntArray,
    weights: FloatArray,
    projections: FloatArray,
    coordinates: FloatArray,
) -> Blended:
    """Weighted means; on a manifold those of the logs at the projection of the greatest weight."""
    n = len(given)
    total, heaviest, count = np.zeros(n), np.zeros(n), np.bincount(rows, minlength=n)
    np.add.at(total, rows, weights)
    weights = weights / total[rows]
    np.maximum.at(heaviest, rows, weights)
    reference = np.full_like(given, np.nan)
    # Written backwards, so that the first of equals is written last.
    first = np.flatnonzero(weights == heaviest[rows])[::-1]
    reference[rows[first]] = projections[first]
    step = np.zeros_like(given)
    np.add.at(step, rows, weights[:, None] * around.displacement(reference[rows], projections))
    points = np.full_like(given, np.nan)
    held = count > 0
    points[held] = around.move(reference[held], step[held])
    residuals, spread = np.full(n, np.nan), np.where(held, 0.0, np.nan)
    residuals[held] = around.distance(given[held], points[held])
    np.add.at(spread, rows, weights * around.distance(points[rows], projections) ** 2)
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
    )
