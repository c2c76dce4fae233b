"""The local model in up to `BLOCK_DIM` dimensions, one point after the other, in compiled code: moments, fit, step.

A step of order 1 is the normal component of the mean shift; one of order 2 goes to the height c of the quadric that
fits the neighbours (see `regression`). Both shrink an offset along a normal direction e_j by about 1 − λ_j/a_n²
(exactly for Gaussian weights, where a_n = a and the derivative of m is Cov/a²; `kernels.normal_area` has a_n for the
others), so dividing by that makes the step one of Newton's. The iteration converges to the ridge.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._types import Status
from subbundle.kernels import normal_area
from subbundle.local.deviations import (
    EFFECTIVE,
    KEPT,
    LOG_MASS,
    LOST,
    NARROW,
    OFFSET,
    RESIDUAL,
    SUPPORT,
    WIDTH,
    compare,
    multiply,
    scratch,
    write_deviations,
)
from subbundle.local.gather import ball
from subbundle.local.moments import eigh, log_mass, moments, to_frame
from subbundle.local.regression import ball_sums, fitted, n_features, residual_fraction
from subbundle.local.settings import ALL, COMMON, gap_status, mass_status, width_at
from subbundle.local.steps import (
    curvature_correction,
    damp,
    far,
    mostly_tangential,
    newton,
    plain_step,
    remove_tangential,
    second_form,
    shorten,
    tilt,
)
from subbundle.local.tuning import ENOUGH, FLATNESS, NARROWER

_NOT_CONVERGED, _LEFT_SUPPORT = int(Status.NOT_CONVERGED), int(Status.LEFT_SUPPORT)


@kernel
def iterate_rows(
    tree, widths, own_widths, plan, cases, with_errors, factors, points, before, basis, values, means, forms,
    numbers, steps, status,
):  # fmt: skip
    """Move ``points`` [batch, d] by steps of the local model, in place, and write the model where the last one began.

    Parameters
    ----------
    tree : (blocks, weights, boxes, corners, n_points)
    widths, own_widths : tuple, [batch] or [0]
        The bandwidth as a function of the point (see `width_at`), or one for each row.
    plan : tuple
        `Plan.numbers`. Without steps the model is that of the point itself.
    cases : COMMON or ALL
        COMMON for a surface in R³ without landmarks. Only there the next two are None where they can be: for ALL, code
        that does everything takes less time to compile than two pieces that do not.
    with_errors : bool, or None for False
        Whether to write the sums for the standard errors.
    factors : [m], or None for none
        Falling factors of the bandwidth; a point with fewer effective neighbours than ``min_effective``, or far from
        their mean, first takes a plain step at each of them, from the smallest at which it has neighbours.
    before : [batch, d]
        The step before the next, if there was one: written after each.
    basis, values, means, forms : [batch, d, d], [batch, d], [batch, d], [batch, k (k + 1)/2, d]
        Output: tangent (tilted by the fit, for order 2) and normal directions; eigenvalues; means; II of the pairs of
        tangents.
    numbers, steps, status : [batch, COLUMNS], [batch], [batch]
        As `Output` makes them.
    """
    kernel, rank, codimension, order, reach, tol, max_steps, apart, min_effective, log_share, min_gap = plan
    dim = points.shape[1]
    found, near = np.empty(tree[0].shape[0], np.int64), np.empty((dim + 1, 0))
    work, spare = scratch(dim, rank), scratch(dim, rank)
    sigma, shift, step = np.empty((dim, dim)), np.empty(dim), np.empty(dim)
    slope, delta, start = np.empty(dim), np.empty(dim), np.empty(dim)
    for b in range(points.shape[0]):
        p, row = points[b], numbers[b]
        for i in range(dim):
            start[i] = p[i]
        row[SUPPORT] = 0.0
        continued = True
        if factors is not None:
            continued = factors.size == 0
        while steps[b] < max(max_steps, 1):
            bandwidth, typical = widths[0], widths[1]
            if cases is not COMMON:
                bandwidth, typical = width_at(widths, p, slope)
            if own_widths.size > 0:
                bandwidth = own_widths[b]
            row[WIDTH] = bandwidth
            near, count, nearest, squares, sums = ball(
                tree, p, bandwidth, kernel, reach, apart if steps[b] == 0 else -1.0, None, cases, found, near
            )
            _update_support(start, p, bandwidth, reach + nearest, row)
            mass = moments(near, count, sums, cases, shift, sigma)
            if mass <= 0.0:
                status[b] = _LEFT_SUPPORT
                break
            effective = mass * mass / squares
            if factors is not None:
                few = effective < min_effective
                if not continued and (few or far(shift, bandwidth)):
                    continued = True
                    near, started = _continuation(
                        tree, bandwidth, plan, factors, typical + log_share, cases, p, found, near, sigma, values[b],
                        basis[b], shift, step, start, row,
                    )  # fmt: skip
                    if few and not started:
                        status[b] = _LEFT_SUPPORT
                        break
                    continue
                continued = True
            row[LOG_MASS], row[EFFECTIVE] = log_mass(mass, nearest) - typical, effective
            for i in range(dim):
                means[b, i] = p[i] + shift[i]
            eigh(sigma, cases, values[b], basis[b])
            status[b] = mass_status(row[LOG_MASS], log_share)
            if status[b] == 0:
                status[b] = gap_status(values[b], rank, min_gap)
            if status[b] != 0:
                break
            steps[b] += 1
            status[b] = _NOT_CONVERGED
            plain_step(shift, basis[b], rank, step)
            residual = 0.0
            if order == 2:
                fraction, lost, residual = _fit(
                    near, count, codimension, squares, values[b], shift, basis[b], cases, mass, step, delta, work, row
                )
                for i in range(dim):
                    step[i] += fraction * delta[i]
                row[KEPT], row[LOST] = fraction, (1.0 - fraction) ** 2 * lost
            newton(values[b], basis[b], rank, normal_area(kernel, reach, rank) * bandwidth * bandwidth, step)
            row[OFFSET] = damp(step, before[b], row[OFFSET])
            done = row[OFFSET] <= tol * bandwidth
            if done or steps[b] >= max_steps:
                if order == 1:
                    _, lost, residual = _fit(
                        near, count, codimension, squares, values[b], shift, basis[b], cases, mass, step, delta,
                        work, row,
                    )  # fmt: skip
                    row[KEPT], row[LOST] = 0.0, lost
                row[RESIDUAL] = residual
                if with_errors is not None:  # noqa: SIM102 (Numba drops a branch on this alone)
                    if with_errors:
                        near = _errors(
                            tree, plan, p, squares, basis[b], cases, delta, work, spare, found, near, count, row
                        )  # fmt: skip
                second_form(work[2], basis[b], rank, bandwidth, forms[b])
                if order == 2:
                    tilt(work[2], basis[b], rank)
                    remove_tangential(basis[b], rank, forms[b])
            if max_steps > 0:
                shorten(step, bandwidth)
                for i in range(dim):
                    p[i] += step[i]
                    before[b, i] = step[i]
            if done or max_steps == 0:
                status[b] = 0
                break


@kernel
def _update_support(start, p, width, reach, numbers):
    """Enlarge the support radius about ``start`` by the ball t < ``reach`` around ``p``."""
    away = 0.0
    for i in range(p.size):
        away += (p[i] - start[i]) * (p[i] - start[i])
    numbers[SUPPORT] = max(numbers[SUPPORT], np.sqrt(away) + np.sqrt(reach) * width)


@kernel
def _fit(near, count, codimension, squares, values, shift, basis, cases, mass, step, delta, work, row):
    """Fit the quadric over the eigenvectors into ``work``; write its height minus ``step`` into ``delta``.

    Returns the fraction of that correction to apply, its squared length without noise, and Σ w |e|² / Σ w.
    """
    gram, cross, fit, tile, spare, _, _ = work
    dim, bandwidth, effective = shift.size, row[WIDTH], row[EFFECTIVE]
    rank = dim - cross.shape[1]
    if cases is not COMMON and not (rank == 2 and dim == 3):
        to_frame(near, count, basis, 1.0 / bandwidth, cases, spare)
    spread = ball_sums(near, count, values, shift, basis, mass, 1.0 / bandwidth, cases, tile, gram, cross)
    residual = fitted(gram, cross, fit, rank, mass, FLATNESS * squares / mass, spread) * bandwidth * bandwidth
    variance = residual / residual_fraction(rank, effective)
    fraction, lost = curvature_correction(fit, basis, rank, codimension, bandwidth, variance, effective, step, delta)
    return fraction, lost, residual


@kernel
def _errors(tree, plan, p, squares, basis, cases, delta, work, spare, found, near, count, row):
    """Write the sums for the standard errors into ``row``; ``near``, overwritten, is returned."""
    kernel, rank, reach = plan[0], plan[1], plan[4]
    dim, bandwidth = p.size, row[WIDTH]
    if rank == 2 and dim == 3:
        to_frame(near, count, basis, 1.0 / bandwidth, cases, work[4])
    write_deviations(near, count, rank, work, bandwidth, squares, ALL, cases, row)
    for level in range(2):
        # The effective number falls again by the same factor: where it is then too small, the window is skipped.
        if level == 1 and row[NARROW] ** 2 < ENOUGH * n_features(rank) * row[EFFECTIVE]:
            break
        width = NARROWER[level] * bandwidth
        near, count, _, squares, _ = ball(tree, p, width, kernel, reach, -1.0, None, cases, found, near)
        to_frame(near, count, basis, 1.0 / width, cases, work[4])
        compare(near, count, rank, work, spare, bandwidth, level, FLATNESS, squares, cases, row)
    for j in range(dim - rank):
        work[6][3, j] = 0.0
        for i in range(dim):
            work[6][3, j] += (1.0 - row[KEPT]) * delta[i] * basis[i, rank + j]
    multiply(work[6], row)
    return near


@kernel
def _continuation(
    tree, bandwidth, plan, factors, log_floor, cases, p, found, near, sigma, values, basis, shift, step, start, row
):
    """A plain step at each factor of the continuation; False if there is none to begin at.

    The first is the smallest at which ``p`` has enough neighbours and m − p is not mostly tangential.
    """
    kernel, rank, reach, min_effective, min_gap = plan[0], plan[1], plan[4], plan[8], plan[10]
    top = 0
    if np.isfinite(min_effective):
        top = -1
        for level in range(factors.size - 1, -1, -1):
            width = factors[level] * bandwidth
            near, count, nearest, squares, sums = ball(tree, p, width, kernel, reach, -1.0, None, cases, found, near)
            _update_support(start, p, width, reach + nearest, row)
            mass = moments(near, count, sums, cases, shift, sigma)
            if mass_status(log_mass(mass, nearest), log_floor) != 0:
                continue
            if mass * mass / squares >= min_effective:
                eigh(sigma, cases, values, basis)
                plain_step(shift, basis, rank, step)
                if not mostly_tangential(shift, step):
                    top = level
                    break
        if top < 0:
            return near, False
    for level in range(top, factors.size):
        width = factors[level] * bandwidth
        near, count, nearest, _, sums = ball(tree, p, width, kernel, reach, -1.0, None, cases, found, near)
        _update_support(start, p, width, reach + nearest, row)
        if moments(near, count, sums, cases, shift, sigma) <= 0.0:
            return near, False
        eigh(sigma, cases, values, basis)
        if gap_status(values, rank, min_gap) == 0:
            plain_step(shift, basis, rank, step)
            for i in range(p.size):
                p[i] += step[i]
    return near, True
