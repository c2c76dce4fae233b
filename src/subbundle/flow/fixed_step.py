"""The fixed-step methods and their driver: equal steps between the requested times, each no longer than ``step``.

An interval of arc length Δs is divided into ⌈Δs / step⌉ equal steps, so that the requested times are met exactly and no
interpolation is needed. Rows move at their own pace and may need different numbers of steps; they are advanced
together, one step each at a time. The field is evaluated at the end of each step (where the next one begins); if it is
not defined there, or at a stage in between, the trajectory ends at the state before the step.

All methods take one step of length ``step`` [n] from ``state`` [2, n, dim], where the field is ``slope``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from subbundle._types import BoolArray, FloatArray, IntArray, Status, StatusArray
from subbundle.bundles.base import Subbundle
from subbundle.flow._batch import ActiveRows, Attempt, Output, projected, row_norm, spread

# advance(attempt, state [2, n, dim], slope [2, n, dim], step [n]) -> next state [2, n, dim]
Advance = Callable[[Attempt, FloatArray, FloatArray, FloatArray], FloatArray]

_ROUNDING = 1e-9  # 0.3 / 0.001 is a little more than 300, and must not make 301 steps
# Largest number of fixed-point iterations: at a contraction factor above 0.63 they do not reach the tolerance.
_ROUNDS = 60
# Converged when the midpoint moves by less than this fraction of the length scale and of |η|. Smaller would be below
# the rounding errors of the field; the second-order error of a step is far larger.
_CONVERGED = 1e-12


@dataclass
class _Rows(ActiveRows):
    following: IntArray  # index of the knot this interval leads to
    step: FloatArray  # length of the steps of this interval
    steps: FloatArray  # number of steps of this interval (as floats: they may exceed the largest integer)
    taken: FloatArray  # steps of this interval taken so far
    total: IntArray  # steps taken since the start


def fixed_step(
    bundle: Subbundle,
    rows: ActiveRows,
    times: FloatArray,
    out: Output,
    *,
    advance: Advance,
    step: float,
    max_steps: int,
) -> None:
    """Integrate ``rows``, at unit speed, to ``times[-1]`` with ``advance``, and write states and ends to ``out``."""
    begins_at_zero = times[0] == 0.0
    knots = times if begins_at_zero else np.concatenate([[0.0], times])
    active = _start(rows)
    _enter_interval(active, np.ones(len(active.index), bool), knots, step)
    while active.index.size:
        attempt = Attempt(bundle, active.evaluations)
        state = projected(bundle, advance(attempt, active.state, active.slope, active.step))
        slope = attempt.slope(state)
        good = attempt.status == Status.OK
        if not good.all():
            state[:, ~good] = active.state[:, ~good]
        active.state, active.slope = state, slope
        active.taken += good
        active.total += 1

        arrived = good & (active.taken == active.steps)
        out.states[:, active.index[arrived], active.following[arrived] - (0 if begins_at_zero else 1)] = state[
            :, arrived
        ]
        finished = arrived & (active.following == len(knots) - 1)
        _end_rows(out, active, finished, attempt.status, arrived, knots, max_steps)
        _enter_interval(active, active.taken == active.steps, knots, step)


def _start(rows: ActiveRows) -> _Rows:
    n = len(rows.index)
    return _Rows(
        rows.index, rows.state, rows.slope, rows.pace, rows.evaluations,
        following=np.zeros(n, np.int64),
        step=np.zeros(n),
        steps=np.zeros(n),
        taken=np.zeros(n),
        total=np.zeros(n, np.int64),
    )  # fmt: skip


def _enter_interval(active: _Rows, selected: BoolArray, knots: FloatArray, step: float) -> None:
    """Begin the next interval of the ``selected`` [n] rows."""
    if not selected.any():
        return
    to = active.following[selected] + 1
    length = (knots[to] - knots[to - 1]) * active.pace[selected]
    steps = np.maximum(np.ceil(length / step * (1.0 - _ROUNDING)), 1.0)
    active.following[selected] = to
    active.step[selected] = length / steps
    active.steps[selected] = steps
    active.taken[selected] = 0.0


def _end_rows(
    out: Output,
    active: _Rows,
    finished: BoolArray,
    status: StatusArray,
    arrived: BoolArray,
    knots: FloatArray,
    max_steps: int,
) -> None:
    """Remove the rows that have arrived or cannot continue, with the reason."""
    reason = np.where(active.total >= max_steps, np.int8(Status.TOO_MANY_STEPS), np.int8(Status.OK))
    reason = np.where(status != Status.OK, status, reason)
    reason = np.where(finished, np.int8(Status.OK), reason)
    ended = finished | (reason != Status.OK)
    if ended.any():
        # At a knot its own arc length is exact, without the rounding of a sum.
        within = knots[active.following - 1] * active.pace + active.taken * active.step
        lengths = np.where(arrived, knots[active.following] * active.pace, within)
        out.end(active, ended, lengths, reason)
        active.keep(~ended)


def euler(attempt: Attempt, state: FloatArray, slope: FloatArray, step: FloatArray) -> FloatArray:
    """Euler's method, order 1, one evaluation per step: y_{n+1} = y_n + h f(y_n).

    Included because the paper uses it; it lengthens circles into spirals and loses the Hamiltonian at first order.
    """
    return state + spread(step, state.shape[-1]) * slope


def rk4(attempt: Attempt, state: FloatArray, slope: FloatArray, step: FloatArray) -> FloatArray:
    """The classical Runge–Kutta method, order 4: y_{n+1} = y_n + h/6 (k_1 + 2 k_2 + 2 k_3 + k_4)."""
    h = spread(step, state.shape[-1])
    k1 = slope
    k2 = attempt.slope(state + 0.5 * h * k1)
    k3 = attempt.slope(state + 0.5 * h * k2)
    k4 = attempt.slope(state + h * k3)
    return state + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)


def semi_implicit_euler(attempt: Attempt, state: FloatArray, slope: FloatArray, step: FloatArray) -> FloatArray:
    """Semi-implicit Euler in its explicit form, order 1: first the covector, then the point with the new covector,

        η_{n+1} = η_n − h ∂H/∂p (p_n, η_n),        p_{n+1} = p_n + h P(p_n) η_{n+1}.

    It is symplectic for separable Hamiltonians, T(η) + V(p), and only for those. Here H = ½ |P(p) η|² couples the two;
    the symplectic scheme would need ∂H/∂p at the unknown η_{n+1}. This explicit one is therefore *not* symplectic and
    does not conserve H better than Euler does, as the paper's comparison found.
    """
    h = spread(step, state.shape[-1])
    kicked = np.stack([state[0], state[1] + h * slope[1]])
    kicked[0] += h * attempt.slope(kicked)[0]
    return kicked


def implicit_midpoint(attempt: Attempt, state: FloatArray, slope: FloatArray, step: FloatArray) -> FloatArray:
    """The implicit midpoint rule, order 2 and symplectic for every Hamiltonian: y_{n+1} = y_n + h f((y_n + y_{n+1})/2).

    H does not drift over long times: it oscillates within O(h²). The midpoint's slope k solves k = f(y_n + h/2 k),
    found by fixed-point iteration from k = f(y_n), which contracts when h/2 times the field's derivative is below one.
    Rows that do not converge have the status `Status.NOT_CONVERGED` and need a shorter step.
    """
    h = spread(step, state.shape[-1])
    # A coordinate cannot converge below its own rounding error, which matters for clouds far from the origin.
    rounding = 8.0 * np.finfo(np.float64).eps * np.abs(state[0]).max(axis=-1)
    allowed = np.stack([_CONVERGED * attempt.length_scale + rounding, _CONVERGED * row_norm(state[1])])
    middle = slope
    pending = np.ones(len(step), bool)
    for _ in range(_ROUNDS):
        renewed = attempt.slope(state + 0.5 * h * middle, only=pending)
        moved = row_norm(0.5 * h * (renewed - middle))
        # Rows that have converged keep their slope, whatever iterations the others of the batch need.
        middle = np.where(pending[:, None], renewed, middle)
        pending &= (moved > allowed).any(axis=0) & (attempt.status == Status.OK)
        if not pending.any():
            break
    attempt.status[pending] = Status.NOT_CONVERGED
    return state + h * middle
