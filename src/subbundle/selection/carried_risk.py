"""The bandwidth of least estimated risk for any way of carrying points into the middle of a cloud.

As in `_ridge_risk`, but for fits that give points and nothing else: the differences between the halves are taken whole,

    V_j  = W(|c_A,j − c_B,j|²) · n/(2N)
    B²_j = max over l of  W((c_A,j − c_A,j−l)·(c_B,j − c_B,j−l)) / (1 − 2^−l)².
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from subbundle._types import FloatArray
from subbundle.cloud import Cloud
from subbundle.selection._ladder import RATIO, WIDEST, clipped_mean, first_rung, flatness, least, split
from subbundle.selection.bandwidth import BandwidthChoice, by_neighbours

Carry = Callable[[Cloud, int, float, FloatArray, int | None], FloatArray]

_QUERIES, _LEAST_POINTS = 400, 100
_LAGS = (2, 3, 4)
_RISEN, _AT_LEAST = 4.0, 7
_FINITE = 0.9


def choose_by_carrying(cloud: Cloud, rank: int, carry: Carry, *, n_jobs: int | None = None) -> BandwidthChoice:
    """Choose a bandwidth for ``carry(half, rank, bandwidth, queries, n_jobs)``, which returns where the queries [q, d]
    come to rest on the cloud ``half``, NaN for those that do not.

    Small and shapeless clouds get the distance to a few neighbours, as in `choose_bandwidth`.
    """
    if cloud.n_points >= _LEAST_POINTS:
        ladder, risks = _climb(cloud, rank, carry, n_jobs)
        if np.isfinite(risks).any():
            width, risk = least(ladder, risks)
            flat = flatness(ladder, risks)
            return BandwidthChoice(width, float(np.sqrt(risk)), ladder, risks, "split-sample risk", flat)
    return by_neighbours(cloud, rank)


def _climb(cloud: Cloud, rank: int, carry: Carry, n_jobs: int | None) -> tuple[FloatArray, FloatArray]:
    """Bandwidths and risks up the ladder."""
    queries, first, second = split(cloud, _QUERIES)
    halves = Cloud(first), Cloud(second)
    ladder, risks = [first_rung(queries, first, rank)], []
    rungs: list[tuple[FloatArray, FloatArray]] = []
    while True:
        a, b = (carry(half, rank, ladder[-1], queries, n_jobs) for half in halves)
        rungs.append((a, b))
        risks.append(_risk(rungs, 0.5 * len(first) / cloud.n_points))
        enough = len(risks) >= _AT_LEAST and risks[-1] > _RISEN * min(risks) and np.isfinite(min(risks))
        if enough or ladder[-1] * RATIO > WIDEST * cloud.size:
            return np.array(ladder), np.array(risks)
        ladder.append(ladder[-1] * RATIO)


def _risk(rungs: list[tuple[FloatArray, FloatArray]], share: float) -> float:
    """R of the last of the ``rungs``; infinite where it cannot be told."""
    a, b = rungs[-1]
    known = np.isfinite(a[:, 0]) & np.isfinite(b[:, 0])
    if known.mean() < _FINITE:
        return np.inf
    variance = share * clipped_mean(np.sum((a - b)[known] ** 2, axis=1))
    squared_bias = 0.0
    for lag in _LAGS:
        if len(rungs) > lag:
            before_a, before_b = rungs[-1 - lag]
            moved = np.sum((a - before_a) * (b - before_b), axis=1)
            moved = moved[np.isfinite(moved)]
            if moved.size >= _FINITE * len(a):
                squared_bias = max(squared_bias, clipped_mean(moved) / (1.0 - RATIO ** (-4 * lag)) ** 2)
    return variance + squared_bias
