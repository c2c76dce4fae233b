"""Carrying points onto the ridge, the k-dimensional middle of the cloud.

The ridge is {p : (I − P(p)) (m(p) − p) = 0}: the points whose local mean differs from them only along the bundle.
The step

    p ← p + (I − P(p)) (m(p) − p)

moves a point by the normal part of its mean shift and settles within a few rounds. Geodesics keep the offset from the
ridge with which they start, so a base point should be carried onto it first.

The local mean of a curved cloud lies on the hollow side, by δ = ½ Σ_a λ_a II(e_a, e_a), with II the second fundamental
form. With ``order=2`` this is taken out: the ridge is then where

    (I − P) (m − p) − δ + ½ II(τ, τ) = 0,        τ = P (p − m),        II(u, u) = (I − P) DP[u] u,

DP by central differences of the frame. The ridge of order 1 is off by about half the curvature times the bandwidth
squared; that of order 2 by the next power.

On a manifold m − p stands for log_p(m), a step is one along a geodesic, P is orthogonal in the metric, and II is that
of the ridge in the manifold: u and DP[u] u are carried in parallel.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from subbundle._types import FloatArray, IntArray, Status, StatusArray
from subbundle._validation import as_integer, as_points, as_positive
from subbundle.bundles.base import Frame, Subbundle
from subbundle.bundles.surroundings import surroundings_of

# Half-width of the differences, in length scales: their error is its square, 1e-4 of the correction.
_DIFFERENCE = 1e-2


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
    """Carry ``points`` [batch, dim] or [dim] onto the ridge of ``bundle``.

    Parameters
    ----------
    order : {1, 2}
        1 for the ridge itself; 2 corrects it for the curvature of the cloud, at 2 (k + 1) more frames a step.
    tol : float
        Steps shorter than this part of ``bundle.length_scale`` end the iteration.
    max_steps : int
        Rounds allowed; rows still moving then have the status NOT_CONVERGED.
    """
    start = as_points(points, "points", dim=bundle.ambient_dim, ndim=None)
    if start.ndim > 2:
        raise ValueError(f"points must be one point or a 2-D array of points; got shape {start.shape}.")
    order = as_integer(order, "order", low=1, high=2)
    tol = as_positive(tol, "tol") * bundle.length_scale
    max_steps = as_integer(max_steps, "max_steps", low=1)
    around = surroundings_of(bundle)
    current = np.array(np.atleast_2d(start))
    status = np.full(current.shape[0], Status.NOT_CONVERGED, np.int8)
    offsets = np.full(current.shape[0], np.inf)
    for _ in range(max_steps):
        rows = np.flatnonzero(status == Status.NOT_CONVERGED)
        if rows.size == 0:
            break
        step, seen = _normal_shift(bundle, current[rows], order)
        status[rows[seen != Status.OK]] = seen[seen != Status.OK]
        moving = rows[seen == Status.OK]
        step = step[seen == Status.OK]
        sizes = around.coordinates(current[moving], step)
        current[moving] = around.move(current[moving], step)
        offsets[moving] = np.sqrt(np.einsum("bd,bd->b", sizes, sizes))
        status[moving[offsets[moving] <= tol]] = Status.OK
    shifts = around.distance(np.atleast_2d(start), current)
    if start.ndim == 1:
        return Carried(current[0], shifts[0], offsets[0], Status(int(status[0])))  # type: ignore[arg-type]
    return Carried(current, shifts, offsets, status)


def _normal_shift(bundle: Subbundle, points: FloatArray, order: int) -> tuple[FloatArray, StatusArray]:
    """The step at each point, and the status of its frame."""
    around = surroundings_of(bundle)
    frame = bundle.frame(points)
    shift = around.displacement(points, frame.mean)
    step = _across(frame.vectors, frame.duals, shift)
    if order == 1:
        return step, frame.status
    good = np.flatnonzero(frame.status == Status.OK)
    here, at = _rows(frame, good), points[good]
    bending = np.zeros((good.size, points.shape[1]))
    for a in range(bundle.rank):
        bending += here.eigenvalues[:, a, None] * _second_form(bundle, at, here, here.vectors[:, :, a])
    tangential = step[good] - shift[good]
    parts = around.coordinates(at, tangential)
    length = np.sqrt(np.einsum("bd,bd->b", parts, parts))
    unit = np.divide(tangential, length[:, None], out=np.zeros_like(tangential), where=length[:, None] > 0.0)
    bending -= (length**2)[:, None] * _second_form(bundle, at, here, unit)
    step[good] -= 0.5 * bending
    return step, frame.status


def _rows(frame: Frame, rows: IntArray) -> Frame:
    """Some rows of a frame."""
    values = (getattr(frame, entry.name) for entry in fields(frame))
    return Frame(*(None if value is None else value[rows] for value in values))


def _across(vectors: FloatArray, duals: FloatArray | None, offsets: FloatArray) -> FloatArray:
    """(I − P) applied to ``offsets`` [batch, dim]."""
    along = np.einsum("bdk,bd->bk", vectors if duals is None else duals, offsets)
    return np.asarray(offsets - np.einsum("bdk,bk->bd", vectors, along))


def _second_form(bundle: Subbundle, points: FloatArray, frame: Frame, unit: FloatArray) -> FloatArray:
    """II(u, u) = (I − P) DP[u] u for unit vectors ``unit`` [batch, dim]; zero where a neighbour has no frame."""
    around = surroundings_of(bundle)
    width = _DIFFERENCE * bundle.length_scale
    turned = np.zeros_like(points)
    lost = np.zeros(len(points), bool)
    for sign in (-1.0, 1.0):
        there = around.move(points, sign * width * unit)
        beside = bundle.frame(there)
        off = _across(beside.vectors, beside.duals, around.transport(unit, points, there))
        turned -= sign * around.transport(off, there, points)
        lost |= beside.status != Status.OK
    turned[lost] = 0.0
    return _across(frame.vectors, frame.duals, turned) / (2.0 * width)
