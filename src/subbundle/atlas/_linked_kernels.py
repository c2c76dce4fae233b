"""Kernels for charts linked along a manifold: of those near a point, the ones linked to the nearest have weight."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel


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
