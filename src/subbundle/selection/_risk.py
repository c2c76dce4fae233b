"""THE risk of a bandwidth: estimated squared error of a statistic of the local model, from K parts of the data.

The data is divided into K folds, and part f holds all but the f-th: for K = 2 two disjoint halves. With c_f,j what part
f says at rung j, ⟨·,·⟩ an inner product of such things, d_f,l = c_f,j − c_f,j−l, and W the mean over a pool of queries
(the whole cloud, or those around a landmark) of values clipped at their own 98 % quantile,

    V_j  = n/(2KN) · W(Σ_f,g |c_f,j − c_g,j|²)                               n observations a part, N in all
    B²_j = max over lags l of  W(Σ_f≠g ⟨d_f,l, d_g,l⟩ − (K − 2) Σ_f |d_f,l|²) / (K (1 − r^(−pl))²)
    R_j  = V_j + max(0, min over i ≥ j of B²_i (a_j/a_i)^q).

This is the jackknife: V estimates the variance at all of the data, and B² the square of what a change of bandwidth
moves less its variance, hence squared bias, of order a^(2p). Halves share no noise, and for them both are plain: their
difference, and a product across them. With very many neighbours fewer observations of each half say the same: V is
known to fall as 1/n, and B² holds no variance.

What is left of noise in B² is least on the wider rungs, and bias grows at least as a^(q/2): so a rung is not given more
than the wider ones allow. q is small beside 2p, which bias has in the middle of a shape: at its border, and where bends
are as narrow as the kernel, it grows more slowly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.bundles.local_bandwidth import LocalBandwidth
from subbundle.cloud import Cloud
from subbundle.selection._ladder import clipped_mean
from subbundle.selection._statistics import Estimate, Statistic, Width
from subbundle.selection._tuning import KNOWN, LAGS, LEAST_RUNGS, MOST_POOLS, PLENTY, RATIO, RISEN


@dataclass(frozen=True, slots=True)
class Risks:
    """Risks over a ladder.

    Attributes
    ----------
    factors : [m]
        Bandwidths relative to those of the first rung.
    variance, squared_bias : [m, p]
        V and B² of every pool; V is infinite where it cannot be told.
    """

    factors: FloatArray
    variance: FloatArray
    squared_bias: FloatArray

    @property
    def total(self) -> FloatArray:
        """R [m, p]."""
        return np.asarray(self.variance + self.squared_bias)


def compare(
    statistic: Statistic,
    parts: Sequence[FloatArray],
    n_points: int,
    queries: FloatArray,
    start: Width,
    widest: float,
    *,
    pools: Sequence[IntArray] | None = None,
    known: float = KNOWN,
) -> Risks:
    """Climb the ladder from ``start`` until the risk has risen, or the bandwidth exceeds ``widest``.

    Parameters
    ----------
    parts : K arrays [n, d]
        What is compared, of ``n_points`` observations in all.
    start : float or LocalBandwidth
        The first rung; a function of the place keeps the number of neighbours about the same everywhere.
    pools : arrays of rows of ``queries``, optional
        Queries whose values are averaged; all of them together unless given.
    known : float
        Fraction of a pool that must be known.
    """
    pools = [np.arange(len(queries))] if pools is None else pools
    count = min(len(part) for part in parts)
    clouds = [Cloud(part) for part in parts]
    middle = float(np.median(start.values)) if isinstance(start, LocalBandwidth) else start
    rungs: list[list[Estimate] | None] = []
    variance: list[FloatArray] = []
    bias: list[FloatArray] = []
    while middle * RATIO ** len(rungs) <= widest:
        factor = RATIO ** len(rungs)
        width = start.scaled(factor) if isinstance(start, LocalBandwidth) else start * factor
        found = [statistic.fit(cloud, width, queries) for cloud in clouds]
        rung = [one for one in found if one is not None]
        rungs.append(rung if len(rung) == len(found) else None)
        scale = 0.5 * count / (n_points * len(parts))
        variance.append(scale * _apart(statistic, rungs[-1], pools, known))
        bias.append(_squared_bias(statistic, rungs, pools, known))
        if _risen(np.array(variance) + np.nan_to_num(np.array(bias))):
            break
        if rung and rung[0].neighbours > PLENTY and len(parts) == 2:
            count //= 2
            clouds = [Cloud(part[:count]) for part in parts]
    factors = RATIO ** np.arange(len(rungs), dtype=np.float64)
    shape = (len(rungs), len(pools))
    return Risks(factors, np.array(variance).reshape(shape), _looked_ahead(bias, statistic.growth).reshape(shape))


def _apart(statistic: Statistic, rung: list[Estimate] | None, pools: Sequence[IntArray], known: float) -> FloatArray:
    """W(Σ_f,g |c_f − c_g|²) [p]; infinite where it cannot be told, or where agreement means nothing."""
    if rung is None:
        return np.full(len(pools), np.inf)
    squares = np.asarray(2.0 * sum(statistic.product(a, b, a, b) for a, b in combinations(rung, 2)))
    means = _means(squares, pools, known)
    believed = np.array([rung[0].believed[rows].mean() >= 0.5 for rows in pools])
    return np.where(believed & np.isfinite(means), means, np.inf)


def _squared_bias(
    statistic: Statistic, rungs: list[list[Estimate] | None], pools: Sequence[IntArray], known: float
) -> FloatArray:
    """max(0, B²) [p] of the last rung; NaN where no rung before tells it."""
    here, found = rungs[-1], np.full(len(pools), np.nan)
    for lag in LAGS:
        before = rungs[-1 - lag] if len(rungs) > lag else None
        if here is None or before is None:
            continue
        moved = _moved(statistic, here, before) / (1.0 - RATIO ** (-statistic.order * lag)) ** 2
        found = np.fmax(found, np.maximum(_means(moved, pools, known), 0.0))
    return found


def _moved(statistic: Statistic, here: list[Estimate], before: list[Estimate]) -> FloatArray:
    """The square of what the change moves less its variance, for every query [q]."""
    folds, product = len(here), statistic.product
    pairs = list(zip(here, before, strict=True))
    across = 2.0 * sum(product(a, a0, b, b0) for (a, a0), (b, b0) in combinations(pairs, 2))
    if folds > 2:
        across = across - (folds - 2) * sum(product(a, a0, a, a0) for a, a0 in pairs)
    return np.asarray(across / folds)


def _means(values: FloatArray, pools: Sequence[IntArray], known: float) -> FloatArray:
    """Clipped means [p] of the ``values`` [q] in pools; NaN where too few are known."""
    means = np.full(len(pools), np.nan)
    for at, rows in enumerate(pools):
        finite = values[rows]
        finite = finite[np.isfinite(finite)]
        if len(finite) >= known * len(rows):
            means[at] = clipped_mean(finite)
    return means


def _risen(risks: FloatArray) -> bool:
    """Whether the last of the ``risks`` [m, p] is clearly above the least of most pools."""
    if len(risks) < LEAST_RUNGS:
        return False
    lowest = risks.min(axis=0)
    known = np.isfinite(lowest)
    return bool(known.any() and np.mean(risks[-1, known] > RISEN * lowest[known]) >= MOST_POOLS)


def _looked_ahead(squared_bias: list[FloatArray], growth: float) -> FloatArray:
    """No rung with more than the next wider one allows; that much where its own is not known."""
    found = np.array(squared_bias, np.float64)
    for j in range(len(found) - 2, -1, -1):
        found[j] = np.fmin(found[j], found[j + 1] * RATIO**-growth)
    return np.nan_to_num(found)
