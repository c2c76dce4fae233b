"""The driver of the fixed-step methods: equal steps between the requested times, each no longer than ``step``.

An interval of arc length Δs is cut into ⌈Δs / step⌉ equal steps, so that the requested times are met exactly and no
interpolation is needed. Rows move at their own pace and may need different numbers of steps; they are advanced
together, one step each at a time. The field is evaluated at the end of each step (where the next one begins); if it is
not defined there, or a stage on the way was not, the trajectory ends at the state before the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from subbundle._types import BoolArray, FloatArray, IntArray, Status, StatusArray
from subbundle.bundles.base import Subbundle
from subbundle.flow._batch import ActiveRows, Attempt, Output, projected

# advance(attempt, state [2, n, dim], slope [2, n, dim], step [n]) -> next state [2, n, dim]
Advance = Callable[[Attempt, FloatArray, FloatArray, FloatArray], FloatArray]

_ROUNDING = 1e-9  # 0.3 / 0.001 is a little more than 300, and must not make 301 steps


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
    """Let the ``selected`` [n] rows begin their next interval."""
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
    """Take out the rows that have arrived or cannot go on, with the reason."""
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
