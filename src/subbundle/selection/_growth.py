"""The dimension of a cloud from the growth of its neighbourhoods: a ball of radius r holds about r^k observations.

With T_1 ≤ … ≤ T_K the distances from an observation to its K nearest, log(T_K/T_j) is exponential with mean
1/(k j′) in order, so that S = Σ_j log(T_K/T_j) has the mean (K − 1)/k, and

    k ≈ (K − 1)/mean of S                                       (Levina and Bickel 2004, averaged as MacKay proposed).

It needs no more than ten neighbours and does not mind bends, which the covariances do in many dimensions; but it counts
noise as a dimension wherever the noise is as wide as the distance between neighbours, which they do not. A border makes
it too small: about k²/60 for 2000 observations in a cube, and less with more. So it serves as a bound on what the
covariances count, and as an answer where they have none.

Where directions of noise were left out, its variance σ² is known, and the 2σ² (r − k) that it adds to the squared
distances in r coordinates is taken off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray

# Neighbours that the dimension is taken from, few enough to lie flat; and more of them, whose dimensions bound it too.
_NEIGHBOURS, _WIDER = 10, (20, 40)
# What the noise may have added to a typical squared distance for it to be taken off. Where it is more, or where what
# was left out is no noise, the dimension is too large rather than too small.
_MOST_ADDED = 0.3
# What is left of a squared distance, at least.
_LEAST_PART = 0.05
# Observations whose sums are taken together for the dimension around one of them.
_TOGETHER = 60
# Loss at a border: this fraction of k² at so many observations, and what chance can add.
_BORDER, _REFERENCE, _CHANCE = 1.0 / 60.0, 2000.0, 0.2


@dataclass(frozen=True, slots=True)
class Growth:
    """What neighbourhoods say of the dimension.

    Attributes
    ----------
    dimension : float
        Of the whole cloud, at ten neighbours.
    bound : int
        The largest dimension that would look like this, a cube's borders and chance allowed for.
    local, bounds : [n]
        The same around each of the observations, from the sixty next to it: dimension as a whole number, and bound.
    """

    dimension: float
    bound: int
    local: IntArray
    bounds: IntArray


def growth(observations: FloatArray, noise: float) -> Growth:
    """The dimension of ``observations`` [n, r] with ``noise`` of known standard deviation across them."""
    n, dim = observations.shape
    # The nearest of equals do not matter: distances do.
    distances = cKDTree(observations).query(observations, k=min(max(_WIDER), n - 1) + 1)[0][:, 1:] ** 2
    count = min(_NEIGHBOURS, distances.shape[1])
    first = (count - 1) / max(float(_sums(distances[:, :count]).mean()), 1e-9)
    added = 2.0 * noise**2 * max(dim - first, 0.0)
    if added > _MOST_ADDED * float(np.median(distances[:, count - 1])):
        added = 0.0
    squared = np.maximum(distances - added, _LEAST_PART * distances)
    sums = _sums(squared[:, :count])
    found = min((count - 1) / max(float(sums.mean()), 1e-9), float(dim))
    # Along scan lines neighbourhoods grow slowly at first; the fastest growth counts for the bound.
    wider = [(w - 1) / max(float(_sums(squared[:, :w]).mean()), 1e-9) for w in _WIDER if w <= squared.shape[1]]
    near = cKDTree(observations).query(observations, k=min(_TOGETHER, n))[1].reshape(n, -1)
    local = (count - 1) / np.maximum(sums[near].mean(axis=1), 1e-9)
    # In a cloud of several dimensions the commonest counts, and the mean would be between them.
    most = max([found, float(np.median(local)), *wider])
    bounds = _bounds(np.append(local, most), n, dim)
    return Growth(found, int(bounds[-1]), np.clip(np.rint(local), 1, dim).astype(np.int64), bounds[:-1])


def _sums(squared: FloatArray) -> FloatArray:
    """S [n] of squared distances [n, K], ascending."""
    logs = 0.5 * np.log(np.maximum(squared, np.finfo(float).tiny))
    return np.asarray((logs[:, -1:] - logs[:, :-1]).sum(axis=1))


def _bounds(found: FloatArray, n: int, dim: int) -> IntArray:
    """The largest k ≤ dim that a cube of ``n`` observations could have and still grow as slowly as ``found`` [m]."""
    ranks = np.arange(1, dim + 1)
    few, many = max(_REFERENCE / n, 1.0), min(_REFERENCE / n, 1.0)
    # Few observations make borders of everything: seen in noise of up to 12 dimensions, 40 to 2000 observations.
    lost = _CHANCE * np.sqrt(few) + _BORDER * ranks**2 * few ** (2.0 / ranks) * many ** (1.0 / ranks)
    allowed = np.searchsorted(np.maximum.accumulate(ranks - lost), found, side="right")
    return np.maximum(allowed, 1).astype(np.int64)
