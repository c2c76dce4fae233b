"""States between the steps of Dormand–Prince, to fourth order and without further evaluations.

With θ ∈ [0, 1] along the step from y_n to y_{n+1} = y_n + Δ and the stages k_1..k_7,

    y(θ) = y_n + θ (Δ + (1−θ) (α + θ (β + (1−θ) γ))),    α = h k_1 − Δ,    β = Δ − h k_7 − α,    γ = h Σ d_i k_i.

Without γ it is the cubic with the right values and slopes at both ends; γ raises its order to four.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.flow._batch import combine, spread

_D = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)
_CHUNK = 4096  # states interpolated at once, so that temporaries stay in the cache


class Interpolant:
    """The polynomials of one step of a batch, of which the coefficients are computed when the first is needed."""

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
        gamma = h * combine(_D, self._slopes)
        return tuple(np.concatenate(tuple(c), axis=1) for c in (self.start, change, alpha, beta, gamma))
