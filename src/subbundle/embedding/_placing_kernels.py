"""Placing points by an atlas of small charts: every chart near a point places it, and a smooth average decides.

Chart c carries its normal coordinates v to z = z_c + v A_c. With d_c the distance from a point x to the row that chart
c was made at, before anything was denoised, its nearest chart is the one of least

    (distance to the disc of the chart)² + (1 − ε) d_c²,

and that one and the charts linked to it count with the weight (1 − d_c²/d²)³/(ε + d_c²/r_c²), d the distance at which
the next chart would come in, so that nothing jumps. The more charts contradict each other the smaller is ε, and the
more the nearest of them counts. Linked charts lie on the same sheet, and on the same side of a cut.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.charts.quadric_kernels import exp_chart, normal_from_tangent, project_to_chart


@kernel
def place(
    near, origins, bases, frames, forms, maps, shifts, stretches, link_starts, links, radii, sharp, points, images,
    projections, coverage, disagreement, distortion, nearest, outside,
):  # fmt: skip
    """Write for ``points`` [B, D] with candidate charts ``near`` [B, K] their images [B, k] and nearest points of the
    atlas; ``coverage`` is 0 beyond all discs, ``disagreement`` the weighted standard deviation of the images,
    ``distortion`` the weighted mean of ``stretches``, ``outside`` how far beyond the disc of its chart a point lies."""
    count, dim = points.shape
    candidates, rank = near.shape[1], frames.shape[2]
    squares, weights, covers = np.empty(candidates), np.empty(candidates), np.empty(candidates)
    votes, spots = np.empty((candidates, rank)), np.empty((candidates, dim))
    point, tau, v = np.empty(dim), np.empty(rank), np.empty(rank)
    mixed, square, offset, small = np.empty((rank, dim)), np.empty(dim), np.empty(dim), np.empty((rank + 1, rank))
    for b in range(count):
        for j in range(dim):
            point[j] = points[b, j]
        span = _distances(near, b, origins, point, squares)
        best, closest, excess = np.inf, 0, 0.0
        for i in range(candidates):
            c = near[b, i]
            left = project_to_chart(point, bases, frames, forms, c, tau, mixed, square, offset, small)
            length = np.sqrt(normal_from_tangent(mixed, square, tau, v))
            beyond = max(length - radii[c], 0.0)
            score = left + beyond * beyond + (1.0 - sharp) * squares[i]
            if score < best:
                best, closest, excess = score, i, beyond
            weights[i] = _weight(squares[i], span, squares[i] / radii[c] ** 2, sharp)
            covers[i] = max(1.0 - (length / radii[c]) ** 2, 0.0) ** 3
            for j in range(dim):
                spots[i, j] = point[j] - offset[j]
            for a in range(rank):
                total = shifts[c, a]
                for e in range(rank):
                    total += v[e] * maps[c, e, a]
                votes[i, a] = total
        total = _keep_linked(near, b, closest, link_starts, links, weights)
        cover, stretch, spread = 0.0, 0.0, 0.0
        for a in range(rank):
            images[b, a] = 0.0
        for j in range(dim):
            projections[b, j] = 0.0
        for i in range(candidates):
            w = weights[i] / total
            if w > 0.0:
                cover += covers[i]
                stretch += w * stretches[near[b, i]]
                for a in range(rank):
                    images[b, a] += w * votes[i, a]
                for j in range(dim):
                    projections[b, j] += w * spots[i, j]
        for i in range(candidates):
            for a in range(rank):
                spread += weights[i] / total * (votes[i, a] - images[b, a]) ** 2
        coverage[b], distortion[b], disagreement[b] = cover, stretch, np.sqrt(spread)
        nearest[b], outside[b] = near[b, closest], excess


@kernel
def unplace(near, bases, frames, forms, inverses, shifts, link_starts, links, radii, sharp, images, points, coverage):
    """Write the points [B, D] of the atlas at ``images`` [B, k] with candidate charts ``near`` [B, K]; ``inverses`` are
    the A_c⁻¹."""
    count, rank = images.shape
    candidates, dim = near.shape[1], bases.shape[1]
    squares, weights, lengths = np.empty(candidates), np.empty(candidates), np.empty(candidates)
    z, v, tau = np.empty(rank), np.empty((candidates, rank)), np.empty(rank)
    mixed, square, point = np.empty((rank, dim)), np.empty(dim), np.empty(dim)
    for b in range(count):
        for a in range(rank):
            z[a] = images[b, a]
        span = _distances(near, b, shifts, z, squares)
        best, closest = np.inf, 0
        for i in range(candidates):
            c = near[b, i]
            lengths[i] = 0.0
            for a in range(rank):
                total = 0.0
                for e in range(rank):
                    total += (z[e] - shifts[c, e]) * inverses[c, e, a]
                v[i, a] = total
                lengths[i] += total * total
            lengths[i] = np.sqrt(lengths[i])
            if lengths[i] < best:
                best, closest = lengths[i], i
            weights[i] = _weight(squares[i], span, (lengths[i] / radii[c]) ** 2, sharp)
        total = _keep_linked(near, b, closest, link_starts, links, weights)
        cover = 0.0
        for j in range(dim):
            points[b, j] = 0.0
        for i in range(candidates):
            w = weights[i] / total
            if w > 0.0:
                c = near[b, i]
                cover += max(1.0 - (lengths[i] / radii[c]) ** 2, 0.0) ** 3
                exp_chart(bases, frames, forms, c, v[i], tau, mixed, square, point)
                for j in range(dim):
                    points[b, j] += w * point[j]
        coverage[b] = cover


@kernel
def _distances(near, b, places, point, squares):
    """Write the squared distances of the candidates' ``places`` from ``point``; returns the largest."""
    largest = 0.0
    for i in range(near.shape[1]):
        total = 0.0
        for j in range(point.size):
            total += (point[j] - places[near[b, i], j]) ** 2
        squares[i] = total
        largest = max(largest, total)
    return largest


@kernel
def _weight(squared, span, relative, sharp):
    taper = max(1.0 - squared / span, 0.0) if span > 0.0 else 1.0
    return taper * taper * taper / (sharp + relative)


@kernel
def _keep_linked(near, b, closest, link_starts, links, weights):
    """Give charts that are not linked to the nearest one no weight; returns the sum of the weights, never zero."""
    total, chart = 0.0, near[b, closest]
    for i in range(near.shape[1]):
        if i != closest and not _linked(chart, near[b, i], link_starts, links):
            weights[i] = 0.0
        total += weights[i]
    if total <= 0.0:
        weights[closest] = 1.0
        return 1.0
    return total


@kernel
def _linked(closest, c, link_starts, links):
    """Whether chart ``c`` is linked to ``closest``; the links of a chart are listed in rising order."""
    low, high = link_starts[closest], link_starts[closest + 1]
    while low < high:
        middle = (low + high) // 2
        if links[middle] < c:
            low = middle + 1
        else:
            high = middle
    return low < link_starts[closest + 1] and links[low] == c
