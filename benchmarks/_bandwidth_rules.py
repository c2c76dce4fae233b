"""Bandwidths by rules from the literature, for comparison."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from subbundle._types import FloatArray
from subbundle.selection import choose_bandwidth

_ROWS, _BINS = 300, 4000


def largest_gap(points: FloatArray, rank: int) -> float:
    """The paper's: the largest mean of (λ_k − λ_{k+1})/λ_k."""
    return choose_bandwidth(points, rank, method="gap").bandwidth


def kernel_sum(points: FloatArray, rank: int) -> float:
    """Coifman, Shkolnisky, Sigworth and Singer; Berry and Harlim: where S(ε) = Σ exp(−|x − y|²/2ε) grows most steeply,
    by d log S/d log ε.

    The sum over pairs is taken from 300 observations to all, from a fine histogram of log distances.
    """
    few = points[np.linspace(0, len(points) - 1, _ROWS).astype(int)]
    counts, edges = np.zeros(_BINS), np.linspace(-14.0, 8.0, _BINS + 1)
    for start in range(0, len(points), 20000):
        squares = cdist(few, points[start : start + 20000], "sqeuclidean")
        counts += np.histogram(np.log(squares[squares > 0.0]), edges)[0]
    squares = np.exp(0.5 * (edges[1:] + edges[:-1]))
    widths = np.exp(np.linspace(np.log(1e-3), np.log(1.0), 120)) * float(np.ptp(points, axis=0).max())
    # An observation's own term stays in the sum: without it the slope is as large at nil.
    sums = np.array([_ROWS + counts @ np.exp(-0.5 * squares / width**2) for width in widths])
    slope = np.gradient(np.log(sums), 2.0 * np.log(widths))
    return float(widths[int(np.argmax(slope))])


def normal_reference(points: FloatArray, rank: int) -> float:
    """Silverman's for a density in R^d: (4/(N (d + 2)))^(1/(d + 4)) times the mean standard deviation."""
    n, dim = points.shape
    return float((4.0 / (n * (dim + 2.0))) ** (1.0 / (dim + 4.0)) * points.std(axis=0).mean())


RULES = {"largest gap": largest_gap, "kernel sum": kernel_sum, "normal reference": normal_reference}
