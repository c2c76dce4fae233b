"""Kernels for charts linked along a manifold: weights of those near a point, and paths from chart to chart.

Of the charts near a point those linked to the nearest have weight. A shortest path in a graph of bases is not straight;
in the chart of a point of the path its two neighbours have coordinates v₋ and v₊, and the point moves to ½ (v₋ + v₊)
unless that is beyond the data. Repeated, this shortens the path to a geodesic of the atlas.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import MOST_ROUNDS
from subbundle.atlas.tuning import PATH_SETTLED, PATH_WITHIN
from subbundle.charts.quadric_kernels import exp_chart, project_to_chart

# Halvings of a step that ends beyond the data.
_TRIES = 3


@kernel
def linked_weights(
    near, following, places, points, residuals, lengths, along, radii, sharp, link_starts, links, weights, nearest, held
):
    """Write the weights [n, K], which sum to one, of the candidates ``near`` [n, K] at ``points`` [n, D], the chart
    ``nearest`` [n] to each, and the number [n] of those with a weight that contain it.

    Weights vanish at the distance of the chart ``following`` [n], by its place among ``places`` [M, D]. In the charts
    points have ``residuals`` and ``lengths`` |v| [n, K]; d_c is |v| if ``along``, else the distance to the place.
    """
    squares = np.empty(near.shape[1])
    for b in range(len(near)):
        span, least, closest = _squared(points, b, places, following[b]), np.inf, 0
        for i in range(near.shape[1]):
            c = near[b, i]
            squares[i] = _squared(points, b, places, c)
            apart = lengths[b, i] ** 2 if along else squares[i]
            beyond = max(lengths[b, i] - radii[c], 0.0)
            score = residuals[b, i] ** 2 + beyond * beyond + (1.0 - 0.5 * sharp) * apart
            if score < least:
                least, closest = score, i
        chart, total, inside = near[b, closest], 0.0, 0.0
        for i in range(near.shape[1]):
            c, weight = near[b, i], 0.0
            if i == closest or _linked(chart, c, link_starts, links):
                apart = lengths[b, i] ** 2 if along else squares[i]
                taper = max(1.0 - squares[i] / span, 0.0) if span > 0.0 else 1.0
                weight = taper * taper * taper / (sharp + apart / radii[c] ** 2)
                if weight > 0.0:
                    inside += max(1.0 - (lengths[b, i] / radii[c]) ** 2, 0.0) ** 3
            weights[b, i] = weight
            total += weight
        if total <= 0.0:
            weights[b, closest] = total = 1.0
            inside = max(1.0 - (lengths[b, closest] / radii[chart]) ** 2, 0.0) ** 3
        for i in range(near.shape[1]):
            weights[b, i] /= total
        nearest[b], held[b] = chart, inside


@kernel
def _squared(points, b, places, c):
    total = 0.0
    for j in range(points.shape[1]):
        total += (points[b, j] - places[c, j]) ** 2
    return total


@kernel
def _linked(closest, c, link_starts, links):
    """Whether chart ``c`` is linked to ``closest``; the links of a chart are in ascending order."""
    low, high = link_starts[closest], link_starts[closest + 1]
    while low < high:
        middle = (low + high) // 2
        if links[middle] < c:
            low = middle + 1
        else:
            high = middle
    return low < link_starts[closest + 1] and links[low] == c


@kernel
def straighten(
    bases, spans, products, cases, link_starts, links, radii, starts, ends, start_charts, end_charts, rows, before,
    lengths,
):  # fmt: skip
    """Write the lengths [P] of straightened paths from ``starts`` to ``ends`` [P, D].

    ``before[rows[p]]`` [M] is the tree of shortest paths from the chart ``start_charts[p]``; −9999 where there is none.
    """
    n_charts, dim = bases.shape
    rank, size = 1, spans.shape[1]
    while rank * (rank + 3) < 2 * size:
        rank += 1
    nodes, charts = np.empty((n_charts + 2, dim)), np.empty(n_charts + 2, np.int64)
    scratch = (
        np.empty(dim), np.empty(rank), np.empty(size), np.empty(size), np.empty(dim), np.empty((rank + 2, size))
    )  # fmt: skip
    first, second, middle, here = np.empty(rank), np.empty(rank), np.empty(rank), np.empty(rank)
    for p in range(len(starts)):
        count = _trace(bases, radii, before, rows[p], starts, ends, start_charts[p], end_charts[p], p, nodes, charts)
        if count == 0:
            lengths[p] = np.inf
            continue
        for _ in range(MOST_ROUNDS):
            moved = 0.0
            for i in range(1, count - 1):
                c = charts[i]
                _log(nodes, i - 1, bases, spans, products, cases, c, scratch, first)
                _log(nodes, i + 1, bases, spans, products, cases, c, scratch, second)
                moved = max(moved, _step_to_midpoint(
                    bases, spans, products, cases, link_starts, links, radii, nodes, charts, i, scratch, first, second,
                    middle, here,
                ))  # fmt: skip
            if moved <= PATH_SETTLED:
                break
        lengths[p] = _length(nodes, charts, count, bases, spans, products, cases, scratch, first, second)


@kernel
def _step_to_midpoint(
    bases, spans, products, cases, link_starts, links, radii, nodes, charts, i, scratch, first, second, middle, here
):
    """Move node ``i`` to the midpoint of ``first`` and ``second``, or a fraction of the way where that is beyond the
    data.

    Returns the length of the step, in radii.
    """
    rank, dim = first.size, nodes.shape[1]
    c = charts[i]
    point, tau, z, turn, _, _ = scratch
    _log(nodes, i, bases, spans, products, cases, c, scratch, here)
    fraction = 1.0
    for _ in range(_TRIES):
        for a in range(rank):
            middle[a] = 0.5 * fraction * (first[a] + second[a]) + (1.0 - fraction) * here[a]
        exp_chart(bases, spans, products, cases, c, middle, tau, z, turn, point)
        chart, away = _nearest(bases, link_starts, links, c, point)
        if away <= (PATH_WITHIN * radii[chart]) ** 2:
            step = 0.0
            for j in range(dim):
                step += (nodes[i, j] - point[j]) ** 2
                nodes[i, j] = point[j]
            charts[i] = chart
            return np.sqrt(step) / radii[chart]
        fraction *= 0.5
    return 0.0


@kernel
def _trace(bases, radii, before, row, starts, ends, start_chart, end_chart, p, nodes, charts):
    """Write the path from ``ends[p]`` back to ``starts[p]`` over some of the bases between; returns its number of
    points, 0 where there is no path."""
    dim = bases.shape[1]
    for j in range(dim):
        nodes[0, j] = ends[p, j]
    charts[0] = end_chart
    count, c = 1, end_chart
    while c != start_chart:
        ahead = before[row, c]
        if ahead < 0:
            return 0
        last = charts[count - 1]
        apart = 0.0
        for j in range(dim):
            apart += (bases[ahead, j] - nodes[count - 1, j]) ** 2
        if apart > (PATH_WITHIN * radii[last]) ** 2 and (count > 1 or c != end_chart):
            for j in range(dim):
                nodes[count, j] = bases[c, j]
            charts[count] = c
            count += 1
        c = ahead
    if count == 1:
        for j in range(dim):
            nodes[count, j] = bases[start_chart, j]
        charts[count] = start_chart
        count += 1
    for j in range(dim):
        nodes[count, j] = starts[p, j]
    charts[count] = start_chart
    return count + 1


@kernel
def _length(nodes, charts, count, bases, spans, products, cases, scratch, first, second):
    """Length of a path, each segment the mean of its lengths in the charts at its ends."""
    total = 0.0
    for i in range(count - 1):
        total += 0.5 * _segment(nodes, i, charts[i], bases, spans, products, cases, scratch, first, second)
        total += 0.5 * _segment(nodes, i, charts[i + 1], bases, spans, products, cases, scratch, first, second)
    return total


@kernel
def _log(nodes, i, bases, spans, products, cases, c, scratch, v):
    """Normal coordinates of node ``i`` in chart ``c``."""
    point, tau, z, along, offset, small = scratch
    for j in range(point.size):
        point[j] = nodes[i, j]
    project_to_chart(point, bases, spans, products, cases, c, tau, v, z, along, offset, small)


@kernel
def _segment(nodes, i, c, bases, spans, products, cases, scratch, first, second):
    """Distance between nodes i and i + 1 in chart ``c``."""
    _log(nodes, i, bases, spans, products, cases, c, scratch, first)
    _log(nodes, i + 1, bases, spans, products, cases, c, scratch, second)
    total = 0.0
    for a in range(first.size):
        total += (first[a] - second[a]) ** 2
    return np.sqrt(total)


@kernel
def _nearest(bases, link_starts, links, c, point):
    """The chart among ``c`` and those linked to it whose base is nearest to ``point``, and the squared distance."""
    best, chart = np.inf, c
    for i in range(link_starts[c] - 1, link_starts[c + 1]):
        e = c if i < link_starts[c] else links[i]
        total = 0.0
        for j in range(point.size):
            total += (bases[e, j] - point[j]) ** 2
        if total < best:
            best, chart = total, e
    return chart, best
