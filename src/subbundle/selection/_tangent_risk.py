"""Estimated error of the bundle's subspaces at every bandwidth of a ladder, from two disjoint halves of the data.

Geodesics and distances follow the subspaces of the bundle, which want another bandwidth than the ridge. Points in the
middle of the cloud are held fixed, and the projectors P_A, P_B of two halves are compared there, by ⟨P, Q⟩ = tr PQ:

    V_j  = W(|P_A,j − P_B,j|²) · n/(2N)                                         n observations a half, N in all
    B²_j = max over l = 2, 3, 4 of  W(⟨P_A,j − P_A,j−l, P_B,j − P_B,j−l⟩) / (1 − 2^(−l/2))²
    R_j  = (V_j + max(0, B²_j))/2,

the mean squared sine of the angles between the estimated and the true subspaces, summed over them. The subspaces of a
local PCA are off by an angle of order a², from the third derivatives of the surface and from changes of density.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.cloud import Cloud
from subbundle.manifolds.ridge_project import ridge_project
from subbundle.selection._ladder import RATIO, WIDEST, clipped_mean, split

_QUERIES = 300
_LAGS = (2, 3, 4)
# Rungs below the bandwidth of the ridge at which the climb starts, and above which it may end.
_BELOW, _AT_LEAST, _RISEN = 5, 9, 4.0
# Kernel mass beyond which a part of each half will do: V falls as 1/n.
_PLENTY = 200.0
_KNOWN = 0.9


def tangent_risks(cloud: Cloud, rank: int, ridge_bandwidth: float, n_jobs: int | None) -> tuple[FloatArray, FloatArray]:
    """Bandwidths [m] and risks [m] around ``ridge_bandwidth``; infinite where the risk cannot be told."""
    queries, *halves = split(cloud, _QUERIES)
    middle = _middle(cloud, rank, ridge_bandwidth, queries, n_jobs)
    width, count = ridge_bandwidth * RATIO**-_BELOW, len(halves[0])
    clouds = [Cloud(half) for half in halves]
    ladder: list[float] = []
    risks: list[float] = []
    rungs: list[tuple[FloatArray, FloatArray] | None] = []
    while width <= max(WIDEST * cloud.size, ridge_bandwidth * RATIO**2):
        rungs.append(None)
        try:
            bundles = [PrincipalSubbundle(half, rank, width, min_density=1e-9, n_jobs=n_jobs) for half in clouds]
        except ValueError:
            bundles = []
        if bundles:
            rungs[-1] = (_vectors(bundles[0], middle), _vectors(bundles[1], middle))
        ladder.append(width)
        risks.append(_risk(rungs, 0.5 * count / cloud.n_points))
        if len(risks) >= _AT_LEAST and np.isfinite(min(risks)) and risks[-1] > _RISEN * min(risks):
            break
        if bundles and bundles[0].typical_mass > _PLENTY:
            count //= 2
            clouds = [Cloud(half[:count]) for half in halves]
        width *= RATIO
    return np.array(ladder), np.array(risks)


def _middle(cloud: Cloud, rank: int, bandwidth: float, queries: FloatArray, n_jobs: int | None) -> FloatArray:
    """The queries, carried onto the ridge of all observations; those without one are left out."""
    bundle = PrincipalSubbundle(cloud, rank, bandwidth, n_jobs=n_jobs)
    ridge = ridge_project(bundle, queries + cloud.centre, max_steps=8)
    arrived = (ridge.status == Status.OK) | (ridge.status == Status.NOT_CONVERGED)
    return np.ascontiguousarray(ridge.points[arrived] - cloud.centre)


def _vectors(bundle: PrincipalSubbundle, points: FloatArray) -> FloatArray:
    """Orthonormal bases [q, d, k], NaN where the bundle has no subspace."""
    frame = bundle.frame(points)
    return np.where((frame.status == Status.OK)[:, None, None], frame.vectors, np.nan)


def _risk(rungs: list[tuple[FloatArray, FloatArray] | None], share: float) -> float:
    """R of the last of the ``rungs``; infinite where it cannot be told."""
    pair = rungs[-1]
    if pair is None:
        return np.inf
    a, b = pair
    agree = _product(a, b)
    known = np.isfinite(agree)
    if known.mean() < _KNOWN:
        return np.inf
    # |P − Q|² = 2 (k − tr PQ)
    variance = share * clipped_mean(2.0 * (a.shape[2] - agree[known]))
    squared_bias = 0.0
    for lag in _LAGS:
        before = rungs[-1 - lag] if len(rungs) > lag else None
        if before is not None:
            moved = agree - _product(a, before[1]) - _product(before[0], b) + _product(*before)
            moved = moved[np.isfinite(moved)]
            if moved.size >= _KNOWN * len(a):
                squared_bias = max(squared_bias, clipped_mean(moved) / (1.0 - RATIO ** (-2 * lag)) ** 2)
    return 0.5 * (variance + squared_bias)


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """tr PQ [q] of the projectors onto the spans of ``a`` and ``b`` [q, d, k]."""
    return np.asarray(np.sum(np.einsum("qdi,qdj->qij", a, b) ** 2, axis=(1, 2)))
