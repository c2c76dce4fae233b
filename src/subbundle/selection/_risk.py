"""THE risk of a bandwidth: estimated squared error of a statistic of the local model, from K parts of the data.

The data is divided into K folds, and part f holds all but the f-th: for K = 2 two disjoint halves. With c_f,j the
estimate of part f at rung j, ⟨·,·⟩ an inner product of estimates, d_f,l = c_f,j − c_f,j−l, and W the mean over a pool
of queries (the whole cloud, or those around a landmark) of values clipped at their own 98 % quantile,

    V_j  = n/(2KN) · W(Σ_f,g |c_f,j − c_g,j|²)                               n observations a part, N in all
    B²_j = max over lags l of  W(Σ_f≠g ⟨d_f,l, d_g,l⟩ − (K − 2) Σ_f |d_f,l|²) / (K (1 − r^(−pl))²)
    R_j  = V_j + max(0, min over i ≥ j of B²_i (a_j/a_i)^q).

This is the jackknife: V estimates the variance at all of the data, and B² the square of what a change of bandwidth
moves less its variance, hence squared bias, of order a^(2p). Halves share no noise, and for them both are plain: their
difference, and a product across them. With very many neighbours fewer observations of each half suffice: V is known to
fall as 1/n, and B² holds no variance.

What is left of noise in B² is least on the wider rungs, and bias grows at least as a^(q/2): so a rung is not given more
than the wider ones allow. q is small beside 2p, which bias has in the middle of a shape: at its border, and where bends
are as narrow as the kernel, it grows more slowly.

Two statistics are compared. Ridge: observations projected onto the second-order ridge of each part of the data, normal
to the ridge of the first of two; the bias is of order a⁴. Tangents: at fixed points in the middle of the cloud,
projectors by ⟨P, Q⟩ = ½ tr PQ, so that |P − Q|² is the squared sine of the angles between two subspaces, summed over
them; a local PCA is off by an angle of order a², from the third derivatives of the surface and from changes of density.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray, Status
from subbundle.bundles.local_bandwidth import LocalBandwidth
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.cloud import Cloud
from subbundle.selection.ladder import clipped_mean, plenty, wanted_neighbours
from subbundle.selection.tuning import KNOWN, LAGS, RATIO, RISEN

Width = float | LocalBandwidth


class Estimate(NamedTuple):
    """Estimates of a part of the data at the queries.

    Attributes
    ----------
    value : [q, d] or [q, d, k]
        Points, or orthonormal bases of subspaces; NaN where there is none.
    tangents : [q, d, k] or None
        Directions along which differences of points do not count.
    believed : [q]
        Whether neighbours and bandwidth are enough for agreement with other parts to mean anything there.
    neighbours : float
        Of a typical query; NaN where more of them cost nothing.
    """

    value: FloatArray
    tangents: FloatArray | None
    believed: NDArray[np.bool_]
    neighbours: float


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of the local model.

    Attributes
    ----------
    fit : callable
        ``fit(part, width, queries)`` returns an `Estimate`, or None where the part refuses, for want of neighbours or
        of directions.
    product : callable
        ``product(a, a', b, b')`` is ⟨a − a', b − b'⟩ for every query, [q], NaN where it is not known.
    order, growth : float
        p, the bias is of order a^p; and q, its square grows at least as a^q.
    """

    fit: Callable[[Cloud, Width, FloatArray], Estimate | None]
    product: Callable[[Estimate, Estimate, Estimate, Estimate], FloatArray]
    order: int
    growth: float


