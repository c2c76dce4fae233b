"""Estimated error at every bandwidth of a ladder, of anything fitted to the data, from K parts of them.

The data is divided into K folds, and part f holds all but the f-th: for K = 2 two disjoint halves. With c_f,j what part
f says at rung j, ⟨·,·⟩ an inner product of such things, d_f,l = c_f,j − c_f,j−l, and W the mean over queries of values
clipped at their own 98 % quantile,

    V_j  = n/(2KN) · W(Σ_f,g |c_f,j − c_g,j|²)                               n observations a part, N in all
    B²_j = max over l = 2, 3, 4 of  W(Σ_f≠g ⟨d_f,l, d_g,l⟩ − (K − 2) Σ_f |d_f,l|²) / (K (1 − r^(−pl))²),    r = 2^(1/4)
    R_j  = V_j + max(0, min over i ≥ j of B²_i (a_j/a_i)^q).

This is the jackknife: V estimates the variance at all of the data, and B² the square of what a change of bandwidth
moves less its variance, hence squared bias, of order a^(2p). Halves share no noise, and for them both are plain: their
difference, and a product across them. With very many neighbours fewer observations of each half say the same: V is
known to fall as 1/n, and B² holds no variance. More folds are for small clouds, where a half has too few neighbours at
the bandwidths that are best for the whole.

What is left of noise in B² is least on the wider rungs, and bias grows at least as a^(q/2): so a rung is not given more
than the wider ones allow. q is small beside 2p, which bias has in the middle of a shape: at its border, and where bends
are as narrow as the kernel, it grows more slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from subbundle._types import FloatArray
from subbundle.cloud import Cloud
from subbundle.selection._ladder import RATIO, clipped_mean

_LAGS = (2, 3, 4)
# The climb ends when the risk has clearly risen, though not before so many rungs.
_RISEN = 4.0
# Part of the queries that must be known for their mean to be.
_KNOWN = 0.9


class Rung(NamedTuple):
    """What the ``parts`` say; the ``neighbours`` of a point in one, NaN where more of them cost nothing; whether the
    parts can be believed when they agree (``sound``)."""

    parts: Sequence[Any]
    neighbours: float = float("nan")
    sound: bool = True


@dataclass(frozen=True, slots=True)
class Risks:
    """Bandwidths [m], variance [m] and squared bias [m] of what was fitted; infinite where they cannot be told."""

    ladder: FloatArray
    variance: FloatArray
    squared_bias: FloatArray

    @property
    def total(self) -> FloatArray:
        """R [m]."""
        return np.asarray(self.variance + self.squared_bias)


@dataclass(frozen=True, slots=True)
class Climb:
    """How a ladder is climbed.

    Attributes
    ----------
    fit : callable
        ``fit(parts, bandwidth)`` returns a `Rung`, or None where a part refuses.
    product : callable
        ``product(a, a', b, b')`` is ⟨a − a', b − b'⟩ for every query, [q], NaN where it is not known.
    order, growth : float
        p, the bias is of order a^p; and q, its square grows at least as a^q.
    plenty : float
        Neighbours beyond which half of each of two parts will do.
    at_least : int
        Rungs before the climb may end.
    """

    fit: Callable[[list[Cloud], float], Rung | None]
    product: Callable[[Any, Any, Any, Any], FloatArray]
    order: int
    growth: float
    plenty: float = np.inf
    at_least: int = 7

    def up(self, parts: Sequence[FloatArray], n_points: int, start: float, widest: float) -> Risks:
        """Climb from ``start`` to ``widest`` with the ``parts`` [n, d] of ``n_points`` observations."""
        count = min(len(part) for part in parts)
        clouds, width, least = [Cloud(part) for part in parts], start, np.inf
        rungs: list[Rung | None] = []
        ladder, variance, squared_bias = [], [], []
        while width <= widest:
            rung = self.fit(clouds, width)
            rungs.append(rung)
            ladder.append(width)
            variance.append(0.5 * count / (n_points * len(parts)) * self._apart(rung))
            squared_bias.append(self._squared_bias(rungs))
            risk = variance[-1] + np.nan_to_num(squared_bias[-1])
            least = min(least, risk)
            if len(ladder) >= self.at_least and np.isfinite(least) and risk > _RISEN * least:
                break
            if rung is not None and rung.neighbours > self.plenty and len(parts) == 2:
                count //= 2
                clouds = [Cloud(part[:count]) for part in parts]
            width *= RATIO
        return Risks(np.array(ladder), np.array(variance), self._looked_ahead(squared_bias))

    def _apart(self, rung: Rung | None) -> float:
        """Mean of Σ_f,g |c_f − c_g|²; infinite where it cannot be told."""
        if rung is None or not rung.sound:
            return np.inf
        squares = np.asarray(2.0 * sum(self.product(a, b, a, b) for a, b in combinations(rung.parts, 2)))
        known = np.isfinite(squares)
        return clipped_mean(squares[known]) if known.mean() >= _KNOWN else np.inf

    def _squared_bias(self, rungs: list[Rung | None]) -> float:
        """max(0, B²) of the last rung; NaN where no rung before tells it."""
        here, found = rungs[-1], np.nan
        for lag in _LAGS:
            before = rungs[-1 - lag] if len(rungs) > lag else None
            if here is None or before is None:
                continue
            moved = self._moved(here.parts, before.parts)
            known = np.isfinite(moved)
            if known.mean() >= _KNOWN:
                square = clipped_mean(moved[known]) / (1.0 - RATIO ** (-self.order * lag)) ** 2
                found = float(np.fmax(found, max(square, 0.0)))
        return found

    def _moved(self, here: Sequence[Any], before: Sequence[Any]) -> FloatArray:
        """The square of what the change moves less its variance, for every query [q]."""
        folds = len(here)
        pairs = list(zip(here, before, strict=True))
        across = 2.0 * sum(self.product(a, a0, b, b0) for (a, a0), (b, b0) in combinations(pairs, 2))
        if folds > 2:
            across = across - (folds - 2) * sum(self.product(a, a0, a, a0) for a, a0 in pairs)
        return np.asarray(across / folds)

    def _looked_ahead(self, squared_bias: list[float]) -> FloatArray:
        """No rung with more than the next wider one allows; that much where its own is not known."""
        found = np.array(squared_bias, np.float64)
        for j in range(len(found) - 2, -1, -1):
            found[j] = np.fmin(found[j], found[j + 1] * RATIO**-self.growth)
        return np.nan_to_num(found)


def points_apart(a: FloatArray, a_before: FloatArray, b: FloatArray, b_before: FloatArray) -> FloatArray:
    """The inner product of differences of points [q, d]."""
    return np.asarray(np.sum((a - a_before) * (b - b_before), axis=1))
