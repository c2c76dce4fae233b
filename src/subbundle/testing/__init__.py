"""Checks of the laws that every subbundle obeys.

Each ``check_*`` raises an AssertionError with the law that failed, by how much, and in which row. They use only the
protocol (`frame`, `field`), so they apply to bundles in closed form, estimated from data, and of other packages.
`check_subbundle` runs all that need only the bundle and some points and covectors:

>>> import numpy as np
>>> from subbundle.bundles.analytic import SphereTangent
>>> rng = np.random.default_rng(0)
>>> points, covectors = rng.normal(size=(2, 4, 3))
>>> check_subbundle(SphereTangent(2), points, covectors)

The points must lie further than ``length`` inside the region where the bundle is defined.
Lengths are in units of the bundle's length scale L unless stated otherwise.
"""

from __future__ import annotations

from subbundle._types import FloatArray
from subbundle.bundles.base import Subbundle
from subbundle.flow import ORDERS
from subbundle.testing.geodesic_laws import (
    check_convergence_order,
    check_hamiltonian_conserved,
    check_horizontality,
    check_time_homogeneity,
    check_unit_speed_length,
)
from subbundle.testing.invariance import check_batch_invariance, check_equivariance, check_n_jobs_invariance
from subbundle.testing.pointwise import check_force_is_gradient, check_frame_orthonormal

__all__ = [
    "check_batch_invariance",
    "check_convergence_order",
    "check_equivariance",
    "check_force_is_gradient",
    "check_frame_orthonormal",
    "check_hamiltonian_conserved",
    "check_horizontality",
    "check_n_jobs_invariance",
    "check_subbundle",
    "check_time_homogeneity",
    "check_unit_speed_length",
]


def check_subbundle(
    bundle: Subbundle,
    points: FloatArray,
    covectors: FloatArray,
    *,
    euclidean: bool = True,
    length: float = 1.0,
    floor: float = 1e-11,
) -> None:
    """Run every check that needs only a bundle, ``points`` [batch, dim] and ``covectors`` [batch, dim].

    ``euclidean=False`` leaves out `check_frame_orthonormal`, for metrics that are not the Euclidean one restricted;
    ``floor`` is passed to `check_convergence_order`.
    """
    if euclidean:
        check_frame_orthonormal(bundle, points)
    check_force_is_gradient(bundle, points, covectors)
    check_batch_invariance(bundle, points, covectors, length=length)
    check_hamiltonian_conserved(bundle, points, covectors, length=length)
    check_time_homogeneity(bundle, points, covectors, length=length)
    check_unit_speed_length(bundle, points, covectors, length=length)
    check_horizontality(bundle, points, covectors, length=length)
    for method in ORDERS:
        check_convergence_order(bundle, points, covectors, method=method, length=length, floor=floor)
