"""Dormand–Prince 5(4): adaptive, one step size per trajectory, fourth-order output between the steps.

Seven stages k_1..k_7, the last being the first of the next step, give a solution of order 5 and an estimate of the
error of the embedded solution of order 4,

    y_{n+1} = y_n + h Σ b_i k_i,        e = h Σ ê_i k_i.

The step is accepted when ε = max(|e_p| / (tol · L), |e_η| / (tol · |η|)) ≤ 1, with L the bundle's length scale. Norms
are Euclidean, so steps are invariant under rotation, translation and scaling. The next step is

    h · clip(0.9 ε_n^(−0.17) ε_{n−1}^(0.04), 0.2, 5)

after an accepted step (the ε of the step before damps oscillations), h · max(0.2, 0.9 ε^(−1/5)) after a rejected one.

A stage that falls where the bundle is not defined gives no estimate of the error: the step is halved, until one shorter
than L/1000 fails and the trajectory ends, within that distance of the border. No step is longer than 2 L: stages are at
most half a step apart, so a hole in the data wider than L is never stepped over.

A bundle on a manifold gets every accepted state projected there. The covector then has another representative, so the
slope k_7 is not the next k_1, which is evaluated again.

Between the steps states are interpolated to fourth order without further evaluations: with θ ∈ [0, 1] along the step
from y_n to y_{n+1} = y_n + Δ,

    y(θ) = y_n + θ (Δ + (1−θ) (α + θ (β + (1−θ) γ))),    α = h k_1 − Δ,    β = Δ − h k_7 − α,    γ = h Σ d_i k_i.

Without γ it is the cubic with the right values and slopes at both ends; γ raises its order to four.

References: Dormand and Prince, J. Comput. Appl. Math. 6 (1980); Hairer, Nørsett and Wanner, Solving Ordinary
Differential Equations I (1993), sections II.4 to II.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from subbundle._elementwise import power
from subbundle._types import BoolArray, FloatArray, IntArray, Status, StatusArray
from subbundle.bundles.base import Subbundle
from subbundle.flow._batch import ActiveRows, Attempt, Output, combine, projected, row_norm, spread
from subbundle.flow.tuning import BORDER

_STAGES: tuple[tuple[float, ...], ...] = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
_BETWEEN = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)
_CHUNK = 4096  # states interpolated at once, so that temporaries stay in the cache
# Length scales: stages are at most half a step, one length scale, apart.
_LONGEST_STEP = 2.0
_SHORTEST_STEP = 1e-11  # length scales: below it rounding errors dominate


@dataclass
class _Rows(ActiveRows):
    goal: FloatArray  # arc length to travel
    travelled: FloatArray  # arc length so far
    step: FloatArray  # step to try next
    error: FloatArray  # ε of the last accepted step
    cautious: BoolArray  # the last step was rejected: do not increase the next one
    attempts: IntArray
    most: IntArray  # largest number of attempts
    following: IntArray  # index of the first output not yet written


def dopri5(
    bundle: Subbundle, rows: ActiveRows, times: FloatArray, out: Output, *, tol: float, max_steps: int | IntArray
) -> None:
    """Integrate ``rows``, at unit speed, to ``times[-1]``, and write states and ends to ``out``.

    ``max_steps`` is one number or one per row.
    """
    scale = float(bundle.length_scale)
    active = _start(rows, times, tol, scale)
    active.most[:] = max_steps
    while active.index.size:
        remaining = active.goal - active.travelled
        last = active.step >= remaining
        step = np.where(last, remaining, active.step)
        h = spread(step, bundle.ambient_dim)
        attempt = Attempt(bundle, active.evaluations)
        slopes = [active.slope]
        for coefficients in _STAGES:
            state = active.state + h * combine(coefficients, slopes)
            slopes.append(attempt.slope(state))
        error = _relative_error(h * combine(_ERROR, slopes), active.state, state, tol, scale)
        accepted = (attempt.status == Status.OK) & (error <= 1.0)
        travelled = np.where(last, active.goal, active.travelled + step)
        _write_outputs(out, active, Interpolant(active.state, state, slopes, step), times, accepted, travelled, last)
        _advance(active, accepted, state, slopes[-1], travelled)
        _project_states(bundle, active, accepted & ~last)
        _choose_step(active, accepted, attempt.status, step, error, scale)
        _end_rows(out, active, accepted & last, attempt.status, accepted, scale)


def _start(rows: ActiveRows, times: FloatArray, tol: float, scale: float) -> _Rows:
    n = len(rows.index)
    # The fastest relative change of position or covector sets the first step; the error of one step of a fifth-order
    # method is its fifth power. The controller corrects this initial estimate by up to a factor 5 per step.
    rate = np.maximum(1.0 / scale, row_norm(rows.slope[1]) / row_norm(rows.state[1]))
    return _Rows(
        rows.index, rows.state, rows.slope, rows.pace, rows.evaluations,
        goal=times[-1] * rows.pace,
        travelled=np.zeros(n),
        step=np.minimum(2.0 * tol**0.2 / rate, _LONGEST_STEP * scale),
        error=np.full(n, 1e-4),
        cautious=np.zeros(n, bool),
        attempts=np.zeros(n, np.int64),
        most=np.zeros(n, np.int64),
        following=np.full(n, int(times[0] == 0.0)),
    )  # fmt: skip


def _relative_error(error: FloatArray, old: FloatArray, new: FloatArray, tol: float, scale: float) -> FloatArray:
    """ε [n]: the estimated error over the allowed one; infinite where it cannot be computed."""
    position, covector = row_norm(error)
    size = np.maximum(row_norm(old[1]), row_norm(new[1]))
    relative = np.maximum(position / (tol * scale), covector / (tol * size))
    return np.where(np.isfinite(relative), relative, np.inf)


def _write_outputs(
    out: Output,
    active: _Rows,
    interpolant: Interpolant,
    times: FloatArray,
    accepted: BoolArray,
    travelled: FloatArray,
    last: BoolArray,
) -> None:
    """Write the outputs inside the accepted steps: the end of a last step as it is, the others interpolated."""
    ending = accepted & last
    out.states[:, active.index[ending], -1] = interpolant.end[:, ending]
    reached = np.where(last, len(times) - 1, np.searchsorted(times, travelled / active.pace, side="right"))
    reached = np.where(accepted, reached, active.following)
    for rows, output in interpolant.ranges(active.following, reached):
        theta = (times[output] * active.pace[rows] - active.travelled[rows]) / interpolant.step[rows]
        out.write(active.index[rows], output, interpolant(rows, theta))
    active.following = reached


def _advance(active: _Rows, accepted: BoolArray, state: FloatArray, slope: FloatArray, travelled: FloatArray) -> None:
    if not accepted.all():
        kept = ~accepted
        state[:, kept] = active.state[:, kept]
        slope[:, kept] = active.slope[:, kept]
    active.state, active.slope = state, slope
    active.travelled = np.where(accepted, travelled, active.travelled)


def _project_states(bundle: Subbundle, active: _Rows, selected: BoolArray) -> None:
    """Project the ``selected`` [n] rows to the manifold of the bundle, if it has one, before their next step."""
    state = np.compress(selected, active.state, axis=1)
    found = projected(bundle, state)
    if found is state:
        return
    projected_state = active.state.copy()
    projected_state[:, selected] = found
    moved = (projected_state != active.state).any(axis=(0, 2))
    attempt = Attempt(bundle, active.evaluations)
    slope = attempt.slope(projected_state, only=moved)
    # A row that could not be evaluated there, on the border of the support, continues unprojected.
    moved &= attempt.status == Status.OK
    active.state = np.where(moved[:, None], projected_state, active.state)
    active.slope = np.where(moved[:, None], slope, active.slope)


def _choose_step(
    active: _Rows, accepted: BoolArray, status: StatusArray, step: FloatArray, error: FloatArray, scale: float
) -> None:
    error = np.maximum(error, 1e-10)
    grown = np.maximum(0.9 * power(error, -0.17) * power(active.error, 0.04), 0.2)
    grown = np.minimum(grown, np.where(active.cautious, 1.0, 5.0))
    shrunk = np.maximum(0.9 * power(error, -0.2), 0.2)
    factor = np.where(accepted, grown, np.where(status == Status.OK, shrunk, 0.5))
    active.step = np.minimum(step * factor, _LONGEST_STEP * scale)
    active.error = np.where(accepted, np.maximum(error, 1e-4), active.error)
    active.cautious = ~accepted
    active.attempts += 1


def _end_rows(
    out: Output,
    active: _Rows,
    finished: BoolArray,
    status: StatusArray,
    accepted: BoolArray,
    scale: float,
) -> None:
    """Remove the rows that have arrived or cannot continue, with the reason."""
    failed = status != Status.OK
    reason = np.where(active.attempts >= active.most, np.int8(Status.TOO_MANY_STEPS), np.int8(Status.OK))
    underflow = ~accepted & ~failed & (active.step < _SHORTEST_STEP * scale)
    reason = np.where(underflow, np.int8(Status.STEP_UNDERFLOW), reason)
    # The step that failed has been halved already.
    reason = np.where(failed & (active.step < 0.5 * BORDER * scale), status, reason)
    reason = np.where(finished, np.int8(Status.OK), reason)
    ended = finished | (reason != Status.OK)
    if ended.any():
        out.end(active, ended, active.travelled, reason)
        active.keep(~ended)


class Interpolant:
    """The polynomials of one step of a batch; coefficients are computed on first use."""

    def __init__(self, start: FloatArray, end: FloatArray, slopes: Sequence[FloatArray], step: FloatArray) -> None:
        self.start = start
        self.end = end
        self.step = step
        self._slopes = slopes
        self._coefficients: tuple[FloatArray, ...] = ()

    def ranges(self, first: IntArray, stop: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
        """All pairs (row, output) with first[row] ≤ output < stop[row], flat, in portions."""
        needed = np.flatnonzero(stop > first)
        if not needed.size:
            return
        count = stop[needed] - first[needed]
        portion = max(1, _CHUNK // int(count.max()))
        for begin in range(0, len(needed), portion):
            rows, repeats = needed[begin : begin + portion], count[begin : begin + portion]
            offset = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
            yield np.repeat(rows, repeats), np.repeat(first[rows], repeats) + offset

    def __call__(self, rows: IntArray, theta: FloatArray) -> FloatArray:
        """y(θ) of ``rows`` [m] at ``theta`` [m], as [m, 2 dim]: the point, then the covector."""
        if not self._coefficients:
            self._coefficients = self._compute()
        start, change, alpha, beta, gamma = self._coefficients
        along = spread(theta, start.shape[1])
        back = 1.0 - along
        state = np.take(gamma, rows, axis=0)
        for factor, coefficient in ((back, beta), (along, alpha), (back, change), (along, start)):
            state *= factor
            state += np.take(coefficient, rows, axis=0)
        return state

    def _compute(self) -> tuple[FloatArray, ...]:
        """y_n, Δ, α, β and γ, each [n, 2 dim]."""
        h = spread(self.step, self.start.shape[-1])
        change = self.end - self.start
        alpha = h * self._slopes[0] - change
        beta = change - h * self._slopes[-1] - alpha
        gamma = h * combine(_BETWEEN, self._slopes)
        return tuple(np.concatenate(tuple(c), axis=1) for c in (self.start, change, alpha, beta, gamma))
