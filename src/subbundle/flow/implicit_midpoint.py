"""The implicit midpoint rule, order 2 and symplectic for every Hamiltonian:

    y_{n+1} = y_n + h f((y_n + y_{n+1}) / 2).

H does not drift over long times: it oscillates within O(h²). The midpoint's slope k solves k = f(y_n + h/2 k), found by
fixed-point iteration from k = f(y_n). The iteration contracts when h/2 times the field's derivative is below one; rows
that do not converge in 60 iterations have the status `Status.NOT_CONVERGED` and need a shorter step.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.flow._batch import Attempt, row_norm, spread

# Most fixed-point iterations: with a factor above 0.63 each they do not reach the tolerance, and the step is too long.
_ROUNDS = 60
# Converged when the midpoint moves by less than this fraction of the length scale and of |η|. Smaller would meet the
# rounding errors of the field itself; the second-order error of a step is far larger.
_SETTLED = 1e-12


def implicit_midpoint(attempt: Attempt, state: FloatArray, slope: FloatArray, step: FloatArray) -> FloatArray:
    """One step of length ``step`` [n] from ``state`` [2, n, dim], where the field is ``slope``."""
    h = spread(step, state.shape[-1])
    # A coordinate cannot settle below its own rounding error, which counts for clouds far from the origin.
    rounding = 8.0 * np.finfo(np.float64).eps * np.abs(state[0]).max(axis=-1)
    allowed = np.stack([_SETTLED * attempt.length_scale + rounding, _SETTLED * row_norm(state[1])])
    middle = slope
    pending = np.ones(len(step), bool)
    for _ in range(_ROUNDS):
        renewed = attempt.slope(state + 0.5 * h * middle, only=pending)
        moved = row_norm(0.5 * h * (renewed - middle))
        # Rows that have settled keep their slope, whatever rounds the others of the batch still need.
        middle = np.where(pending[:, None], renewed, middle)
        pending &= (moved > allowed).any(axis=0) & (attempt.status == Status.OK)
        if not pending.any():
            break
    attempt.status[pending] = Status.NOT_CONVERGED
    return state + h * middle
