"""Projection onto the ridge, to any tolerance.

The ridge is the k-dimensional centre of the cloud; `subbundle.ridge_project` defines it and estimates the local model
there. Geodesics keep the offset from the ridge with which they start, so a base point should be projected onto it
first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from subbundle._types import FloatArray, Status, StatusArray
from subbundle._validation import as_batch, as_integer, as_positive
from subbundle.bundles.base import Subbundle
from subbundle.bundles.ridge_project import codimension, full_reach, ridge_model
from subbundle.bundles.surroundings import surroundings_of
from subbundle.kernels import GAUSSIAN
from subbundle.local.settings import Plan


@dataclass(frozen=True, slots=True)
class Carried:
    """Points on the ridge.

    Attributes
    ----------
    points : [batch, dim] or [dim]
        The projections. A row that left the support or met a closed gap stays at the point where it did.
    shifts : [batch] or scalar
        Distance moved.
    offsets : [batch] or scalar
        Length of the last step.
    status : [batch] or Status
        OK where ``offsets <= tol * length_scale``.
    """

    points: FloatArray
    shifts: FloatArray
    offsets: FloatArray
    status: StatusArray


def carry_to_ridge(
    bundle: Subbundle, points: Any, *, order: int = 2, tol: float = 1e-6, max_steps: int = 100
) -> Carried:
    """Project ``points`` [batch, dim] or [dim] onto the ridge of ``bundle``: `ridge_project` with other defaults.

    It uses the whole kernel, iterates to a small tolerance and has no continuation in the bandwidth, for base points;
    the record holds the points only. For whole clouds, and for tangents and noise there, use `ridge_project`.

    Parameters
    ----------
    bundle : Subbundle
        Known in closed form or learned from data, as `PrincipalSubbundle`.
    points : [batch, dim] or [dim]
    order : {1, 2}
        1 for the ridge itself; 2 corrects it for the curvature of the cloud.
    tol : float
        Steps shorter than this fraction of ``bundle.length_scale`` end the iteration.
    max_steps : int
        Largest number of steps; rows that need more have the status NOT_CONVERGED.

    See Also
    --------
    ridge_project : for whole clouds, with tangents, curvature and noise.

    Examples
    --------
    >>> import subbundle as sb
    >>> noisy = sb.datasets.sphere(4000, noise=0.05)
    >>> bundle = sb.PrincipalSubbundle(noisy.points, rank=2, bandwidth=0.2)
    >>> base = sb.carry_to_ridge(bundle, [0.0, 0.0, 1.1]).points
    >>> bool(abs((base**2).sum() - 1.0) < 0.05)
    True
    """
    start, single = as_batch(points, "points", bundle.ambient_dim)
    start = surroundings_of(bundle).validate(start, "points")
    plan = Plan(
        kernel=GAUSSIAN,
        rank=bundle.rank,
        codimension=codimension(bundle),
        order=as_integer(order, "order", low=1, high=2),
        reach=full_reach(bundle),
        tol=as_positive(tol, "tol") * bundle.length_scale,
        relative=False,
        max_steps=as_integer(max_steps, "max_steps", low=1, high=10_000),
    )
    found = ridge_model(bundle, start, plan)
    shifts = surroundings_of(bundle).distance(start, found.points)
    if single:
        return Carried(found.points[0], shifts[0], found.offsets[0], Status(int(found.status[0])))  # type: ignore[arg-type]
    return Carried(found.points, shifts, found.offsets, found.status)
