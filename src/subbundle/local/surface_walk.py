"""The walk of `walk`, order 2, for surfaces in R³ and what a mesh asks of it: single precision, a ball gathered once.

Coordinates are relative to where the ball was gathered and in bandwidths, so that rounding is 1e-7 of one. The ball is
a quarter bandwidth wider than the window; steps that stay within need no other. Eigenvalues that differ by less than
`NOTICEABLE` are rounding, of one or two neighbours: they are zero, and II is NaN.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import NOTICEABLE
from subbundle._parallel import run_rows
from subbundle._types import FloatArray
from subbundle.cloud import Cloud
from subbundle.cloud.build import LEAF
from subbundle.cloud.search import leaves_within
from subbundle.local.eigen import eigh
from subbundle.local.gather import squeeze
from subbundle.local.moments import FAST, moments
from subbundle.local.regression import freedom
from subbundle.local.settings import COMMON
from subbundle.local.steps import curvature_correction, newton, plain_step, settle, shorten, tilt
from subbundle.local.tuning import REACH
from subbundle.local.walk import fit_ball, scratch
from subbundle.local.windows import bell, single


def walk_surface(
    cloud: Cloud, points: FloatArray, widths: FloatArray, steps: int, n_jobs: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Points [n, 3] after ``steps``, and where the last began normals [n, 3], eigenvalues [n, 3] and numbers [n, 6].

    These are Σ w, how far the mean lies to the side, the effective number of neighbours, and II_11, II_12, II_22.
    """
    n = len(points)
    moved, normals, values = np.array(points - cloud.centre, order="C"), np.zeros((n, 3)), np.zeros((n, 3))
    numbers = np.zeros((n, 6))

    def work(i: int, j: int) -> None:
        surface_rows(cloud.tree, widths[i:j], steps, moved[i:j], normals[i:j], values[i:j], numbers[i:j])

    run_rows(work, n, n_jobs, calls_blas=False)
    return moved + cloud.centre, normals, values, numbers


@kernel
def surface_rows(tree, widths, rounds, points, normals, values, numbers):
    """Carry ``points`` [batch, 3] by ``rounds`` steps, in place; ``normals``, ``values``, ``numbers`` are written."""
    found, raw, near = np.empty(tree[0].shape[0], np.int64), np.empty((4, 0), np.float32), np.empty((4, 0), np.float32)
    room, basis, sigma = scratch(3, 2), np.empty((3, 3)), np.empty((3, 3))
    shift, step, before, bend, start = np.empty(3), np.empty(3), np.zeros(3), np.empty(3), np.empty(3)
    for b in range(points.shape[0]):
        p, a, margin, count, length = points[b], widths[b], 0.25, 0, np.inf
        for turn in range(max(rounds, 1)):
            if turn == 0 or not _within(p, start, margin * a):
                raw, near, count = _ball(tree, found, p, a, REACH + margin, raw, near)
                for i in range(3):
                    start[i] = p[i]
            squares = _weigh(raw, count, start, p, a, near)
            mass = moments(near, count, COMMON, shift, sigma)
            if mass <= 0.0:
                break
            effective = mass * mass / squares
            eigh(sigma, COMMON, values[b], basis)
            known = values[b, 1] - values[b, 2] > NOTICEABLE
            if known:
                plain_step(shift, basis, 2, step)
                residual = fit_ball(near, count, 2, values[b], shift, basis, mass, squares, 1.0, COMMON, room)
                noise = residual / freedom(2, effective)
                part, _ = curvature_correction(room[2], basis, 2, 1, 1.0, noise, effective, step, bend)
                for i in range(3):
                    step[i] += part * bend[i]
                newton(values[b], basis, 2, 1.0, step)
                length = settle(step, before, length)
                shorten(step, 1.0)
            else:
                values[b, 1] = values[b, 2] = 0.0
            if not known or turn >= rounds - 1:
                numbers[b, 0], numbers[b, 2] = mass, effective
                _describe(room[2], basis, shift, step, a, known, rounds > 0, normals[b], values[b], numbers[b])
            if not known or rounds == 0:
                break
            for i in range(3):
                p[i] += a * step[i]
                before[i] = step[i]


