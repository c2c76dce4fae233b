"""Short closed tours through a matrix of distances: nearest-neighbour starts, improved by 2-opt and by moving
segments."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel


@kernel
def shortest_tour(distances, starts, sweeps, best):
    """Write the shortest tour [n] found from ``starts`` in at most so many ``sweeps`` each into ``best``; returns its
    length."""
    count = len(distances)
    tour, scratch = np.empty(count, np.int64), np.empty(count, np.int64)
    shortest = np.inf
    for start in starts:
        _nearest_neighbour(distances, start, tour)
        before = np.inf
        for _ in range(sweeps):
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
def _nearest_neighbour(distances, start, tour):
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
def _two_opt(distances, tour):
    """Reverse the stretch that shortens the tour most, for every first edge in turn."""
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
def _move_segments(distances, tour, scratch):
    """Move stretches of one to three rows, either way round, to where they cost least."""
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
