"""From the sums of `deviations` to noise and standard errors.

Within a window noise of variance σ² has a smaller variance: v = σ²a²/(a² + σ²) under Gaussian weights. An offset
changes the height by less than itself, by the factor *slope* 1 − v/a², so at convergence the standard error is that of
the height over the slope.

With s the standard error from noise along one of m normal directions and b the bias, the offset is N(b, S) with s² in
all directions but that of b, where the bias is uncertain too. The position's error is 1/1.96 of the 95 % quantile of
its length, by Jensen and Solomon's approximation to quadratic forms (Sankaran's to the noncentral χ², if S = s² I).
"""

from __future__ import annotations

import numpy as np

from subbundle._numbers import MEDIAN_SQUARE, SINGULAR
from subbundle._types import BoolArray, FloatArray
from subbundle.kernels import normal_area
from subbundle.local import deviations as of
from subbundle.local.bias import bias as expected_bias
from subbundle.local.regression import degrees_of_freedom, n_features
from subbundle.local.settings import Plan
from subbundle.local.tuning import ENOUGH, LEAST_SLOPE, NARROWER

# Variance of a quadric's height on an evenly sampled plane under Gaussian weights, in units of (M⁻¹)_00.
PLANE_GAIN = 0.625
# Largest loss of the exponent k at a straight border, 1.17 bandwidths from it: the maximum of x (2 φ(x)/Φ(x) − √2 φ(√2
# x)/Φ(√2 x)), by which n_eff ∝ a^k Φ(x)²/Φ(√2 x), x the distance over a, grows more slowly.
BORDER = 0.36
# Quantiles of the standard normal: two-sided and one-sided 95 %.
TWO_SIDED, _ONE_SIDED = 1.959964, 1.644854


def errors_of(columns: FloatArray, plan: Plan) -> dict[str, FloatArray]:
    """Noise and standard errors from the ``columns`` [COLUMNS, n] of the iteration over balls."""
    m, k, area, effective = plan.codimension, plan.rank, columns[of.WIDTH] ** 2, columns[of.EFFECTIVE]
    variances, allowed, reliable = _variances(columns, plan)
    windows = normal_area(plan.kernel, plan.reach, k) * area * np.array([[1.0], *([f * f] for f in NARROWER)])
    levels = widened(variances, windows)
    noise = np.sqrt(levels[0])
    if not plan.errors:
        return {"noise": noise}
    level = np.where(reliable, levels * allowed, np.inf).min(axis=0)
    below = narrowed(level, windows)
    slopes = np.maximum(1.0 - below / windows, LEAST_SLOPE)
    # The mean has the variance 1/n_eff; that of the quadric is added with the applied fraction of its correction.
    plain = 1.0 / effective
    gain = (plain + columns[of.KEPT] ** 2 * (columns[of.HEIGHT] - plain)) / slopes[0] ** 2
    position = np.maximum(below[0] * gain, SINGULAR * SINGULAR * area)
    # Residual variance beyond noise is lack of fit. At the best bandwidth the squared bias is k/8 of the variance in
    # the mean over a cloud, for a bias of the fourth order; the scale of ω is its median, and that of a squared normal
    # is `MEDIAN_SQUARE` of its mean.
    sure = 1.0 + np.sqrt(2.0 / (m * np.maximum(effective - 1.0, 1.0)))
    scale = np.sqrt(m * (MEDIAN_SQUARE * k / 8.0 + np.maximum(variances[0] - below[0] * sure, 0.0) / position))
    deviations, products, moved = _observations(columns, below, slopes, reliable, level)
    lost = np.maximum(columns[of.LOST] / slopes[0] ** 2 + moved, 0.0)
    bias, along = expected_bias(k, m, deviations, products, lost, position, scale)
    along = along + _missing(columns, k) * m * variances[0]
    return {
        "noise": noise,
        "position_error": radius95(position, bias, m, along) / TWO_SIDED,
        "tangent_error": np.sqrt(m * below[0] * columns[of.SLOPES] / area),
    }


