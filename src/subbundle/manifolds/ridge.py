"""Carrying points onto the ridge, the k-dimensional middle of the cloud.

The ridge is {p : (I − P(p)) (m(p) − p) = 0}: the points whose local mean differs from them only along the bundle.
The step

    p ← p + (I − P(p)) (m(p) − p)

moves a point by the normal part of its mean shift and settles within a few rounds. Geodesics keep the offset from the
ridge with which they start, so a base point should be carried onto it first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from subbundle._types import FloatArray, Status, StatusArray
from subbundle._validation import as_integer, as_points, as_positive
from subbundle.bundles.base import Subbundle


@dataclass(frozen=True, slots=True)
class Carried:
    """Points on the ridge.

    Attributes
    ----------
    points : [batch, dim] or [dim]
        Where each point came to rest. A row that left the support or met a closed gap stays where that was seen.
    shifts : [batch] or scalar
        How far each point was moved.
    offsets : [batch] or scalar
        Length of the last step: what is left of (I − P)(m − p).
    status : [batch] or Status
        OK where ``offsets <= tol * length_scale``.
    """

    points: FloatArray
    shifts: FloatArray
    offsets: FloatArray
    status: StatusArray


def carry_to_ridge(bundle: Subbundle, points: Any, *, tol: float = 1e-6, max_steps: int = 100) -> Carried:
    """Carry ``points`` [batch, dim] or [dim] onto the ridge of ``bundle``.

    Parameters
    ----------
    tol : float
        Steps shorter than this part of ``bundle.length_scale`` end the iteration.
    max_steps : int
        Rounds allowed; rows still moving then have the status NOT_CONVERGED.
    """
    start = as_points(points, "points", dim=bundle.ambient_dim, ndim=None)
    if start.ndim > 2:
        raise ValueError(f"points must be one point or a 2-D array of points; got shape {start.shape}.")
    tol = as_positive(tol, "tol") * bundle.length_scale
    max_steps = as_integer(max_steps, "max_steps", low=1)
    current = np.array(np.atleast_2d(start))
    status = np.full(current.shape[0], Status.NOT_CONVERGED, np.int8)
    offsets = np.full(current.shape[0], np.inf)
    for _ in range(max_steps):
        rows = np.flatnonzero(status == Status.NOT_CONVERGED)
        if rows.size == 0:
            break
        step, seen = _normal_shift(bundle, current[rows])
        status[rows[seen != Status.OK]] = seen[seen != Status.OK]
        moving = rows[seen == Status.OK]
        step = step[seen == Status.OK]
        current[moving] += step
        offsets[moving] = np.sqrt(np.einsum("bd,bd->b", step, step))
        status[moving[offsets[moving] <= tol]] = Status.OK
    shifts = np.linalg.norm(current - np.atleast_2d(start), axis=1)
    if start.ndim == 1:
        return Carried(current[0], shifts[0], offsets[0], Status(int(status[0])))  # type: ignore[arg-type]
    return Carried(current, shifts, offsets, status)


def _normal_shift(bundle: Subbundle, points: FloatArray) -> tuple[FloatArray, StatusArray]:
    """(I − P)(m − p) at each point, and the status of its frame."""
    frame = bundle.frame(points)
    shift = frame.mean - points
    along = np.einsum("bdk,bd->bk", frame.vectors, shift)
    return shift - np.einsum("bdk,bk->bd", frame.vectors, along), frame.status
