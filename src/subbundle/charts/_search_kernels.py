"""Compiled code of both interpolants: batches of values and Jacobians, and nearest points by Levenberg–Marquardt.

The arguments ``fan`` of an interpolant are its table [L, R + 1, derivatives, dim], step and length scale; its
``directions`` [L, k], ``ends`` [L] and ``reach`` if they are scattered (`_scattered_kernels`), else None, whose branch
Numba drops (`_interpolant_kernels`).
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import MOST_ROUNDS, NOTICEABLE, SINGULAR
from subbundle.charts._interpolant_kernels import evaluate as polar_at
from subbundle.charts._interpolant_kernels import squared_distance
from subbundle.charts._scattered_kernels import evaluate as scattered_at
from subbundle.local.regression import factorise, solve


@kernel
def _evaluate(table, step, scale, directions, ends, reach, v, point, jacobian):
    """Write the point [dim] and the Jacobian [dim, k] at the coordinates ``v`` [k]."""
    if directions is None:
        polar_at(table, step, v, point, jacobian)
    else:
        scattered_at(table, step, scale, directions, ends, reach, v, point, jacobian)


@kernel
def evaluate_batch(table, step, scale, directions, ends, reach, coordinates, points, jacobians):
    """The points [n, dim] and Jacobians [n, dim, k] at ``coordinates`` [n, k]."""
    for i in range(coordinates.shape[0]):
        _evaluate(table, step, scale, directions, ends, reach, coordinates[i], points[i], jacobians[i])


@kernel
def search_batch(table, step, scale, directions, ends, reach, targets, coordinates, points, residuals, converged):
    """Move ``coordinates`` [n, k] to the points nearest to ``targets`` [n, dim]."""
    dim, rank = table.shape[3], coordinates.shape[1]
    jacobian, tried_jacobian = np.empty((2, dim, rank))
    tried_point, tried, normal, change = np.empty(dim), np.empty(rank), np.empty((rank, rank)), np.empty((rank, 1))
    farthest = step * (table.shape[1] - 1)
    for i in range(targets.shape[0]):
        v, point, target = coordinates[i], points[i], targets[i]
        _evaluate(table, step, scale, directions, ends, reach, v, point, jacobian)
        value, damping = squared_distance(point, target), 0.0
        for _ in range(MOST_ROUNDS):
            length = _propose(jacobian, point, target, v, damping, scale, farthest, normal, change, tried)
            _evaluate(table, step, scale, directions, ends, reach, tried, tried_point, tried_jacobian)
            value, damping, converged[i] = _accept(
                tried, tried_point, tried_jacobian, target, length, scale, value, damping, v, point, jacobian
            )
            if converged[i]:
                break
        residuals[i] = np.sqrt(value)


@kernel
def _propose(jacobian, point, target, v, damping, longest, farthest, normal, step, tried):
    """Write v + (JᵀJ + damping)⁻¹ Jᵀ(y − x) into ``tried`` [k], within ``farthest`` of 0; return the step's length.

    A step is at most ``longest`` long, and zero along the null space of J. ``normal`` [k, k] and ``step`` [k, 1]
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
def _accept(tried, tried_point, tried_jacobian, target, length, scale, value, damping, v, point, jacobian):
    """Accept the proposal if it is no farther from the target; return |x − y|², the next damping, whether to end."""
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
