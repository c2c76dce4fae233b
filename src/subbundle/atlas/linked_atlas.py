"""An atlas with a small chart at every node of a graph: those linked to the nearest one are blended.

With d_c the distance from a point x to the row of chart c, before denoising, its nearest chart is the one of least

    (distance to the disc of the chart)² + (1 − ε/2) d_c²,

and of the nearest few that one and the charts linked to it have the weight (1 − d_c²/d²)³/(ε + d_c²/r_c²), d the
distance of the next chart, so that the blend is continuous. Linked charts lie on the same sheet and, in a layout, on
the same side of a cut. The more charts disagree the smaller is ε, and the larger the weight of the nearest. Every point
has a nearest chart: beyond all of them that one is extrapolated, and the coverage is zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from subbundle._types import FloatArray, IntArray
from subbundle._validation import as_batch
from subbundle.atlas._linked_kernels import linked_weights
from subbundle.atlas.base import ChartAtlas
from subbundle.atlas.blending import Blended, blend
from subbundle.atlas.tuning import EVEN_CONTRADICTION
from subbundle.bundles.surroundings import FLAT
from subbundle.charts.quadratic_chart import QuadraticCharts
from subbundle.cloud.tuning import BLOCK_DIM
from subbundle.graph.neighborhoods import frame_size

# Least ε, reached where charts disagree by more than half of their size.
_SHARPEST = 1e-3


class LinkedAtlas(ChartAtlas):
    """Quadratic charts and the graph of those that are neighbours along the manifold.

    Parameters
    ----------
    charts : QuadraticCharts
    origins : [m, dim]
        The rows of the charts.
    links : csr_array [m, m]
        Lengths along the manifold between neighbouring charts, symmetric.
    contradiction : float
        Disagreement between the charts, relative to their size.
    """

    charts: QuadraticCharts

    def __init__(self, charts: QuadraticCharts, origins: FloatArray, links: csr_array, contradiction: float) -> None:
        self.charts, self.origins, self.contradiction = charts, np.ascontiguousarray(origins), contradiction
        self._links = _sorted(links)
        self._sharp = max((EVEN_CONTRADICTION / max(contradiction, EVEN_CONTRADICTION)) ** 2, _SHARPEST)
        self.near = NearestCharts(self.origins, self.rank)

    @property
    def links(self) -> csr_array:
        """Lengths [m, m] between neighbouring charts."""
        return self._links

    @cached_property
    def link_arrays(self) -> tuple[IntArray, IntArray]:
        """Starts [m + 1] and charts [l]: those linked to chart c are charts[starts[c] : starts[c + 1]], ascending."""
        return self._links.indptr.astype(np.int64), self._links.indices.astype(np.int64)

    @cached_property
    def link_products(self) -> tuple[FloatArray, FloatArray]:
        """W_c (μ_e − μ_c) [l, w] and |μ_e − μ_c|² [l] of the links from c to e (see `QuadraticCharts.arrays`)."""
        bases, spans, _, _ = self.charts.arrays
        starts, links = self.link_arrays
        seen, squares = np.empty((len(links), spans.shape[1])), np.empty(len(links))
        for c, base in enumerate(bases):
            own = slice(starts[c], starts[c + 1])
            offsets = bases[links[own]] - base
            seen[own], squares[own] = offsets @ spans[c].T, np.sum(offsets**2, axis=1)
        return seen, squares

    def relinked(self, links: csr_array) -> Self:
        """The same charts with other ``links`` [m, m]."""
        return type(self)(self.charts, self.origins, links, self.contradiction)

    @property
    def _most_charts(self) -> int:
        return self.near.count

    @cached_property
    def typical(self) -> float:
        """Median number of charts that contain the row of a chart."""
        return float(np.median(self._blended(self.origins)[1])) or 1.0

    def project(self, points: Any) -> Blended:
        """Project ``points`` [batch, dim] (or one point, [dim]: a batch of one) to the charts near them and blend."""
        found = self.considered(as_batch(points, "points", self.ambient_dim)[0])
        kept = (found.weights > 0.0) | (found.charts == found.nearest[found.rows])
        pairs = ("rows", "charts", "weights", "projections", "coordinates")
        return replace(found, **{name: getattr(found, name)[kept] for name in pairs})

    def considered(self, points: FloatArray) -> Blended:
        """As `project`, with all charts near ``points`` [n, dim], also those of no weight, which saves a copy."""
        blended, held = self._blended(points)
        return blended.covered(held / self.typical)

    def _jacobians(self, blended: Blended) -> FloatArray:
        """As in `ChartAtlas`; charts are continued, since every point has one."""
        return self.charts.slopes(blended.coordinates, blended.charts)

    def near_charts(self, given: FloatArray) -> tuple[Near, FloatArray, FloatArray, FloatArray]:
        """The charts near ``given`` points [n, dim]; coordinates, projections and residuals [pairs, …] in them."""
        near = self.near.of(given)
        return near, *self.charts.nearest(given, near.rows, near.charts)

    def _blended(self, given: FloatArray) -> tuple[Blended, FloatArray]:
        near, coordinates, projections, residuals = self.near_charts(given)
        weights, nearest, held = self.weighed(near, residuals, coordinates, along=False)
        return blend(FLAT, given, near.rows, near.charts, weights, projections, coordinates, nearest), held

    def weighed(
        self, near: Near, residuals: FloatArray, coordinates: FloatArray, *, along: bool
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """Weights [pairs] of charts ``near`` points, the nearest [n] and the number [n] that contain the point, from
        the ``residuals`` [pairs] and ``coordinates`` [pairs, rank] in them. d_c is |v| if ``along``, else the distance
        to the place of the chart."""
        count, shape = len(near.points), near.numbers.shape
        lengths = np.sqrt(np.einsum("pi,pi->p", coordinates, coordinates)).reshape(shape)
        weights, nearest, held = np.empty(shape), np.empty(count, np.int64), np.empty(count)
        linked_weights(
            near.numbers, near.following, near.places, near.points, residuals.reshape(shape), lengths, along,
            self.radii, self._sharp, *self.link_arrays, weights, nearest, held,
        )  # fmt: skip
        return weights.ravel(), nearest, held


@dataclass(frozen=True, slots=True)
class Near:
    """The charts whose ``places`` [m, dim] are nearest to ``points`` [n, dim]: their ``numbers`` [n, K], nearest first,
    and the chart ``following`` [n] them."""

    points: FloatArray
    places: FloatArray
    numbers: IntArray
    following: IntArray

    @property
    def rows(self) -> IntArray:
        """Row [pairs] of each pair of a point and a chart."""
        return np.repeat(np.arange(len(self.points)), self.numbers.shape[1])

    @property
    def charts(self) -> IntArray:
        """Chart [pairs] of each pair."""
        return self.numbers.ravel()


class NearestCharts:
    """Search for the few charts whose ``places`` [m, dim] are nearest to points, for charts of dimension ``rank``."""

    def __init__(self, places: FloatArray, rank: int) -> None:
        self._places = places
        count = min(frame_size(rank) + 1, len(places))
        # All but the last, whose distance is d.
        self.count = max(count - 1, 1)
        self._ranks = np.arange(1, count + 1)
        # In many dimensions products of matrices are faster than a tree.
        few = places.shape[1] <= BLOCK_DIM
        self._search: Any = cKDTree(places) if few else NearestNeighbors(n_neighbors=count).fit(places)

    def of(self, points: FloatArray) -> Near:
        """Those of ``points`` [n, dim]."""
        if len(points) == 0:
            return Near(points, self._places, np.empty((0, self.count), np.int64), np.empty(0, np.int64))
        if isinstance(self._search, cKDTree):
            # The tree returns its size where the square of a distance overflows.
            found = np.minimum(self._search.query(points, k=self._ranks)[1], len(self._places) - 1)
        else:
            found = self._search.kneighbors(points, return_distance=False).astype(np.int64)
        return Near(points, self._places, np.ascontiguousarray(found[:, : self.count]), found[:, -1].copy())


def _sorted(links: csr_array) -> csr_array:
    links = csr_array(links)
    links.sort_indices()
    return links
