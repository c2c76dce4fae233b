"""Euler's method, order 1: y_{n+1} = y_n + h f(y_n). One evaluation per step.

Included because the paper uses it; it lengthens circles into spirals and loses the Hamiltonian at first
order. Use `dopri5` unless you compare.
"""

from __future__ import annotations

from subbundle._types import FloatArray
from subbundle.flow._batch import Attempt, spread


def euler(attempt: Attempt, state: FloatArray, slope: FloatArray, step: FloatArray) -> FloatArray:
    """One step of length ``step`` [n] from ``state`` [2, n, dim], where the field is ``slope``."""
    return state + spread(step, state.shape[-1]) * slope
