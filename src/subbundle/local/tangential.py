"""Robust local quadrics over a tangent space, one row at a time.

Around p with the orthonormal basis E, tangents first, the observations have tangential coordinates τ, in bandwidths,
and normal ones z. The quadric is fitted with the weights

    w = v_n exp(−|τ|²/2) (1 − |e|²/cut²)²₊,       e the residual from the quadric of the round before,

where τ_1 is divided by a stretch first, along what hardly bends. A window that looks at τ alone wastes no observation
for being noisy, which a ball does; the biweight keeps out other sheets and outliers. Over its tangent space an arc is
no parabola: with A the shape operators, a manifold whose curvature does not change has the height

    ½ II(τ, τ) · 2/(1 + √(1 − |A τ|²)),

exact for spheres and tubes. What that is beyond ½ II(τ, τ), with II from the round before, is taken from z, so that
wide windows do not flatten round things. After every round p moves by c, and E is tilted to the quadric's tangents.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import NOTICEABLE
from subbundle._types import Status
from subbundle.cloud.build import LEAF
from subbundle.cloud.search import leaves_within
from subbundle.kernels import exp_minus
from subbundle.local.columns import (
    COLUMNS,
    EFFECTIVE,
    KEPT,
    LOG_ABSOLUTE,
    LOG_MASS,
    LOST,
    OFFSET,
    RESIDUAL,
    WIDTH,
    compare,
    deviate,
    multiply,
    scratch,
)  # fmt: skip
from subbundle.local.gather import squeeze
from subbundle.local.moments import FAST
from subbundle.local.regression import fitted, quadric_sums
from subbundle.local.steps import second_form, shorten, tilt
from subbundle.local.tuning import FIRST_CUT, NARROWER, STEEPEST, SWOLLEN, TANGENTIAL_REACH

_LEFT_SUPPORT, _OK = int(Status.LEFT_SUPPORT), int(Status.OK)


@kernel
def robust_rows(
    tree, widths, cuts, stretches, rank, rounds, errors, general, points, basis, forms, numbers, steps, status
):  # fmt: skip
    """Carry ``points`` [batch, d] by ``rounds`` rounds, in place; ``basis`` [batch, d, d] holds E, and is tilted.

    ``widths``, ``cuts``, ``stretches`` [batch]. ``forms`` [batch, pairs, d], ``numbers`` as in `walk_rows`.
    Where the neighbours determine no quadric the row stays as it was, with the status LEFT_SUPPORT. ``general`` is None
    for a surface in R³, and only that is compiled then; else True.
    """
    blocks, weights, boxes, corners, _ = tree
    dim = points.shape[1]
    n_leaves = blocks.shape[0]
    found, near = np.empty(n_leaves, np.int64), np.empty((dim + 1, 0))
    room, spare = scratch(dim, rank), scratch(dim, rank)
    gram, cross, fit, tile, _, _, _ = room
    p, frame, step = np.empty(dim), np.empty((dim, dim)), np.empty(dim)
    for b in range(points.shape[0]):
        a, cut, stretch = widths[b], cuts[b], stretches[b]
        for i in range(dim):
            p[i] = points[b, i]
            for j in range(dim):
                frame[i, j] = basis[b, i, j]
        for f in range(fit.shape[0]):
            for j in range(dim - rank):
                fit[f, j] = 0.0
        row = numbers[b]
        for c in range(COLUMNS):
            row[c] = np.nan
        row[LOG_MASS], row[LOG_ABSOLUTE] = -np.inf, -np.inf
        row[WIDTH], row[OFFSET], row[KEPT], row[LOST] = a, 0.0, 1.0, 0.0
        status[b], steps[b] = _OK, 0
        for turn in range(rounds):
            wide = cut + FIRST_CUT * a if turn == 0 else cut
            radius = TANGENTIAL_REACH * a * stretch
            sag = min(a * _bent(fit, rank) * TANGENTIAL_REACH * TANGENTIAL_REACH, 2.0 * radius)
            count = leaves_within(boxes, corners, n_leaves, p, radius * radius + (wide + sag) ** 2, found)
            if count * LEAF > near.shape[1]:
                near = np.empty((dim + 1, 2 * count * LEAF + 24))
            # Only a quadric whose arcs were not made parabolas bends too strongly.
            shrink = _shrink(fit, rank) if turn == 1 else 1.0
            count, squares = _window(
                blocks, weights, found, count, p, frame, rank, a, stretch, wide, fit, shrink, general, near
            )
            spread = quadric_sums(near, count, rank, general, tile, gram, cross)
            mass = gram[0, 0]
            if mass > 0.0:
                residual = fitted(gram, cross, fit, rank, mass, 0.0, spread)
            if not mass > 0.0 or not _determined(gram, mass):
                status[b] = _LEFT_SUPPORT
                break
            row[LOG_ABSOLUTE] = row[LOG_MASS] = np.log(mass)
            row[RESIDUAL], row[EFFECTIVE] = residual * a * a, mass * mass / squares
            if errors > 0 and turn == rounds - 1:
                deviate(near, count, rank, room, a, squares, errors, general, row)
            if errors > 1 and turn == rounds - 1:
                _narrower(tree, found, p, frame, rank, a, stretch, cut, general, room, spare, near, row)
            steps[b] += 1
            total = 0.0
            for i in range(dim):
                step[i] = 0.0
                for j in range(dim - rank):
                    step[i] += a * fit[0, j] * frame[i, rank + j]
                total += step[i] * step[i]
            row[OFFSET] = np.sqrt(total)
            shorten(step, wide)
            for i in range(dim):
                p[i] += step[i]
            tilt(fit, frame, rank)
            for f in range(1 + rank):
                for j in range(dim - rank):
                    fit[f, j] = 0.0
        if status[b] != _OK:
            continue
        second_form(fit, frame, rank, a, forms[b])
        for i in range(dim):
            points[b, i] = p[i]
            for j in range(dim):
                basis[b, i, j] = frame[i, j]


@kernel
def _narrower(tree, found, p, frame, rank, a, stretch, cut, general, room, spare, near, numbers):
    """`compare` with the windows of `NARROWER` a, which lie in the one that ``near`` has room for."""
    blocks, weights, boxes, corners, _ = tree
    for level in range(2):
        width = NARROWER[level] * a
        radius = TANGENTIAL_REACH * width * stretch
        bent = spare[2]
        for f in range(bent.shape[0]):
            for j in range(bent.shape[1]):
                bent[f, j] = NARROWER[level] * room[2][f, j] if f > rank else 0.0
        sag = min(width * _bent(bent, rank) * TANGENTIAL_REACH * TANGENTIAL_REACH, 2.0 * radius)
        count = leaves_within(boxes, corners, blocks.shape[0], p, radius * radius + (cut + sag) ** 2, found)
        if count * LEAF > near.shape[1]:
            return
        count, squares = _window(
            blocks, weights, found, count, p, frame, rank, width, stretch, cut, bent, 1.0, general, near
        )
        compare(near, count, rank, room, spare, a, level, 0.0, squares, general, numbers)
    multiply(room[6], numbers)


@kernel
def _bent(fit, rank):
    """Σ |q| of the quadratic coefficients, in bandwidths; windows are stretched along what hardly bends."""
    total = 0.0
    for f in range(1 + rank, fit.shape[0]):
        for j in range(fit.shape[1]):
            total += abs(fit[f, j])
    return total


@kernel
def _determined(factor, mass):
    """Whether all pivots of the normal equations exceed `NOTICEABLE` of the mass."""
    for f in range(factor.shape[0]):
        if not (factor[f, f] * factor[f, f] > NOTICEABLE * mass and np.isfinite(factor[f, f])):
            return False
    return True


@kernel
def _shrink(fit, rank):
    """1 / (1 + `SWOLLEN` (a |II|)²): by how much the second form of a quadric through arcs is too large."""
    total = 0.0
    place = 1 + rank
    for i in range(rank):
        for k in range(i, rank):
            for j in range(fit.shape[1]):
                total += (4.0 if i == k else 2.0) * fit[place, j] ** 2
            place += 1
    return 1.0 / (1.0 + SWOLLEN * total)


@kernel
def _window(blocks, weights, found, count, p, frame, rank, a, stretch, cut, fit, shrink, general, near):
    """Fill ``near`` with coordinates in the frame, in bandwidths, arcs made parabolas, and weights; count, Σ w²/v."""
    if general is None or (rank == 2 and p.size == 3):
        _turned3(blocks, weights, found, count, p, frame, a, stretch, near)
        count = squeeze(near, count * LEAF)
        return count, _weigh3(near, count, stretch, cut / a, fit, shrink)
    squares = _window_any(blocks, weights, found, count, p, frame, rank, a, stretch, cut / a, fit, shrink, near)
    return squeeze(near, count * LEAF), squares


@kernel(fastmath=FAST)
def _turned3(blocks, weights, found, count, p, frame, a, stretch, near):
    """Coordinates in the frame, and v_n within reach along the tangent space, else zero."""
    p0, p1, p2 = p[0], p[1], p[2]
    e0, e1, e2 = frame[0, 0] / a, frame[1, 0] / a, frame[2, 0] / a
    f0, f1, f2 = frame[0, 1] / a, frame[1, 1] / a, frame[2, 1] / a
    n0, n1, n2 = frame[0, 2] / a, frame[1, 2] / a, frame[2, 2] / a
    along = 1.0 / (stretch * stretch)
    for k in range(count):
        leaf, base = found[k], k * LEAF
        for i in range(LEAF):
            y0, y1, y2 = blocks[leaf, 0, i] - p0, blocks[leaf, 1, i] - p1, blocks[leaf, 2, i] - p2
            u, v = y0 * e0 + y1 * e1 + y2 * e2, y0 * f0 + y1 * f1 + y2 * f2
            near[0, base + i] = u
            near[1, base + i] = v
            near[2, base + i] = y0 * n0 + y1 * n1 + y2 * n2
            near[3, base + i] = weights[leaf, i] if along * u * u + v * v < TANGENTIAL_REACH * TANGENTIAL_REACH else 0.0


@kernel(fastmath=FAST)
def _weigh3(near, count, stretch, cut, fit, shrink):
    """Make the heights those of parabolas and v_n the weights, in place; return Σ w²/v."""
    c3, c4, c5 = fit[3, 0], fit[4, 0], fit[5, 0]
    flat = c3 == 0.0 and c4 == 0.0 and c5 == 0.0
    along, scale, steep, squares = 1.0 / (stretch * stretch), 1.0 / (cut * cut), shrink * shrink, 0.0
    for n in range(np.uint64(count)):
        u, v, e = near[0, n], near[1, n], near[2, n]
        if not flat:
            q2 = c3 * u * u + c4 * u * v + c5 * v * v
            g0, g1 = 2.0 * c3 * u + c4 * v, c4 * u + 2.0 * c5 * v
            level = np.sqrt(1.0 - min((g0 * g0 + g1 * g1) * steep, STEEPEST))
            z = e - shrink * q2 * (1.0 - level) / (1.0 + level)
            near[2, n] = z
            e = z - q2
        q = max(1.0 - e * e * scale, 0.0)
        w = exp_minus(0.5 * min(along * u * u + v * v, TANGENTIAL_REACH * TANGENTIAL_REACH)) * q * q
        squares += w * w * near[3, n]
        near[3, n] *= w
    return squares


@kernel(fastmath=FAST)
def _window_any(blocks, weights, found, count, p, frame, rank, a, stretch, cut, fit, shrink, near):
    dim, columns = p.size, fit.shape[1]
    reach, scale, steep = 0.5 * TANGENTIAL_REACH * TANGENTIAL_REACH, 1.0 / (cut * cut), shrink * shrink
    level, squared, bent, slope = np.empty(LEAF), np.empty(LEAF), np.empty((columns, LEAF)), np.empty(LEAF)
    squares, along = 0.0, 1.0 / (stretch * stretch)
    for k in range(count):
        leaf, base = found[k], k * LEAF
        for m in range(dim):
            for i in range(LEAF):
                near[m, base + i] = 0.0
            for j in range(dim):
                factor = frame[j, m] / a
                for i in range(LEAF):
                    near[m, base + i] += factor * (blocks[leaf, j, i] - p[j])
        for i in range(LEAF):
            level[i], squared[i] = 0.0, 0.0
        for j in range(columns):
            _quadratic(near, base, rank, fit, j, bent, slope)
            for i in range(LEAF):
                level[i] += slope[i] * steep
        for i in range(LEAF):
            root = np.sqrt(1.0 - min(level[i], STEEPEST))
            level[i] = shrink * (1.0 - root) / (1.0 + root)
        for j in range(columns):
            for i in range(LEAF):
                near[rank + j, base + i] -= level[i] * bent[j, i]
                squared[i] += (near[rank + j, base + i] - bent[j, i]) ** 2
        for i in range(LEAF):
            t = 0.0
            for m in range(rank):
                t += 0.5 * (along if m == 0 else 1.0) * near[m, base + i] ** 2
            q = max(1.0 - squared[i] * scale, 0.0)
            w = exp_minus(min(t, reach)) * q * q
            w = w if t < reach else 0.0
            near[dim, base + i] = w * weights[leaf, i]
            squares += w * w * weights[leaf, i]
    return squares


@kernel(fastmath=FAST)
def _quadratic(near, base, rank, fit, j, bent, slope):
    """Write q_j(τ) into ``bent`` [j] and |∇q_j(τ)|² into ``slope``, for one leaf."""
    for i in range(LEAF):
        bent[j, i], slope[i] = 0.0, 0.0
    for m in range(rank):
        for i in range(LEAF):
            total, place = 0.0, 1 + rank
            for c in range(rank):
                for d in range(c, rank):
                    if c == m:
                        total += fit[place, j] * near[d, base + i]
                    if d == m:
                        total += fit[place, j] * near[c, base + i]
                    place += 1
            slope[i] += total * total
            bent[j, i] += 0.5 * total * near[m, base + i]
