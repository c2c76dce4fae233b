"""Leaving out directions in which a cloud of R^d has nothing but noise.

Components below the noise floor (`selection.components`) are left out if they know nothing of the others: were they
functions on the surface, then neighbours in the components kept would be near each other in those left out too. A
quarter of the neighbours suffices, since several sheets may lie over one place.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray
from subbundle.selection.components import Components, all_components, components_above_noise

_LEAST = 3
_QUERIES = 5000
# Lower quartile of distances² between neighbours, over that between any two: one for noise.
_UNRELATED = 0.8


def flat_part(points: FloatArray) -> Components:
    """Coordinates of the smallest part of R^d, three at least, beyond which ``points`` [N, d] have only noise."""
    found = components_above_noise(points, at_least=_LEAST)
    if found.axes.shape[1] == points.shape[1]:
        return all_components(points)
    coordinates = found.enter(points)
    rest = points - found.leave(coordinates)
    if not rest.any():
        return found
    some = np.arange(len(points))[:: -(-len(points) // _QUERIES)]
    near = cKDTree(coordinates).query(coordinates[some], k=2)[1][:, 1]
    any_other = (some + len(points) // 2) % len(points)
    shuffled = np.random.default_rng(0).permutation(len(points))
    close = np.quantile(np.sum((rest[some] - rest[near]) ** 2, axis=1), 0.25)
    usual = np.quantile(np.sum((rest[some] - rest[shuffled[any_other]]) ** 2, axis=1), 0.25)
    # Rounding is noise as well.
    tiny = 1e-24 * float(np.sum(np.var(points, axis=0)))
    return found if close > _UNRELATED * usual or usual < tiny else all_components(points)
