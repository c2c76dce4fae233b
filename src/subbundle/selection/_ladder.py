"""The ladder of bandwidths a_j = a_0 r^j: where it starts, and where along it something is least."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from subbundle._numbers import NOTICEABLE
from subbundle._types import FloatArray
from subbundle.cloud import Cloud
from subbundle.local.regression import n_features
from subbundle.local.tuning import ENOUGH
from subbundle.selection._tuning import AS_GOOD, CLIP, FEW_POINTS, FOLDS, LEAST_QUERIES, MOST_OF_PART, QUERIES, RATIO
from subbundle.selection.work import affordable_fits

# Neighbours per dimension that the first width is looked for among.
_AMONG = 64
# Queries that are left whatever each costs.
_FEWEST = 8


def n_queries(cloud: Cloud, rank: int, *, folds: int = 2) -> int:
    """Queries that a risk is averaged over."""
    wanted = max(QUERIES / np.sqrt(max(cloud.dim - rank, 1)), LEAST_QUERIES) * 2 / folds
    return min(int(wanted), max(affordable_fits(cloud, rank) // folds, _FEWEST))


def split(cloud: Cloud, queries: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Queries [q, d] and two halves [n, d] of the rest, disjoint and centred as the cloud.

    The permutation is fixed and applied to the order of the tree, so that the order of the rows does not matter. Any
    leading rows of a half are a fair sample of it.
    """
    observations = cloud.at(np.arange(cloud.n_points))
    order = np.random.default_rng(0).permutation(cloud.n_points)
    count = min(queries, max(cloud.n_points // 5, 1))
    middle = count + (cloud.n_points - count) // 2
    return observations[np.sort(order[:count])], observations[order[count:middle]], observations[order[middle:]]


def parts(cloud: Cloud, rank: int) -> tuple[FloatArray, list[FloatArray]]:
    """Queries [q, d] and the parts [n, d] of the cloud that are compared: `split`, or of few points all but a fifth.

    Queries of small clouds are observations like all others, in four of the five parts: what is estimated for them
    then includes what a point's own noise does.
    """
    if cloud.n_points >= FEW_POINTS:
        first, *halves = split(cloud, n_queries(cloud, rank))
        return first, halves
    observations = cloud.at(np.arange(cloud.n_points))
    fold = np.random.default_rng(0).permutation(cloud.n_points) % FOLDS
    queries = cloud.at(cloud.sample(n_queries(cloud, rank, folds=FOLDS)))
    return queries, [observations[fold != f] for f in range(FOLDS)]


def wanted_neighbours(rank: int, n_points: int) -> float:
    """Effective neighbours at which a quadric can be fitted: in proportion to its coefficients."""
    return float(min(ENOUGH * n_features(rank), MOST_OF_PART * n_points))


def first_widths(queries: FloatArray, observations: FloatArray, rank: int) -> FloatArray:
    """Bandwidth [q] at which the effective number of neighbours (Σφ)²/Σφ² of a query is the wanted one.

    φ is taken relative to the nearest neighbour: in high dimension all distances share a large common part.
    """
    wanted = max(wanted_neighbours(rank, len(observations)), 2.0)
    count = min(_AMONG * (rank + 1), len(observations))
    squared = cKDTree(observations).query(queries, k=np.arange(1, count + 1))[0] ** 2
    squared -= squared[:, :1]
    high = np.sqrt(squared[:, -1])
    # Copies of one observation are at distance nil whatever the bandwidth.
    high[high == 0.0] = max(float(high.max()), np.finfo(float).tiny)
    low = NOTICEABLE * high
    for _ in range(40):
        middle = np.sqrt(low * high)
        phi = np.exp(-0.5 * squared / middle[:, None] ** 2)
        few = phi.sum(axis=1) ** 2 / (phi**2).sum(axis=1) < wanted
        low, high = np.where(few, middle, low), np.where(few, high, middle)
    return np.asarray(high)


def first_width(queries: FloatArray, observations: FloatArray, rank: int) -> float:
    """The median of `first_widths`: where the ladder of a whole cloud starts."""
    return float(np.median(first_widths(queries[:QUERIES], observations, rank)))


def clipped_mean(values: FloatArray) -> float:
    """Mean of the values clipped at the 98 % quantile of their own size."""
    bound = np.quantile(np.abs(values), CLIP)
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


def flatness(risks: FloatArray) -> float:
    """Largest bandwidth over smallest, of those around the best whose risk is within 10 % of the least.

    Between rungs log R is linear in log a. 1 where the least risk is nil.
    """
    j = int(np.argmin(risks))
    if not risks[j] > 0.0:
        return 1.0
    excess = np.log(risks / (AS_GOOD * risks[j]))
    reach = 0.0
    for way in (-1, 1):
        here = j
        while 0 <= here + way < len(risks) and excess[here + way] <= 0.0:
            here += way
        reach += abs(here - j)
        if 0 <= here + way < len(risks) and np.isfinite(excess[here + way]):
            reach += float(-excess[here] / (excess[here + way] - excess[here]))
    return float(RATIO**reach)
