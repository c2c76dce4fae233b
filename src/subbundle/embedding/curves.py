"""Tables that are curves: rows that follow one another, like images of an object that turns.

Few rows along a bent curve that nearly touches itself have no tangents worth the name; what they have is an order. The
shortest closed tour finds it. On a curve the nearest rows of a row are its neighbours on the tour; on sheets and clouds
a tour cannot do better than about .7 of them, whatever their dimension (.56 to .70 on sheets, solids and real tables;
.84 to 1 on curves, benchmarks/tables.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from subbundle._numbers import MOST_ROUNDS
from subbundle._types import FloatArray, IntArray, evenly
from subbundle.embedding._tour_kernels import shortest_tour

# Fraction of the nearest rows that are near on the tour, above which rows lie along a curve: between the two kinds.
_CURVE = 0.77
# Rows of all starts of the tour together and the most starts, and rows up to which it is tried: a start costs
# their square.
_ALL_STARTS, _MOST_STARTS, _MOST_ROWS = 2400, 8, 1000
# A first rough tour (one start, two sweeps) must come within this of the fraction to be worth the others.
_WORTHWHILE = 0.05
# The tour is closed unless its longest edge exceeds so many medians.
_OPEN = 4.0


@dataclass(frozen=True, slots=True)
class Tour:
    """Rows along a curve.

    Attributes
    ----------
    order : [n]
        Rows one after the other; the longest edge of the closed tour is that from the last to the first.
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

    ``strict`` asks for the two nearest rows to be the next on the tour: rows that noise has not touched. Else, of the
    four nearest, those at most two steps away count as well: rows that are unevenly spaced.
    """
    count = len(points)
    if not 8 <= count <= _MOST_ROWS:
        return None
    distances = cdist(points, points)
    order = np.empty(count, np.int64)
    number = min(_MOST_STARTS, _ALL_STARTS // count)
    starts = evenly(count, number)
    for few, sweeps, wanted in ((1, 2, _CURVE - _WORTHWHILE), (number, MOST_ROUNDS, _CURVE)):
        shortest_tour(distances, starts[:few], sweeps, order)
        followed = _followed(distances, order, 2, 1)
        if not strict:
            followed = max(followed, _followed(distances, order, 4, 2))
        if followed < wanted:
            return None
    lengths = distances[order, np.roll(order, -1)]
    longest = int(np.argmax(lengths))
    order, lengths = np.roll(order, -longest - 1), np.roll(lengths, -longest - 1)
    return Tour(order, lengths, bool(lengths[-1] < _OPEN * np.median(lengths)))


def _followed(distances: FloatArray, order: IntArray, nearest: int, steps: int) -> float:
    """Fraction of the ``nearest`` rows of each row that are at most so many ``steps`` away on the tour."""
    count = len(order)
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    near = np.argsort(distances + np.diag(np.full(count, np.inf)), axis=1, kind="stable")[:, :nearest]
    apart = np.abs(place[near] - place[:, None])
    return float(np.mean(np.minimum(apart, count - apart) <= steps))
