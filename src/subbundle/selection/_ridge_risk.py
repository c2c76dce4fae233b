"""Estimated error of the second-order ridge at every bandwidth of a ladder, from two disjoint halves of the data.

Observations left out of both halves are carried onto the ridge of each. With c_A, c_B where they come to rest, n(·) the
part of a vector normal to the ridge of A, and W the mean of values clipped at their own 98 % quantile,

    V_j  = W(|n(c_A,j − c_B,j)|²) · n/(2N)                                     n observations a half, N in all
    B²_j = max over l = 2, 3, 4 of  W(n(c_A,j − c_A,j−l)·n(c_B,j − c_B,j−l)) / (1 − 2^−l)²
    R_j  = V_j + max(0, B²_j).

Two halves share no noise: their difference is variance, and the product across halves of what a change of bandwidth
moves is squared bias, of order a⁴ on the second-order ridge, without a variance term.

With too few neighbours, or a kernel narrower than the noise, points stay near where they start. Both halves then agree
on a place that is wrong, and such rungs are left out. With very many neighbours a part of each half says the same: V
is known to fall as 1/n, and B² holds no variance.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.cloud import Cloud
from subbundle.manifolds.ridge_project import Ridge, ridge_project
from subbundle.selection._ladder import RATIO, WIDEST, clipped_mean, first_rung, split

_QUERIES = 400
_LAGS = (2, 3, 4)
_STEPS, _TOL = 6, 1e-2
# Effective neighbours in a half per coefficient of the quadric, below which points stay where they start; and the part
# of a half that small clouds can give at most.
_PER_COEFFICIENT, _MOST_OF_HALF = 3.0, 0.2
# Effective neighbours beyond which a part of the half will do.
_PLENTY = 400.0
# Bandwidth over the noise, at least. The best bandwidths were seen between 1.8 and 19.
_OVER_NOISE = 1.3
# The climb ends when the risk has clearly risen.
_RISEN, _AT_LEAST = 4.0, 7
_KNOWN = 0.9


def ridge_risks(cloud: Cloud, rank: int, n_jobs: int | None) -> tuple[FloatArray, FloatArray]:
    """Bandwidths [m] and risks [m], infinite where the risk cannot be told."""
    queries, *halves = split(cloud, _QUERIES)
    coefficients = 1 + rank + rank * (rank + 1) // 2
    wanted = min(_PER_COEFFICIENT * coefficients, _MOST_OF_HALF * len(halves[0]))
    width, count = first_rung(queries, halves[0], rank), len(halves[0])
    clouds = [Cloud(half) for half in halves]
    ladder: list[float] = []
    risks: list[float] = []
    rungs: list[tuple[Ridge, Ridge]] = []
    while width <= WIDEST * cloud.size:
        pair = _pair(queries, clouds, rank, width, n_jobs)
        neighbours = 0.0 if pair is None else float(np.nanmedian(pair[0].neighbours))
        if pair is None or (neighbours < wanted and not ladder):
            # Neighbours grow with the k-th power of the bandwidth, or faster.
            width *= max(RATIO, (0.5 * wanted / neighbours) ** (1.0 / rank) if neighbours else 1.0)
            continue
        ladder.append(width)
        rungs.append(pair)
        risks.append(_risk(rungs, 0.5 * count / cloud.n_points, width))
        if len(risks) >= _AT_LEAST and np.isfinite(min(risks)) and risks[-1] > _RISEN * min(risks):
            break
        if neighbours > _PLENTY:
            count //= 2
            clouds = [Cloud(half[:count]) for half in halves]
        width *= RATIO
    return np.array(ladder), np.array(risks)


def _pair(
    queries: FloatArray, halves: list[Cloud], rank: int, bandwidth: float, n_jobs: int | None
) -> tuple[Ridge, Ridge] | None:
    """Where the queries [q, d] come to rest on the ridge of each half, NaN for those that have none.

    None on a rung where a half refuses, for want of neighbours or directions, or has no ridge for most.
    """
    found = []
    for half in halves:
        try:
            bundle = PrincipalSubbundle(half, rank, bandwidth, min_density=1e-9, n_jobs=n_jobs)
        except ValueError:
            return None
        ridge = ridge_project(bundle, queries, tol=_TOL, max_steps=_STEPS)
        lost = (ridge.status != Status.OK) & (ridge.status != Status.NOT_CONVERGED)
        if lost.mean() > 1.0 - _KNOWN:
            return None
        ridge.points[lost] = np.nan
        found.append(ridge)
    return found[0], found[1]


def _risk(rungs: list[tuple[Ridge, Ridge]], share: float, bandwidth: float) -> float:
    """R of the last of the ``rungs``; infinite where it cannot be told."""
    a, b = rungs[-1]
    if np.nanmedian(a.noise) > bandwidth / _OVER_NOISE:
        return np.inf
    apart = _normal(a, a.points - b.points)
    variance = share * clipped_mean(_finite(np.sum(apart**2, axis=1)))
    squared_bias = 0.0
    for lag in _LAGS:
        if len(rungs) > lag:
            before = rungs[-1 - lag]
            moved_a = _normal(a, a.points - before[0].points)
            moved = _finite(np.sum(moved_a * _normal(a, b.points - before[1].points), axis=1))
            squared_bias = max(squared_bias, clipped_mean(moved) / (1.0 - RATIO ** (-4 * lag)) ** 2)
    return variance + squared_bias


def _normal(ridge: Ridge, vectors: FloatArray) -> FloatArray:
    """The part of ``vectors`` [q, d] normal to the ridge."""
    along = np.einsum("qdk,qd->qk", ridge.tangents, vectors)
    return np.asarray(vectors - np.einsum("qdk,qk->qd", ridge.tangents, along))


def _finite(values: FloatArray) -> FloatArray:
    return np.asarray(values[np.isfinite(values)])