@dataclass(frozen=True, slots=True)
class Risks:
    """Risks over a ladder.

    Attributes
    ----------
    factors : [m]
        Bandwidths relative to those of the first rung.
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
    parts: Sequence[FloatArray],
    n_points: int,
    queries: FloatArray,
    start: Width,
    widest: float,
    *,
    pools: Sequence[IntArray] | None = None,
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
        variance.append(scale * _apart(statistic, rungs[-1], pools))
        bias.append(_squared_bias(statistic, rungs, pools))
        if _risen(np.array(variance) + np.nan_to_num(np.array(bias))):
            break
        if rung and plenty(rung[0].neighbours) and len(parts) == 2:
            count //= 2
            clouds = [Cloud(part[:count]) for part in parts]
    factors = RATIO ** np.arange(len(rungs), dtype=np.float64)
    shape = (len(rungs), len(pools))
    return Risks(factors, np.array(variance).reshape(shape), _looked_ahead(bias, statistic.growth).reshape(shape))


def _apart(statistic: Statistic, rung: list[Estimate] | None, pools: Sequence[IntArray]) -> FloatArray:
    """W(Σ_f,g |c_f − c_g|²) [p]; infinite where it is unknown, or where agreement means nothing."""
    if rung is None:
        return np.full(len(pools), np.inf)
    squares = np.asarray(2.0 * sum(statistic.product(a, b, a, b) for a, b in combinations(rung, 2)))
    means = _means(squares, pools)
    believed = np.array([rung[0].believed[rows].mean() >= 0.5 for rows in pools])
    return np.where(believed & np.isfinite(means), means, np.inf)


def _squared_bias(statistic: Statistic, rungs: list[list[Estimate] | None], pools: Sequence[IntArray]) -> FloatArray:
    """max(0, B²) [p] of the last rung; NaN where no rung before determines it."""
    here, found = rungs[-1], np.full(len(pools), np.nan)
    for lag in LAGS:
        before = rungs[-1 - lag] if len(rungs) > lag else None
        if here is None or before is None:
            continue
        moved = _moved(statistic, here, before) / (1.0 - RATIO ** (-statistic.order * lag)) ** 2
        found = np.fmax(found, np.maximum(_means(moved, pools), 0.0))
    return found


def _moved(statistic: Statistic, here: list[Estimate], before: list[Estimate]) -> FloatArray:
    """The square of what the change moves less its variance, for every query [q]."""
    folds, product = len(here), statistic.product
    pairs = list(zip(here, before, strict=True))
    across = 2.0 * sum(product(a, a0, b, b0) for (a, a0), (b, b0) in combinations(pairs, 2))
    if folds > 2:
        across = across - (folds - 2) * sum(product(a, a0, a, a0) for a, a0 in pairs)
    return np.asarray(across / folds)


def _means(values: FloatArray, pools: Sequence[IntArray]) -> FloatArray:
    """Clipped means [p] of the ``values`` [q] in pools; NaN where too few are known."""
    means = np.full(len(pools), np.nan)
    for at, rows in enumerate(pools):
        finite = values[rows]
        finite = finite[np.isfinite(finite)]
        if len(finite) >= KNOWN * len(rows):
            means[at] = clipped_mean(finite)
    return means


def _risen(risks: FloatArray) -> bool:
    """Whether the last of the ``risks`` [m, p] are clearly above the least ones, in the mean over pools.

    Two rungs with a bias must have been seen.
    """
    if len(risks) < max(LAGS) + 2:
        return False
    lowest = risks.min(axis=0)
    known = np.isfinite(lowest)
    return bool(known.any() and risks[-1, known].sum() > RISEN * lowest[known].sum())


def _looked_ahead(squared_bias: list[FloatArray], growth: float) -> FloatArray:
    """No rung with more than the next wider one allows; that much where its own is not known."""
    found = np.array(squared_bias, np.float64)
    for j in range(len(found) - 2, -1, -1):
        found[j] = np.fmin(found[j], found[j + 1] * RATIO**-growth)
    return np.nan_to_num(found)


def ridge_position(rank: int, n_jobs: int | None) -> Statistic:
    """Where observations come to rest on the second-order ridge."""

    def fit(part: Cloud, width: Width, queries: FloatArray) -> Estimate | None:
        bundle = _bundle(part, rank, width, n_jobs)
        if bundle is None:
            return None
        ridge = ridge_project(bundle, queries)
        lost = (ridge.status != Status.OK) & (ridge.status != Status.NOT_CONVERGED)
        ridge.points[lost] = np.nan
        if lost.all():
            return None
        # In bandwidths narrower than the noise points stay where they start, and all parts agree on a place that is
        # wrong. The best ones were 1.8 to 19 times as wide.
        with np.errstate(invalid="ignore"):
            believed = ridge.neighbours >= wanted_neighbours(rank, part.n_points)
            believed &= ridge.noise <= bundle.bandwidth_at(queries)
        return Estimate(ridge.points, ridge.tangents, believed, float(np.nanmedian(ridge.neighbours)))

    return Statistic(fit, points_product, order=4, growth=4.0)


def tangent_projector(rank: int, n_jobs: int | None) -> Statistic:
    """The subspaces at fixed points in the middle of the cloud."""

    def fit(part: Cloud, width: Width, queries: FloatArray) -> Estimate | None:
        bundle = _bundle(part, rank, width, n_jobs)
        if bundle is None:
            return None
        frame = bundle.frame(queries)
        known = frame.status == Status.OK
        bases = np.where(known[:, None, None], frame.vectors, np.nan)
        return Estimate(bases, None, np.ones(len(queries), np.bool_), 2.0 * float(np.median(frame.density)))

    return Statistic(fit, projectors_product, order=2, growth=2.0)


def on_the_ridge(cloud: Cloud, rank: int, width: Width, queries: FloatArray, n_jobs: int | None) -> FloatArray:
    """``queries`` [q, d], relative to the cloud's centre, projected onto the ridge of all observations; those without
    one are left out."""
    centred = Cloud(cloud.at(np.arange(cloud.n_points)))
    bundle = PrincipalSubbundle(centred, rank, width, min_density=0.0, n_jobs=n_jobs)
    ridge = ridge_project(bundle, queries)
    arrived = (ridge.status == Status.OK) | (ridge.status == Status.NOT_CONVERGED)
    return np.ascontiguousarray(ridge.points[arrived])


def points_product(a: Estimate, a_before: Estimate, b: Estimate, b_before: Estimate) -> FloatArray:
    """The inner product of two differences of points, normal to the tangents of ``a`` where it has some."""
    x, y = a.value - a_before.value, b.value - b_before.value
    whole = np.sum(x * y, axis=1)
    if a.tangents is None:
        return np.asarray(whole)
    along = np.einsum("qdk,qd->qk", a.tangents, x) * np.einsum("qdk,qd->qk", a.tangents, y)
    return np.asarray(whole - np.sum(along, axis=1))


def projectors_product(a: Estimate, a_before: Estimate, b: Estimate, b_before: Estimate) -> FloatArray:
    """½ tr (P_a − P_a')(P_b − P_b') of the projectors onto the spans of bases."""
    mixed = _trace(a.value, b_before.value) + _trace(a_before.value, b.value)
    return 0.5 * (_trace(a.value, b.value) - mixed + _trace(a_before.value, b_before.value))


def _trace(a: FloatArray, b: FloatArray) -> FloatArray:
    """tr PQ [q] of the projectors onto the spans of ``a`` and ``b`` [q, d, k]."""
    return np.asarray(np.sum(np.einsum("qdi,qdj->qij", a, b) ** 2, axis=(1, 2)))


def _bundle(part: Cloud, rank: int, width: Width, n_jobs: int | None) -> PrincipalSubbundle | None:
    try:
        return PrincipalSubbundle(part, rank, width, min_density=0.0, n_jobs=n_jobs)
    except ValueError:
        return None
