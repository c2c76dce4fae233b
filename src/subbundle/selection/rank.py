"""The dimension of a cloud from the eigenvalues of local covariances, over a grid of scales.

Under Gaussian weights of bandwidth a, a k-dimensional manifold larger than a has k eigenvalues λ_i ≈ a², whatever its
density. Normal to it are noise, σ²a²/(a² + σ²), and curvature, about a⁴κ²/2, both far below a² where a is wider than
the noise and narrower than the radius of curvature. With n effective neighbours the i-th of equal eigenvalues is
estimated at about (1 − √((i−1)/n))² of its value. So at one point and one scale

    k = the number of i with λ_i > 0.6 (1 − √((i−1)/n))² min(a², mean of λ_1 … λ_{i−1}),

counted up to the first that fails. The count of a whole cloud is the mode over points, and its contrast is the median
of the logarithm of the last eigenvalue counted over the next. At scales below the noise all directions are counted,
without contrast; at scales beyond the radius of curvature too many, or too few where a sheet is narrow. Between them is
a plateau: successive scales with the same count. The finest plateau with a sufficient sum of contrasts is taken.

In many dimensions there may be no such scale: with 2000 observations of a 5-sphere in R^6, neighbourhoods with enough
observations are wider than its curvature allows. The growth of neighbourhoods (`_growth`) then excludes the sixth
direction: counts above its bound are left out, and where no plateau is left the growth is the estimate.

Directions of isotropic noise are left out beforehand (`components_above_noise`), all but two, which show its floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.spatial import cKDTree

from subbundle._html import card
from subbundle._numbers import NOTICEABLE
from subbundle._parallel import one_blas_thread
from subbundle._types import FloatArray, IntArray, evenly
from subbundle._validation import as_integer
from subbundle.cloud import Cloud
from subbundle.cloud.tuning import BLOCK_DIM
from subbundle.local.model import fit_local
from subbundle.local.tuning import ENOUGH
from subbundle.selection._growth import growth
from subbundle.selection.components import principal_components
from subbundle.selection.ladder import first_width
from subbundle.selection.tuning import (
    ALONG,
    PLACES,
    RATIO,
    WIDEST,
)

# Observations in use, to bound the time: more would only give a finer finest scale.
_MOST, _MOST_ENTRIES = 10_000, 200_000
# Most components of tables without a noise floor, to bound the time of the eigenproblems: with 289 they took 8 s.
_MOST_COMPONENTS = 64
# Effective neighbours per direction, at least, and for one more: an eigenvalue is a mean of squares, of twice the
# relative variance of a coefficient.
_PER_DIRECTION = 2.0 * ENOUGH
# With fewer, no neighbourhood is both local and large enough for a covariance.
FEWEST_ROWS = 30


@dataclass(frozen=True, slots=True)
class RankChoice:
    """A dimension and the estimates behind it.

    Attributes
    ----------
    rank : int
        Dimension of the manifold; that of the space itself where no direction is clearly narrower than the others.
    confidence : float
        Fraction of the points that agree, reduced by the distance of the growth from an integer where the growth is the
        estimate; 0 where the cloud fills the space.
    per_point : [N]
        Dimension around each observation: the mode over the k + 3 nearest points, or the growth around it.
    scale : float
        Bandwidth at which the contrast is largest.
    contrast : float
        log of the least tangential eigenvalue over the largest normal one, at ``scale``; 0 where the estimate is that
        of the growth.
    scales, counts, scores : [m]
        The grid of scales, the mode of the counts at each, and its contrast.
    growth : float
        Dimension by the growth of neighbourhoods, including wide noise; see ``method``.
    method : str
        ``"covariances"``, ``"growth"``, or ``"none"`` where no estimate is below the dimension of the space.
    """

    rank: int
    confidence: float
    per_point: IntArray
    scale: float
    contrast: float
    scales: FloatArray
    counts: IntArray
    scores: FloatArray
    growth: float
    method: str

    def _repr_html_(self) -> str:
        facts = [("rank", self.rank), ("points that agree", f"{self.confidence:.0%}"), ("chosen by", self.method)]
        return card("RankChoice", [*facts, ("scale", self.scale), ("contrast", self.contrast)])


@one_blas_thread()
def choose_rank(points: FloatArray | Cloud, *, max_rank: int | None = None) -> RankChoice:
    """Choose the dimension of the manifold that ``points`` [N, d] lie around; at least 30 of them are needed.

    Deterministic, and the same for any order of the rows. ``max_rank`` bounds the estimate.

    Examples
    --------
    >>> import subbundle as sb
    >>> sb.selection.choose_rank(sb.datasets.torus(2000, noise=0.02).points).rank
    2
    """
    cloud = points if isinstance(points, Cloud) else Cloud(points)
    if cloud.n_points < FEWEST_ROWS:
        raise ValueError(
            f"points must hold at least {FEWEST_ROWS} observations to count directions among neighbours; got "
            f"{cloud.n_points}. Pass the rank instead."
        )
    highest = as_integer(max_rank, "max_rank", low=1, high=cloud.dim) if max_rank is not None else cloud.dim
    observations, noise = _above_noise(cloud)
    dim = observations.shape[1]
    # Copies of an observation are not neighbours.
    distinct = observations[np.sort(np.unique(observations, axis=0, return_index=True)[1])]
    some = distinct[evenly(len(distinct), int(min(_MOST, max(_MOST_ENTRIES // dim, 2000))))]
    places = some[evenly(len(some), PLACES)]
    scales, counts, contrasts, scores = _over_scales(places, some, highest)
    modes, grown = _modes(counts), growth(some, noise)
    index = _plateau(modes, scores, grown.bound)
    if index is not None:
        seen = np.isfinite(contrasts[index])
        rank, where = int(modes[index]), places[seen]
        votes = np.minimum(counts[index], grown.bounds[evenly(len(some), PLACES)])[seen]
        method, scale, contrast, penalty = "covariances", float(scales[index]), float(scores[index]), 0.0
    else:
        full = grown.bound >= dim
        rank = min(dim if full else int(np.rint(grown.dimension)), highest)
        where, votes = some, np.minimum(np.full(len(some), dim) if full else grown.local, highest)
        method, scale, contrast = "none" if full else "growth", float(scales[-1]) if scales.size else np.nan, 0.0
        penalty = 1.0 if full else abs(grown.dimension - np.rint(grown.dimension))
    return RankChoice(
        rank=rank,
        confidence=float((1.0 - penalty) * np.mean(votes == rank)),
        per_point=_per_point(cloud, observations, where, votes),
        scale=scale,
        contrast=contrast,
        scales=scales,
        counts=modes,
        scores=scores,
        growth=grown.dimension,
        method=method,
    )


def _per_point(cloud: Cloud, observations: FloatArray, where: FloatArray, votes: IntArray) -> IntArray:
    """The mode of the ``votes`` [q] at the k + 3 of the points ``where`` [q, r] nearest to each observation: a simplex
    and two more."""
    count = min(int(_modes(votes[None])[0]) + 3, len(where))
    nearest = cKDTree(where).query(observations, k=count)[1].reshape(cloud.n_points, -1)
    found = np.empty(cloud.n_points, np.int64)
    found[cloud.order] = _modes(votes[nearest])
    return found


def _above_noise(cloud: Cloud) -> tuple[FloatArray, float]:
    """Coordinates [N, r] in leaf order of the components above the noise and of two below, and the noise itself; 0
    where nothing is left out.

    Where there is no flat floor of noise, components that do not distinguish neighbours are left out.
    """
    observations = cloud.ordered
    found = principal_components(cloud)
    above = max(found.above_noise(), 1)
    floor = found.first(above)
    # An isotropic cloud, such as a sphere, has no visible noise floor.
    if above + 2 < cloud.dim and floor.noise <= 0.5 * float(np.sqrt(found.values[0])):
        resolved = found.resolved(2)
        if resolved >= above:
            kept = found.first(above + 2)
            return kept.enter(observations), kept.noise
    if cloud.dim > BLOCK_DIM:
        count = int(np.clip(found.resolved(2), BLOCK_DIM, _MOST_COMPONENTS))
        return found.first(count).enter(observations), 0.0
    return observations, 0.0


def _over_scales(
    places: FloatArray, observations: FloatArray, highest: int
) -> tuple[FloatArray, IntArray, FloatArray, FloatArray]:
    """Scales [m], counts [m, q], contrasts [m, q] (NaN at points with too few neighbours) and scores [m]."""
    # A gap after the last of the directions needs one more.
    flat = ((0, 0), (0, 1 if observations.shape[1] == 1 else 0))
    cloud, at = Cloud(np.pad(observations, flat)), np.pad(places, flat)
    width = first_width(places, observations, 1)
    scales, counts, contrasts, scores = [], [], [], []
    while width <= WIDEST * cloud.size:
        values, effective = _eigenvalues(cloud, at, width)
        count, contrast = _count(values[:, : observations.shape[1]], effective, highest)
        known = np.isfinite(contrast)
        if known.mean() > 0.5:
            mode = int(_modes(count[known][None])[0])
            scales.append(width)
            counts.append(np.where(known, count, -1))
            contrasts.append(contrast)
            scores.append(float(np.median(np.where(count[known] == mode, contrast[known], 0.0))))
        width *= RATIO
    shape = (len(scales), len(places))
    return (
        np.array(scales), np.array(counts, np.int64).reshape(shape), np.array(contrasts).reshape(shape),
        np.array(scores),
    )  # fmt: skip


def _eigenvalues(cloud: Cloud, places: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues [q, r], in units of a², and effective neighbours [q] at the local mean of every point.

    The point itself is left out of its mean: in many dimensions its own weight dominates.
    """
    fit = partial(fit_local, cloud, width=width, rank=cloud.dim - 1, order=0, n_jobs=None)
    mean = fit(points=places, without_self=True).mean
    found = fit(points=np.where(np.isfinite(mean), mean, places))
    effective = found.n_effective
    # Of one observation the variance is unknown.
    return found.eigenvalues / (width**2 * (1.0 - 1.0 / np.maximum(effective, 2.0)))[:, None], effective


