"""Bandwidths as functions of the place: from scattered values, a first one from neighbours, and what they gain."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray
from subbundle.bundles.local_bandwidth import LocalBandwidth
from subbundle.selection._ladder import first_widths

# Steepest that a bandwidth should be, |∇a|: within one bandwidth it then changes by this fraction of itself.
_STEEPEST = 0.5
# Fraction of the places that must be no steeper: the steepest are where few observations are.
_STEEP_QUANTILE = 0.98
# Landmarks that the Gaussian of a field joins: h is a distance to the n-th neighbour among them, where they are dense.
# Where they are sparse the nearest one decides; values are averaged over neighbours before.
_JOINED, _DENSE = 4, 0.1
# How risks go on beyond the ladder, as powers of the bandwidth; single bandwidths that are compared.
_BELOW, _ABOVE = -2.0, 6.0
_CONSTANTS = 32


def pilot(queries: FloatArray, observations: FloatArray, rank: int, landmarks: int) -> LocalBandwidth:
    """The `first_widths` at the queries [q, d], smoothed over space."""
    widths = first_widths(queries, observations, rank)
    return field_of(queries, np.log(widths), queries[:: max(len(queries) // landmarks, 1)])


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


def gain(factors: FloatArray, risks: FloatArray, pilot: FloatArray, widths: FloatArray) -> float:
    """Estimated error with bandwidths ``widths`` [m] at the landmarks over that with the best single one.

    ``risks`` [j, m] are those at the bandwidths ``factors`` [j] times ``pilot`` [m].
    """
    local = np.mean(_at(factors, risks, widths / pilot))
    constants = np.geomspace(widths.min(), widths.max(), _CONSTANTS)
    return float(np.sqrt(local / min(np.mean(_at(factors, risks, width / pilot)) for width in constants)))


def _at(factors: FloatArray, risks: FloatArray, wanted: FloatArray) -> FloatArray:
    """Risks [m] at the factors ``wanted`` [m]: linear in logs between rungs, powers beyond them."""
    values = np.empty(len(wanted))
    for mark, factor in enumerate(wanted):
        known = np.isfinite(risks[:, mark]) & (risks[:, mark] > 0.0)
        if not known.any():
            values[mark] = 0.0  # no error on any rung
            continue
        places, logs = np.log(factors[known]), np.log(risks[known, mark])
        place = np.log(factor)
        beyond = _BELOW * min(place - places[0], 0.0) + _ABOVE * max(place - places[-1], 0.0)
        values[mark] = np.exp(np.interp(place, places, logs) + beyond)
    return values
