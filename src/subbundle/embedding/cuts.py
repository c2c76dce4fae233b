"""Manifolds that close up: where to cut them, or how to share them out into regions.

Unrolled from one chart along shortest paths, a manifold that closes up comes back beside itself: two charts that are
linked end up far apart. Links whose ends lie more than three times their length apart after unrolling cross the cut.
Curvature alone also parts them, but little: on a sphere the factor is θ / sin θ at the angle θ from the start, three
at 131°.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from subbundle._types import FloatArray, IntArray
from subbundle.embedding.chart_graph import ChartGraph
from subbundle.embedding.chart_links import Links
from subbundle.embedding.quadratic_charts import SmallCharts

_APART = 3.0
_MOST_REGIONS = 64


def crossing(graph: ChartGraph, links: Links, labels: IntArray) -> NDArray[np.bool_]:
    """Which links [P] cross the cut, each part of ``labels`` [M] unrolled from a central chart."""
    parts = [np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)]
    roots = np.array([graph.central(part) for part in parts])
    distance, before, _ = graph.trees(roots)
    return _apart(graph, graph.developed(links, distance, before))


def regions(graph: ChartGraph, links: Links, labels: IntArray) -> IntArray:
    """A region for each chart [M], such that none closes up: cells around centres that are added where one still does,
    at the chart furthest from its centre."""
    parts = [np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)]
    roots = [graph.central(part) for part in parts]
    while True:
        distance, before, nearest = graph.trees(np.array(roots))
        cell = np.searchsorted(np.sort(roots), nearest)
        inside = cell[links.pairs[:, 0]] == cell[links.pairs[:, 1]]
        closed = inside & _apart(graph, graph.developed(links, distance, before))
        if not closed.any() or len(roots) >= _MOST_REGIONS:
            return np.asarray(cell)
        worst = np.unique(cell[links.pairs[closed, 0]])
        roots += [int(np.argmax(np.where(cell == c, distance, -1.0))) for c in worst]


def split_members(charts: SmallCharts, links: Links) -> SmallCharts:
    """``charts`` with each point a member only of its heaviest chart and the charts linked to that one."""
    of = charts.charts
    order = np.lexsort((of, -charts.weights, charts.places))
    first = np.ones(len(order), bool)
    first[1:] = charts.places[order][1:] != charts.places[order][:-1]
    home = np.zeros(charts.n_points, np.int64)
    home[charts.places[order][first]] = of[order][first]
    neighbours = links.neighbours()
    joined = neighbours + csr_array((np.ones(links.n_charts), (np.arange(links.n_charts),) * 2))
    kept = np.asarray(joined[home[charts.places], of]).ravel() > 0.0
    return charts.with_members(kept)


def _apart(graph: ChartGraph, position: FloatArray) -> NDArray[np.bool_]:
    ends = position[graph.pairs]
    # Between bases that nearly coincide noise alone would reach any factor.
    lengths = np.maximum(graph.lengths, np.median(graph.lengths))
    return np.asarray(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) > _APART * lengths)
