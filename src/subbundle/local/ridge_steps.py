"""Whole walks onto the ridge in up to `BLOCK_DIM` dimensions, one point after the other, in compiled code.

A step of order 1 is the normal part of the mean shift; one of order 2 goes to the height c of the quadric that fits the
neighbours (see `quadric_sums`). For Gaussian weights both shrink an offset along a normal direction e_j by 1 − λ_j/a²
(the derivative of m is Cov/a²), so dividing by that makes the step one of Newton's.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._types import Status
from subbundle.cloud._build import LEAF
from subbundle.kernels import GAUSSIAN
from subbundle.local._ridge_parts import (
    beside,
    corrected_step,
    far,
    newton,
    plain_step,
    press,
    second_form,
    settle,
    tilt,
)  # fmt: skip
from subbundle.local.eigen import eigh
from subbundle.local.quadric_sums import fitted, n_features, quadric_sums
from subbundle.local.sums import moments
from subbundle.local.verdicts import gap_verdict, mass_verdict
from subbundle.local.weights import profile, weigh_within
from subbundle.local.widths import width_at

_NOT_CONVERGED, _LEFT_SUPPORT = int(Status.NOT_CONVERGED), int(Status.LEFT_SUPPORT)


@kernel
def ridge_batch(
    tree, widths, kernel, rank, codimension, order, reach, ladder, wanted, tol, max_steps, log_share, min_gap,
    points, vectors, forms, log_mass, variance, effective, offsets, steps, status,
):  # fmt: skip
    """Carry ``points`` [batch, d] onto the ridge, in place.

    ``codimension`` is the number of normal directions that the data has. ``ladder`` [m] holds falling factors of the
    bandwidth; a point with fewer effective neighbours than ``wanted``, or far from their mean, takes a plain step at
    each of them first, from the smallest at which it is not alone. Written are, where the last step began: ``vectors``
    [batch, d, d], tangent (tilted by the fit, for order 2) and normal; ``forms`` [batch, k (k + 1)/2, d], II of the
    pairs of tangents; log kernel masses, relative to the typical ones there; ``variance``, of the neighbours about the
    fit, summed over normal directions; effective numbers of neighbours; and the length and number of steps.
    """
    dim = points.shape[1]
    n_leaves = tree[0].shape[0]
    found = np.empty(n_leaves, np.int64)
    phi, psi = np.empty((n_leaves, LEAF)), np.empty((n_leaves, LEAF))
    size = n_features(rank)
    gram, cross, fit = np.empty((size, size)), np.empty((size, dim - rank)), np.empty((size, dim - rank))
    sigma, values, shift, step = np.empty((dim, dim)), np.empty(dim), np.empty(dim), np.empty(dim)
    before, slope = np.zeros(dim), np.empty(dim)
    for b in range(points.shape[0]):
        p, basis = points[b], vectors[b]
        status[b] = _NOT_CONVERGED
        offsets[b] = np.inf
        log_mass[b] = -np.inf
        climbed = ladder.size == 0
        steps[b] = 0
        while steps[b] < max_steps:
            bandwidth, typical = width_at(widths, p, slope)
            log_floor = typical + log_share
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
            log_mass[b] = np.log(mass) - 0.5 * nearest - typical
            status[b] = mass_verdict(log_mass[b], log_share)
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
                corrected_step(fit, basis, rank, codimension, bandwidth, variance[b], mass * mass / squares, step)
            if kernel == GAUSSIAN:
                newton(values, basis, rank, bandwidth, step)
            offsets[b] = settle(step, before, offsets[b])
            steps[b] += 1
            done = offsets[b] <= tol
            if done or steps[b] == max_steps:
                if order == 1:
                    squares, spread = quadric_sums(
                        tree[0], found, count, weights, p, basis, values, shift, mass, 1.0 / bandwidth, gram, cross
                    )
                    variance[b] = fitted(gram, cross, fit, rank, mass, squares, spread) * bandwidth * bandwidth
                effective[b] = mass * mass / squares
                second_form(fit, basis, rank, bandwidth, forms[b])
                if order == 2:
                    tilt(fit, basis, rank)
                    press(basis, rank, forms[b])
            for i in range(dim):
                p[i] += step[i]
                before[i] = step[i]
            if done:
                status[b] = 0
                break


@kernel
def _effective(weights, count):
    """(Σ w)² / Σ w²."""
    mass, squares = 0.0, 0.0
    for c in range(count):
        for i in range(LEAF):
            mass += weights[c, i]
            squares += weights[c, i] * weights[c, i]
    return mass * mass / squares if squares > 0.0 else 0.0


@kernel
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


@kernel
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
