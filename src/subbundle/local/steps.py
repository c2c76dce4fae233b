"""A step onto the ridge at one point: plain and corrected, Newton's division, and the second form of the fit.

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
    """Whether the local mean is further off than a bandwidth: at the straight border of a sheet it is off by 0.8."""
    total = 0.0
    for i in range(shift.size):
        total += shift[i] * shift[i]
    return total > bandwidth * bandwidth


@kernel
def beside(shift, step):
    """Whether the way to the local mean lies in the bundle; ``step`` is the component of ``shift`` across it.

    So it is at a point off the cloud that has a weight of its own.
    """
    total, across = 0.0, 0.0
    for i in range(shift.size):
        total += shift[i] * shift[i]
        across += step[i] * step[i]
    return across < 0.5 * total


@kernel
def bend_variance(rank, effective):
    """Variance of the correction for curvature along one normal direction, in variances of the neighbours.

    On a plane with Gaussian weights the correction has the weights −w_n Σ_a (u_a² − 1)/2; this is the sum of their
    squares.
    """
    return (0.1875 * rank + 0.0625 * rank * (rank - 1.0)) / effective


@kernel
def kept_part(squared, variance, rank, codimension, effective, bandwidth):
    """Fraction to keep of a correction of length² ``squared``, whose noise has ``variance`` along a normal direction.

    In three or more normal directions shrinking it as Stein's estimator of a mean does lowers the expected error,
    whatever the curvature: in many, the noise of the correction is longer than the correction. Between as many
    effective neighbours as the quadric has coefficients, which determine nothing, and twice as many, it is phased in.
    """
    size = n_features(rank)
    known = max(min((effective - size) / size, 1.0), 0.0)
    if squared <= 0.0:
        return known
    part = 1.0 - max(codimension - 2.0, 0.0) * variance / squared
    return known * max(min(part, LONGEST_BEND * bandwidth / np.sqrt(squared)), 0.0)


@kernel
def curvature_correction(fit, basis, rank, codimension, bandwidth, variance, effective, step, bend):
    """Write the way from the plain ``step`` to the height of the quadric into ``bend``.

    ``variance`` is that of the neighbours about the quadric. Returns which fraction of the way to go, and the square of
    what of it is no noise.
    """
    dim = step.size
    total = 0.0
    for i in range(dim):
        height = 0.0
        for j in range(dim - rank):
            height += basis[i, rank + j] * fit[0, j]
        bend[i] = bandwidth * height - step[i]
        total += bend[i] * bend[i]
    noise = bend_variance(rank, effective) * variance / codimension
    part = kept_part(total, noise, rank, codimension, effective, bandwidth)
    return part, max(total - codimension * noise, 0.0)


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
def settle(step, before, length_before):
    """Halve a step that turns back by more than half of the one before; return its length."""
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
    """Cut a step to the length ``longest``: beyond the window that it was seen in nothing is known."""
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
    """Turn the basis into that of the quadric's tangent space e_a + Σ b_ja e_j at p: Gram–Schmidt, tangents first."""
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
def press(basis, rank, forms):
    """Take the tangential component out of the rows of ``forms``."""
    for pair in range(forms.shape[0]):
        for a in range(rank):
            along = 0.0
            for i in range(basis.shape[0]):
                along += basis[i, a] * forms[pair, i]
            for i in range(basis.shape[0]):
                forms[pair, i] -= along * basis[i, a]
