"""Blending several submanifolds into one: the formulas of the paper's appendix on combining principal submanifolds.

A point x has projections x̂_j on submanifolds M_j, at the distances d_j from their base points, along geodesics that
reach to r_j. Those further than ε from x are left out: B = {j : |x − x̂_j| < ε}. Then

    s_j(d) = 1 − d/r_j                       the affine bijection [0, r_j] → [0, 1] that falls
    d̃_j   = d_j / s_j(d_j)                   from 0 at the base point to ∞ at the border
    w_j   = exp(−(d̃_j − d̃_{j*})² / 2σ²)      j* the nearest of B
    x̂     = Σ_B w_j x̂_j / Σ_B w_j

so that the weight of a submanifold vanishes at its border, and the blend is continuous there.

Two readings differ from the letter of the paper. It prints 2σ, and calls σ a standard deviation; with 2σ the weights
would depend on the unit of length. (Its 2σ is had by passing √σ.) And it takes j* as the nearest in d_j. That of
smaller radius can then be nearest up to its own border, where d̃_{j*} is infinite, all others have no weight, and the
blend jumps; the nearest in d̃_j is the same submanifold where radii are equal, and never jumps. Both are offered.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import BoolArray, FloatArray, IntArray
from subbundle._validation import as_choice

CLOSEST = ("rescaled", "geodesic")


def admitted(residuals: FloatArray, threshold: float) -> BoolArray:
    """Which projections count, by their distances |x − x̂_j| ``residuals`` [pairs]: B."""
    return np.asarray(residuals < threshold)


def rescaled(distances: FloatArray, radii: FloatArray) -> FloatArray:
    """d̃_j = d_j / s_j(d_j) for ``distances`` d_j and ``radii`` r_j [pairs]; infinite at the border and beyond.

    Examples
    --------
    >>> rescaled(np.array([0.0, 0.5, 1.0]), np.array([1.0, 1.0, 1.0]))
    array([ 0.,  1., inf])
    """
    left = 1.0 - distances / radii
    return np.asarray(np.divide(distances, left, out=np.full(distances.shape, np.inf), where=left > 0.0))


def weights(
    rows: IntArray, n_rows: int, distances: FloatArray, radii: FloatArray, sigma: float, *, closest: str = "rescaled"
) -> FloatArray:
    """w_j [pairs] before normalisation; pair p belongs to the point ``rows[p]`` of ``n_rows``.

    ``closest`` is the distance in which j* is nearest: ``"rescaled"``, or ``"geodesic"``, the paper's. A submanifold at
    its very border has no weight, unless it is alone.
    """
    as_choice(closest, "closest", CLOSEST)
    scaled = rescaled(distances, radii)
    best = _reference(rows, n_rows, scaled if closest == "rescaled" else distances, scaled)[rows]
    with np.errstate(invalid="ignore"):
        apart = np.where(scaled == best, 0.0, scaled - best)  # also where both are infinite
    return np.asarray(np.exp(-0.5 * (apart / sigma) ** 2))


def _reference(rows: IntArray, n_rows: int, measured: FloatArray, scaled: FloatArray) -> FloatArray:
    """d̃ [n_rows] of the pair with the least ``measured`` distance, the first of equals."""
    least = np.full(n_rows, np.inf)
    np.minimum.at(least, rows, measured)
    best = np.full(n_rows, np.inf)
    # Written backwards, so that the first of equals is written last.
    nearest = np.flatnonzero(measured == least[rows])[::-1]
    best[rows[nearest]] = scaled[nearest]
    return best
