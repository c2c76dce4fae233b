"""A first guess of the local scale of a cloud, from distances between neighbours, and fields from scattered values."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray
from subbundle.bundles.local_bandwidth import LocalBandwidth

# Steepest that a bandwidth should be, |∇a|: within one bandwidth it then changes by this part of itself.
_STEEPEST = 0.5
_STEEP_QUANTILE = 0.98
# Landmarks that the Gaussian of a field joins: h is a distance to the n-th neighbour among them, where they are dense.
# Where they are sparse the nearest one decides; values are averaged over neighbours before.
_JOINED, _DENSE = 4, 0.1
_NARROWEST = 1e-6


def pilot(queries: FloatArray, observations: FloatArray, rank: int, landmarks: int) -> LocalBandwidth:
    """The bandwidth at which (Σφ)²/Σφ² is k + 2 at the queries [q, d], smoothed over space.

    φ is taken relative to the nearest neighbour, as in `first_rung`.
    """
    count = min(64 * (rank + 1), len(observations))
    squared = cKDTree(observations).query(queries, k=count)[0] ** 2
    squared -= squared[:, :1]
    high = np.sqrt(squared[:, -1])
    high[high == 0.0] = max(float(high.max()), np.finfo(float).tiny)
    low = _NARROWEST * high
    for _ in range(40):
        middle = np.sqrt(low * high)
        phi = np.exp(-0.5 * squared / middle[:, None] ** 2)
        few = phi.sum(axis=1) ** 2 / (phi**2).sum(axis=1) < rank + 2.0
        low, high = np.where(few, middle, low), np.where(few, high, middle)
    return field_of(queries, np.log(high), queries[:: max(len(queries) // landmarks, 1)])


def field_of(places: FloatArray, logs: FloatArray, landmarks: FloatArray) -> LocalBandwidth:
    """The field whose log at each of the ``landmarks`` [m, d] is the mean of ``logs`` [n] at the nearest ``places``
    [n, d], a sixteenth of them, and that is nowhere steep."""
    share = max(len(places) // 16, min(8, len(places)))
    nearest = np.reshape(cKDTree(places).query(landmarks, k=share)[1], (len(landmarks), -1))
    values = np.exp(logs[nearest].mean(axis=1))
    joined = min(_JOINED + 1, len(landmarks))
    apart = np.reshape(cKDTree(landmarks).query(landmarks, k=joined)[0], (len(landmarks), -1))[:, -1]
    smoothing = float(np.quantile(apart, _DENSE)) or float(apart.max()) or 1.0
    while True:
        field = LocalBandwidth(landmarks, values, smoothing)
        steepness = np.quantile(np.linalg.norm(field.with_gradient(places)[1], axis=1), _STEEP_QUANTILE)
        if steepness <= _STEEPEST:
            return field
        smoothing *= 1.25
