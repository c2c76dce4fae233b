"""Points carried onto the surface that a mesh was made of."""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.surface.flat import flat_part
from subbundle.surface.local import WeightedCloud

_ROUNDS = 4


def carry_to_surface(observations: FloatArray, points: FloatArray, bandwidth: float, n_jobs: int) -> FloatArray:
    """``points`` [n, d] on the second-order ridge of ``observations`` [N, d]; those with none around stay as they are.

    For d > 3 directions in which the observations have nothing but noise are left out, as for the mesh.
    """
    if points.shape[1] == 3:
        return WeightedCloud(observations, n_jobs=n_jobs).fit(points, bandwidth, rounds=_ROUNDS).points
    observations = np.unique(observations, axis=0)
    part = flat_part(observations)
    known, here = part.enter(observations), part.enter(points)
    if known.shape[1] == 3:
        fit = WeightedCloud(known, n_jobs=n_jobs).fit(here, bandwidth, rounds=_ROUNDS)
        moved, seen = fit.points, fit.mass > 0.0
    else:
        ridge = ridge_project(PrincipalSubbundle(known, 2, bandwidth, n_jobs=n_jobs), here)
        moved, seen = ridge.points, (ridge.status == Status.OK) | (ridge.status == Status.NOT_CONVERGED)
    return np.where(seen[:, None], part.leave(moved), points)
