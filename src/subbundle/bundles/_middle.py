"""Observations moved into the middle of the cloud: where its kernel mass is typical, and landmarks lie."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from subbundle._types import FloatArray

# Observations at which the typical kernel mass is taken; its median settles long before.
SAMPLE = 512
# Steps of the mean shift that move them into the middle of the cloud first.
_SHIFTS = 3
# Points in the middle next to a landmark whose masses are typical there.
_AROUND = 8

# Means [n, d], log kernel masses [n] and effective numbers of neighbours [n].
Seen = tuple[FloatArray, FloatArray, FloatArray]


def middle_from(first: Seen, look: Callable[[FloatArray], Seen]) -> Seen:
    """Move points into the middle of the cloud by a few steps of the mean shift.

    ``first`` is what ``look`` sees from observations that are left out themselves: in high dimension an observation
    stands alone on its own noise, and its kernel mass says nothing of the mass where geodesics run.
    """
    mean, log_mass, effective = first
    for _ in range(_SHIFTS):
        alive = np.flatnonzero(np.isfinite(mean).all(axis=1))
        log_mass, effective = np.full(len(mean), -np.inf), np.zeros(len(mean))
        if alive.size:
            mean[alive], log_mass[alive], effective[alive] = look(mean[alive])
    return mean, log_mass, effective


def typical_around(marks: FloatArray, middle: FloatArray, log_mass: FloatArray) -> FloatArray:
    """Typical log masses [m] around landmarks [m, w], of points in the ``middle`` [n, w] of the cloud."""
    from scipy.spatial import cKDTree  # loading it takes longer than most bundles, which do not need it

    nearest = cKDTree(middle).query(marks, k=min(_AROUND, len(middle)))[1]
    return np.asarray(np.median(log_mass[np.reshape(nearest, (len(marks), -1))], axis=1))
