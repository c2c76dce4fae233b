"""Elementary functions whose bits do not depend on the position of a number in an array.

NumPy evaluates sin, exp, arctan2 … eight at a time on processors with AVX-512, but one at a time in some layouts (an
array read backwards), and the two differ in the last bit. Here the same scalar function of the C library is applied to
every element. Between processors that function too may differ in its last bit.
"""

from __future__ import annotations

import math

import numpy as np

from subbundle._compiled import kernel
from subbundle._types import FloatArray, IntArray

# Read in every loop, and never true: a loop with an early exit is not vectorised. Numba with Intel's SVML would
# otherwise use vector versions of these functions for all but the last few elements.
_STOP = np.zeros(1, dtype=np.int64)
# Codes of the functions in the kernel.
_SIN, _COS, _EXP, _EXPM1, _LOG, _LOG1P, _SINH, _COSH, _ARCSINH, _ARCTAN, _ARCTAN2, _POWER = range(12)


def sin(x: FloatArray) -> FloatArray:
    """Sine."""
    return _mapped(_SIN, x)


def cos(x: FloatArray) -> FloatArray:
    """Cosine."""
    return _mapped(_COS, x)


def exp(x: FloatArray) -> FloatArray:
    """Exponential; infinite beyond the range."""
    return _mapped(_EXP, x)


def expm1(x: FloatArray) -> FloatArray:
    """exp(x) − 1 without cancellation."""
    return _mapped(_EXPM1, x)


def log(x: FloatArray) -> FloatArray:
    """Natural logarithm; −∞ at 0, NaN below."""
    return _mapped(_LOG, x)


def log1p(x: FloatArray) -> FloatArray:
    """log(1 + x) without cancellation; −∞ at −1, NaN below."""
    return _mapped(_LOG1P, x)


def sinh(x: FloatArray) -> FloatArray:
    """Hyperbolic sine."""
    return _mapped(_SINH, x)


def cosh(x: FloatArray) -> FloatArray:
    """Hyperbolic cosine."""
    return _mapped(_COSH, x)


def arcsinh(x: FloatArray) -> FloatArray:
    """Inverse hyperbolic sine."""
    return _mapped(_ARCSINH, x)


def arctan(x: FloatArray) -> FloatArray:
    """Inverse tangent."""
    return _mapped(_ARCTAN, x)


def arctan2(y: FloatArray, x: FloatArray) -> FloatArray:
    """Angle of (x, y) in (−π, π]; the arguments broadcast."""
    first, second = np.broadcast_arrays(y, x)
    return _mapped(_ARCTAN2, first, second)


def power(x: FloatArray, exponent: float) -> FloatArray:
    """x to the ``exponent``, a scalar; NaN for negative numbers unless it is an integer."""
    return _mapped(_POWER, x, np.full(np.shape(x), float(exponent)))


def _mapped(function: int, x: FloatArray, y: FloatArray | None = None) -> FloatArray:
    """``function`` of the elements of ``x``, and of ``y`` of the same shape, as a new C-ordered array."""
    first, second = (np.ascontiguousarray(array, dtype=np.float64).reshape(-1) for array in (x, x if y is None else y))
    result = np.empty(first.size)
    _map(function, first, second, result, _STOP)
    return result.reshape(np.shape(x))


@kernel
def _map(function: int, x: FloatArray, y: FloatArray, result: FloatArray, stop: IntArray) -> None:
    for i in range(x.size):
        if function == _SIN:
            result[i] = math.sin(x[i])
        elif function == _COS:
            result[i] = math.cos(x[i])
        elif function == _EXP:
            result[i] = math.exp(x[i])
        elif function == _EXPM1:
            result[i] = math.expm1(x[i])
        elif function == _LOG:
            result[i] = math.log(x[i])
        elif function == _LOG1P:
            result[i] = math.log1p(x[i])
        elif function == _SINH:
            result[i] = math.sinh(x[i])
        elif function == _COSH:
            result[i] = math.cosh(x[i])
        elif function == _ARCSINH:
            result[i] = math.asinh(x[i])
        elif function == _ARCTAN:
            result[i] = math.atan(x[i])
        elif function == _ARCTAN2:
            result[i] = math.atan2(x[i], y[i])
        else:
            result[i] = math.pow(x[i], y[i])
        if stop[0]:
            break
