"""The numbers behind an interpolant: the nodes of a fan, continued beyond its ends, and their derivatives.

Beyond the end of a geodesic the nodes go on along its last tangent: the cells on the border of the domain need a corner
there, and a search that crosses the border must return.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import BoolArray, FloatArray, IntArray
from subbundle.charts._fan_derivatives import angular
from subbundle.charts.fan import Fan


def continued(fan: Fan, n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and velocities [L, n_nodes, dim], along the last tangent beyond the end of each geodesic.

    The first node beyond the end lies on the cubic through the end and the node before the last: it is a corner of the
    last cell, whose error it would otherwise rule.
    """
    n_rays, _, dim = fan.points.shape
    points, velocities = np.full((2, n_rays, n_nodes, dim), np.nan)
    width = min(n_nodes, fan.points.shape[1])
    points[:, :width], velocities[:, :width] = fan.points[:, :width], fan.velocities[:, :width]
    counts = fan.real.sum(axis=1)
    for ray in np.flatnonzero(counts < n_nodes):
        count = counts[ray]
        before = max(count - 2, 0)
        start, length = fan.step * before, fan.reached[ray] - fan.step * before
        point, velocity = fan.ends[ray], fan.end_velocities[ray]
        beyond = fan.step * count
        if length > 0.0:
            point, velocity = _cubic(
                points[ray, before], velocities[ray, before], point, velocity, length, beyond - start
            )
        further = fan.step * np.arange(n_nodes - count)[:, None]
        points[ray, count:] = point + further * velocity
        velocities[ray, count:] = velocity
    return points, velocities


def _cubic(
    x0: FloatArray, v0: FloatArray, x1: FloatArray, v1: FloatArray, length: float, at: float
) -> tuple[FloatArray, FloatArray]:
    """Value and derivative at ``at`` of the cubic with ends x0, x1 at 0 and ``length``, and slopes v0, v1 there."""
    t = at / length
    p, dp = t * t * (3.0 - 2.0 * t), 6.0 * t * (1.0 - t) / length
    point = x0 + p * (x1 - x0) + length * (t * (1.0 - t) ** 2 * v0 + t * t * (t - 1.0) * v1)
    return point, dp * (x1 - x0) + (1.0 - t) * (1.0 - 3.0 * t) * v0 + t * (3.0 * t - 2.0) * v1


def build_table(points: FloatArray, velocities: FloatArray, counts: IntArray, step: float, rank: int) -> FloatArray:
    """X, h X_r, Δ X_θ, h Δ X_rθ [L, m, 4, dim] from nodes [L, m, dim], the first ``counts`` [L] of each ray reached."""
    n_rays, n_nodes, dim = points.shape
    table = np.zeros((n_rays, n_nodes, 4, dim))
    table[:, :, 0] = points
    table[:, :, 1] = step * velocities
    if rank == 2:
        real = np.arange(n_nodes) < counts[:, None]
        width = 2.0 * np.pi / n_rays
        table[:, :, 2] = width * _everywhere(points, real)
        table[:, :, 3] = width * step * _everywhere(velocities, real)
        # The common start does not move with the angle; differences would leave its rounding.
        table[:, 0, 2] = 0.0
    return table


def _everywhere(values: FloatArray, real: BoolArray) -> FloatArray:
    """Angular derivatives [L, m, dim]: from real neighbours where there are any, else by plain central differences."""
    result = angular(values, real)
    plain = (np.roll(values, -1, axis=0) - np.roll(values, 1, axis=0)) * (len(values) / (4.0 * np.pi))
    return np.where(np.isfinite(result), result, plain)
