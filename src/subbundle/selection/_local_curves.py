"""Risk against bandwidth around each of many landmarks, and what the best field of bandwidths gains over one.

Around a landmark, with W the clipped mean over the queries nearest to it and o the order of the bias,

    V_j  = W(variance),     B_j = mean over lags of W(squared bias),
    R_j  = V_j + max(0, mean of B_j and B_{j+1} 2^(−o/2)).

Few independent values enter each mean. So the estimates of all lags and of two rungs are averaged, where one over the
whole cloud can afford the largest.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.selection._ladder import RATIO, clipped_mean
from subbundle.selection._local_risk import Rung

_KNOWN = 0.8
# The climb ends when the risk has clearly risen around most landmarks.
_RISEN, _AT_LEAST, _MOST = 2.5, 7, 0.95
# How risks go on beyond the ladder, as powers of the bandwidth.
_BELOW, _ABOVE = -2.0, 6.0
_CONSTANTS = 32


class Curves:
    """Risks around landmarks, whose queries are the rows of ``around`` [m, n]; rungs are added as they are known."""

    def __init__(self, around: IntArray, order: int) -> None:
        self._around, self._order = around, order
        self._factors: list[float] = []
        self._variances: list[FloatArray] = []
        self._biases: list[FloatArray] = []

    def add(self, rung: Rung) -> bool:
        """Take in the next rung; True once the risk has risen around most landmarks."""
        variance = _means(rung.variance, self._around)
        lags = np.stack([_means(rung.squared_bias[:, lag], self._around) for lag in range(rung.squared_bias.shape[1])])
        told = np.isfinite(lags)
        bias = np.where(told, lags, 0.0).sum(axis=0) / np.maximum(told.sum(axis=0), 1)
        self._factors.append(rung.factor)
        self._variances.append(np.where(np.isfinite(variance), variance, np.inf))
        self._biases.append(np.where(told.any(axis=0), bias, np.nan))
        if len(self._factors) < _AT_LEAST:
            return False
        risks = self.risks
        lowest = risks.min(axis=0)
        known = np.isfinite(lowest)
        return bool(known.any() and np.mean(risks[-1, known] > _RISEN * lowest[known]) >= _MOST)

    @property
    def factors(self) -> FloatArray:
        """a_j / a_0 of the rungs [j]."""
        return np.array(self._factors)

    @property
    def risks(self) -> FloatArray:
        """R [j, m], infinite where it cannot be told."""
        variances, biases = np.array(self._variances), np.array(self._biases)
        above = np.vstack([biases[1:], np.full((1, biases.shape[1]), np.nan)]) * RATIO ** (-2 * self._order)
        both = np.stack([biases, above])
        told = np.isfinite(both)
        mean = np.where(told, both, 0.0).sum(axis=0) / np.maximum(told.sum(axis=0), 1)
        return np.asarray(variances + np.maximum(mean, 0.0))


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


def _means(values: FloatArray, around: IntArray) -> FloatArray:
    """Clipped means [m] of the ``values`` [q] around landmarks; NaN where most are not known."""
    means = np.full(len(around), np.nan)
    for mark, rows in enumerate(around):
        known = values[rows]
        known = known[np.isfinite(known)]
        if len(known) >= _KNOWN * len(rows):
            means[mark] = clipped_mean(known)
    return means