def _missing(columns: FloatArray, rank: int) -> FloatArray:
    """Evidence [n] that the window holds no sheet through the point: 0, none, to 1, the fraction of the residuals' mean
    square that its offset may have.

    On a sheet of dimension k the effective number of neighbours grows with the bandwidth as a^k, with a straight border
    nearby as a^(k − 0.36) at least. In a window wider than a tube, or between bent sheets, the observations lie around
    the point, their weights hardly fall, and it grows more slowly: by a whole dimension in the middle of a tube.
    """
    step = -np.log(NARROWER[0])
    with np.errstate(invalid="ignore", divide="ignore"):
        missing = rank + np.log(columns[of.NARROW] / columns[of.EFFECTIVE]) / step
        # Standard error of that on a plane: the narrower window has its neighbours in common with the other.
        chance = np.sqrt((NARROWER[0] ** -rank - 1.0) / columns[of.EFFECTIVE]) / step
        return np.asarray(np.nan_to_num(np.clip((missing - chance - BORDER) / (1.0 - BORDER), 0.0, 1.0)))


def _variances(columns: FloatArray, plan: Plan) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Variance per normal direction about the quadric in each window [3, n], one plus its relative standard error, and
    where it has enough neighbours.

    Lack of fit adds to the residuals, less so in narrower windows. Their estimates are noisier, so they are used only
    where they are lower by more than their standard error.
    """
    m, k = plan.codimension, plan.rank
    effective = np.stack([columns[of.EFFECTIVE], *columns[of.NARROW : of.PRODUCTS : 3]])
    residual = np.stack([columns[of.RESIDUAL], *columns[of.NARROW + 1 : of.PRODUCTS : 3]])
    with np.errstate(invalid="ignore", divide="ignore"):
        free = np.maximum(1.0 - degrees_of_freedom(k) / effective, 1.0 / effective)
        variances, allowed = residual / m / free, 1.0 + np.sqrt(2.0 / (m * free * effective))
        reliable = effective > ENOUGH * n_features(k)
    allowed[0], reliable[0] = 1.0, True
    return variances, allowed, reliable


def _observations(
    columns: FloatArray, below: FloatArray, slopes: FloatArray, reliable: BoolArray, level: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Deviations [n, 4] and products [n, 9] for `bias`, in terms of offsets: heights over the slope of the window.

    Noise σ² along the tangent space, too, moves the mean to the concave side, by ½ σ² tr II. That counts like a
    correction that was not applied: what it adds to the square of that one is returned last.
    """
    gains = np.stack([columns[of.HEIGHT], *columns[of.NARROW + 2 : of.PRODUCTS : 3], columns[of.BEYOND]])
    rows = [0, 1, 2, 0]
    with np.errstate(invalid="ignore"):
        # A quartic that the neighbours do not determine has no variance and no estimate.
        found = np.stack([*reliable, columns[of.BEYOND] > 0.0]) & (gains >= 0.0)
        deviations = np.where(found, np.sqrt(below[rows] * gains) / slopes[rows], np.inf)
    by, products = 1.0 / slopes[[1, 2, 0]], columns[of.PRODUCTS : of.COLUMNS]
    pairs = [by[i] * by[j] for i in range(3) for j in range(i, 3)]
    lost = by * (products[6:9] / slopes[0] - level * products[9:12])
    moved = level * (level * products[13] - 2.0 * products[12] / slopes[0])
    return deviations.T, np.ascontiguousarray(np.vstack([products[:6] * np.stack(pairs), lost]).T), moved


def widened(variance: FloatArray, area: FloatArray) -> FloatArray:
    """σ² of noise whose variance within a Gaussian window of bandwidth² ``area`` is ``variance``."""
    return np.asarray(variance * area / np.maximum(area - variance, LEAST_SLOPE * area))


def narrowed(squared: FloatArray, area: FloatArray) -> FloatArray:
    """Variance within a Gaussian window of noise σ² = ``squared``."""
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
