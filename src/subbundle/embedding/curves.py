"""Tables that are curves, like images of a rotating object.

Few rows along a curve that nearly touches itself have no reliable tangents, but an order. It is that of the shortest
closed tour: nearest-neighbour starts, improved by 2-opt and by moving segments. On a curve the nearest rows of a row
are its neighbours on the tour; on sheets and clouds at most about .7 of them are, whatever their dimension (.56 to .70
on sheets, solids and real tables; .84 to 1 on curves, benchmarks/tables.py).

A trajectory with several strands side by side, as a periodic signal has, resembles a curve as long as only the first
neighbours are considered: of the √n nearest rows most must be as near on the tour, too.

Edges between n rows sampled at random from a closed curve vary, and the longest is about log n times their mean. The
curve is open where the longest edge is far longer than the spacing and no chance explains it: of edges with the gamma
distribution of the mean and variance of the others, less than one in n such tables is as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import gammaincc

from subbundle._compiled import kernel
from subbundle._numbers import MOST_ROUNDS, ROUNDING
from subbundle._types import FloatArray, IntArray, evenly
from subbundle.embedding.tuning import CURVE_FRACTION, TOUR_ROWS
from subbundle.graph.tuning import STANDS_OUT

# Steps to either side within which rows of a curve are neighbours: a parabola needs more than the first two.
CURVE_STEPS = 2


@dataclass(frozen=True, slots=True)
class Tour:
    """Rows along a curve.

    Attributes
    ----------
    order : [n]
        Rows along the curve; the longest edge of the closed tour is that from the last to the first.
    lengths : [n]
        From each to the next.
    closed : bool
        Whether the last row is next to the first.
    """

    order: IntArray
    lengths: FloatArray
    closed: bool

    def distances(self) -> FloatArray:
        """Lengths [n, n] along the curve between the rows."""
        place = np.empty(len(self.order))
        place[self.order] = np.concatenate([[0.0], np.cumsum(self.lengths[:-1])])
        apart = np.abs(place[:, None] - place[None])
        return np.minimum(apart, self.lengths.sum() - apart) if self.closed else apart


def curve_through(points: FloatArray, *, strict: bool) -> Tour | None:
    """The tour through ``points`` [n, D] if they lie along a curve.

    ``strict`` requires the two nearest rows to be adjacent on the tour, as for rows without noise. Else it may also be
    the four nearest that are at most two steps away, as for rows that are unevenly spaced.
    """
    count = len(points)
    number = TOUR_ROWS // max(count, 1)
    if count < 8 or number < 2:
        return None
    distances = cdist(points, points)
    order = np.empty(count, np.int64)
    starts = evenly(count, number)
    # The others only if the first start does not exclude a curve.
    for few in (1, number):
        shortest_tour(distances, starts[:few], order)
        followed = _followed(distances, order, 2, 1)
        if not strict:
            followed = max(followed, _followed(distances, order, 2 * CURVE_STEPS, CURVE_STEPS))
        wide = isqrt(count) // 2
        if followed < CURVE_FRACTION or _followed(distances, order, 2 * wide, wide) <= 0.5:
            return None
    lengths = distances[order, np.roll(order, -1)]
    longest = int(np.argmax(lengths))
    order, lengths = np.roll(order, -longest - 1), np.roll(lengths, -longest - 1)
    return Tour(order, lengths, bool(lengths[-1] < STANDS_OUT * np.median(lengths)) or _by_chance(lengths))


def _by_chance(lengths: FloatArray) -> bool:
    """Whether the last of the ``lengths`` [n], the longest, is compatible with the distribution of the others."""
    mean, variance = float(lengths[:-1].mean()), float(lengths[:-1].var())
    if variance <= ROUNDING * mean**2:
        return False
    return bool(len(lengths) ** 2 * gammaincc(mean**2 / variance, lengths[-1] * mean / variance) > 1.0)


def _followed(distances: FloatArray, order: IntArray, nearest: int, steps: int) -> float:
    """Fraction of the ``nearest`` rows of each row that are at most so many ``steps`` away on the tour."""
    count = len(order)
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    near = np.argsort(distances + np.diag(np.full(count, np.inf)), axis=1, kind="stable")[:, :nearest]
    apart = np.abs(place[near] - place[:, None])
    return float(np.mean(np.minimum(apart, count - apart) <= steps))


@kernel
def shortest_tour(distances, starts, best):  # type: ignore[no-untyped-def]
    """Write the shortest tour [n] found from ``starts`` into ``best``; returns its length."""
    count = len(distances)
    tour, scratch = np.empty(count, np.int64), np.empty(count, np.int64)
    shortest = np.inf
    for start in starts:
        _nearest_neighbour(distances, start, tour)
        before = np.inf
        for _ in range(MOST_ROUNDS):
            _two_opt(distances, tour)
            _move_segments(distances, tour, scratch)
            length = 0.0
            for i in range(count):
                length += distances[tour[i], tour[(i + 1) % count]]
            if length > before * (1.0 - 1e-9):
                break
            before = length
        if length < shortest:
            shortest = length
            for i in range(count):
                best[i] = tour[i]
    return shortest


@kernel
def _nearest_neighbour(distances, start, tour):  # type: ignore[no-untyped-def]
    count = len(distances)
    left = np.ones(count, np.bool_)
    tour[0] = start
    left[start] = False
    for i in range(1, count):
        nearest, least = -1, np.inf
        for j in range(count):
            if left[j] and distances[tour[i - 1], j] < least:
                nearest, least = j, distances[tour[i - 1], j]
        tour[i] = nearest
        left[nearest] = False


@kernel
def _two_opt(distances, tour):  # type: ignore[no-untyped-def]
    """Reverse the segment that shortens the tour most, for every first edge in turn."""
    count = len(tour)
    for i in range(count - 2):
        a, b = tour[i], tour[i + 1]
        most, place = 1e-12, -1
        for j in range(i + 2, count):
            if i == 0 and j == count - 1:
                continue
            c, d = tour[j], tour[(j + 1) % count]
            gain = distances[a, b] + distances[c, d] - distances[a, c] - distances[b, d]
            if gain > most:
                most, place = gain, j
        if place >= 0:
            low, high = i + 1, place
            while low < high:
                tour[low], tour[high] = tour[high], tour[low]
                low, high = low + 1, high - 1


@kernel
def _move_segments(distances, tour, scratch):  # type: ignore[no-untyped-def]
    """Move segments of one to three rows, in either direction, to where they cost least."""
    count = len(tour)
    for size in range(1, min(4, count - 2)):
        for turn in range(count):
            for i in range(count):
                scratch[i] = tour[(i + turn) % count]
            head, tail = scratch[0], scratch[size - 1]
            last, first = scratch[count - 1], scratch[size]
            now = distances[last, head] + distances[tail, first] - distances[last, first]
            most, place, flipped = 1e-12, -1, False
            for j in range(size, count - 1):
                a, b = scratch[j], scratch[j + 1]
                edge = distances[a, b]
                forward = now - (distances[a, head] + distances[tail, b] - edge)
                backward = now - (distances[a, tail] + distances[head, b] - edge)
                if forward > most:
                    most, place, flipped = forward, j, False
                if backward > most:
                    most, place, flipped = backward, j, True
            if place >= 0:
                at = 0
                for j in range(size, count):
                    tour[at] = scratch[j]
                    at += 1
                    if j == place:
                        for s in range(size):
                            tour[at] = scratch[size - 1 - s] if flipped else scratch[s]
                            at += 1
