"""The risk of a bandwidth: estimated squared error of a statistic of the local model, from K subsamples.

The data is divided into K folds, and subsample f holds all but the f-th: for K = 2 two disjoint halves. With c_f,j the
estimate of subsample f at bandwidth a_j, ⟨·,·⟩ an inner product of estimates, d_f,l = c_f,j − c_f,j−l, and W the mean
over a pool of queries (the whole cloud, or those around a landmark) of values clipped at their own 98 % quantile,

    V_j  = n/(2KN) · W(Σ_f,g |c_f,j − c_g,j|²)                               n observations a subsample, N in all
    B²_j = max over lags l of  W(Σ_f≠g ⟨d_f,l, d_g,l⟩ − (K − 2) Σ_f |d_f,l|²) / (K (1 − r^(−pl))²)
    R_j  = V_j + max(0, min over i ≥ j of B²_i (a_j/a_i)^q).

This is the jackknife: V estimates the variance for all of the data, and B² the squared change of an estimate with the
bandwidth less its variance, hence the squared bias, of order a^(2p). Halves share no noise, and for them V is their
squared difference and B² an inner product across them. With very many neighbours fewer observations of each half
suffice: V falls as 1/n, and B² contains no variance.

The noise in B² is least at the wider bandwidths, and the bias grows at least as a^(q/2): so B² is bounded by that of
the wider ones. q is small compared with 2p, the rate in the interior of a smooth manifold: at its border, and where
radii of curvature are as small as the kernel, the bias grows more slowly.

Scales are bandwidths (`compare`) or numbers of neighbours with the radius that they reach (`risks_over_grid`, used by
`subbundle.embedding.noise`, with the values of every query). Then r^l is the ratio of the radii, at least one step of
the grid: in many dimensions radii hardly grow with the number of neighbours, and a smaller change shows no bias.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.bundles.local_bandwidth import LocalBandwidth
from subbundle.cloud import Cloud
from subbundle.selection.ladder import clipped, half_suffices
from subbundle.selection.tuning import KNOWN, LAGS, RATIO, RISEN

Width = float | LocalBandwidth
# Values at the queries of every pool, clipped; empty where too few are known.
Pooled = list[FloatArray]


class Estimate(NamedTuple):
    """Estimates of a subsample at the queries.

    Attributes
    ----------
    value : [q, d] or [q, d, k]
        Points, or orthonormal bases of subspaces; NaN where there is none.
    tangents : [q, d, k] or None
        Directions along which differences of points do not count.
    reliable : [q]
        Whether neighbours and bandwidth suffice for the variance between subsamples to be meaningful.
    neighbours : float
        Of a typical query; NaN where the cost does not depend on it.
    """

    value: FloatArray
    tangents: FloatArray | None
    reliable: NDArray[np.bool_]
    neighbours: float


Product = Callable[[Estimate, Estimate, Estimate, Estimate], FloatArray]


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of the local model.

    Attributes
    ----------
    fit : callable
        ``fit(subsample, width, queries)`` returns an `Estimate`, or None for lack of neighbours or of directions.
    product : callable
        ``product(a, a', b, b')`` is ⟨a − a', b − b'⟩ for every query, [q], NaN where it is unknown.
    order, growth : float
        p, the bias is of order a^p; and q, its square grows at least as a^q.
    """

    fit: Callable[[Cloud, Width, FloatArray], Estimate | None]
    product: Product
    order: float
    growth: float