def _count(values: FloatArray, effective: FloatArray, highest: int) -> tuple[IntArray, FloatArray]:
    """Numbers [q] of tangential ``values`` [q, r] (descending, in units of a²), and contrasts to the next."""
    dim = values.shape[1]
    order = np.arange(dim)
    expected = np.maximum(1.0 - np.sqrt(order / effective[:, None]), NOTICEABLE) ** 2
    # Near borders all are smaller, by a factor that the mean of the preceding ones estimates.
    before = np.cumsum(values, axis=1)[:, :-1] / order[1:]
    typical = np.minimum(1.0, np.concatenate([np.ones((len(values), 1)), before], axis=1))
    along = np.cumprod(values > ALONG * expected * typical, axis=1)
    counts = np.clip(np.count_nonzero(along, axis=1), 1, min(highest, dim))
    shrunk = np.maximum(values / expected, 1e-12)
    last, beyond = (np.take_along_axis(shrunk, at[:, None], axis=1)[:, 0] for at in (counts - 1, counts % dim))
    contrasts = np.where(counts == dim, 0.0, np.log(last / beyond))
    return counts, np.where(effective < _PER_DIRECTION * (counts + 1), np.nan, contrasts)


def _modes(counts: IntArray) -> IntArray:
    """The mode of each row of ``counts`` [m, q], the smallest of equals; −1 marks missing entries."""
    found = [np.bincount(row[row >= 0]) for row in counts]
    return np.array([int(np.argmax(tally)) if tally.size else 0 for tally in found], np.int64)


def _plateau(counts: IntArray, scores: FloatArray, bound: int) -> int | None:
    """Index of the scale of largest contrast on the finest plateau with a sufficient sum of contrasts, or None.

    Plateaus that count more than ``bound`` directions are left out.
    """
    if not len(counts):
        return None
    borders = np.flatnonzero(np.diff(counts)) + 1
    plateaus = [rows for rows in np.split(np.arange(len(counts)), borders) if counts[rows[0]] <= bound]
    # By chance the contrast can be that of the threshold; the excess over it must sum to as much again.
    chance = -np.log(ALONG)
    clear = np.flatnonzero([np.maximum(scores[rows] - chance, 0.0).sum() >= chance for rows in plateaus])
    if not clear.size:
        return None
    chosen = plateaus[int(clear[0])]
    return int(chosen[np.argmax(scores[chosen])])
