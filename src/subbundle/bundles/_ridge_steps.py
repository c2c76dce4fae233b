"""Whole walks onto the ridge in up to `BLOCK_DIM` dimensions, one point after the other, in compiled code.

A step of order 1 is the normal part of the mean shift; one of order 2 goes to the height c of the quadric that fits the
neighbours (see `_quadric`). For Gaussian weights both shrink an offset along a normal direction e_j by 1 − λ_j/a² (the
derivative of m is Cov/a²), so dividing by that makes the step one of Newton's.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from subbundle._types import Status
from subbundle.bundles._eigen import eigh
from subbundle.bundles._quadric import n_features, quadric_sums, solve
from subbundle.bundles._sums import moments
from subbundle.bundles._verdicts import gap_verdict, mass_verdict
from subbundle.bundles._weights import profile, weigh_within
from subbundle.cloud._build import LEAF
from subbundle.kernels import GAUSSIAN

_NOT_CONVERGED, _LEFT_SUPPORT = int(Status.NOT_CONVERGED), int(Status.LEFT_SUPPORT)

# Beyond this the division is no longer Newton's: noise as wide as the kernel leaves little to tell offsets from.
LEAST_SLOPE = 0.4
# Longest correction for curvature, in bandwidths: a cloud that bends by more than this within one has no quadric.
LONGEST_BEND = 0.5
# Longest mean shift of a point on the cloud, in bandwidths.
FURTHEST = 1.0
# Mean shifts longer than this, in bandwidths, should lead across the bundle.
ASTRAY = 0.4
# Weight of the belief that the cloud is flat, in observations: it keeps the fit sane where neighbours are few.
FLATNESS = 0.1


@nb.njit(nogil=True, cache=True)
def ridge_batch(
    tree, bandwidth, kernel, rank, codimension, order, reach, ladder, wanted, tol, max_steps, log_floor, min_gap,
    points, vectors, forms, log_mass, variance, effective, offsets, steps, status,
):  # fmt: skip
    """Carry ``points`` [batch, d] onto the ridge, in place.

    ``codimension`` is the number of normal directions that the data has. ``ladder`` [m] holds falling factors of the
    bandwidth; a point with fewer effective neighbours than ``wanted``, or far from their mean, takes a plain step at
    each of them first, from the smallest at which it is not alone. Written are, where the last step began: ``vectors``
    [batch, d, d], tangent (tilted by the fit, for order 2) and normal; ``forms`` [batch, k (k + 1)/2, d], II of the
    pairs of tangents; log kernel masses; ``variance``, of the neighbours about the fit, summed over normal directions;
    effective numbers of neighbours; and the length and number of steps.
    """
    dim = points.shape[1]
    n_leaves = tree[0].shape[0]
    found = np.empty(n_leaves, np.int64)
    phi, psi = np.empty((n_leaves, LEAF)), np.empty((n_leaves, LEAF))
    size = n_features(rank)
    gram, cross, fit = np.empty((size, size)), np.empty((size, dim - rank)), np.empty((size, dim - rank))
    sigma, values, shift, step = np.empty((dim, dim)), np.empty(dim), np.empty(dim), np.empty(dim)
    before = np.zeros(dim)
    for b in range(points.shape[0]):
        p, basis = points[b], vectors[b]
        status[b] = _NOT_CONVERGED
        offsets[b] = np.inf
        log_mass[b] = -np.inf
        climbed = ladder.size == 0
        steps[b] = 0
        while steps[b] < max_steps:
            count, nearest = weigh_within(tree, p, bandwidth, kernel, reach, -1.0, found, phi, psi)
            weights = profile(kernel, phi, psi)
            mass = _local(tree[0], found, count, weights, p, shift, sigma)
            if mass <= 0.0:
                status[b] = _LEFT_SUPPORT
                break
            if not climbed:
                climbed = True
                few = _effective(weights, count) < wanted
                if few or far(shift, bandwidth):
                    if _descend(
                        tree, bandwidth, kernel, rank, reach, ladder, wanted, log_floor, min_gap, p,
                        found, phi, psi, sigma, values, basis, shift, step,
                    ):  # fmt: skip
                        continue
                    if few:
                        status[b] = _LEFT_SUPPORT
                        break
                    continue
            log_mass[b] = np.log(mass) - 0.5 * nearest
            status[b] = mass_verdict(log_mass[b], log_floor)
            if status[b] != 0:
                break
            eigh(sigma, values, basis)
            status[b] = gap_verdict(values, rank, min_gap)
            if status[b] != 0:
                break
            status[b] = _NOT_CONVERGED
            plain_step(shift, basis, rank, step)
            if order == 2:
                squares, spread = quadric_sums(
                    tree[0], found, count, weights, p, basis, values, shift, mass, 1.0 / bandwidth, gram, cross
                )
                variance[b] = fitted(gram, cross, fit, rank, mass, squares, spread) * bandwidth * bandwidth
                _corrected_step(fit, basis, rank, codimension, bandwidth, variance[b], mass * mass / squares, step)
            if kernel == GAUSSIAN:
                _newton(values, basis, rank, bandwidth, step)
            offsets[b] = _settle(step, before, offsets[b])
            steps[b] += 1
            done = offsets[b] <= tol
            if done or steps[b] == max_steps:
                if order == 1:
                    squares, spread = quadric_sums(
                        tree[0], found, count, weights, p, basis, values, shift, mass, 1.0 / bandwidth, gram, cross
                    )
                    variance[b] = fitted(gram, cross, fit, rank, mass, squares, spread) * bandwidth * bandwidth
                effective[b] = mass * mass / squares
                _second_form(fit, basis, rank, bandwidth, forms[b])
                if order == 2:
                    _tilt(fit, basis, rank)
                    _press(basis, rank, forms[b])
            for i in range(dim):
                p[i] += step[i]
                before[i] = step[i]
            if done:
                status[b] = 0
                break


@nb.njit(nogil=True, cache=True)
def _effective(weights, count):
    """(Σ w)² / Σ w²."""
    mass, squares = 0.0, 0.0
    for c in range(count):
        for i in range(LEAF):
            mass += weights[c, i]
            squares += weights[c, i] * weights[c, i]
    return mass * mass / squares if squares > 0.0 else 0.0


@nb.njit(nogil=True, cache=True)
def far(shift, bandwidth):
    """Whether the local mean is further off than it can be on a sheet or at its straight border (0.8 a)."""
    total = 0.0
    for i in range(shift.size):
        total += shift[i] * shift[i]
    return total > (FURTHEST * bandwidth) ** 2


@nb.njit(nogil=True, cache=True)
def beside(shift, step, bandwidth):
    """Whether the way to the local mean lies in the bundle; ``step`` is the part of ``shift`` across it.

    So it is at a point off the cloud that has a weight of its own. Short shifts say nothing.
    """
    total, across = 0.0, 0.0
    for i in range(shift.size):
        total += shift[i] * shift[i]
        across += step[i] * step[i]
    return total > (ASTRAY * bandwidth) ** 2 and across < 0.5 * total


@nb.njit(nogil=True, cache=True)
def _descend(
    tree, bandwidth, kernel, rank, reach, ladder, wanted, log_floor, min_gap, p,
    found, phi, psi, sigma, values, basis, shift, step,
):  # fmt: skip
    """A plain step at each factor of the ladder; False if there is none to begin at.

    That is the smallest at which ``p`` has neighbours enough and its mean lies across the bundle.
    """
    top = 0
    if np.isfinite(wanted):
        top = -1
        for level in range(ladder.size - 1, -1, -1):
            width = ladder[level] * bandwidth
            count, nearest = weigh_within(tree, p, width, kernel, reach, -1.0, found, phi, psi)
            weights = profile(kernel, phi, psi)
            mass = _local(tree[0], found, count, weights, p, shift, sigma)
            # Weights are relative to the nearest observation, however far that is.
            if mass <= 0.0 or mass_verdict(np.log(mass) - 0.5 * nearest, log_floor) != 0:
                continue
            if _effective(weights, count) >= wanted:
                eigh(sigma, values, basis)
                plain_step(shift, basis, rank, step)
                if not beside(shift, step, width):
                    top = level
                    break
        if top < 0:
            return False
    for level in range(top, ladder.size):
        count, _ = weigh_within(tree, p, ladder[level] * bandwidth, kernel, reach, -1.0, found, phi, psi)
        if _local(tree[0], found, count, profile(kernel, phi, psi), p, shift, sigma) <= 0.0:
            return False
        eigh(sigma, values, basis)
        if gap_verdict(values, rank, min_gap) == 0:
            plain_step(shift, basis, rank, step)
            for i in range(p.size):
                p[i] += step[i]
    return True


@nb.njit(nogil=True, cache=True)
def _local(blocks, found, count, weights, p, shift, sigma):
    """Write m − p and the second moment about m; return the mass."""
    mass = moments(blocks, found, count, weights, p, shift, sigma)
    if mass <= 0.0:
        return 0.0
    for i in range(p.size):
        shift[i] /= mass
    for i in range(p.size):
        for j in range(p.size):
            sigma[i, j] = sigma[i, j] / mass - shift[i] * shift[j]
    return mass


@nb.njit(nogil=True, cache=True)
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


@nb.njit(nogil=True, cache=True)
def fitted(gram, cross, fit, rank, mass, squares, spread):
    """Solve for the quadric; return the variance about it, summed over normal directions, corrected for the fit.

    Of neighbours on a plane with Gaussian weights, the fit takes up 1 + k/2 + k(k − 1)/8 + 3k/8 observations out of
    n_eff: the expectation of fᵀG⁻¹f, which is a sum of squared Hermite polynomials, under the squared weights.
    """
    size, columns = cross.shape
    for f in range(size):
        for c in range(columns):
            fit[f, c] = cross[f, c]
    penalty = FLATNESS * squares / mass
    solve(gram, penalty, 1 + rank, fit)
    for f in range(size):
        for c in range(columns):
            spread -= fit[f, c] * (cross[f, c] + (penalty * fit[f, c] if f > rank else 0.0))
    used = (1.0 + 0.5 * rank + 0.125 * rank * (rank - 1.0) + 0.375 * rank) * squares / (mass * mass)
    return max(spread, 0.0) / mass / max(1.0 - used, 0.1)


@nb.njit(nogil=True, cache=True)
def bend_variance(rank, effective):
    """Variance of the correction for curvature along one normal direction, in variances of the neighbours.

    On a plane with Gaussian weights the correction has the weights −w_n Σ_a (u_a² − 1)/2; this is the sum of their
    squares.
    """
    return (0.1875 * rank + 0.0625 * rank * (rank - 1.0)) / effective


@nb.njit(nogil=True, cache=True)
def kept_part(squared, variance, rank, codimension, effective, bandwidth):
    """Part of a correction of length² ``squared`` to keep, when its noise has ``variance`` along each normal direction.

    In three or more normal directions shrinking it as Stein's estimator of a mean does lowers the expected error,
    whatever the curvature: in many, the noise of the correction is longer than the correction. Between as many
    effective neighbours as the quadric has coefficients, which say nothing, and twice as many, it is phased in.
    """
    size = n_features(rank)
    known = max(min((effective - size) / size, 1.0), 0.0)
    if squared <= 0.0:
        return known
    part = 1.0 - max(codimension - 2.0, 0.0) * variance / squared
    return known * max(min(part, LONGEST_BEND * bandwidth / np.sqrt(squared)), 0.0)


@nb.njit(nogil=True, cache=True)
def _corrected_step(fit, basis, rank, codimension, bandwidth, variance, effective, step):
    """Go from the plain step towards the height of the quadric; ``variance`` is that of the neighbours about it."""
    dim = step.size
    total = 0.0
    for i in range(dim):
        height = 0.0
        for j in range(dim - rank):
            height += basis[i, rank + j] * fit[0, j]
        total += (bandwidth * height - step[i]) ** 2
    noise = bend_variance(rank, effective) * variance / codimension
    part = kept_part(total, noise, rank, codimension, effective, bandwidth)
    for i in range(dim):
        height = 0.0
        for j in range(dim - rank):
            height += basis[i, rank + j] * fit[0, j]
        step[i] += part * (bandwidth * height - step[i])


@nb.njit(nogil=True, cache=True)
def _newton(values, basis, rank, bandwidth, step):
    """Divide the normal components of the step by 1 − λ_j/a²."""
    dim = step.size
    for j in range(rank, dim):
        along = 0.0
        for i in range(dim):
            along += basis[i, j] * step[i]
        along *= 1.0 / max(1.0 - values[j] / (bandwidth * bandwidth), LEAST_SLOPE) - 1.0
        for i in range(dim):
            step[i] += along * basis[i, j]


@nb.njit(nogil=True, cache=True)
def _settle(step, before, length_before):
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


@nb.njit(nogil=True, cache=True)
def _second_form(fit, basis, rank, bandwidth, forms):
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


@nb.njit(nogil=True, cache=True)
def _tilt(fit, basis, rank):
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


@nb.njit(nogil=True, cache=True)
def _press(basis, rank, forms):
    """Take the tangential part out of the rows of ``forms``."""
    for pair in range(forms.shape[0]):
        for a in range(rank):
            along = 0.0
            for i in range(basis.shape[0]):
                along += basis[i, a] * forms[pair, i]
            for i in range(basis.shape[0]):
                forms[pair, i] -= along * basis[i, a]
