"""From the sums of `deviations` to noise and standard errors.

A window sees noise of variance σ² narrowed: under Gaussian weights to v = σ²a²/(a² + σ²), under the biweight of a cut
to what `_Biweight` tabulates. Both also pull an estimate by less than its offset, by the *slope* (1 − v/a² under
Gaussian weights), so where walks come to rest the standard error is that of the height over the slope.

With s the standard error from noise along one of m normal directions and b the bias, the offset is N(b, S) with s² in
all directions but that of b, where the bias is uncertain too. The position's error is 1/1.96 of the 95 % quantile of
its length, by Jensen and Solomon's approximation to quadratic forms (Sankaran's to the noncentral χ², if S = s² I).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from subbundle._types import FloatArray

# Fraction of the bandwidth² that is left, at least, beside the variance: noise as wide as the kernel cannot be told.
NARROWEST = 0.05
# Variance of a quadric's height on an evenly sampled plane under Gaussian weights, in units of (M⁻¹)_00.
PLANE_GAIN = 0.625
# Quantiles of the standard normal: two-sided and one-sided 95 %.
TWO_SIDED, _ONE_SIDED = 1.959964, 1.644854


def widened(variance: FloatArray, area: FloatArray) -> FloatArray:
    """σ² of noise that a Gaussian window of bandwidth² ``area`` sees with ``variance``."""
    return np.asarray(variance * area / np.maximum(area - variance, NARROWEST * area))


def narrowed(squared: FloatArray, area: FloatArray) -> FloatArray:
    """The variance that a Gaussian window sees of noise σ² = ``squared``."""
    return np.asarray(squared * area / (area + squared))


def radius95(
    noise: FloatArray, bias_squared: FloatArray, codimension: int, along: FloatArray | None = None
) -> FloatArray:
    """95 % quantile of |N(b, S)|, |b|² = ``bias_squared``; S is ``along`` in the direction of b, else ``noise``."""
    m, along = float(codimension), noise if along is None else along
    # In units of the variance along b: where that is 0, so is all noise.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.minimum(np.where(along > 0.0, bias_squared / along, 1e12), 1e12)
        across = np.where(along > 0.0, noise / along, 1.0)
    first, second, third = ((m - 1.0) * across**j + 1.0 + j * ratio for j in (1, 2, 3))
    h = 1.0 - 2.0 * first * third / (3.0 * second**2)
    p = second / first**2
    tail = (h - 1.0) * (1.0 - 3.0 * h) * p
    middle = 1.0 + h * p * (h - 1.0 - 0.5 * (2.0 - h) * tail)
    power = middle + h * np.sqrt(2.0 * p) * (1.0 + 0.5 * tail) * _ONE_SIDED
    quantile = first * np.maximum(power, 0.0) ** (1.0 / h)
    return np.asarray(np.where(along > 0.0, np.sqrt(along * quantile), np.sqrt(bias_squared)))


@cache
def _biweight(codimension: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For noise s = σ/cut: values of s, the variance per direction that the biweight leaves in cut², and the slope."""
    s = np.geomspace(1e-3, 10.0, 400)
    r = (np.arange(4000) + 0.5) / 4000
    density = r ** (codimension - 1) * np.exp(-0.5 * (r / s[:, None]) ** 2)
    weight = (1.0 - r * r) ** 2
    mass = density @ weight
    variance = density @ (weight * r * r) / mass / codimension
    # The derivative of w(|e|) e, averaged over directions: w + w'|e|/m.
    slope = density @ (weight - 4.0 * (1.0 - r * r) * r * r / codimension) / mass
    return s, variance, slope


def cut_noise(variance: FloatArray, cuts: FloatArray, codimension: int) -> tuple[FloatArray, FloatArray]:
    """σ² of noise that a biweight of ``cuts`` sees with ``variance`` per direction, and the slope there.

    Noise wider than the cut cannot be told: it counts as wide as the cut.
    """
    s, seen, slope = _biweight(codimension)
    inside = s <= 1.0
    level = np.interp(variance / cuts**2, seen[inside], s[inside])
    return (level * cuts) ** 2, np.interp(level, s, slope)


def cut_variance(squared: float, cuts: FloatArray, codimension: int) -> tuple[FloatArray, FloatArray]:
    """The variance per direction that a biweight of ``cuts`` sees of noise σ² = ``squared``, and the slope."""
    s, seen, slope = _biweight(codimension)
    level = np.sqrt(squared) / cuts
    return np.interp(level, s, seen) * cuts**2, np.interp(level, s, slope)
