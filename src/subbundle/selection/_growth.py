"""The dimension of a cloud from the growth of its neighbourhoods: a ball of radius r holds about r^k observations.

With T_1 ≤ … ≤ T_K the distances from an observation to its K nearest, log(T_K/T_j) is exponential with mean
1/(k j′) in order, so that S = Σ_j log(T_K/T_j) has the mean (K − 1)/k, and

    k ≈ (K − 1)/mean of S                                       (Levina and Bickel 2004, averaged as MacKay proposed).

It needs only ten neighbours and hardly depends on curvature, unlike covariances in many dimensions; but it counts noise
as a dimension wherever the noise is as wide as the distance between neighbours, which they do not. A border biases it
downwards: by about k²/60 for 2000 observations in a cube, and less with more. So it is an upper bound on the count of
the covariances, and the estimate where they give none.

Where directions of noise were left out, its variance σ² is known, and the 2σ² (r − k) that it adds to the squared
distances in r coordinates is subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray
from subbundle.selection.tuning import BORDER, CHANCE_GROWTH, GROWTH_NEIGHBOURS

# The number of observations for which `BORDER` was measured.
_REFERENCE = 2000.0


@dataclass(frozen=True, slots=True)
class Growth:
    """Estimates of the dimension from neighbourhoods.

    Attributes
    ----------
    dimension : float
        Of the whole cloud, at ten neighbours.
    bound : int
        The largest dimension compatible with it, with the bias at the borders of a cube and chance allowed for.
    local, bounds : [n]
        The same around each of the observations, from the forty next to it: dimension as a whole number, and bound.
    """

    dimension: float
    bound: int
    local: IntArray
    bounds: IntArray


def growth(observations: FloatArray, noise: float) -> Growth:
    """The dimension of ``observations`` [n, r] with ``noise`` of known standard deviation across them."""
    n, dim = observations.shape
    distances, near = cKDTree(observations).query(observations, k=min(4 * GROWTH_NEIGHBOURS, n - 1) + 1)
    distances = distances[:, 1:] ** 2
    count = min(GROWTH_NEIGHBOURS, distances.shape[1])
    first = (count - 1) / max(float(_sums(distances[:, :count]).mean()), 1e-9)
    added = 2.0 * noise**2 * max(dim - first, 0.0)
    # At most half: where it would be more, the directions left out are not noise.
    squared = np.maximum(distances - added, 0.5 * distances)
    sums = _sums(squared[:, :count])
    found = min((count - 1) / max(float(sums.mean()), 1e-9), float(dim))
    # Along scan lines neighbourhoods grow slowly at first; the bound is that of the fastest growth.
    more = [w for w in (2 * GROWTH_NEIGHBOURS, 4 * GROWTH_NEIGHBOURS) if w <= squared.shape[1]]
    wider = [(w - 1) / max(float(_sums(squared[:, :w]).mean()), 1e-9) for w in more]
    local = (count - 1) / np.maximum(sums[near].mean(axis=1), 1e-9)
    # In a cloud of several dimensions the mean would lie between them; the median does not.
    most = max([found, float(np.median(local)), *wider])
    bounds = _bounds(np.append(local, most), n, dim)
    return Growth(found, int(bounds[-1]), np.clip(np.rint(local), 1, dim).astype(np.int64), bounds[:-1])


def _sums(squared: FloatArray) -> FloatArray:
    """S [n] of squared distances [n, K], ascending."""
    logs = 0.5 * np.log(np.maximum(squared, np.finfo(float).tiny))
    return np.asarray((logs[:, -1:] - logs[:, :-1]).sum(axis=1))


def _bounds(found: FloatArray, n: int, dim: int) -> IntArray:
    """The largest k ≤ dim such that a cube of ``n`` observations can have an estimate as low as ``found`` [m]."""
    ranks = np.arange(1, dim + 1)
    few, many = max(_REFERENCE / n, 1.0), min(_REFERENCE / n, 1.0)
    # With few observations borders dominate: fitted to noise of up to 12 dimensions, 40 to 2000 observations.
    lost = CHANCE_GROWTH * np.sqrt(few) + BORDER * ranks**2 * few ** (2.0 / ranks) * many ** (1.0 / ranks)
    allowed = np.searchsorted(np.maximum.accumulate(ranks - lost), found, side="right")
    return np.maximum(allowed, 1).astype(np.int64)
