"""Compiled code that both interpolants share: cubic Hermite weights, and Levenberg–Marquardt on ½ |x(v) − y|².

A search alternates `propose`, an evaluation of the interpolant at the proposed coordinates, and `judge`.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import NOTICEABLE, SINGULAR
from subbundle.local.regression import factorise, solve


@kernel
def hermite(t):
    """p_1, q_0 and q_1 of the cubic Hermite basis at ``t``."""
    return t * t * (3.0 - 2.0 * t), t * (1.0 - t) * (1.0 - t), t * t * (t - 1.0)


@kernel
def hermite_slopes(t, width):
    """Their derivatives by the coordinate of which a cell is ``width`` long."""
    return 6.0 * t * (1.0 - t) / width, (1.0 - t) * (1.0 - 3.0 * t) / width, t * (3.0 * t - 2.0) / width


@kernel
def squared_distance(a, b):
    """|a − b|²."""
    total = 0.0
    for d in range(a.size):
        total += (a[d] - b[d]) ** 2
    return total


@kernel
def propose(jacobian, point, target, v, damping, longest, farthest, normal, step, tried):
    """Write v + (JᵀJ + damping)⁻¹ Jᵀ(y − x) into ``tried`` [k], within ``farthest`` of 0; return the step's length.

    A step is at most ``longest`` long; directions that J does not have get none. ``normal`` [k, k] and ``step`` [k, 1]
    are scratch.
    """
    dim, rank = jacobian.shape
    largest = 0.0
    for a in range(rank):
        step[a, 0] = 0.0
        for d in range(dim):
            step[a, 0] += jacobian[d, a] * (target[d] - point[d])
        for b in range(a + 1):
            normal[a, b] = 0.0
            for d in range(dim):
                normal[a, b] += jacobian[d, a] * jacobian[d, b]
        largest = max(largest, normal[a, a])
    factorise(normal, damping * largest, 0)
    solve(normal, step)
    length, size = 0.0, 0.0
    for a in range(rank):
        length += step[a, 0] * step[a, 0]
    length = np.sqrt(length)
    cut = longest / length if length > longest else 1.0
    for a in range(rank):
        tried[a] = v[a] + cut * step[a, 0]
        size += tried[a] * tried[a]
    if size > farthest * farthest:
        for a in range(rank):
            tried[a] *= farthest / np.sqrt(size)
    return cut * length


@kernel
def judge(tried, tried_point, tried_jacobian, target, length, scale, value, damping, v, point, jacobian):
    """Take the proposal if it is no farther from the target; return |x − y|², the next damping, whether to end."""
    now = squared_distance(tried_point, target)
    if now <= value:
        # In loops: Numba takes seconds to compile the message for arrays of different shapes.
        for a in range(v.size):
            v[a] = tried[a]
        for j in range(point.size):
            point[j] = tried_point[j]
            for a in range(v.size):
                jacobian[j, a] = tried_jacobian[j, a]
        return now, 0.1 * damping if damping > 1e-6 else 0.0, length <= SINGULAR * scale
    return value, max(10.0 * damping, 1e-3), length <= NOTICEABLE * scale
