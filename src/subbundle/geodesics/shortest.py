"""Shortest paths along data: route, straighten, measure.

Both ends are projected to the ridge, x = x' + o_x with o_x the offset across it. A route through the neighbour graph
(`paths`) selects the homotopy class, around holes and necks; it is straightened on the ridge (`straighten`) to a curve
of length L from x' to y'. The distance is that of the product of ridge and offsets,

    d(x, y)² = L² + |o_x − o_y|²,

so that it obeys the triangle inequality for points off the ridge too, and is the length of the curve for points
on it. Pairs are taken in lexicographic order: exchanging x and y changes no bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._types import BoolArray, FloatArray, IntArray, all_finite
from subbundle.bundles.base import LearnedSubbundle
from subbundle.bundles.surroundings import surroundings_of
from subbundle.geodesics.connected_components import connected_components
from subbundle.geodesics.on_ridge import OnRidge, on_ridge
from subbundle.geodesics.paths import path_graph
from subbundle.geodesics.straighten import straighten

# Pairs that are straightened together, so that their nodes fit in memory.
_TOGETHER = 1024


@dataclass(frozen=True, slots=True)
class Shortest:
    """Shortest paths from x to y.

    Attributes
    ----------
    lengths : [n]
        Infinite between connected components; NaN where an end lies off the data.
    nodes : list of [m, dim]
        On the ridge, from x' to y', evenly spaced; empty where there is no path.
    departures, arrivals : [n, dim]
        Unit vectors at x' and y' that lead to the other end.
    """

    lengths: FloatArray
    nodes: list[FloatArray]
    departures: FloatArray
    arrivals: FloatArray


def shortest_paths(bundle: LearnedSubbundle, x: FloatArray, y: FloatArray, tol: float) -> Shortest:
    """Shortest paths from x [n, dim] to y [n, dim], row by row; each a function of the bundle and its two ends."""
    n = len(x)
    found = Shortest(np.full(n, np.nan), [x[:0]] * n, *np.full((2, n, bundle.ambient_dim), np.nan))
    if n == 0:
        return found
    ends = near_data(bundle, np.concatenate([x, y]))
    known = ends.placed[:n] & ends.placed[n:]
    apart = ~joined(bundle, x, y)
    found.lengths[apart] = np.inf
    rows = np.flatnonzero(known & ~apart)
    for start in range(0, len(rows), _TOGETHER):
        _fill(bundle, x, y, ends, rows[start : start + _TOGETHER], tol, found)
    return found


def _fill(
    bundle: LearnedSubbundle, x: FloatArray, y: FloatArray, ends: OnRidge, rows: IntArray, tol: float, found: Shortest
) -> None:
    """Write the paths between the ``rows`` of x and y, of which ``ends`` are the projections, into ``found``."""
    around, graph = surroundings_of(bundle), path_graph(bundle)
    here, there = ends.at(rows).points, ends.at(len(x) + rows).points
    swap = exchanged(here, there)
    first, last = (ends.at(np.where(exchange, len(x) + rows, rows)) for exchange in (swap, ~swap))
    routes = graph.routes(first, last)
    owner = np.repeat(np.arange(len(rows)), [len(several) for several in routes])
    candidates = [route for several in routes for route in several]
    tried = [
        np.vstack([first.points[i], graph.points[route], last.points[i]])
        for i, route in zip(owner, candidates, strict=True)
    ]
    curves = straighten(bundle, tried, tol)
    # Of the curves of each pair the one that is shortest after straightening; the first of equals.
    order = np.lexsort([np.arange(len(candidates)), curves.lengths, owner])
    curves = curves.chosen(order[np.unique(owner, return_index=True)[1]])
    offset, other = around.displacement(here, x[rows]), around.displacement(there, y[rows])
    differ = np.nan_to_num(around.transport(other, there, here) - offset)
    across = around.coordinates(here, differ)
    found.lengths[rows] = np.sqrt(curves.lengths**2 + (across * across).sum(axis=1))
    found.departures[rows] = np.where(swap[:, None], curves.arrivals, curves.departures)
    found.arrivals[rows] = np.where(swap[:, None], curves.departures, curves.arrivals)
    for row, curve, back in zip(rows, curves.nodes, swap, strict=True):
        found.nodes[row] = curve[::-1] if back else curve


def near_data(bundle: LearnedSubbundle, points: FloatArray) -> OnRidge:
    """Projections of ``points`` [n, dim] to the ridge; those of the support without one get their nearest landmark."""
    found = on_ridge(bundle, points)
    rest = np.flatnonzero(all_finite(points) & ~found.placed)
    if rest.size:
        graph = path_graph(bundle)
        near = graph.nearest(points[rest])
        found.points[rest], found.frames[rest] = graph.points[near], graph.frames[near]
        found.placed[rest] = connected_components(bundle).label(points[rest]) >= 0
    return found


def length_on_ridge(bundle: LearnedSubbundle, points: FloatArray) -> float:
    """Length of the projection to the ridge of a curve ``points`` [m, dim]; infinite where it has none."""
    found = near_data(bundle, points)
    legs = surroundings_of(bundle).distance(found.points[:-1], found.points[1:])
    return float(legs.sum()) if found.placed.all() else float("inf")


def joined(bundle: LearnedSubbundle, x: FloatArray, y: FloatArray, *, every: bool = False) -> BoolArray:
    """Whether the points lie in the same connected component; row by row, or ``every`` row of x with every row of y."""
    components = connected_components(bundle)
    here, there = components.label(x), components.label(y)
    same: BoolArray = here[:, None] == there[None, :] if every else here == there
    return same


def exchanged(x: FloatArray, y: FloatArray) -> BoolArray:
    """In which rows y comes before x in lexicographic order."""
    differ = x != y
    first = np.argmax(differ, axis=1)
    rows = np.arange(len(x))
    return np.asarray(x[rows, first] > y[rows, first])
