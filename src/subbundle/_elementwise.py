"""Elementary functions that give a number the same bits wherever it stands in an array.

NumPy evaluates sin, exp, arctan2 … eight at a time on processors with AVX-512, but one at a time in some layouts (an
array that is read backwards, say), and the two differ in the last bit. Here every element goes through the same scalar
function of the C library. Between processors that function too may differ in its last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from subbundle._compiled import kernel
from subbundle._types import FloatArray, IntArray

# Read in every loop, and never true: a loop that might end early cannot be cut into vectors. Numba with Intel's SVML
# would otherwise take vector versions of these functions for all but the last few elements.
_STOP = np.zeros(1, dtype=np.int64)


def sin(x: FloatArray) -> FloatArray:
    """Sine."""
    return _mapped(_sin, x)


def cos(x: FloatArray) -> FloatArray:
    """Cosine."""
    return _mapped(_cos, x)


def exp(x: FloatArray) -> FloatArray:
    """Exponential; infinite beyond the range."""
    return _mapped(_exp, x)


def expm1(x: FloatArray) -> FloatArray:
    """exp(x) − 1 without cancellation."""
    return _mapped(_expm1, x)


def log(x: FloatArray) -> FloatArray:
    """Natural logarithm; −∞ at 0, NaN below."""
    return _mapped(_log, x)


def log1p(x: FloatArray) -> FloatArray:
    """log(1 + x) without cancellation; −∞ at −1, NaN below."""
    return _mapped(_log1p, x)


def sinh(x: FloatArray) -> FloatArray:
    """Hyperbolic sine."""
    return _mapped(_sinh, x)


def cosh(x: FloatArray) -> FloatArray:
    """Hyperbolic cosine."""
    return _mapped(_cosh, x)


def arcsinh(x: FloatArray) -> FloatArray:
    """Inverse hyperbolic sine."""
    return _mapped(_arcsinh, x)


def arctan(x: FloatArray) -> FloatArray:
    """Inverse tangent."""
    return _mapped(_arctan, x)


def arctan2(y: FloatArray, x: FloatArray) -> FloatArray:
    """Angle of (x, y) in (−π, π]; the arguments broadcast."""
    first, second = np.broadcast_arrays(y, x)
    return _mapped(_arctan2, first, second)


def power(x: FloatArray, exponent: float) -> FloatArray:
    """x to the ``exponent``, one for all; NaN for negative numbers unless it is whole."""
    return _mapped(_power, x, np.full(np.shape(x), float(exponent)))


def _mapped(function: Callable[..., Any], *arrays: FloatArray) -> FloatArray:
    """``function`` of the elements of ``arrays``, all of one shape, as a new C-ordered array."""
    rows = [np.ascontiguousarray(array, dtype=np.float64).reshape(-1) for array in arrays]
    result = np.empty(rows[0].size)
    function(*rows, result, _STOP)
    return result.reshape(np.shape(arrays[0]))


@kernel
def _sin(x: FloatArray, result: FloatArray, stop: IntArray) -> None:
    for i in range(x.size):
        result[i] = math.sin(x[i])
        if stop[0]:
            break


@kernel
def _cos(x: FloatArray, result: FloatArray, stop: IntArray) -> None:
    for i in range(x.size):
        result[i] = math.cos(x[i])
        if stop[0]:
            break


@kernel
def _exp(x: FloatArray, result: FloatArray, stop: IntArray) -> None:
    for i in range(x.size):
        result[i] = math.exp(x[i])
        if stop[0]:
            break


@kernel
def _expm1(x: FloatArray, result: FloatArray, stop: IntArray) -> None:
    for i in range(x.size):
        result[i] = math.expm1(x[i])
        if stop[0]:
            break


@kernel
def _log(x: FloatArray, result: FloatArray, stop: IntArray) -> None:
    for i in range(x.size):
        result[i] = math.log(x[i])
        if stop[0]:
            break


@kernel
def _log1p(x: FloatArray, result: FloatArray, stop: IntArray) -> None:
    for i in range(x.size):
        result[i] = math.log1p(x[i])
        if stop[0]:
            break


@kernel
def _sinh(x: FloatArray, result: FloatArray, stop: IntArray) -> None:
    for i in range(x.size):
        result[i] = math.sinh(x[i])
        if stop[0]:
            break


@kernel
def _cosh(x: FloatArray, result: FloatArray, stop: IntArray) -> None:
    for i in range(x.size):
        result[i] = math.cosh(x[i])
        if stop[0]:
            break


@kernel
def _arcsinh(x: FloatArray, result: FloatArray, stop: IntArray) -> None:
    for i in range(x.size):
        result[i] = math.asinh(x[i])
        if stop[0]:
            break


@kernel
def _arctan(x: FloatArray, result: FloatArray, stop: IntArray) -> None:
    for i in range(x.size):
        result[i] = math.atan(x[i])
        if stop[0]:
            break


@kernel
def _arctan2(y: FloatArray, x: FloatArray, result: FloatArray, stop: IntArray) -> None:
    for i in range(y.size):
        result[i] = math.atan2(y[i], x[i])
        if stop[0]:
            break


@kernel
def _power(x: FloatArray, exponent: FloatArray, result: FloatArray, stop: IntArray) -> None:
    for i in range(x.size):
        result[i] = math.pow(x[i], exponent[i])
        if stop[0]:
            break
