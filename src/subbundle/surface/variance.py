"""How noise comes into the height of a robust quadric.

With M the matrix of the normal equations, noise σ gives the height e found with bandwidth a the variance

    Var e = ⅝ σ² (M⁻¹)_00,

exact for a Gaussian window inside a uniform cloud, where it is σ² V(a)/ρ, V(a) = 5/(8π a²), and right in order at a
border, where a one-sided fit is far less certain. Heights at two bandwidths a, b have the correlation

    C/√(V(a) V(b)),     C = (c² + c⁶/(a b)²)/(π (a b)²),     1/c² = 1/a² + 1/b².

At two narrow windows there is hardly any bias, so what their heights differ by tells σ, however the surface bends.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray

# Median of a squared standard normal number.
_MEDIAN = 0.4549


def of_height(gain: FloatArray) -> FloatArray:
    """Var e / σ² from the gain (M⁻¹)_00 of a fit."""
    return 0.625 * gain


def of_difference(first: FloatArray, second: FloatArray, correlation: float | FloatArray) -> FloatArray:
    """Variance of the difference of two heights with the given variances."""
    return first + second - 2.0 * correlation * np.sqrt(first * second)


def correlation(a: float, b: float) -> float:
    """Of the heights that windows of bandwidths a and b find in the same noise."""
    c_sq = 1.0 / (a**-2 + b**-2)
    shared = (c_sq + c_sq**3 / (a * b) ** 2) / (np.pi * (a * b) ** 2)
    return float(shared * 8.0 * np.pi * a * b / 5.0)


def noise_square(differences: FloatArray, variances: FloatArray) -> float:
    """σ² such that the typical of the ``differences`` [n] of heights is explained; variances are for σ = 1."""
    return float(np.median(differences**2 / variances)) / _MEDIAN
