"""How well rows are predicted from their coordinates when each is left out: a guard against short cuts.

Row i is predicted by a local linear fit of the rows on their coordinates, over its 2k + 4 nearest in the coordinates,
itself left out; the squared errors are divided by the total variance. A layout folded by short cuts puts unlike rows
side by side and predicts them badly. The measure rewards locality, so it compares layouts of one kind only.
"""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from subbundle._memory import blocks
from subbundle._types import FloatArray

# Slopes are held to zero by this fraction of the weights: nearest rows on a line give no slope across it.
_HELD = 1e-3


def prediction_error(points: FloatArray, positions: FloatArray) -> float:
    """Fraction of the variance of ``points`` [n, D] that ``positions`` [n, k] do not predict, each left out."""
    count, rank = positions.shape
    size = min(2 * rank + 4, count - 2)
    if size < 1:
        return 1.0
    distances, near = NearestNeighbors(n_neighbors=size).fit(positions).kneighbors()
    reach = distances[:, -1:] + 1e-300
    weights = np.maximum(1.0 - (distances / (1.1 * reach)) ** 2, 1e-3)
    steps = (positions[near] - positions[:, None]) / reach[:, :, None]
    features = np.concatenate([np.ones((count, size, 1)), steps], axis=2)
    weighted = (features * weights[:, :, None]).transpose(0, 2, 1)
    held = np.diag([0.0] + [_HELD] * rank) + 1e-12 * np.eye(rank + 1)
    gram = weighted @ features + weights.sum(axis=1)[:, None, None] * held
    # Only the constant of the fit is asked for.
    shares = np.linalg.solve(gram, np.broadcast_to(np.eye(rank + 1)[:, :1], (count, rank + 1, 1)))
    shares = np.einsum("bfm,bfo->bm", weighted, shares)
    total = float(np.sum((points - points.mean(axis=0)) ** 2))
    error = 0.0
    for rows in blocks(count, size * points.shape[1]):
        error += float(np.sum((points[rows] - np.einsum("bm,bmd->bd", shares[rows], points[near[rows]])) ** 2))
    # Positions that coincide but for rounding, beside a far outlier, predict nothing.
    return error / max(total, 1e-300) if np.isfinite(error) else 1.0
