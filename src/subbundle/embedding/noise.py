"""Noise of a table: deviations that averaging over neighbours removes.

A split-sample risk decides whether rows are replaced by local fits, and over how many neighbours. At some
hundred query rows q the manifold is fitted twice (`subbundle.local.neighbor_fits`), from two disjoint halves of
the table, on m neighbours in all, and the risk of `subbundle.selection.risk` gives variance V and squared bias B² of
the fit to all rows. Only displacements normal to the frames of the fits count: a fit moves a row along its normal, and
tangential noise remains in any case. Frames of sparse halves are tilted, and tangential displacements, along different
normals onto the same sheet, would otherwise be attributed to errors of the fit. With a, b the points of the halves over
q and P the projection normal to the frames of a,

    E = ⟨|q − a|² + |q − b|² − |P(a − b)|²⟩/2                  noise² + bias² of the row itself.

Noise seen within a radius h is at most that within a larger one, and at most the E of any fit; where few neighbours
tilt the frames E is too large. So E(h) is the least over the fits that reach to h or farther. The fraction of it that
does not grow like h² is attributed to noise: σ² = E (1 − s/2)₊, s = d log E/d log h; E itself is an upper bound.

The fit of the largest gain σ² − V − B² is taken, and none unless that gain exceeds its standard error: on data that is
sparse for its curvature any fit is worse than the row. The risk alone does not decide: in neighbourhoods far smaller
than the noise a row and its fit deviate little from each other, both E and the risk grow like h², and nothing is
gained. Of the fits whose gain is within one standard error of the largest, and whose risk is within one of the least
among these, the quadratic one of the fewest neighbours is taken: bias accumulates along the manifold, where independent
errors average out.

E may grow faster than by noise and h², with bias, and structure that no neighbourhood resolves looks like noise. Where
the gain is in doubt, the fit of least risk, if that is below E, is the second candidate; `table` compares layouts.

Standard errors are those of the jackknife, and contain that of s.

Neighbourhoods grow to a third of the table. Large ones are thinned out evenly: V is proportional to 1/m.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from subbundle._memory import blocks
from subbundle._types import FloatArray, IntArray, evenly
from subbundle.embedding import tuning
from subbundle.embedding.components import onto_principal_components, principal_motion
from subbundle.embedding.jackknife import exceeds, without_blocks
from subbundle.local.neighbor_fits import distance_weights, fit_size, fit_to_neighbors
from subbundle.selection.ladder import clipped
from subbundle.selection.risk import Estimate, Scale, points_product, risks_over_grid
from subbundle.selection.tuning import LAGS, PLACES


@dataclass(frozen=True, slots=True)
class Denoising:
    """Local fits that replace the rows.

    Attributes
    ----------
    order, n_neighbors : int
        Of the fits; ``n_neighbors`` is 0 where rows are not replaced. Order 0: one linear fit to all rows, equally.
    noise : float
        Root mean square of the noise over all normal directions; 0 where there is no evidence of any.
    bandwidth : float
        Standard deviation of the weights of the fits along a tangential direction; 0 where there are none.
    """

    order: int
    n_neighbors: int
    noise: float
    bandwidth: float

    @property
    def is_linear(self) -> bool:
        """Whether rows are replaced by their projections to principal components."""
        return self.order == 0


NO_DENOISING = Denoising(1, 0, 0.0, 0.0)


def linear(count: int) -> Denoising:
    """One linear fit to all of ``count`` rows."""
    return Denoising(0, count, 0.0, 0.0)


@dataclass(slots=True)
class _Fits:
    """Fits of one ``order`` on ``count`` neighbours within a radius h; E, risk and noise without each block [b]."""

    order: int
    count: int
    squared_reach: float
    total: FloatArray
    risk: FloatArray
    noise: FloatArray

    @property
    def gain(self) -> FloatArray:
        """σ² − risk [b], σ² the part of E that does not grow."""
        return self.noise - self.risk


def evidence_of_noise(points: FloatArray, masses: FloatArray, rank: int) -> tuple[Denoising, Denoising]:
    """The fits of largest gain and of least risk to ``points`` [n, D] with weights ``masses`` [n]; halves are by fixed
    permutations of the rows."""
    seen, dim = points, points.shape[1]
    if dim > tuning.SKETCH_DIMENSIONS:
        turned = points @ principal_motion(points)[0]
        seen = turned @ np.linalg.qr(np.random.default_rng(0).standard_normal((dim, tuning.SKETCH_DIMENSIONS)))[0]
    known = _with_noise(_fits_over_sizes(seen, masses, rank))
    if not known:
        return NO_DENOISING, NO_DENOISING
    back = dim / seen.shape[1]

    def chosen(tied: list[_Fits], worth: FloatArray) -> Denoising:
        """The quadratic fit of the fewest neighbours among those with nearly the least risk of ``tied``."""
        if not exceeds(worth):
            return NO_DENOISING
        least = min(tied, key=lambda fits: float(fits.risk.mean()))
        tied = [fits for fits in tied if not exceeds(fits.risk - least.risk)]
        best = min(tied, key=lambda fits: (-fits.order, fits.count))
        width = np.sqrt(best.squared_reach * back / (rank + 4.0))
        level = float(np.sqrt(back * max(float(best.noise.mean()), 0.0)))
        return Denoising(best.order, best.count, level, float(width))

    most = max(known, key=lambda fits: float(fits.gain.mean()))
    least = min(known, key=lambda fits: float(fits.risk.mean()))
    tied = [fits for fits in known if not exceeds(most.gain - fits.gain)]
    return chosen(tied, most.gain), chosen(known, least.total - least.risk)


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
    return Denoising(2 if size >= 2 * coefficients else 1, size, 0.0, bandwidth)


def denoise(points: FloatArray, masses: FloatArray, queries: FloatArray, rank: int, how: Denoising) -> FloatArray:
    """``queries`` [q, D], rows of ``points`` [n, D] with weights ``masses`` [n], replaced by the fits to their
    neighbours and themselves."""
    if not how.n_neighbors:
        return queries
    if how.is_linear:
        return onto_principal_components(points, masses, queries, rank)
    near = NearestNeighbors(n_neighbors=min(how.n_neighbors + 1, len(points))).fit(points)
    distances, rows = near.kneighbors(queries)
    weights = distance_weights(distances, masses[rows])
    return fit_to_neighbors(points, queries, rows, weights, rank, how.order).points


def held_out_residuals(points: FloatArray, masses: FloatArray, rank: int, how: Denoising) -> FloatArray:
    """Distances [q] of some rows of ``points`` [n, D], with weights ``masses`` [n], from the fits to the others.

    Without denoising these have the size of charts and the order of smaller residuals.
    """
    queries = points[evenly(len(points), PLACES)]
    if how.is_linear:
        return np.asarray(np.linalg.norm(queries - onto_principal_components(points, masses, queries, rank), axis=1))
    sizes = [(how.n_neighbors, how.order)] if how.n_neighbors else [(fit_size(rank), order) for order in (1, 2)]
    found = []
    for size, order in sizes:
        near = NearestNeighbors(n_neighbors=min(size + 1, len(points))).fit(points)
        distances, rows = (each[:, 1:] for each in near.kneighbors(queries))
        weights = distance_weights(distances, masses[rows])
        fitted = fit_to_neighbors(points, queries, rows, weights, rank, order).points
        found.append(np.linalg.norm(queries - fitted, axis=1))
    return min(found, key=lambda one: float(np.median(one)))


def _fits_over_sizes(points: FloatArray, masses: FloatArray, rank: int) -> list[list[_Fits]]:
    """Fits of each order over neighbourhoods of increasing size, with E and their risk (`selection.risk`).

    The bias of the first two sizes cannot be estimated from smaller ones; they have no risk.
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
    every = []
    for order, sizes in sizes_of.items():
        scales = (_fitted(points, masses, queries, lists, size // 2, rank, order) for size in sizes)
        # The bias of a polynomial of order p over a neighbourhood of radius h is of order h^2p away from borders.
        found = risks_over_grid(scales, points_product, 2.0 * order, [np.arange(len(queries))], until_risen=False)
        every.append([_of_scale(queries, len(chosen), *pair, order) for pair in zip(found, sizes, strict=True)])
    return every


def _sizes(rank: int, order: int, most: int) -> list[int]:
    """Numbers of neighbours of fits of an ``order``, up to ``most``."""
    sizes = [2 * (1 + rank + (rank * (rank + 1) // 2 if order == 2 else 0) + 2)]
    while sizes[-1] * tuning.FIT_GROWTH <= most:
        sizes.append(int(np.ceil(sizes[-1] * tuning.FIT_GROWTH)))
    return [size for size in sizes if size <= most]


def _of_scale(queries: FloatArray, n_chosen: int, scale: Scale, size: int, order: int) -> _Fits:
    """The fits of a ``scale`` at ``queries``, the same ``n_chosen`` rows for every split, without their noise."""
    risk = bias = scale.squared_bias[0]
    if bias.size:
        risk = without_blocks(scale.variance[0] + bias * float(bias.mean() > 0.0), n_chosen)
    total = without_blocks(_total(queries, scale), n_chosen)
    return _Fits(order, size // 2 * 2, scale.length**2, total, risk, np.zeros_like(total))


def _with_noise(found: list[list[_Fits]]) -> list[_Fits]:
    """The fits of ``found``, those of each order by size, whose risk is known, with their noise.

    Noise within a radius is at most that within a larger one, and at most the E of any fit there. So E is replaced by
    the least among the fits that reach as far: it is larger where frames are tilted, as those of few neighbours are.
    """
    every = [fits for of_order in found for fits in of_order]
    bounds = [
        min((one.total for one in every if one.squared_reach >= fits.squared_reach), key=lambda total: total.mean())
        for fits in every
    ]
    for fits, bound in zip(every, bounds, strict=True):
        fits.total = bound
    for of_order in found:
        for j, fits in enumerate(of_order):
            fits.noise = _noise(fits.total, of_order[max(j - 1, 0)], of_order[min(j + 1, len(of_order) - 1)])
    return [fits for fits in every if fits.risk.size]


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
        found = fit_to_neighbors(points, queries, rows[:, some], weights, rank, order)
        fits.append(Estimate(found.points, found.frames.transpose(0, 2, 1), known, float(size)))
        reach += 0.5 * float(clipped(distances[:, min(size, distances.shape[1]) - 1] ** 2).mean())
    return Scale(float(np.sqrt(reach)), fits, 0.5 / thinned)


def _total(queries: FloatArray, scale: Scale) -> FloatArray:
    """E at the queries, clipped."""
    assert scale.estimates is not None  # every half has enough rows for the smallest fit
    first, second = scale.estimates
    own = [np.sum((queries - one.value) ** 2, axis=1) for one in (first, second)]
    return clipped(0.5 * (own[0] + own[1] - points_product(first, second, first, second)))


def _noise(here: FloatArray, low: _Fits, high: _Fits) -> FloatArray:
    """σ² from E ``here``, by its growth from the fits ``low`` to ``high``."""
    if high.squared_reach <= low.squared_reach:
        return np.zeros_like(here)
    below, above = (np.maximum(one.total, 1e-300) for one in (low, high))
    slope = 2.0 * np.log(above / below) / np.log(high.squared_reach / low.squared_reach)
    return np.asarray(here * np.clip(1.0 - slope / 2.0, 0.0, 1.0))
