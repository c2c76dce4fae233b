"""Blending several submanifolds into one: the formulas of the paper's appendix on combining principal submanifolds.

A point x has projections x̂_j on submanifolds M_j, at the distances d_j from their base points, along geodesics that
reach to r_j. Those further than ε from x are left out: B = {j : |x − x̂_j| < ε}. Then

    s_j(d) = 1 − d/r_j                       the decreasing affine bijection [0, r_j] → [0, 1]
    d̃_j   = d_j / s_j(d_j)                   from 0 at the base point to ∞ at the border
    w_j   = exp(−(d̃_j − d̃_{j*})² / 2σ²)      j* the nearest of B
    x̂     = Σ_B w_j x̂_j / Σ_B w_j

so that the weight of a submanifold vanishes at its border, and the blend is continuous there.

Two formulas differ from the paper. It prints 2σ, and calls σ a standard deviation; with 2σ the weights would depend on
the unit of length. (Pass √σ for its 2σ.) And it takes j* as the nearest in d_j. That of smaller radius can then be
nearest up to its own border, where d̃_{j*} is infinite, all others have no weight, and the blend is discontinuous; the
nearest in d̃_j is the same submanifold where radii are equal, and the blend is continuous. Both are offered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from subbundle._html import card, dots, endings
from subbundle._types import BoolArray, FloatArray, IntArray, Status, StatusArray
from subbundle._validation import as_choice
from subbundle.bundles.surroundings import FLAT, Surroundings
from subbundle.charts.chart import Located

CLOSEST = ("rescaled", "geodesic")


def admitted(residuals: FloatArray, threshold: float) -> BoolArray:
    """Which projections belong to B, by their distances |x − x̂_j| ``residuals`` [pairs]."""
    return np.asarray(residuals < threshold)


def rescaled(distances: FloatArray, radii: FloatArray) -> FloatArray:
    """d̃_j = d_j / s_j(d_j) for ``distances`` d_j and ``radii`` r_j [pairs]; infinite at the border and beyond.

    Examples
    --------
    >>> rescaled(np.array([0.0, 0.5, 1.0]), np.array([1.0, 1.0, 1.0]))
    array([ 0.,  1., inf])
    """
    left = 1.0 - distances / radii
    return np.asarray(np.divide(distances, left, out=np.full(distances.shape, np.inf), where=left > 0.0))


def weights(
    rows: IntArray, n_rows: int, distances: FloatArray, radii: FloatArray, sigma: float, *, closest: str = "rescaled"
) -> FloatArray:
    """w_j [pairs] before normalisation; pair p belongs to the point ``rows[p]`` of ``n_rows``.

    ``closest`` is the distance in which j* is nearest: ``"rescaled"``, or ``"geodesic"``, the paper's. A submanifold
    has no weight at its border, unless it is the only one.
    """
    as_choice(closest, "closest", CLOSEST)
    scaled = rescaled(distances, radii)
    best = _reference(rows, n_rows, scaled if closest == "rescaled" else distances, scaled)[rows]
    with np.errstate(invalid="ignore"):
        apart = np.where(scaled == best, 0.0, scaled - best)  # also where both are infinite
    return np.asarray(np.exp(-0.5 * (apart / sigma) ** 2))


def _reference(rows: IntArray, n_rows: int, measured: FloatArray, scaled: FloatArray) -> FloatArray:
    """d̃ [n_rows] of the pair with the least ``measured`` distance, the first of equals."""
    least = np.full(n_rows, np.inf)
    np.minimum.at(least, rows, measured)
    best = np.full(n_rows, np.inf)
    # Written backwards, so that the first of equals is written last.
    nearest = np.flatnonzero(measured == least[rows])[::-1]
    best[rows[nearest]] = scaled[nearest]
    return best


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
        Charts that contain the point, relative to a typical number: about 1 inside, 0 beyond all; None if unknown.
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
        """Root mean square distance [batch] of the projections from x̂, with the weights of the blend; 0 for a single
        chart."""
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
        """The same as a `Located`: one row a point, in coordinates of the nearest chart."""
        return Located(
            self.own_coordinates, self.points, self.residuals, self.status,
            coverage=self.coverage, spread=self.disagreement, charts=self.nearest,
        )  # fmt: skip

    def covered(self, coverage: FloatArray) -> Blended:
        """The same with a ``coverage`` [batch]; where it is 0 the status is LEFT_SUPPORT."""
        status = np.where(coverage > 0.0, self.status, Status.LEFT_SUPPORT).astype(np.int8)
        return replace(self, coverage=coverage, status=status)

    def _repr_html_(self) -> str:
        facts = [("charts per point", float(self.n_charts.mean()))] if len(self.n_charts) else []
        return card("Blended", [*facts, *endings(self.status)], picture=dots(self.points))


def sums_over(rows: IntArray, n_rows: int, weights: FloatArray) -> csr_array:
    """The matrix [n_rows, pairs] that sums ``weights`` [pairs] times values over the pairs of each row, ascending.

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
