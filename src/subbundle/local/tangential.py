"""Robust local quadrics over the tangent planes of a surface in R³, one row at a time.

Around p with the orthonormal basis E, tangents first, the observations have tangential coordinates τ, in bandwidths,
and normal ones z. The quadric is fitted with the weights

    w = v_n exp(−|τ|²/2) (1 − |e|²/cut²)²₊,       e the residual from the quadric of the round before,

where τ_1, the direction of small curvature, is divided by a stretch first. A window in τ alone gives noisy observations
the full weight, which a ball does not; the biweight excludes other sheets and outliers. Over its tangent space an arc
is no parabola: with A the shape operator, a surface of constant curvature has the height

    ½ II(τ, τ) · 2/(1 + √(1 − |A τ|²)),

exact for spheres and tubes. Its excess over ½ II(τ, τ), with II from the round before, is subtracted from z, so that
wide windows do not flatten spheres and tubes. After every round p moves by c, and E is tilted to the fitted tangents.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import NOTICEABLE
from subbundle._types import Status
from subbundle.local.deviations import (
    EFFECTIVE,
    LOG_MASS,
    OFFSET,
    RESIDUAL,
    WIDTH,
    scratch,
    write_deviations,
)  # fmt: skip
from subbundle.local.regression import fitted, quadric_sums
from subbundle.local.settings import COMMON
from subbundle.local.steps import second_form, shorten, tilt
from subbundle.local.tuning import LONGEST_BEND, TANGENTIAL_REACH
from subbundle.local.windows import covers, gathered, weigh

_LEFT_SUPPORT, _OK = int(Status.LEFT_SUPPORT), int(Status.OK)


@kernel
def robust_rows(tree, widths, cuts, stretches, rounds, points, basis, forms, numbers, steps, status):
    """Move ``points`` [batch, 3] by ``rounds`` rounds, in place; ``basis`` [batch, 3, 3] holds E, and is tilted.

    ``widths``, ``cuts``, ``stretches`` [batch]. ``forms`` [batch, pairs, 3], ``numbers`` as in `iterate_rows`.
    Where the neighbours determine no quadric the row stays as it was, with the status LEFT_SUPPORT.
    """
    found = np.empty(tree[0].shape[0], np.int64)
    raw, near = np.empty((4, 0), np.float32), np.empty((4, 0), np.float32)
    work = scratch(3, 2)
    gram, cross, fit, tile, _, _, _ = work
    p, frame, step, start, first = np.empty(3), np.empty((3, 3)), np.empty(3), np.empty(3), np.empty((3, 3))
    count, height = 0, 0.0
    for b in range(points.shape[0]):
        a, cut, stretch = widths[b], cuts[b], stretches[b]
        _copy(points[b], basis[b], p, frame)
        for f in range(6):
            fit[f, 0] = 0.0
        row = numbers[b]
        row[WIDTH], row[OFFSET] = a, 0.0
        status[b] = _OK
        for turn in range(rounds):
            wide = cut + LONGEST_BEND * a if turn == 0 else cut
            sag = _sag(fit, a, stretch)
            # Only in the first round, whose heights were not corrected for arcs, is the second form too large.
            shrink = _shrink(fit) if turn == 1 else 1.0
            if turn == 0 or not covers(p, frame, start, first, TANGENTIAL_REACH * a * stretch, height - cut - sag):
                height = wide + max(sag, a)
                raw, near, count = gathered(tree, found, p, frame, a, stretch, height, raw, near)
                _copy(p, frame, start, first)
            squares = weigh(raw, count, start, first, p, frame, a, stretch, wide / a, fit, shrink, near)
            spread = quadric_sums(near, count, 2, COMMON, tile, gram, cross)
            mass = gram[0, 0]
            if mass > 0.0:
                residual = fitted(gram, cross, fit, 2, mass, 0.0, spread)
            if not mass > 0.0 or not _determined(gram, mass):
                status[b] = _LEFT_SUPPORT
                break
            row[LOG_MASS] = np.log(mass)
            row[RESIDUAL], row[EFFECTIVE] = residual * a * a, mass * mass / squares
            if turn == rounds - 1:
                write_deviations(near, count, 2, work, a, squares, None, COMMON, row)
            steps[b] += 1
            for i in range(3):
                step[i] = a * fit[0, 0] * frame[i, 2]
            row[OFFSET] = a * abs(fit[0, 0])
            shorten(step, wide)
            for i in range(3):
                p[i] += step[i]
            tilt(fit, frame, 2)
            for f in range(3):
                fit[f, 0] = 0.0
        if status[b] == _OK:
            second_form(fit, frame, 2, a, forms[b])
            _copy(p, frame, points[b], basis[b])


@kernel
def _copy(p, frame, other, axes):
    """Write a point and its frame into ``other`` [3], ``axes`` [3, 3]."""
    for i in range(3):
        other[i] = p[i]
        for j in range(3):
            axes[i, j] = frame[i, j]


@kernel
def _sag(fit, a, stretch):
    """Sagitta of the quadric in its window, taken as a disc: it is stretched along the direction of small curvature."""
    steepest = 0.5 * abs(fit[3, 0] + fit[5, 0]) + 0.5 * np.hypot(fit[3, 0] - fit[5, 0], fit[4, 0])
    return a * min(TANGENTIAL_REACH * TANGENTIAL_REACH * steepest, 2.0 * TANGENTIAL_REACH * stretch)


@kernel
def _determined(factor, mass):
    """Whether all pivots of the normal equations exceed `NOTICEABLE` of the mass."""
    for f in range(factor.shape[0]):
        if not (factor[f, f] * factor[f, f] > NOTICEABLE * mass and np.isfinite(factor[f, f])):
            return False
    return True


@kernel
def _shrink(fit):
    """1 over how much too large the second form of a quadric through arcs is.

    With the shape operator A, in bandwidths, arcs are higher by ⅛ (τᵀAτ) |Aτ|², of which a Gaussian window attributes
    ¼ (A tr A² + A² tr A + 4 A³) to the form; this is its component along A.
    """
    trace, turn = 2.0 * (fit[3, 0] + fit[5, 0]), 4.0 * fit[3, 0] * fit[5, 0] - fit[4, 0] ** 2
    second = trace * trace - 2.0 * turn
    third = trace * (second - turn)
    fourth = trace * third - turn * second
    return 1.0 / (1.0 + 0.25 * (second + (trace * third + 4.0 * fourth) / second)) if second > 0.0 else 1.0
