"""Which points of a cloud belong to which chart, with what coordinates, and how two charts that share points turn into
each other."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.charts.quadric_kernels import foot, normal_from_tangent
from subbundle.local.rows import collect


@kernel
def count_members(rows, boxes, bases, frames, forms, radius, offset_limit, slope_limit, counts):
    """Number of members of each chart: rows in the ball that lie close to its graph."""
    none_places, none_coordinates = np.empty(0, np.int64), np.empty((0, frames.shape[2]))
    _gather(
        rows, boxes, bases, frames, forms, radius, offset_limit, slope_limit, counts, counts, none_places,
        none_coordinates, False,
    )  # fmt: skip


@kernel
def list_members(rows, boxes, bases, frames, forms, radius, offset_limit, slope_limit, starts, places, coordinates):
    """Members of each chart in rising order of their rows, from ``starts`` [M] on, with their normal coordinates."""
    counts = np.empty(len(bases), np.int64)
    _gather(
        rows, boxes, bases, frames, forms, radius, offset_limit, slope_limit, counts, starts, places, coordinates, True
    )


@kernel
def _gather(
    rows, boxes, bases, frames, forms, radius, offset_limit, slope_limit, counts, starts, places, coordinates, keep
):
    n_points, dim = rows.shape
    rank = frames.shape[2]
    found, squares = np.empty(n_points, np.int64), np.empty(n_points)
    point, base = np.empty(dim), np.empty(dim)
    tau, v = np.empty(rank), np.empty(rank)
    mixed, square, offset, small = np.empty((rank, dim)), np.empty(dim), np.empty(dim), np.empty((rank + 1, rank))
    for c in range(len(bases)):
        for j in range(dim):
            base[j] = bases[c, j]
        near, _ = collect(rows, boxes, base, radius * radius, False, -1.0, found, squares)
        kept = 0
        for n in np.sort(found[:near]):
            for j in range(dim):
                point[j] = rows[n, j]
            left = foot(point, bases, frames, forms, c, tau, mixed, square, offset, small)
            length_sq = normal_from_tangent(mixed, square, tau, v)
            limit = offset_limit + slope_limit * np.sqrt(length_sq)
            if left <= limit * limit and length_sq <= 4.0 * radius * radius:
                if keep:
                    places[starts[c] + kept] = n
                    for a in range(rank):
                        coordinates[starts[c] + kept, a] = v[a]
                kept += 1
        counts[c] = kept


@kernel
def shared_moments(pairs, starts, places, coordinates, weights, moments, masses, shared):
    """For each pair (c, e) of charts the weighted cross moment of their shared members' coordinates, centred.

    ``moments`` [P, k, k] = Σ ω (v_e − v̄_e)ᵀ (v_c − v̄_c) with ω = w_c w_e, ``masses`` = Σ ω, ``shared`` their number.
    Members are listed in rising order, so that the two lists are merged in one pass.
    """
    rank = coordinates.shape[1]
    first, second = np.empty(rank), np.empty(rank)
    for p in range(len(pairs)):
        c, e = pairs[p, 0], pairs[p, 1]
        mass, number = 0.0, 0
        for a in range(rank):
            first[a] = 0.0
            second[a] = 0.0
            for f in range(rank):
                moments[p, a, f] = 0.0
        i, j = starts[c], starts[e]
        while i < starts[c + 1] and j < starts[e + 1]:
            if places[i] < places[j]:
                i += 1
            elif places[j] < places[i]:
                j += 1
            else:
                omega = weights[i] * weights[j]
                mass += omega
                number += 1
                for a in range(rank):
                    first[a] += omega * coordinates[i, a]
                    second[a] += omega * coordinates[j, a]
                    for f in range(rank):
                        moments[p, a, f] += omega * coordinates[j, a] * coordinates[i, f]
                i += 1
                j += 1
        if mass > 0.0:
            for a in range(rank):
                for f in range(rank):
                    moments[p, a, f] -= second[a] * first[f] / mass
        masses[p] = mass
        shared[p] = number


@kernel
def greedy_cover(rows, boxes, spacing, wanted, chosen):
    """Rows picked in order, each further than ``spacing`` from all picked before; only those with ``wanted``.

    Returns how many were written into ``chosen``.
    """
    n_points, dim = rows.shape
    covered = np.zeros(n_points, np.bool_)
    found, squares = np.empty(n_points, np.int64), np.empty(n_points)
    point = np.empty(dim)
    count = 0
    for n in range(n_points):
        if covered[n] or not wanted[n]:
            continue
        chosen[count] = n
        count += 1
        for j in range(dim):
            point[j] = rows[n, j]
        near, _ = collect(rows, boxes, point, spacing * spacing, False, -1.0, found, squares)
        for i in range(near):
            covered[found[i]] = True
    return count