@dataclass(frozen=True, slots=True)
class Risks:
    """Risks over a grid of bandwidths.

    Attributes
    ----------
    factors : [m]
        Bandwidths relative to the first.
    variance, squared_bias : [m, p]
        V and B² of every pool; V is infinite where it cannot be estimated.
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
    samples: Sequence[FloatArray],
    n_points: int,
    queries: FloatArray,
    start: Width,
    widest: float,
    *,
    pools: Sequence[IntArray] | None = None,
) -> Risks:
    """Evaluate risks over the grid from ``start`` until the risk has risen, or the bandwidth exceeds ``widest``.

    Parameters
    ----------
    samples : K arrays [n, d]
        Of ``n_points`` observations in all.
    start : float or LocalBandwidth
        The first bandwidth; a function of the point keeps the number of neighbours about the same everywhere.
    pools : arrays of rows of ``queries``, optional
        Queries whose values are averaged; all of them together unless given.
    """
    pools = [np.arange(len(queries))] if pools is None else pools
    scales = risks_over_grid(
        _over_widths(statistic, samples, n_points, queries, start, widest), statistic.product, statistic.order, pools
    )
    factors = RATIO ** np.arange(len(scales), dtype=np.float64)
    shape = (len(scales), len(pools))
    bias = [np.maximum(one.bias(), 0.0) for one in scales]
    variance = np.array([one.spread() for one in scales]).reshape(shape)
    return Risks(factors, variance, _growth_bounded(bias, statistic.growth).reshape(shape))


def _over_widths(
    statistic: Statistic, samples: Sequence[FloatArray], n_points: int, queries: FloatArray, start: Width, widest: float
) -> Iterator[Scale]:
    """Estimates at a_0 r^j; with very many neighbours the next ones are from half of the observations."""
    count, step, factor = min(len(sample) for sample in samples), 0, 1.0
    clouds = [Cloud(sample) for sample in samples]
    middle = float(np.median(start.values)) if isinstance(start, LocalBandwidth) else start
    while middle * factor <= widest:
        width = start.scaled(factor) if isinstance(start, LocalBandwidth) else start * factor
        found = [statistic.fit(cloud, width, queries) for cloud in clouds]
        known = [one for one in found if one is not None]
        yield Scale(factor, known if len(known) == len(found) else None, count / n_points)
        if known and half_suffices(known[0].neighbours) and len(samples) == 2:
            count //= 2
            clouds = [Cloud(sample[:count]) for sample in samples]
        step += 1
        factor = RATIO**step


@dataclass(slots=True)
class Scale:
    """Estimates of all subsamples at one ``length``, each from a fraction n/N of the data; None where one is missing.

    `risks_over_grid` sets ``variance`` and ``squared_bias``: V and B² at the queries of every pool, clipped.
    """

    length: float
    estimates: list[Estimate] | None
    fraction: float
    variance: Pooled = field(default_factory=list)
    squared_bias: Pooled = field(default_factory=list)

    def spread(self) -> FloatArray:
        """V [p]; infinite where it is unknown or unreliable."""
        return np.array([one.mean() if one.size else np.inf for one in self.variance])

    def bias(self) -> FloatArray:
        """B² [p]; NaN where no narrower scale determines it."""
        return np.array([one.mean() if one.size else np.nan for one in self.squared_bias])


def risks_over_grid(
    scales: Iterable[Scale], product: Product, order: float, pools: Sequence[IntArray], *, until_risen: bool = True
) -> list[Scale]:
    """``scales`` with their variance and squared bias, up to the one at which the risk has risen; see `Statistic`."""
    found: list[Scale] = []
    for one in scales:
        found.append(one)
        one.variance, one.squared_bias = _variance(product, one, pools), _squared_bias(product, order, found, pools)
        risks = np.array([one.spread() + np.nan_to_num(np.maximum(one.bias(), 0.0)) for one in found])
        if until_risen and _risen(risks):
            break
    return found


def _variance(product: Product, here: Scale, pools: Sequence[IntArray]) -> Pooled:
    if here.estimates is None:
        return [np.empty(0)] * len(pools)
    found = here.estimates
    squares = np.asarray(2.0 * sum(product(a, b, a, b) for a, b in combinations(found, 2)))
    values = _pooled(0.5 * here.fraction / len(found) * squares, pools)
    return [
        one if found[0].reliable[rows].mean() >= 0.5 else np.empty(0) for one, rows in zip(values, pools, strict=True)
    ]


def _squared_bias(product: Product, order: float, scales: list[Scale], pools: Sequence[IntArray]) -> Pooled:
    """B² of the last of ``scales``, by the lag at which it is largest."""
    here, best = scales[-1], [np.empty(0)] * len(pools)
    for lag in LAGS:
        before = scales[-1 - lag] if len(scales) > lag else None
        if before is None or here.estimates is None or before.estimates is None:
            continue
        moved = _squared_change(product, here.estimates, before.estimates)
        found = _pooled(moved / bias_fraction(before.length / here.length, order) ** 2, pools)
        best = [a if not b.size or (a.size and a.mean() > b.mean()) else b for a, b in zip(found, best, strict=True)]
    return best


def bias_fraction(ratio: float, order: float) -> float:
    """Fraction 1 − ratio^p of a bias of order p that is the change from ``ratio`` times a length to the length."""
    return float(1.0 - min(ratio, 1.0 / RATIO) ** order)


def _squared_change(product: Product, here: list[Estimate], before: list[Estimate]) -> FloatArray:
    """The squared change less its variance, for every query [q]."""
    folds = len(here)
    pairs = list(zip(here, before, strict=True))
    across = 2.0 * sum(product(a, a0, b, b0) for (a, a0), (b, b0) in combinations(pairs, 2))
    if folds > 2:
        across = across - (folds - 2) * sum(product(a, a0, a, a0) for a, a0 in pairs)
    return np.asarray(across / folds)


def _pooled(values: FloatArray, pools: Sequence[IntArray]) -> Pooled:
    """Known ``values`` [q] of every pool, clipped; empty where too few are known."""
    known = [(values[rows][np.isfinite(values[rows])], len(rows)) for rows in pools]
    return [clipped(some) if len(some) >= KNOWN * count else np.empty(0) for some, count in known]


def _risen(risks: FloatArray) -> bool:
    """Whether the last of the ``risks`` [m, p] are clearly above the least ones, in the mean over pools.

    At least two scales with a bias are required.
    """
    if len(risks) < max(LAGS) + 2:
        return False
    lowest = risks.min(axis=0)
    known = np.isfinite(lowest)
    return bool(known.any() and risks[-1, known].sum() > RISEN * lowest[known].sum())


def _growth_bounded(squared_bias: list[FloatArray], growth: float) -> FloatArray:
    """B² [m, p] bounded by a^(−q) extrapolation from the next wider bandwidth; that bound where it is unknown."""
    found = np.array(squared_bias, np.float64)
    for j in range(len(found) - 2, -1, -1):
        found[j] = np.fmin(found[j], found[j + 1] * RATIO**-growth)
    return np.nan_to_num(found)


def points_product(a: Estimate, a_before: Estimate, b: Estimate, b_before: Estimate) -> FloatArray:
    """The inner product of two differences of points, normal to the tangents of ``a`` where it has some."""
    x, y = a.value - a_before.value, b.value - b_before.value
    whole = np.sum(x * y, axis=1)
    if a.tangents is None:
        return np.asarray(whole)
    along = np.einsum("qdk,qd->qk", a.tangents, x) * np.einsum("qdk,qd->qk", a.tangents, y)
    return np.asarray(whole - np.sum(along, axis=1))
