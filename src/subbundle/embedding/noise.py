"""Noise of a table: components of noise alone, and deviations that averaging over neighbours removes.

*Components.* Isotropic noise has equal variance in all directions; a manifold of low dimension in few of them. Of n
observations of noise in p dimensions, γ = p/n, the eigenvalues of the covariance reach up to s² (1 + √γ)², and their
second and third moments are s⁴ (1 + γ) and s⁶ (1 + 3γ + γ²). If at least half of the eigenvalues form such a tail, it
is attributed to noise and left out: neighbourhoods and distances are then those of the signal. Spectra of images have
no such tail; there only the components of the last 1e-5 of the variance are left out: no distance changes by more.

*Fits.* A split-sample risk decides whether rows are replaced by local fits, and over how many neighbours. At some
hundred query rows q the manifold is fitted twice (`subbundle.local.neighbor_fits`), from two disjoint halves of
the table, on m neighbours in all, and the risk of `subbundle.selection.risk` gives variance V and squared bias B² of
the fit to all rows. Only displacements normal to the frames of the fits count: a fit moves a row along its normal, and
tangential noise remains in any case. Frames of sparse halves are tilted, and tangential displacements, along different
normals onto the same sheet, would otherwise be attributed to errors of the fit. With a, b the points of the halves over
q and P the projection normal to the frames of a,

    E = ⟨|q − a|² + |q − b|² − |P(a − b)|²⟩/2                  noise² + bias² of the row itself.

The fraction of E that does not grow like h² is attributed to noise: σ² = E (1 − s/2)₊, s = d log E/d log h.

The fit of the largest gain σ² − V − B² is taken, and none where no gain is positive: on data that is sparse for its
curvature any fit is worse than the row. The risk alone does not decide: in neighbourhoods far smaller than the noise a
row and its fit deviate little from each other, both E and the risk grow like h², and nothing is gained. Standard errors
of differences are estimated from block means over consecutive queries, which are near each other and share neighbours.
Of the fits whose gain is within one standard error of the largest, and whose risk is within one of the least among
these, the quadratic one of the fewest neighbours is taken: bias accumulates along the manifold, where independent
errors average out.

Neighbourhoods grow to a third of the table. Large ones are thinned out evenly: V is proportional to 1/m.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
from sklearn.neighbors import NearestNeighbors

from subbundle._memory import blocks
from subbundle._types import FloatArray, IntArray, evenly
from subbundle.embedding import tuning
from subbundle.local.neighbor_fits import distance_weights, fit_polynomials, fit_size
from subbundle.selection.components import Spectrum
from subbundle.selection.ladder import clipped
from subbundle.selection.risk import Estimate, Scale, points_product, risks_over_grid
from subbundle.selection.tuning import LAGS, PLACES, UNNOTICED


def above_flat_tail(spectrum: Spectrum) -> int:
    """Number of components above the noise, or above a negligible fraction of the variance."""
    count, dim = spectrum.rows.shape
    values = spectrum.values[: min(count - 1, dim)]
    left = np.cumsum(values[::-1])[::-1]
    for kept in range(1, len(values) // 2 + 1):
        size, ratio = dim - kept, (dim - kept) / count
        floor = left[kept] / size
        if values[kept] <= (1.0 + UNNOTICED) * floor * (1.0 + np.sqrt(ratio)) ** 2:
            second, third = (np.sum((values[kept:] / max(floor, 1e-300)) ** power) / size for power in (2, 3))
            # The relative error of a moment is that of the variance times its order.
            flat = abs(second / (1.0 + ratio) - 1.0) < 2.0 * UNNOTICED
            flat &= abs(third / (1.0 + 3.0 * ratio + ratio**2) - 1.0) < 3.0 * UNNOTICED
            if flat and floor > 1e-12 * values[0]:
                return kept
            break
    return int(np.count_nonzero(left > tuning.TRACE_OF_VARIANCE * left[0]))


@dataclass(frozen=True, slots=True)
class Denoising:
    """Local fits that replace the rows.

    Attributes
    ----------
    order, n_neighbors : int
        Of the fits; ``n_neighbors`` is 0 where rows are not replaced.
    noise : float
        Root mean square of the noise over all normal directions; 0 where there is no evidence of any.
    error : float
        Root mean square error of the fits.
    bandwidth : float
        Standard deviation of the weights of the fits along a tangential direction; 0 where there are none.
    """

    order: int
    n_neighbors: int
    noise: float
    error: float
    bandwidth: float


NO_DENOISING = Denoising(1, 0, 0.0, 0.0, 0.0)


@dataclass(slots=True)
class _Fits:
    """Fits of one ``order`` on ``count`` neighbours within a radius h; E, risk and noise [q] of the queries."""

    order: int
    count: int
    squared_reach: float
    total: FloatArray
    risk: FloatArray
    noise: FloatArray

    @property
    def gain(self) -> FloatArray:
        """σ² − risk [q]."""
        return self.noise - self.risk


def evidence_of_noise(points: FloatArray, masses: FloatArray, rank: int) -> Denoising:
    """The fits of least risk to ``points`` [n, D] with weights ``masses`` [n]; halves are by a fixed permutation of the
    rows."""
    count, dim = points.shape
    seen = points
    if dim > tuning.SKETCH_DIMENSIONS:
        seen = points @ np.linalg.qr(np.random.default_rng(0).standard_normal((dim, tuning.SKETCH_DIMENSIONS)))[0]
    known = _fits_over_sizes(seen, masses, rank)
    if not known:
        return NO_DENOISING
    queries = len(evenly(count, PLACES))
    most = max(known, key=lambda fits: float(fits.gain.mean()))
    if most.gain.mean() <= 0.0:
        return NO_DENOISING
    tied = [fits for fits in known if not _exceeds(most.gain - fits.gain, queries)]
    least = min(tied, key=lambda fits: float(fits.risk.mean()))
    tied = [fits for fits in tied if not _exceeds(fits.risk - least.risk, queries)]
    best = min(tied, key=lambda fits: (-fits.order, fits.count))
    back = dim / seen.shape[1]
    width = np.sqrt(best.squared_reach * back / (rank + 4.0))
    level, error = (float(np.sqrt(back * max(float(values.mean()), 0.0))) for values in (best.noise, best.risk))
    return Denoising(best.order, best.count, level, error, float(width))


def _exceeds(values: FloatArray, queries: int) -> bool:
    """Whether the mean of ``values`` [splits · queries] is above zero by more than its standard error.

    Standard errors are those of block means, over √q blocks of √q consecutive queries.
    """
    per_query = values.reshape(-1, queries).mean(axis=0)
    means = [float(block.mean()) for block in np.array_split(per_query, isqrt(queries))]
    return bool(np.mean(means) > np.std(means, ddof=1) / np.sqrt(len(means)))


def denoising_within(points: FloatArray, rank: int, bandwidth: float) -> Denoising:
    """Fits over rows within √(k + 4) bandwidths: weights 1 − (d/R)² in k dimensions have the variance R²/(k + 4)."""
    count = len(points)
    some = points[evenly(count, PLACES)]
    reach = bandwidth * np.sqrt(rank + 4.0)
    inside = NearestNeighbors().fit(points).radius_neighbors(some, reach, return_distance=False)
    size = int(np.median([len(rows) for rows in inside])) - 1
    coefficients = 1 + rank + rank * (rank + 1) // 2
    if size < rank + 2:
        return NO_DENOISING
    return Denoising(2 if size >= 2 * coefficients else 1, size, 0.0, 0.0, bandwidth)


def denoise(points: FloatArray, masses: FloatArray, queries: FloatArray, rank: int, how: Denoising) -> FloatArray:
    """``queries`` [q, D], rows of ``points`` [n, D] with weights ``masses`` [n], replaced by the fits to their
    neighbours and themselves."""
    if not how.n_neighbors:
        return queries
    near = NearestNeighbors(n_neighbors=min(how.n_neighbors + 1, len(points))).fit(points)
    distances, rows = near.kneighbors(queries)
    weights = distance_weights(distances, masses[rows])
    return fit_polynomials(points, queries, rows, weights, rank, how.order).points


def held_out_residuals(points: FloatArray, masses: FloatArray, rank: int, how: Denoising) -> FloatArray:
    """Distances [q] of some rows of ``points`` [n, D], with weights ``masses`` [n], from the fits to the others.

    Without denoising these have the size of charts and the order of smaller residuals.
    """
    sizes = [(how.n_neighbors, how.order)] if how.n_neighbors else [(fit_size(rank), order) for order in (1, 2)]
    queries = points[evenly(len(points), PLACES)]
    found = []
    for size, order in sizes:
        near = NearestNeighbors(n_neighbors=min(size + 1, len(points))).fit(points)
        distances, rows = (each[:, 1:] for each in near.kneighbors(queries))
        weights = distance_weights(distances, masses[rows])
        fitted = fit_polynomials(points, queries, rows, weights, rank, order).points
        found.append(np.linalg.norm(queries - fitted, axis=1))
    return min(found, key=lambda one: float(np.median(one)))


def _fits_over_sizes(points: FloatArray, masses: FloatArray, rank: int) -> list[_Fits]:
    """Fits of both orders over neighbourhoods of increasing size, with their risk (`selection.risk`).

    The first two sizes, whose bias cannot be estimated from smaller ones, are left out.
    """
    count = len(points)
    chosen = evenly(count, PLACES)
    splits = max(tuning.ALL_QUERIES // count, 1)
    queries = np.tile(points[chosen], (splits, 1))
    # A third of the table, or as many neighbours of all queries as a block of memory holds.
    most = min(count // 3, blocks(count, len(queries))[0].stop)
    sizes_of = {order: _sizes(rank, order, most) for order in (1, 2)}
    if max(map(len, sizes_of.values())) <= min(LAGS):
        return []
    halves = [np.random.default_rng(split).permutation(count) % 2 for split in range(splits)]
    lists = [_near(points, halves, side, chosen, most // 2) for side in (0, 1)]
    known = []
    for order, sizes in sizes_of.items():
        scales = (_fitted(points, masses, queries, lists, size // 2, rank, order) for size in sizes)
        # The bias of a polynomial of order p over a neighbourhood of radius h is of order h^2p away from borders.
        found = risks_over_grid(scales, points_product, 2.0 * order, [np.arange(len(queries))], until_risen=False)
        known += _with_noise(queries, found, sizes, order)
    return known


def _sizes(rank: int, order: int, most: int) -> list[int]:
    """Numbers of neighbours of fits of an ``order``, up to ``most``."""
    sizes = [2 * (1 + rank + (rank * (rank + 1) // 2 if order == 2 else 0) + 2)]
    while sizes[-1] * tuning.FIT_GROWTH <= most:
        sizes.append(int(np.ceil(sizes[-1] * tuning.FIT_GROWTH)))
    return [size for size in sizes if size <= most]


def _with_noise(queries: FloatArray, found: list[Scale], sizes: list[int], order: int) -> list[_Fits]:
    """The fits whose bias is known, with the noise at the ``queries``."""
    totals = [_total(queries, one) for one in found]
    known = []
    for j, scale in enumerate(found):
        if not scale.squared_bias[0].size:
            continue
        near = [i for i in (j - 1, j, j + 1) if 0 <= i < len(found)]
        bias = scale.squared_bias[0] * float(scale.squared_bias[0].mean() > 0.0)
        noise = _noise(totals[j], *((found[i].length ** 2, totals[i]) for i in (near[0], near[-1])))
        size = sizes[j] // 2 * 2
        known.append(_Fits(order, size, scale.length**2, totals[j], scale.variance[0] + bias, noise))
    return known


def _near(
    points: FloatArray, halves: list[IntArray], side: int, chosen: IntArray, most: int
) -> tuple[FloatArray, IntArray]:
    """Distances and rows of the ``most`` nearest of each half to the ``chosen`` rows, these themselves left out."""
    lists = []
    for numbers in halves:
        half = np.flatnonzero(numbers == side)
        size = min(most + 1, len(half))
        distances, places = NearestNeighbors(n_neighbors=size).fit(points[half]).kneighbors(points[chosen])
        rows = half[places]
        distances = np.where(rows == chosen[:, None], np.inf, distances)
        order = np.argsort(distances, axis=1, kind="stable")[:, :-1]
        lists.append((np.take_along_axis(distances, order, axis=1), np.take_along_axis(rows, order, axis=1)))
    shortest = min(distances.shape[1] for distances, _ in lists)
    return (
        np.concatenate([distances[:, :shortest] for distances, _ in lists]),
        np.concatenate([rows[:, :shortest] for _, rows in lists]),
    )


def _fitted(
    points: FloatArray, masses: FloatArray, queries: FloatArray, lists: list[tuple[FloatArray, IntArray]], size: int,
    rank: int, order: int,
) -> Scale:  # fmt: skip
    fits, reach, known = [], 0.0, np.ones(len(queries), np.bool_)
    thinned = -(-2 * size // tuning.MOST_NEIGHBORS)
    some = slice(thinned // 2, size, thinned)
    for distances, rows in lists:
        weights = distance_weights(distances[:, some], masses[rows[:, some]])
        found = fit_polynomials(points, queries, rows[:, some], weights, rank, order)
        fits.append(Estimate(found.points, found.frames.transpose(0, 2, 1), known, float(size)))
        reach += 0.5 * float(clipped(distances[:, min(size, distances.shape[1]) - 1] ** 2).mean())
    return Scale(float(np.sqrt(reach)), fits, 0.5 / thinned)


def _total(queries: FloatArray, scale: Scale) -> FloatArray:
    """E at the queries, clipped."""
    assert scale.estimates is not None  # every half has enough rows for the smallest fit
    first, second = scale.estimates
    own = [np.sum((queries - one.value) ** 2, axis=1) for one in (first, second)]
    return clipped(0.5 * (own[0] + own[1] - points_product(first, second, first, second)))


def _noise(here: FloatArray, low: tuple[float, FloatArray], high: tuple[float, FloatArray]) -> FloatArray:
    """σ² from E ``here``, by its growth over neighbourhoods of squared radii and E from ``low`` to ``high``."""
    if high[0] <= low[0]:
        return np.zeros_like(here)
    below, above = (max(float(one[1].mean()), 1e-300) for one in (low, high))
    slope = 2.0 * np.log(above / below) / np.log(high[0] / low[0])
    return np.asarray(here * float(here.mean() > 1e-300) * float(np.clip(1.0 - slope / 2.0, 0.0, 1.0)))