@kernel
def _describe(fit, basis, shift, step, a, known, moves, normal, values, numbers):
    """Write what the last look shows: the normal, the drift as seen from where the step leads, and the second form."""
    for i in range(3):
        normal[i] = basis[i, 2]
        values[i] *= a * a
    cosine = np.nan
    if known:
        tilt(fit, basis, 2)
        cosine = normal[0] * basis[0, 2] + normal[1] * basis[1, 2] + normal[2] * basis[2, 2]
    for k in range(3):
        numbers[3 + k] = (1.0 if k == 1 else 2.0) * cosine * fit[3 + k, 0] / a
    total, along = 0.0, 0.0
    for i in range(3):
        normal[i] = basis[i, 2]
        off = shift[i] - step[i] if known and moves else shift[i]
        total += off * off
        along += off * normal[i]
    numbers[1] = a * np.sqrt(max(total - along * along, 0.0))


@kernel
def _within(p, start, far):
    return (p[0] - start[0]) ** 2 + (p[1] - start[1]) ** 2 + (p[2] - start[2]) ** 2 < far * far


@kernel
def _ball(tree, found, p, a, reach, raw, near):
    """Fill ``raw`` with offsets from ``p``, in bandwidths, and v_n; both arrays are grown together, and the count."""
    blocks, weights, boxes, corners, _ = tree
    count = leaves_within(boxes, corners, blocks.shape[0], p, (reach * a) ** 2, found)
    if count * LEAF > raw.shape[1]:
        room = 4, 2 * count * LEAF + 24
        raw, near = np.empty(room, np.float32), np.empty(room, np.float32)
    _offsets(blocks, weights, found, count, p, 1.0 / a, reach * reach, raw)
    return raw, near, squeeze(raw, count * LEAF)


@kernel(fastmath=FAST)
def _offsets(blocks, weights, found, count, p, scale, reach, raw):
    """Offsets, and v_n where they are shorter than √``reach``, else zero."""
    p0, p1, p2 = p[0], p[1], p[2]
    most, none = np.float32(reach), np.float32(0.0)
    for k in range(np.uint64(count)):
        leaf, base = found[k], k * np.uint64(LEAF)
        for i in range(np.uint64(LEAF)):
            # The empty places of a leaf are further away than single precision goes.
            y0 = np.float32(min(scale * (blocks[leaf, 0, i] - p0), 1e6))
            y1 = np.float32(min(scale * (blocks[leaf, 1, i] - p1), 1e6))
            y2 = np.float32(min(scale * (blocks[leaf, 2, i] - p2), 1e6))
            raw[0, base + i] = y0
            raw[1, base + i] = y1
            raw[2, base + i] = y2
            raw[3, base + i] = np.float32(weights[leaf, i]) if y0 * y0 + y1 * y1 + y2 * y2 < most else none


@kernel(fastmath=FAST)
def _weigh(raw, count, start, p, a, near):
    """Write ``raw``, gathered around ``start``, as seen from ``p``, with Gaussian weights; return Σ w²/v."""
    d0, d1, d2 = single((start[0] - p[0]) / a, (start[1] - p[1]) / a, (start[2] - p[2]) / a)
    most, none, squares = single(REACH * REACH, 0.0, 0.0)
    for n in range(np.uint64(count)):
        y0, y1, y2 = raw[0, n] + d0, raw[1, n] + d1, raw[2, n] + d2
        t = y0 * y0 + y1 * y1 + y2 * y2
        value = bell(min(t, most))
        value = value if t < most else none
        near[0, n] = y0
        near[1, n] = y1
        near[2, n] = y2
        near[3, n] = value * raw[3, n]
        squares += value * value * raw[3, n]
    return squares
