"""Placing points by an atlas of small charts: every chart near a point says where it goes; a smooth average decides.

A chart c carries its coordinates v to z = v A_c + t_c. For a point x the charts near it are looked up among the bases;
the one whose disc comes nearest to x is its home, and the home and the charts linked to it vote with the weight
(1 − |v|²/r_c²)³. Linked charts lie on the same sheet, and on the same side of a cut.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.charts.quadric_kernels import exp_chart, foot, normal_from_tangent
from subbundle.local.rows import collect


@kernel
def place(
    boxes, bases, frames, forms, maps, shifts, stretches, link_starts, links, reaches, discs, points, images, feet,
    coverage, disagreement, distortion, homes, outside,
):  # fmt: skip
    """Write for ``points`` [B, D] their images z [B, k], nearest points of the atlas, and how sure that is.

    ``coverage`` is the sum of the weights, 0 beyond all charts; ``disagreement`` the weighted standard deviation of the
    votes; ``distortion`` the weighted mean of ``stretches`` [M]; ``homes`` the home chart; ``outside`` how far beyond
    the disc of its home a point lies, along the chart.
    """
    n_charts, dim = bases.shape
    rank = frames.shape[2]
    found, squares = np.empty(n_charts, np.int64), np.empty(n_charts)
    votes, weights = np.empty((n_charts, rank)), np.empty(n_charts)
    point = np.empty(dim)
    tau, v = np.empty(rank), np.empty(rank)
    mixed, square, offset, small = np.empty((rank, dim)), np.empty(dim), np.empty(dim), np.empty((rank + 1, rank))
    spots = np.empty((n_charts, dim))
    widest = np.max(reaches)
    for b in range(len(points)):
        for j in range(dim):
            point[j] = points[b, j]
        near, _ = collect(bases, boxes, point, widest * widest, True, -1.0, found, squares)
        home, best, home_excess = -1, np.inf, 0.0
        for i in range(near):
            c = found[i]
            left = foot(point, bases, frames, forms, c, tau, mixed, square, offset, small)
            length = np.sqrt(normal_from_tangent(mixed, square, tau, v))
            excess = max(length - discs[c], 0.0)
            if left + excess * excess < best:
                home, best, home_excess = c, left + excess * excess, excess
            share = max(1.0 - (length / reaches[c]) ** 2, 0.0)
            weights[i] = share * share * share
            for j in range(dim):
                spots[i, j] = point[j] - offset[j]
            _carry(maps, shifts, c, v, votes, i)
        homes[b] = home
        outside[b] = home_excess
        total = _average(found, near, home, link_starts, links, votes, weights, spots, stretches, images, feet, b)
        coverage[b] = total
        if total == 0.0:
            c = home
            foot(point, bases, frames, forms, c, tau, mixed, square, offset, small)
            normal_from_tangent(mixed, square, tau, v)
            _carry(maps, shifts, c, v, votes, 0)
            for a in range(rank):
                images[b, a] = votes[0, a]
            for j in range(dim):
                feet[b, j] = point[j] - offset[j]
            disagreement[b] = 0.0
            distortion[b] = stretches[c]
        else:
            spread, stretch = 0.0, 0.0
            for i in range(near):
                if weights[i] > 0.0:
                    stretch += weights[i] * stretches[found[i]]
                    for a in range(rank):
                        spread += weights[i] * (votes[i, a] - images[b, a]) ** 2
            disagreement[b] = np.sqrt(spread / total)
            distortion[b] = stretch / total


@kernel
def _carry(maps, shifts, c, v, votes, i):
    """votes[i] = v A_c + t_c."""
    rank = v.size
    for a in range(rank):
        total = shifts[c, a]
        for e in range(rank):
            total += v[e] * maps[c, e, a]
        votes[i, a] = total


@kernel
def _linked(home, c, link_starts, links):
    """Whether chart ``c`` is linked to ``home``; the links of a chart are listed in rising order."""
    low, high = link_starts[home], link_starts[home + 1]
    while low < high:
        middle = (low + high) // 2
        if links[middle] < c:
            low = middle + 1
        else:
            high = middle
    return low < link_starts[home + 1] and links[low] == c


@kernel
def _average(found, near, home, link_starts, links, votes, weights, spots, stretches, images, feet, b):
    """Average the votes of the home chart and those linked to it; returns the sum of the weights.

    Weights of charts without a vote become zero.
    """
    rank, dim = votes.shape[1], spots.shape[1]
    total = 0.0
    for a in range(rank):
        images[b, a] = 0.0
    for j in range(dim):
        feet[b, j] = 0.0
    for i in range(near):
        if weights[i] > 0.0 and found[i] != home and not _linked(home, found[i], link_starts, links):
            weights[i] = 0.0
        w = weights[i]
        if w > 0.0:
            total += w
            for a in range(rank):
                images[b, a] += w * votes[i, a]
            for j in range(dim):
                feet[b, j] += w * spots[i, j]
    if total > 0.0:
        for a in range(rank):
            images[b, a] /= total
        for j in range(dim):
            feet[b, j] /= total
    return total


@kernel
def unplace(
    boxes, order, bases, frames, forms, inverses, shifts, link_starts, links, reaches, images, points, coverage, homes
):
    """Write the points [B, D] of the atlas at ``images`` [B, k]; the charts near one are looked up among the shifts.

    ``boxes`` and ``order`` are the search tree of the shifts t_c, in its own order; ``inverses`` the A_c⁻¹.
    """
    n_charts, dim = bases.shape
    rank = frames.shape[2]
    found, squares = np.empty(n_charts, np.int64), np.empty(n_charts)
    z, v, tau = np.empty(rank), np.empty(rank), np.empty(rank)
    mixed, square, point = np.empty((rank, dim)), np.empty(dim), np.empty(dim)
    sorted_shifts = np.empty((n_charts, rank))
    widest = np.max(reaches)
    for i in range(n_charts):
        for a in range(rank):
            sorted_shifts[i, a] = shifts[order[i], a]
    for b in range(len(images)):
        for a in range(rank):
            z[a] = images[b, a]
        near, _ = collect(sorted_shifts, boxes, z, widest * widest, True, -1.0, found, squares)
        home, best = -1, np.inf
        for i in range(near):
            found[i] = order[found[i]]
            squares[i] = _back(inverses, shifts, found[i], z, v)
            if squares[i] < best:
                home, best = found[i], squares[i]
        homes[b] = home
        total = 0.0
        for j in range(dim):
            points[b, j] = 0.0
        for i in range(near):
            c = found[i]
            share = max(1.0 - squares[i] / reaches[c] ** 2, 0.0)
            if share > 0.0 and (c == home or _linked(home, c, link_starts, links)):
                w = share * share * share
                _back(inverses, shifts, c, z, v)
                exp_chart(bases, frames, forms, c, v, tau, mixed, square, point)
                total += w
                for j in range(dim):
                    points[b, j] += w * point[j]
        coverage[b] = total
        if total == 0.0:
            _back(inverses, shifts, home, z, v)
            exp_chart(bases, frames, forms, home, v, tau, mixed, square, point)
        for j in range(dim):
            points[b, j] = points[b, j] / total if total > 0.0 else point[j]


@kernel
def _back(inverses, shifts, c, z, v):
    """v = (z − t_c) A_c⁻¹; returns |v|²."""
    total = 0.0
    for a in range(z.size):
        value = 0.0
        for e in range(z.size):
            value += (z[e] - shifts[c, e]) * inverses[c, e, a]
        v[a] = value
        total += value * value
    return total
