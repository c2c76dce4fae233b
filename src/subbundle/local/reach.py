"""How far neighbours enough for a local model of dimension k lie, before any model is fitted."""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray
from subbundle.local.tuning import PER_COEFFICIENT


def enough_neighbours(rank: int, n_points: int) -> int:
    """4 (k + 1), twice what a plane is fitted to, of ``n_points`` observations."""
    return min(2 * PER_COEFFICIENT * (rank + 1), n_points - 1)


def neighbour_distances(observations: FloatArray, places: FloatArray, rank: int) -> FloatArray:
    """Distance [q] from each of the ``places`` [q, d], observations themselves, to the 4 (k + 1)-th neighbour."""
    from scipy.spatial import cKDTree  # slow to load

    count = enough_neighbours(rank, len(observations))
    return np.asarray(cKDTree(observations).query(places, k=[count + 1])[0][:, 0])
