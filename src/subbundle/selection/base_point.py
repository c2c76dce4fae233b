"""A base point from the data: the within-sample Fréchet mean, the observation with the least mean distance to the
others."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from subbundle._types import FloatArray
from subbundle.cloud import Cloud

# Observations that the mean distance is taken over: it settles to a few per cent, far less than candidates differ.
_JUDGES = 1000
_CHUNK = 2_000_000


def central_points(cloud: Cloud, count: int = 1) -> FloatArray:
    """The ``count`` observations [count, d] of least mean Euclidean distance to the others, the most central first.

    Every observation is a candidate; the mean is taken over 1000 of them, spread evenly over the search tree, so
    that the answer does not depend on the order of the rows.
    """
    candidates = cloud.at(np.arange(cloud.n_points))
    judges = cloud.at(cloud.sample(_JUDGES))
    rows = max(1, _CHUNK // len(judges))
    mean = np.concatenate(
        [cdist(candidates[start : start + rows], judges).mean(axis=1) for start in range(0, len(candidates), rows)]
    )
    chosen = np.argsort(mean, kind="stable")[:count]
    return np.asarray(candidates[chosen] + cloud.centre)
