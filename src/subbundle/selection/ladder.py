"""The grid of bandwidths a_j = a_0 r^j: its start, queries and subsamples to compare, and the minimum of a risk.

Also the paper's rule: the bandwidth of the largest mean gap (λ_k − λ_{k+1})/λ_k over points of the ridge. With smooth
surfaces and little noise the gap falls slowly from a broad maximum, and the rule selects larger bandwidths than least
risk.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from subbundle._numbers import NOTICEABLE, ROUNDING
from subbundle._types import FloatArray, Status
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.cloud import Cloud
from subbundle.local.regression import n_features
from subbundle.local.tuning import ENOUGH
from subbundle.selection.tuning import CLIP, FOLDS, PLACES, RATIO, SAMPLE, UNNOTICED, WIDEST

# Neighbours per dimension among which the first width is searched: more than it needs.
_AMONG = 64
# Multiplications for the quadrics of one step: half a second, and a grid of bandwidths takes about twenty such steps.
_WORK = 3e9
# Fewest points that a mean is taken over, whatever each costs.
FEWEST = 8
# Factor of the least risk that defines `flatness`.
_AS_GOOD = 1.1


def affordable_fits(cloud: Cloud, rank: int) -> int:
    """Number of points at which quadrics can be fitted over a grid within seconds; one at least.

    The normal equations of q = 1 + k + k (k + 1)/2 unknowns take n q² multiplications and their factor q³/6. That
    bounds the points that a statistic is averaged over from about rank 12 on.
    """
    size = n_features(rank)
    return int(max(_WORK / (size**2 * (min(cloud.n_points, 16 * size) + size / 6.0)), 1.0))


def n_queries(cloud: Cloud, rank: int, *, folds: int = 2) -> int:
    """Number of queries that a risk is averaged over.

    A query in codimension m gives m values, though at one point: fewer suffice, by a factor between 1 and √m.
    """
    enough = PLACES * max(cloud.dim - rank, 1) ** -0.25
    return min(int(enough), max(affordable_fits(cloud, rank) // folds, FEWEST))


def split(cloud: Cloud, queries: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Queries [q, d] and two halves [n, d] of the rest, disjoint and centred as the cloud.

    The permutation is fixed and applied to the order of the tree, so that the order of the rows does not matter. Any
    leading rows of a half are a random sample of it.
    """
    observations = cloud.ordered
    order = np.random.default_rng(0).permutation(cloud.n_points)
    count = min(queries, max(cloud.n_points // 5, 1))
    middle = count + (cloud.n_points - count) // 2
    return observations[np.sort(order[:count])], observations[order[count:middle]], observations[order[middle:]]


def subsamples(cloud: Cloud, rank: int) -> tuple[FloatArray, list[FloatArray]]:
    """Queries [q, d] and the subsamples [n, d] that are compared: `split`, or for few points five of all but one fold.

    Queries of small clouds are observations, in four of the five subsamples: their estimates then include the effect of
    a point's own noise.
    """
    if cloud.n_points >= SAMPLE:
        first, *halves = split(cloud, n_queries(cloud, rank))
        return first, halves
    observations = cloud.ordered
    fold = np.random.default_rng(0).permutation(cloud.n_points) % FOLDS
    queries = cloud.at(cloud.sample(n_queries(cloud, rank, folds=FOLDS)))
    return queries, [observations[fold != f] for f in range(FOLDS)]


def required_neighbours(rank: int, n_points: int) -> float:
    """Effective neighbours required for a quadric: proportional to the number of its coefficients."""
    return float(min(ENOUGH * n_features(rank), n_points))


def half_suffices(neighbours: float) -> bool:
    """Whether half of them suffice: the standard error of their mean, 1/√n of their spread, is negligible."""
    return neighbours * UNNOTICED**2 > 1.0


def first_widths(queries: FloatArray, observations: FloatArray, rank: int) -> FloatArray:
    """Bandwidth [q] at which the effective number of neighbours (Σφ)²/Σφ² of a query is the required one.

    φ is taken relative to the nearest neighbour: in high dimension all distances have a large term in common.
    """
    required = max(required_neighbours(rank, len(observations)), 2.0)
    count = min(_AMONG * (rank + 1), len(observations))
    squared = cKDTree(observations).query(queries, k=np.arange(1, count + 1))[0] ** 2
    squared -= squared[:, :1]
    high = np.sqrt(squared[:, -1])
    # Copies of one observation have distance zero.
    high[high == 0.0] = max(float(high.max()), np.finfo(float).tiny)
    low = NOTICEABLE * high
    for _ in range(40):
        middle = np.sqrt(low * high)
        phi = np.exp(-0.5 * squared / middle[:, None] ** 2)
        few = phi.sum(axis=1) ** 2 / (phi**2).sum(axis=1) < required
        low, high = np.where(few, middle, low), np.where(few, high, middle)
    return np.asarray(high)


def first_width(queries: FloatArray, observations: FloatArray, rank: int) -> float:
    """The median of `first_widths`: the start of the grid of a whole cloud."""
    return float(np.median(first_widths(queries[:PLACES], observations, rank)))


def mean_gaps(cloud: Cloud, rank: int, n_jobs: int | None) -> tuple[FloatArray, FloatArray]:
    """Bandwidths [m] from few neighbours up to a fifth of the size of the cloud, and the mean gap [m] at each.

    NaN where the bundle cannot be built, for lack of neighbours or of directions.
    """
    queries, half, other = split(cloud, PLACES)
    width, widest = first_width(queries, np.concatenate([half, other]), rank), WIDEST * cloud.size
    # Two or three observations have too few neighbours for a width.
    width = width if width > ROUNDING * widest else widest
    count = max(int(np.log(widest / width) / np.log(RATIO)) + 1, 1)
    grid = np.array([width * RATIO**j for j in range(count)], np.float64)
    gaps = np.full(count, np.nan)
    for j, bandwidth in enumerate(grid):
        try:
            bundle = PrincipalSubbundle(cloud, rank, float(bandwidth), min_density=0.0, n_jobs=n_jobs)
        except ValueError:
            continue
        frame = bundle.frame(bundle.landmarks(PLACES))
        known = (frame.status == Status.OK) | (frame.status == Status.GAP_CLOSED)
        if not known.any():
            continue
        gaps[j] = frame.gap[known].mean()
        if half_suffices(float(np.median(frame.density))):
            cloud = Cloud(cloud.at(cloud.sample(cloud.n_points // 2)))
    return grid, gaps


def clipped(values: FloatArray) -> FloatArray:
    """The values, clipped at the 98 % quantile of their absolute values."""
    bound = np.quantile(np.abs(values), CLIP)
    return np.clip(values, -bound, bound)


def least(grid: FloatArray, risks: FloatArray) -> tuple[float, float]:
    """Bandwidth and risk at the minimum of the parabola in log a and log R; those of least risk in ``grid`` where there
    is none."""
    j = int(np.argmin(risks))
    if not 0 < j < len(risks) - 1 or not np.isfinite(risks[j - 1 : j + 2]).all() or risks[j] <= 0.0:
        return float(grid[j]), float(risks[j])
    before, here, after = np.log(risks[j - 1 : j + 2])
    second = before - 2.0 * here + after
    offset = 0.5 * (before - after) / second if second > 0.0 else 0.0
    return float(grid[j] * RATIO**offset), float(np.exp(here - 0.25 * (before - after) * offset))


def risk_at(widths: float | FloatArray, grid: FloatArray, risks: FloatArray, below: float, above: float) -> FloatArray:
    """The risk at ``widths``: log R linear in log a between those of the ``grid`` [m], powers of a beyond its ends.

    Zero where no risk is above zero: there is no error at any bandwidth.
    """
    known = np.isfinite(risks) & (risks > 0.0)
    if not known.any():
        return np.zeros_like(widths)
    places, logs, here = np.log(grid[known]), np.log(risks[known]), np.log(widths)
    beyond = below * np.minimum(here - places[0], 0.0) + above * np.maximum(here - places[-1], 0.0)
    return np.asarray(np.exp(np.interp(here, places, logs) + beyond))


def flatness(risks: FloatArray) -> float:
    """Largest bandwidth over smallest, of those around the best whose risk is within 10 % of the least.

    log R is interpolated linearly in log a. 1 where the least risk is zero.
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
