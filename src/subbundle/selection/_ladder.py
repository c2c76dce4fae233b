"""A ladder of bandwidths a_j = a_0 2^(j/4): where it starts, and where along it something is least."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray
from subbundle.cloud import Cloud

RATIO = 2.0**0.25
# The ladder ends at this part of the size of the cloud.
WIDEST = 0.2
# Clouds of fewer points are compared in so many folds instead of halves.
FEW, FOLDS = 1000, 5
# A risk within this factor of the least is as good as the least.
_AS_GOOD = 1.1
_CLIP = 0.98


def split(cloud: Cloud, queries: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Queries [q, d] and two halves [n, d] of the rest, disjoint and centred as the cloud.

    The permutation is fixed and applied to the order of the tree, so that the order of the rows does not matter. Any
    leading rows of a half are a fair sample of it.
    """
    observations = cloud.at(np.arange(cloud.n_points))
    order = np.random.default_rng(0).permutation(cloud.n_points)
    count = min(queries, cloud.n_points // 5)
    middle = count + (cloud.n_points - count) // 2
    return observations[np.sort(order[:count])], observations[order[count:middle]], observations[order[middle:]]


def parts(cloud: Cloud, queries: int) -> tuple[FloatArray, list[FloatArray]]:
    """Queries [q, d] and the parts [n, d] of the cloud that are compared: `split`, or of few points all but a fifth.

    Queries of small clouds are observations like all others, in four of the five parts: what is estimated for them
    then includes what a point's own noise does.
    """
    if cloud.n_points >= FEW:
        first, *halves = split(cloud, queries)
        return first, halves
    observations = cloud.at(np.arange(cloud.n_points))
    fold = np.random.default_rng(0).permutation(cloud.n_points) % FOLDS
    return cloud.at(cloud.sample(queries)), [observations[fold != f] for f in range(FOLDS)]


def first_rung(queries: FloatArray, observations: FloatArray, rank: int) -> float:
    """Bandwidth at which the median effective number of neighbours (Σφ)²/Σφ² is k + 2.

    φ is taken relative to the nearest neighbour: in high dimension all distances share a large common part.
    """
    count = min(64 * (rank + 1), len(observations))
    squared = cKDTree(observations).query(queries[:200], k=count)[0] ** 2
    squared -= squared[:, :1]
    furthest = float(np.sqrt(squared.max()))
    low, high = 1e-6 * furthest, furthest
    for _ in range(40):
        middle = np.sqrt(low * high)
        # Duplicates are at distance nil whatever the bandwidth.
        phi = np.exp(-0.5 * squared / max(middle**2, np.finfo(float).tiny))
        few = np.median(phi.sum(axis=1) ** 2 / (phi**2).sum(axis=1)) < rank + 2.0
        low, high = (middle, high) if few else (low, middle)
    return float(high)


def clipped_mean(values: FloatArray) -> float:
    """Mean of the values clipped at the 98 % quantile of their own size: outliers count, but not without bound."""
    bound = np.quantile(np.abs(values), _CLIP)
    return float(np.clip(values, -bound, bound).mean())


def least(ladder: FloatArray, risks: FloatArray) -> tuple[float, float]:
    """Bandwidth and risk at the bottom of the parabola in log a and log R; those of the lowest rung where there is
    none."""
    j = int(np.argmin(risks))
    if not 0 < j < len(risks) - 1 or not np.isfinite(risks[j - 1 : j + 2]).all() or risks[j] <= 0.0:
        return float(ladder[j]), float(risks[j])
    before, here, after = np.log(risks[j - 1 : j + 2])
    bend = before - 2.0 * here + after
    offset = 0.5 * (before - after) / bend if bend > 0.0 else 0.0
    return float(ladder[j] * RATIO**offset), float(np.exp(here - 0.25 * (before - after) * offset))


def flatness(ladder: FloatArray, risks: FloatArray) -> float:
    """Largest bandwidth over smallest, of those around the best whose risk is within 10 % of the least.

    Between rungs log R is linear in log a. 1 where the least risk is nil.
    """
    j = int(np.argmin(risks))
    if not risks[j] > 0.0:
        return 1.0
    excess = np.log(risks / (_AS_GOOD * risks[j]))
    reach = 0.0
    for way in (-1, 1):
        here = j
        while 0 <= here + way < len(risks) and excess[here + way] <= 0.0:
            here += way
        reach += abs(here - j)
        if 0 <= here + way < len(risks) and np.isfinite(excess[here + way]):
            reach += float(-excess[here] / (excess[here + way] - excess[here]))
    return float(RATIO**reach)
