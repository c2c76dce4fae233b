"""A step to the ridge at one point: plain and corrected, Newton's division, and the second form of the fit.

``basis`` [d, d] holds the eigenvectors of the local second moment as columns, the bundle first; ``fit`` [q, d − k] the
coefficients of the quadric in bandwidths, see `regression`.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.local.regression import n_features
from subbundle.local.tuning import LEAST_SLOPE, LONGEST_BEND


@kernel
def plain_step(shift, basis, rank, step):
    """(I − P)(m − p)."""
    for i in range(shift.size):
        step[i] = shift[i]
    for a in range(rank):
        along = 0.0
        for i in range(shift.size):
            along += basis[i, a] * shift[i]
        for i in range(shift.size):
            step[i] -= along * basis[i, a]


@kernel
def far(shift, bandwidth):
    """Whether |m − p| > a. At the straight border of a sheet |m − p| is 0.8 a."""
    total = 0.0
    for i in range(shift.size):
        total += shift[i] * shift[i]
    return total > bandwidth * bandwidth


@kernel
def mostly_tangential(shift, step):
    """Whether m − p = ``shift`` is mostly tangential; ``step`` is its normal component.

    It is at an outlier, which has a weight of its own.
    """
    total, across = 0.0, 0.0
    for i in range(shift.size):
        total += shift[i] * shift[i]
        across += step[i] * step[i]
    return across < 0.5 * total


@kernel
def correction_variance(rank, effective):
    """Variance of the correction for curvature along one normal direction, in units of the residual variance.

    On a plane with Gaussian weights the correction has the weights −w_n Σ_a (u_a² − 1)/2; this is the sum of their
    squares.
    """
    return (0.1875 * rank + 0.0625 * rank * (rank - 1.0)) / effective


@kernel
def kept_fraction(squared, variance, rank, codimension, effective, bandwidth):
    """Fraction to keep of a correction of length² ``squared``, whose noise has ``variance`` along a normal direction.

    In three or more normal directions Stein's shrinkage lowers the expected error, whatever the curvature: in many,
    the noise of the correction is longer than the correction. The correction is phased in linearly between n_eff =
    number of coefficients, which determine nothing, and twice that.
    """
    size = n_features(rank)
    known = max(min((effective - size) / size, 1.0), 0.0)
    if squared <= 0.0:
        return known
    fraction = 1.0 - max(codimension - 2.0, 0.0) * variance / squared
    return known * max(min(fraction, LONGEST_BEND * bandwidth / np.sqrt(squared)), 0.0)


@kernel
def curvature_correction(fit, basis, rank, codimension, bandwidth, variance, effective, step, delta):
    """Write the height of the quadric minus the plain ``step`` into ``delta``.

    ``variance`` is that of the neighbours about the quadric. Returns the fraction of the correction to apply, and its
    squared length without noise.
    """
    dim = step.size
    total = 0.0
    for i in range(dim):
        height = 0.0
        for j in range(dim - rank):
            height += basis[i, rank + j] * fit[0, j]
        delta[i] = bandwidth * height - step[i]
        total += delta[i] * delta[i]
    noise = correction_variance(rank, effective) * variance / codimension
    fraction = kept_fraction(total, noise, rank, codimension, effective, bandwidth)
    return fraction, max(total - codimension * noise, 0.0)


@kernel
def newton(values, basis, rank, area, step):
    """Divide the normal components of the step by 1 − λ_j/a_n², ``area`` = a_n²."""
    dim = step.size
    for j in range(rank, dim):
        along = 0.0
        for i in range(dim):
            along += basis[i, j] * step[i]
        along *= 1.0 / max(1.0 - values[j] / area, LEAST_SLOPE) - 1.0
        for i in range(dim):
            step[i] += along * basis[i, j]


@kernel
def damp(step, before, length_before):
    """Halve a step that is opposed to the previous one and longer than half of it; return its length."""
    total, turned = 0.0, 0.0
    for i in range(step.size):
        total += step[i] * step[i]
        turned += step[i] * before[i]
    length = np.sqrt(total)
    if np.isfinite(length_before) and turned < 0.0 and length > 0.5 * length_before:
        for i in range(step.size):
            step[i] *= 0.5
        length *= 0.5
    return length


@kernel
def shorten(step, longest):
    """Limit a step to the length ``longest``: the model holds only within its window."""
    total = 0.0
    for i in range(step.size):
        total += step[i] * step[i]
    if total > longest * longest:
        for i in range(step.size):
            step[i] *= longest / np.sqrt(total)


@kernel
def second_form(fit, basis, rank, bandwidth, forms):
    """II(e_a, e_b), a ≤ b, as vectors of R^d."""
    dim = basis.shape[0]
    pair = 0
    for a in range(rank):
        for b in range(a, rank):
            factor = (2.0 if a == b else 1.0) / bandwidth
            for i in range(dim):
                forms[pair, i] = 0.0
                for j in range(dim - rank):
                    forms[pair, i] += factor * fit[1 + rank + pair, j] * basis[i, rank + j]
            pair += 1


@kernel
def tilt(fit, basis, rank):
    """Replace the basis by that of the quadric's tangent space e_a + Σ b_ja e_j at p: Gram–Schmidt, tangents first."""
    dim = basis.shape[0]
    for a in range(rank):
        for i in range(dim):
            for j in range(dim - rank):
                basis[i, a] += fit[1 + a, j] * basis[i, rank + j]
    for m in range(dim):
        for _ in range(2):
            for l in range(m):  # noqa: E741
                overlap = 0.0
                for i in range(dim):
                    overlap += basis[i, l] * basis[i, m]
                for i in range(dim):
                    basis[i, m] -= overlap * basis[i, l]
        total = 0.0
        for i in range(dim):
            total += basis[i, m] * basis[i, m]
        for i in range(dim):
            basis[i, m] /= np.sqrt(total)


@kernel
def remove_tangential(basis, rank, forms):
    """Remove the tangential component of the rows of ``forms``."""
    for pair in range(forms.shape[0]):
        for a in range(rank):
            along = 0.0
            for i in range(basis.shape[0]):
                along += basis[i, a] * forms[pair, i]
            for i in range(basis.shape[0]):
                forms[pair, i] -= along * basis[i, a]
