"""The bandwidth of least estimated risk, from two disjoint halves of the data.

Observations left out of both halves are carried onto the second-order ridge of each, at every bandwidth a_j = a_0
2^(j/4) of a ladder. With c_A, c_B where they come to rest and W the mean of values clipped at their own 98 % quantile,

    V_j  = W(|c_A,j − c_B,j|²) · n/(2N)                                        n observations a half, N in all
    B²_j = max over l = 2, 3, 4 of  W((c_A,j − c_A,j−l)·(c_B,j − c_B,j−l)) / (1 − 2^−l)²
    R_j  = V_j + max(0, B²_j).

Two halves share no noise: their difference is variance, and the product across halves of what a change of bandwidth
moves is squared bias, of order a⁴ on the second-order ridge, without a variance term. The minimum of R is taken from
the parabola through log R at the lowest rung and its two neighbours, so that the choice does not jump from rung to
rung.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, Status
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.cloud import Cloud
from subbundle.manifolds.ridge import carry_to_ridge

_QUERIES = 400
_RATIO = 2.0**0.25
_LAGS = (2, 3, 4)
_STEPS = 4
# The ladder starts where a typical observation has so many effective neighbours per direction of the rank, plus one …
_FEWEST = 1.0
# … and ends at this part of the size of the cloud, or when the risk has clearly risen.
_WIDEST = 0.2
_RISEN, _AT_LEAST = 4.0, 7
_FINITE = 0.9
_CLIP = 0.98
# With fewer observations two halves say nothing of each other.
_LEAST_POINTS = 100

Carry = Callable[[Cloud, int, float, FloatArray, int | None], FloatArray]


@dataclass(frozen=True, slots=True)
class BandwidthChoice:
    """A bandwidth and what it rests on.

    Attributes
    ----------
    bandwidth : float
    error : float
        Estimated root-mean-square error of the second-order ridge at this bandwidth; NaN where it could not be
        estimated.
    ladder, risks : [m]
        The bandwidths compared, and R; infinite where too few observations had a ridge to go to.
    method : str
        ``"split-sample risk"``, or ``"neighbour distance"`` for clouds too small or too shapeless for it.
    """

    bandwidth: float
    error: float
    ladder: FloatArray
    risks: FloatArray
    method: str


def choose_bandwidth(
    points: FloatArray | Cloud, rank: int, *, carry: Carry | None = None, n_jobs: int | None = None
) -> BandwidthChoice:
    """Choose a bandwidth for a subbundle of the given ``rank`` on ``points`` [N, d].

    Deterministic, and the same for any order of the rows. Clouds of fewer than 100 points, and those where no rung
    of the ladder gives a ridge to 90 % of the observations, get the median distance to the 4 (k + 1)-th neighbour
    instead.

    ``carry(half, rank, bandwidth, queries, n_jobs)`` returns where the queries [q, d] come to rest on the cloud
    ``half``, NaN for those that do not; None takes the second-order ridge of the principal subbundle.
    """
    cloud = points if isinstance(points, Cloud) else Cloud(points)
    observations = cloud.at(np.arange(cloud.n_points))
    if cloud.n_points >= _LEAST_POINTS:
        queries, halves = _split(observations)
        ladder, risks = _climb(queries, halves, rank, cloud.size, cloud.n_points, carry or _carried, n_jobs)
        if np.isfinite(risks).any():
            width, risk = _least(ladder, risks)
            return BandwidthChoice(width, float(np.sqrt(risk)), ladder, risks, "split-sample risk")
    count = min(4 * (rank + 1), cloud.n_points - 1)
    apart = cKDTree(observations).query(cloud.at(cloud.sample(_QUERIES)), k=count + 1)[0][:, -1]
    # Duplicates can leave no distance at all.
    width = float(np.median(apart)) or float(apart.max()) or 0.1 * cloud.size
    return BandwidthChoice(width, float("nan"), np.array([width]), np.array([np.nan]), "neighbour distance")


def _split(observations: FloatArray) -> tuple[FloatArray, tuple[Cloud, Cloud]]:
    """Queries [q, d] and two clouds, disjoint; the permutation is fixed, and the rows come in the order of the tree."""
    n = len(observations)
    order = np.random.default_rng(0).permutation(n)
    count = min(_QUERIES, n // 5)
    middle = count + (n - count) // 2
    queries, first, second = (observations[np.sort(rows)] for rows in np.split(order, [count, middle]))
    return queries, (Cloud(first), Cloud(second))


def _climb(
    queries: FloatArray,
    halves: tuple[Cloud, Cloud],
    rank: int,
    size: float,
    n_points: int,
    carry: Carry,
    n_jobs: int | None,
) -> tuple[FloatArray, FloatArray]:
    """Bandwidths and risks up the ladder."""
    ladder, risks = [_first_rung(queries, halves[0], rank)], []
    rungs: list[tuple[FloatArray, FloatArray]] = []
    share = 0.5 * halves[0].n_points / n_points
    while True:
        a, b = (carry(half, rank, ladder[-1], queries, n_jobs) for half in halves)
        rungs.append((a, b))
        risks.append(_risk(rungs, share))
        enough = len(risks) >= _AT_LEAST and risks[-1] > _RISEN * min(risks) and np.isfinite(min(risks))
        if enough or ladder[-1] * _RATIO > _WIDEST * size:
            return np.array(ladder), np.array(risks)
        ladder.append(ladder[-1] * _RATIO)


def _first_rung(queries: FloatArray, half: Cloud, rank: int) -> float:
    """Bandwidth at which the median effective number of neighbours (Σφ)²/Σφ² is k + 2.

    φ is taken relative to the nearest neighbour: in high dimension all distances share a large common part.
    """
    observations = half.at(np.arange(half.n_points)) + half.centre
    count = min(64 * (rank + 1), half.n_points)
    squared = cKDTree(observations).query(queries[:200], k=count)[0] ** 2
    squared -= squared[:, :1]
    wanted = rank + 1.0 + _FEWEST
    low, high = 1e-6 * half.size, half.size
    for _ in range(40):
        middle = np.sqrt(low * high)
        phi = np.exp(-0.5 * squared / middle**2)
        few = np.median(phi.sum(axis=1) ** 2 / (phi**2).sum(axis=1)) < wanted
        low, high = (middle, high) if few else (low, middle)
    return float(high)


def _carried(half: Cloud, rank: int, bandwidth: float, queries: FloatArray, n_jobs: int | None) -> FloatArray:
    """Where the queries [q, d] come to rest on the second-order ridge of ``half``; NaN for those that have none."""
    try:
        bundle = PrincipalSubbundle(half, rank, bandwidth, min_density=1e-9, n_jobs=n_jobs)
    except ValueError:
        # A rung on which the bundle refuses, for want of neighbours or directions, is a rung without a ridge.
        return np.full_like(queries, np.nan)
    carried = carry_to_ridge(bundle, queries, tol=1e-3, max_steps=_STEPS)
    lost = (carried.status != Status.OK) & (carried.status != Status.NOT_CONVERGED)
    return np.where(lost[:, None], np.nan, carried.points)


def _risk(rungs: list[tuple[FloatArray, FloatArray]], share: float) -> float:
    """R of the last of the ``rungs``; infinite where it cannot be told."""
    a, b = rungs[-1]
    known = np.isfinite(a[:, 0]) & np.isfinite(b[:, 0])
    if known.mean() < _FINITE:
        return np.inf
    variance = share * _clipped_mean(np.sum((a - b)[known] ** 2, axis=1))
    squared_bias = 0.0
    for lag in _LAGS:
        if len(rungs) > lag:
            before_a, before_b = rungs[-1 - lag]
            moved = np.sum((a - before_a) * (b - before_b), axis=1)
            moved = moved[np.isfinite(moved)]
            if moved.size >= _FINITE * len(a):
                squared_bias = max(squared_bias, _clipped_mean(moved) / (1.0 - _RATIO ** (-4 * lag)) ** 2)
    return variance + squared_bias


def _clipped_mean(values: FloatArray) -> float:
    bound = np.quantile(np.abs(values), _CLIP)
    return float(np.clip(values, -bound, bound).mean())


def _least(ladder: FloatArray, risks: FloatArray) -> tuple[float, float]:
    """Bandwidth and risk at the bottom of the parabola in log a and log R; those of the lowest rung where there is
    none."""
    j = int(np.argmin(risks))
    if not 0 < j < len(risks) - 1 or not np.isfinite(risks[j - 1 : j + 2]).all() or risks[j] <= 0.0:
        return float(ladder[j]), float(risks[j])
    before, here, after = np.log(risks[j - 1 : j + 2])
    bend = before - 2.0 * here + after
    offset = 0.5 * (before - after) / bend if bend > 0.0 else 0.0
    return float(ladder[j] * _RATIO**offset), float(np.exp(here - 0.25 * (before - after) * offset))
