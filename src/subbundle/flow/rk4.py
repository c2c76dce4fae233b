"""The classical Runge–Kutta method, order 4, four evaluations per step:

y_{n+1} = y_n + h/6 (k_1 + 2 k_2 + 2 k_3 + k_4).
"""

from __future__ import annotations

from subbundle._types import FloatArray
from subbundle.flow._batch import Attempt, spread


def rk4(attempt: Attempt, state: FloatArray, slope: FloatArray, step: FloatArray) -> FloatArray:
    """One step of length ``step`` [n] from ``state`` [2, n, dim], where the field is ``slope``."""
    h = spread(step, state.shape[-1])
    k1 = slope
    k2 = attempt.slope(state + 0.5 * h * k1)
    k3 = attempt.slope(state + 0.5 * h * k2)
    k4 = attempt.slope(state + h * k3)
    return state + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
