"""Estimated error of the bundle's subspaces at every bandwidth of a ladder.

Geodesics and distances follow the subspaces of the bundle, which want another bandwidth than the ridge. Points in the
middle of the cloud are held fixed, and the projectors of parts of the data are compared there, by ⟨P, Q⟩ = ½ tr PQ,
so that |P − Q|² is the squared sine of the angles between two subspaces, summed over them; see `_split_risk`. The
subspaces of a local PCA are off by an angle of order a², from the third derivatives of the surface and from changes of
density.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.cloud import Cloud
from subbundle.selection._ladder import RATIO, WIDEST, parts
from subbundle.selection._split_risk import Climb, Risks, Rung

_QUERIES = 300
# Rungs below the bandwidth of the ridge at which the climb starts, and rungs after which it may end.
_BELOW, _AT_LEAST = 5, 9
# Kernel mass beyond which half of each part will do.
_PLENTY = 200.0


def tangent_risks(cloud: Cloud, rank: int, ridge_bandwidth: float, n_jobs: int | None) -> Risks:
    """Bandwidths around ``ridge_bandwidth``, and their risks."""
    queries, those = parts(cloud, _QUERIES)
    middle = _middle(cloud, rank, ridge_bandwidth, queries, n_jobs)
    climb = Climb(
        partial(_fit, middle, rank, n_jobs), _product, order=2, growth=2.0, plenty=_PLENTY, at_least=_AT_LEAST
    )
    widest = max(WIDEST * cloud.size, ridge_bandwidth * RATIO**2)
    return climb.up(those, cloud.n_points, ridge_bandwidth * RATIO**-_BELOW, widest)


def _middle(cloud: Cloud, rank: int, bandwidth: float, queries: FloatArray, n_jobs: int | None) -> FloatArray:
    """The queries, carried onto the ridge of all observations; those without one are left out."""
    bundle = PrincipalSubbundle(cloud, rank, bandwidth, n_jobs=n_jobs)
    ridge = ridge_project(bundle, queries + cloud.centre, max_steps=8)
    arrived = (ridge.status == Status.OK) | (ridge.status == Status.NOT_CONVERGED)
    return np.ascontiguousarray(ridge.points[arrived] - cloud.centre)


def _fit(middle: FloatArray, rank: int, n_jobs: int | None, those: list[Cloud], bandwidth: float) -> Rung | None:
    """Orthonormal bases [q, d, k] of each part, NaN where it has no subspace; None where it refuses."""
    found, mass = [], np.nan
    for part in those:
        try:
            bundle = PrincipalSubbundle(part, rank, bandwidth, min_density=1e-9, n_jobs=n_jobs)
        except ValueError:
            return None
        frame = bundle.frame(middle)
        found.append(np.where((frame.status == Status.OK)[:, None, None], frame.vectors, np.nan))
        mass = bundle.typical_mass
    return Rung(found, mass)


def _product(a: FloatArray, a_before: FloatArray, b: FloatArray, b_before: FloatArray) -> FloatArray:
    """½ tr (P_a − P_a')(P_b − P_b') of the projectors onto the spans of bases [q, d, k]."""
    return 0.5 * (_trace(a, b) - _trace(a, b_before) - _trace(a_before, b) + _trace(a_before, b_before))


def _trace(a: FloatArray, b: FloatArray) -> FloatArray:
    """tr PQ [q] of the projectors onto the spans of ``a`` and ``b`` [q, d, k]."""
    return np.asarray(np.sum(np.einsum("qdi,qdj->qij", a, b) ** 2, axis=(1, 2)))
