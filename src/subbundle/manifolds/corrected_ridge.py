"""The ridge with the bias of curvature removed, and clouds carried onto it.

The local mean m of a bent sheet lies on its inner side, by δ = ½ Σ_a λ_a II(e_a, e_a). With τ = P(p − m), the sheet stands
over p at the normal offset of m, less δ, plus ½ II(τ, τ). The step

    p ← p + ((I − P)(m − p) − δ + ½ II(τ, τ)) / max(1 − λ̄/a², 0.4)

leads there; its denominator, with λ̄ the mean variance across the sheet, is Newton's: moving p by one moves m by λ̄/a².
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, Status, StatusArray, all_finite
from subbundle.bundles.base import Subbundle
from subbundle.manifolds.ridge import Carried
from subbundle.manifolds.second_form import second_fundamental_form

# Below this the denominator would blow noise up.
_LEAST_SLOPE = 0.4


def carry_to_corrected_ridge(
    bundle: Subbundle, points: FloatArray, *, tol: float = 1e-3, max_steps: int = 8, corrected: bool = True
) -> Carried:
    """Carry ``points`` [n, dim] onto the ridge of ``bundle``, free of the bias of curvature to second order.

    Parameters
    ----------
    tol : float
        Steps shorter than this part of the length scale end the iteration.
    max_steps : int
        Rounds allowed; rows still moving then have the status NOT_CONVERGED.
    corrected : bool
        False for the plain ridge, where δ and II(τ, τ) are left out.
    """
    current = np.array(points, dtype=np.float64)
    status = np.full(len(current), Status.NOT_CONVERGED, np.int8)
    offsets = np.full(len(current), np.inf)
    for _ in range(max_steps):
        rows = np.flatnonzero(status == Status.NOT_CONVERGED)
        if rows.size == 0:
            break
        step, seen = normal_step(bundle, current[rows], corrected=corrected)
        status[rows[seen != Status.OK]] = seen[seen != Status.OK]
        moving, step = rows[seen == Status.OK], step[seen == Status.OK]
        current[moving] += step
        offsets[moving] = np.sqrt(np.einsum("nd,nd->n", step, step))
        status[moving[offsets[moving] <= tol * bundle.length_scale]] = Status.OK
    shifts = np.linalg.norm(current - points, axis=1)
    return Carried(current, shifts, offsets, status)


def normal_step(bundle: Subbundle, points: FloatArray, *, corrected: bool) -> tuple[FloatArray, StatusArray]:
    """One step [n, dim] from each of ``points`` towards the ridge, and the status of its frame."""
    frame = bundle.frame(points)
    rank = bundle.rank
    shift = frame.mean - points
    along = np.einsum("ndk,nd->nk", frame.vectors, shift)
    step = shift - np.einsum("ndk,nk->nd", frame.vectors, along)
    if corrected:
        forms = second_fundamental_form(bundle, points, frame)
        step -= 0.5 * np.einsum("na,naad->nd", frame.eigenvalues[:, :rank], forms)
        step += 0.5 * np.einsum("na,ni,naid->nd", along, along, forms)
    across = frame.eigenvalues[:, rank:].mean(axis=1) / bundle.length_scale**2
    step /= np.maximum(1.0 - across, _LEAST_SLOPE)[:, None]
    status = frame.status.copy()
    status[(status == Status.OK) & ~all_finite(step)] = Status.NOT_FINITE
    return step, status
