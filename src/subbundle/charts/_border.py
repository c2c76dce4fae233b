"""The nearest point of a chart's border, where that is a sphere |v| = ρ in the coordinates.

Gauss–Newton on ½ |x − Φ(v)|² over the sphere: with g the gradient, u = v/ρ and P = I − u uᵀ a step s solves

    P (JᵀJ + μ) P s = −P g,        μ = max(−g·u/ρ, 0),

μ the curvature of the sphere: towards a point beyond the border the distance falls. Where a step gains too little the
next is half as long.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from subbundle._numbers import MOST_ROUNDS, NOTICEABLE
from subbundle._types import FloatArray, IntArray
from subbundle.charts.interpolant import lengths_of

# The points [n, dim], or ∂Φ/∂v [n, dim, k], at coordinates [n, k] in the charts of rows [n].
Map = Callable[[FloatArray, IntArray], FloatArray]


def nearest_on_spheres(
    evaluate: Map, slopes: Map, radii: FloatArray, targets: FloatArray, starts: FloatArray, unit: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The points nearest to ``targets`` [n, dim] on the spheres of ``radii`` [n]: coordinates, points, residuals.

    The search starts on the ray to ``starts`` [n, k], or in the direction of ``unit`` [m, k] that is nearer.
    """
    every = np.arange(len(targets))
    coordinates = _onto(starts, radii, np.broadcast_to(unit[0], starts.shape))
    points = evaluate(coordinates, every)
    residuals = lengths_of(targets - points)
    for direction in unit:
        tried = radii[:, None] * direction
        _keep_nearer(every, tried, evaluate(tried, every), targets, coordinates, points, residuals)
    rows, factor = every, np.ones(len(every))
    for _ in range(MOST_ROUNDS):
        if rows.size == 0:
            break
        v, before, jacobians = coordinates[rows], residuals[rows], slopes(coordinates[rows], rows)
        fall = np.einsum("ndk,nd->nk", jacobians, targets[rows] - points[rows])
        step = factor[rows, None] * _step(v, radii[rows], fall, jacobians)
        tried = _onto(v + step, radii[rows], v)
        _keep_nearer(rows, tried, evaluate(tried, rows), targets, coordinates, points, residuals)
        # A step of Newton's method gains half of what the slope promises, one twice as long nothing.
        enough = 2.0 * (before**2 - residuals[rows] ** 2) >= np.einsum("nk,nk->n", fall, step)
        factor[rows] = np.where(enough, np.minimum(2.0 * factor[rows], 1.0), 0.5 * factor[rows])
        rows = rows[lengths_of(step) > NOTICEABLE * radii[rows]]
    return coordinates, points, residuals


def _step(v: FloatArray, radii: FloatArray, fall: FloatArray, jacobians: FloatArray) -> FloatArray:
    """s [n, k] at ``v`` [n, k], with −g = ``fall`` [n, k]."""
    outward = v / radii[:, None]
    along = np.einsum("nk,nk->n", fall, outward)
    across = np.eye(v.shape[1]) - outward[:, :, None] * outward[:, None, :]
    matrix = np.einsum("ndi,ndj->nij", jacobians, jacobians) + (np.maximum(along, 0.0) / radii)[:, None, None] * across
    # u uᵀ makes the matrix regular and leaves steps on the sphere.
    matrix = across @ matrix @ across + outward[:, :, None] * outward[:, None, :]
    return np.asarray(np.linalg.solve(matrix, (fall - along[:, None] * outward)[:, :, None])[:, :, 0])


def _keep_nearer(rows: IntArray, tried: FloatArray, there: FloatArray, targets: FloatArray, *best: FloatArray) -> None:
    """Replace coordinates, points and residuals of ``rows`` in ``best`` where ``there`` is nearer."""
    apart = lengths_of(targets[rows] - there)
    better = apart < best[2][rows]
    for old, new in zip(best, (tried, there, apart), strict=True):
        old[rows[better]] = new[better]


def _onto(coordinates: FloatArray, radii: FloatArray, otherwise: FloatArray) -> FloatArray:
    """``coordinates`` [n, k] scaled to the length of ``radii`` [n]; in the direction ``otherwise`` where they are 0."""
    known = np.where((lengths_of(coordinates) > 0.0)[:, None], coordinates, otherwise)
    return np.asarray(known * (radii / lengths_of(known))[:, None])
