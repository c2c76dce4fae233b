"""What of a table is noise: components beyond the shape, and deviations that averaging over neighbours removes.

*Components.* Isotropic noise fills all directions evenly; a shape takes few of them. Of n observations of noise in p
dimensions, γ = p/n, the eigenvalues of the covariance reach up to s² (1 + √γ)², and their second and third moments are
s⁴ (1 + γ) and s⁶ (1 + 3γ + γ²). If at least half of the eigenvalues form a tail that is so, the tail is noise and is
left out: neighbourhoods and distances are then those of the shape. Spectra of images have no such tail; there only the
components that hold the last 1e-5 of the variance go, which moves no distance by more.

*Fits.* A split-sample risk decides whether rows are replaced by local fits, and over how many neighbours. At some
hundred query rows q the shape is fitted twice (`subbundle.local.neighbor_fits`), from two disjoint halves of
the table, on m neighbours in all. With a, b the two points over q and ⟨ ⟩ the mean over the queries, clipped at its
98 % quantile,

    V  = ⟨|a − b|²⟩/4                       variance of the fit to all rows
    E  = ⟨(q − a)·(q − b)⟩                  noise² + bias² of the row itself
    B² = max over l = 2, 3 of ⟨(a_j − a_{j−l})·(b_j − b_{j−l})⟩/(1 − (h²_{j−l}/h²_j)^order)²

the last being the squared bias, which repeats in both halves while their noise does not. The part of E
that does not grow like h² is noise: σ² = E (1 − s/2)₊, s = d log E/d log h. Rows are replaced by their fit if and only
if min (V + B²) < σ²: on data that is thin for its curvature any fit is worse than the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from subbundle._types import FloatArray, IntArray, evenly
from subbundle._validation import as_choice, as_integer
from subbundle.local.neighbor_fits import distance_weights, fit_polynomials
from subbundle.selection.components import Components, all_components, first_components
from subbundle.selection.tuning import UNNOTICED

# Up to so many features nothing is left out: a floor of noise cannot be seen in so few.
_FEW_FEATURES = 8
# Margin of the two moments, and the fraction of the variance that may go in any case.
_MOMENT, _TRACE = 0.1, 1e-5


def kept_components(points: FloatArray, rank: int, reduce_dim: int | str | None) -> Components:
    """The components of ``points`` [n, d] for a shape of dimension ``rank``; at least one more than that."""
    count, dim = points.shape
    if reduce_dim is None or (str(reduce_dim) == "auto" and dim <= _FEW_FEATURES):
        found = all_components(points)
    elif isinstance(reduce_dim, str):
        as_choice(reduce_dim, "reduce_dim", ("auto",))
        found = first_components(points, max(_telling(points), min(rank + 1, count, dim)))
    else:
        number = as_integer(reduce_dim, "reduce_dim", low=rank + 1, high=min(count, dim), why="or 'auto', or None")
        found = first_components(points, number)
    missing = rank + 1 - found.axes.shape[1]
    if missing <= 0:
        return found
    # A shape that fills its space lies flat in a space of one dimension more.
    return Components(found.mean, np.pad(found.axes, ((0, 0), (0, missing))), found.noise)


def _telling(points: FloatArray) -> int:
    """How many components are more than noise, or than a trace."""
    count, dim = points.shape
    offsets = points - points.mean(axis=0)
    gram: Any = offsets.T @ offsets if dim <= count else offsets @ offsets.T
    values = np.maximum(np.linalg.eigvalsh(gram)[::-1], 0.0) / count
    values = values[: min(count - 1, dim)]
    left = np.cumsum(values[::-1])[::-1]
    for kept in range(1, len(values) // 2 + 1):
        size, ratio = dim - kept, (dim - kept) / count
        floor = left[kept] / size
        if values[kept] <= (1.0 + UNNOTICED) * floor * (1.0 + np.sqrt(ratio)) ** 2:
            second, third = (np.sum((values[kept:] / max(floor, 1e-300)) ** power) / size for power in (2, 3))
            flat = abs(second / (1.0 + ratio) - 1.0) < _MOMENT
            flat &= abs(third / (1.0 + 3.0 * ratio + ratio**2) - 1.0) < _MOMENT
            if flat and floor > 1e-12 * values[0]:
                return kept
            break
    return int(np.count_nonzero(left > _TRACE * left[0]))


# Rows at which risks are compared, of each split, and most neighbours: larger neighbourhoods are no longer local.
_QUERIES, _MOST_NEIGHBORS = 300, 400
# Queries in all: small tables are split several times, so that no single split decides.
_ALL_QUERIES, _MOST_SPLITS = 900, 4
# Neighbourhoods grow by this factor, from twice the number of coefficients and two to spare.
_GROWTH = 1.35
# A smaller neighbourhood is taken if its risk is within this factor of the least: bias is felt more than it shows.
_TIE = 1.15
# The climb ends when the risk, once known, is that many times the least.
_HOPELESS = 4.0
# Dimensions in which the evidence is looked at; a random projection of the shape shows its noise as well.
_SKETCH = 40
# Fewer rows have no halves worth comparing.
_FEWEST = 60


@dataclass(frozen=True, slots=True)
class Denoising:
    """How rows are to be replaced by local fits.

    Attributes
    ----------
    order, n_neighbors : int
        Of the fits; ``n_neighbors`` is 0 where rows are to be left as they are.
    noise : float
        Root mean square of the noise over all normal directions; 0 where there is no evidence of any.
    error : float
        Root mean square error of the fits.
    bandwidth : float
        Standard deviation of the weights of the fits along a direction of the shape; 0 where there are none.
    """

    order: int
    n_neighbors: int
    noise: float
    error: float
    bandwidth: float


AS_THEY_ARE = Denoising(1, 0, 0.0, 0.0, 0.0)


@dataclass(slots=True)
class _Rung:
    order: int
    count: int
    squared_reach: float
    fits: tuple[FloatArray, FloatArray]
    total: float
    variance: float
    bias: float = 0.0
    known: bool = False
    noise: float = 0.0

    @property
    def risk(self) -> float:
        return self.variance + self.bias


def evidence_of_noise(points: FloatArray, masses: FloatArray, rank: int) -> Denoising:
    """Decide on ``points`` [n, D] with weights ``masses`` [n]; halves are a fixed permutation of the rows as they
    stand."""
    count, dim = points.shape
    if count < _FEWEST:
        return AS_THEY_ARE
    seen = points
    if dim > _SKETCH:
        seen = points @ np.linalg.qr(np.random.default_rng(0).standard_normal((dim, _SKETCH)))[0]
    rungs = [rung for order in (1, 2) for rung in _climb(seen, masses, rank, order)]
    known = [rung for rung in rungs if rung.known]
    if not known:
        return AS_THEY_ARE
    least = min(known, key=lambda rung: rung.risk)
    tied = [rung for rung in known if rung.order == least.order and rung.risk <= _TIE * least.risk]
    best = min(tied, key=lambda rung: rung.count)
    noise = max(rung.noise for rung in known if rung.squared_reach <= 1.1 * best.squared_reach)
    back = dim / seen.shape[1]
    if best.risk >= noise:
        return AS_THEY_ARE
    width = float(np.sqrt(best.squared_reach * back / (rank + 4.0)))
    return Denoising(best.order, best.count, float(np.sqrt(back * noise)), float(np.sqrt(back * best.risk)), width)


def denoising_within(points: FloatArray, rank: int, bandwidth: float) -> Denoising:
    """Fits over rows within √(k + 4) bandwidths: weights 1 − (d/R)² in k dimensions have the variance R²/(k + 4)."""
    count = len(points)
    some = points[evenly(count, _QUERIES)]
    reach = bandwidth * np.sqrt(rank + 4.0)
    inside = NearestNeighbors().fit(points).radius_neighbors(some, reach, return_distance=False)
    size = int(np.median([len(rows) for rows in inside])) - 1
    coefficients = 1 + rank + rank * (rank + 1) // 2
    if size < rank + 2:
        return AS_THEY_ARE
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


def _climb(points: FloatArray, masses: FloatArray, rank: int, order: int) -> list[_Rung]:
    """Neighbourhoods of rising size and what the two halves make of them."""
    count = len(points)
    chosen = evenly(count, _QUERIES)
    splits = int(np.clip(_ALL_QUERIES // count, 1, _MOST_SPLITS))
    queries = np.tile(points[chosen], (splits, 1))
    most = min(_MOST_NEIGHBORS, count // 3)
    halves = [np.random.default_rng(split).permutation(count) % 2 for split in range(splits)]
    lists = [_near(points, halves, side, chosen, most // 2) for side in (0, 1)]
    coefficients = 1 + rank + (rank * (rank + 1) // 2 if order == 2 else 0)
    rungs: list[_Rung] = []
    size = 2 * (coefficients + 2)
    while size <= most:
        rung = _rung(points, masses, queries, lists, size // 2, rank, order)
        for back in (2, 3):
            if len(rungs) >= back:
                rung.bias = max(rung.bias, _bias(rung, rungs[-back]))
        rung.known = len(rungs) >= 2
        rungs.append(rung)
        if rung.known and rung.risk > _HOPELESS * min(one.risk for one in rungs):
            break
        size = int(np.ceil(size * _GROWTH))
    for j, rung in enumerate(rungs):
        rung.noise = _noise(rung, rungs[max(j - 1, 0)], rungs[min(j + 1, len(rungs) - 1)])
    return rungs


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


def _rung(
    points: FloatArray, masses: FloatArray, queries: FloatArray, lists: list[tuple[FloatArray, IntArray]], size: int,
    rank: int, order: int,
) -> _Rung:  # fmt: skip
    fits, reach = [], 0.0
    for distances, rows in lists:
        weights = distance_weights(distances[:, :size], masses[rows[:, :size]])
        fits.append(fit_polynomials(points, queries, rows[:, :size], weights, rank, order).points)
        reach += 0.5 * _clipped_mean(distances[:, min(size, distances.shape[1]) - 1] ** 2)
    first, second = fits
    total = _clipped_mean(np.sum((queries - first) * (queries - second), axis=1))
    variance = _clipped_mean(np.sum((first - second) ** 2, axis=1)) / 4.0
    return _Rung(order, 2 * size, reach, (first, second), total, variance)


def _bias(rung: _Rung, smaller: _Rung) -> float:
    """Squared bias from the move between two neighbourhoods; the product across halves has no variance in it."""
    moved = [new - old for new, old in zip(rung.fits, smaller.fits, strict=True)]
    remains = 1.0 - (smaller.squared_reach / rung.squared_reach) ** rung.order
    return _clipped_mean(np.sum(moved[0] * moved[1], axis=1)) / max(remains, 0.3) ** 2


def _noise(rung: _Rung, low: _Rung, high: _Rung) -> float:
    if high.squared_reach <= low.squared_reach:
        return 0.0
    growth = np.log(max(high.total, 1e-300) / max(low.total, 1e-300))
    slope = 2.0 * growth / np.log(high.squared_reach / low.squared_reach)
    return max(rung.total, 0.0) * float(np.clip(1.0 - max(slope, 0.0) / 2.0, 0.0, 1.0))


def _clipped_mean(values: FloatArray) -> float:
    limit = np.quantile(np.abs(values), 0.98)
    return float(np.clip(values, -limit, limit).mean())
