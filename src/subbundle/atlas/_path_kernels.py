"""Kernels for paths over linked charts: a shortest path in a graph of bases, straightened.

In the chart of a point of the path its two neighbours have coordinates v₋ and v₊, and the point moves to ½ (v₋ + v₊)
unless that is beyond the data. Repeated, this shortens the path to a geodesic of the atlas.

A point that has moved is a point μ_e + W_eᵀ z of the chart e where it did (`charts.quadric_kernels`), and chart c reads
of it only

    W_c (x − μ_c) = W_c (μ_e − μ_c) + W_c W_eᵀ z,

so that with both products of the pair (c, e), formed once, the steps do not depend on the dimension of the space. Where
that is below the number of rows of W, the point itself costs less. Only the ends of a path are no points of charts.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import MOST_ROUNDS
from subbundle.atlas.tuning import PATH_SETTLED, PATH_WITHIN
from subbundle.charts.quadric_kernels import coordinates_in_chart, exp_terms
from subbundle.local.moments import FAST

# Halvings of a step that ends beyond the data.
_TRIES = 3


@kernel
def straighten(
    bases, spans, products, cases, link_starts, links, seen, squares, radii, starts, ends, start_charts, end_charts,
    rows, before, keys, pairs, lengths,
):  # fmt: skip
    """Write the lengths [P] of straightened paths from ``starts`` to ``ends`` [P, D].

    ``before[rows[p]]`` [M] is the tree of shortest paths from the chart ``start_charts[p]``; −9999 where there is none.
    ``seen`` and ``squares`` are `LinkedAtlas.link_products`. ``pairs`` [s, w, w + 1] holds W_c W_eᵀ and W_c (μ_e − μ_c)
    of the pairs of charts M c + e = ``keys`` [s] that were met last.
    """
    n_charts, dim = bases.shape
    rank, size = 1, spans.shape[1]
    while rank * (rank + 3) < 2 * size:
        rank += 1
    # Of the points of a path: the chart nearest to each, the chart e on which it lies with its z, and its squared
    # distance from the nearest base; for an end, −2 − c with the chart c that read it last, and what it read.
    charts, homes = np.empty(n_charts + 2, np.int64), np.empty(n_charts + 2, np.int64)
    terms, away, ambient = np.empty((n_charts + 2, size)), np.empty(n_charts + 2), np.empty((3, dim))
    tau, z, along, small = np.empty(rank), np.empty(size), np.empty(size), np.empty((rank + 2, size))
    first, second, middle, here = np.empty(rank), np.empty(rank), np.empty(rank), np.empty(rank)
    for p in range(len(starts)):
        for j in range(dim):
            ambient[0, j], ambient[1, j] = ends[p, j], starts[p, j]
        count = _trace(
            bases, radii, before, rows[p], start_charts[p], end_charts[p], charts, homes, terms, away, ambient
        )
        if count == 0:
            lengths[p] = np.inf
            continue
        for _ in range(MOST_ROUNDS):
            moved = 0.0
            for i in range(1, count - 1):
                _two_logs(
                    i - 1, i + 1, charts[i], homes, terms, ambient, bases, spans, products, cases, keys, pairs, tau, z,
                    along, small, first, second,
                )  # fmt: skip
                moved = max(moved, _step_to_midpoint(
                    i, charts, homes, terms, away, ambient, bases, spans, products, cases, keys, pairs, link_starts,
                    links, seen, squares, radii, tau, z, along, small, first, second, middle, here,
                ))  # fmt: skip
            if moved <= PATH_SETTLED:
                break
        # Each segment has the mean of its lengths in the charts at its ends.
        lengths[p] = 0.0
        for i in range(2 * count - 2):
            _two_logs(
                i // 2, i // 2 + 1, charts[i // 2 + i % 2], homes, terms, ambient, bases, spans, products, cases, keys,
                pairs, tau, z, along, small, first, second,
            )  # fmt: skip
            square = 0.0
            for a in range(rank):
                square += (first[a] - second[a]) ** 2
            lengths[p] += 0.5 * np.sqrt(square)


@kernel
def _step_to_midpoint(
    i, charts, homes, terms, away, ambient, bases, spans, products, cases, keys, pairs, link_starts, links, seen,
    squares, radii, tau, z, along, small, first, second, middle, here,
):  # fmt: skip
    """Move point ``i`` to the midpoint of ``first`` and ``second``, or a fraction of the way where that is beyond the
    data.

    Returns the length of the step, in radii.
    """
    c, fraction = charts[i], 1.0
    for a in range(middle.size):
        middle[a] = 0.5 * (first[a] + second[a])
    for _ in range(_TRIES):
        exp_terms(products, cases, c, middle, tau, z, here)
        own = 0.0
        for w in range(z.size):
            for u in range(z.size):
                own += z[w] * z[u] * products[c, w, u]
        chart, least = _nearest(link_starts, links, seen, squares, c, z, own)
        if least <= (PATH_WITHIN * radii[chart]) ** 2:
            _read(i, c, homes, terms, ambient, bases, spans, products, keys, pairs, along)
            step = away[i] + own
            for w in range(z.size):
                step -= 2.0 * along[w] * z[w]
                terms[i, w] = z[w]
            charts[i], homes[i], away[i] = chart, c, least
            return np.sqrt(max(step, 0.0)) / radii[chart]
        fraction *= 0.5
        _read(i, c, homes, terms, ambient, bases, spans, products, keys, pairs, along)
        coordinates_in_chart(along, products, cases, c, tau, here, z, small)
        for a in range(middle.size):
            middle[a] = 0.5 * fraction * (first[a] + second[a]) + (1.0 - fraction) * here[a]
    return 0.0


@kernel(fastmath=FAST)
def _nearest(link_starts, links, seen, squares, c, z, own):
    """The chart among ``c`` and those linked to it whose base is nearest to the point μ_c + W_cᵀ z, and the squared
    distance; that from μ_c is ``own``."""
    best, chart = own, c
    for i in range(link_starts[c], link_starts[c + 1]):
        total = own + squares[i]
        for w in range(z.size):
            total -= 2.0 * z[w] * seen[i, w]
        if total < best:
            best, chart = total, links[i]
    return chart, best


@kernel
def _trace(bases, radii, before, row, start_chart, end_chart, charts, homes, terms, away, ambient):
    """Write the path from the end ``ambient[0]`` back to the start ``ambient[1]`` over some of the bases between;
    returns its number of points, 0 where there is no path."""
    charts[0] = end_chart
    count, c = 1, end_chart
    while c != start_chart:
        ahead = before[row, c]
        if ahead < 0:
            return 0
        last, apart = charts[count - 1], 0.0
        for j in range(bases.shape[1]):
            apart += (bases[ahead, j] - (ambient[0, j] if count == 1 else bases[last, j])) ** 2
        if apart > (PATH_WITHIN * radii[last]) ** 2 and (count > 1 or c != end_chart):
            charts[count] = c
            count += 1
        c = ahead
    if count == 1:
        charts[count] = start_chart
        count += 1
    for i in range(1, count):
        homes[i], away[i] = charts[i], 0.0
        for w in range(terms.shape[1]):
            terms[i, w] = 0.0
    charts[count], homes[0], homes[count] = start_chart, -1, -1
    return count + 1


@kernel
def _two_logs(
    i, k, c, homes, terms, ambient, bases, spans, products, cases, keys, pairs, tau, z, along, small, first, second
):
    """Write the normal coordinates of points ``i`` and ``k`` in chart ``c``."""
    _read(i, c, homes, terms, ambient, bases, spans, products, keys, pairs, along)
    coordinates_in_chart(along, products, cases, c, tau, first, z, small)
    _read(k, c, homes, terms, ambient, bases, spans, products, keys, pairs, along)
    coordinates_in_chart(along, products, cases, c, tau, second, z, small)


@kernel(fastmath=FAST)
def _read(i, c, homes, terms, ambient, bases, spans, products, keys, pairs, along):
    """Write ``along`` = W_c (x − μ_c) of point ``i``."""
    size, dim, e = along.size, bases.shape[1], homes[i]
    if e < 0:
        if e != -2 - c:
            for j in range(dim):
                ambient[2, j] = ambient[min(i, 1), j] - bases[c, j]
            _across(spans, c, ambient, along)
            homes[i] = -2 - c
            for w in range(size):
                terms[i, w] = along[w]
        for w in range(size):
            along[w] = terms[i, w]
    elif e != c and dim <= size:
        for j in range(dim):
            ambient[2, j] = bases[e, j] - bases[c, j]
            for u in range(size):
                ambient[2, j] += spans[e, u, j] * terms[i, u]
        _across(spans, c, ambient, along)
    else:
        slot = 0 if e == c else _pair(bases, spans, keys, pairs, c, e)
        for w in range(size):
            total = 0.0 if e == c else pairs[slot, w, size]
            for u in range(size):
                total += (products[c, w, u] if e == c else pairs[slot, w, u]) * terms[i, u]
            along[w] = total


@kernel(fastmath=FAST)
def _across(spans, c, ambient, along):
    """Write W_c times the last row of ``ambient``."""
    for w in range(along.size):
        total = 0.0
        for j in range(ambient.shape[1]):
            total += spans[c, w, j] * ambient[2, j]
        along[w] = total


@kernel(fastmath=FAST)
def _pair(bases, spans, keys, pairs, c, e):
    """The place among ``pairs`` of the products of charts ``c`` and ``e``, which are formed unless they are there."""
    key, size, dim = c * len(bases) + e, spans.shape[1], bases.shape[1]
    slot = key % len(keys)
    if keys[slot] != key:
        keys[slot] = key
        for w in range(size):
            for u in range(size):
                total = 0.0
                for j in range(dim):
                    total += spans[c, w, j] * spans[e, u, j]
                pairs[slot, w, u] = total
            total = 0.0
            for j in range(dim):
                total += spans[c, w, j] * (bases[e, j] - bases[c, j])
            pairs[slot, w, size] = total
    return slot
