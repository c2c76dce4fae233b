"""How a fan of geodesics spreads: derivatives of exp(r u) with respect to the direction u.

On a circle of L directions the derivative in the angle is that of the polynomial through the node and up to three
neighbours on either side, as many as exist: order 6 inside, one-sided where neighbours ended earlier. In higher
dimension the neighbours lie scattered, and the derivatives come from a least-squares fit to the nearest ones. The
component across the velocity is the *Jacobi field* of the fan,

    W = (I − γ̇γ̇ᵀ/|γ̇|²) ∂/∂u exp(r u)          [dim, k − 1],    |W| = r where the submanifold is flat.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import BoolArray, FloatArray
from subbundle.charts.fan import Fan

# Neighbours on either side of a node: differences of order 6.
_SIDE = 3


def angular(values: FloatArray, real: BoolArray) -> FloatArray:
    """Derivatives in the angle of ``values`` [L, m, dim] from the nodes that are ``real`` [L, m]; else NaN."""
    n = len(values)
    side = min(_SIDE, (n - 1) // 2)
    before, after = _run_length(real, 1, side), _run_length(real, -1, side)
    result = np.full_like(values, np.nan)
    for left in range(side + 1):
        for right in range(side + 1):
            ray, node = np.nonzero(real & (before == left) & (after == right))
            if ray.size == 0 or left + right == 0:
                continue
            total = np.zeros((ray.size, values.shape[2]))
            for offset, weight in zip(range(-left, right + 1), _weights(left, right), strict=True):
                total += weight * values[(ray + offset) % n, node]
            result[ray, node] = total * (n / (2.0 * np.pi))
    return result


def _run_length(real: BoolArray, shift: int, longest: int) -> NDArray[np.int64]:
    """How many neighbours in a row, up to ``longest``, are real on one side of each node."""
    count = np.zeros(real.shape, np.int64)
    unbroken = np.ones(real.shape, bool)
    for distance in range(1, longest + 1):
        unbroken &= np.roll(real, shift * distance, axis=0)
        count += unbroken
    return count


def _weights(left: int, right: int) -> FloatArray:
    """Weights that differentiate at 0 the polynomial through −left..right."""
    offsets = np.arange(-left, right + 1)
    powers = offsets[None, :] ** np.arange(len(offsets))[:, None]
    slope = np.zeros(len(offsets))
    slope[1] = 1.0
    return np.asarray(np.linalg.solve(powers.astype(float), slope))


def jacobi_fields(fan: Fan) -> FloatArray:
    """W [L, R + 1, dim, k − 1]; NaN where there are too few neighbours."""
    planar = fan.directions.shape[1] == 2
    spread = angular(fan.points, fan.real)[:, :, :, None] if planar else _scattered(fan)
    speed = np.einsum("lmd,lmd->lm", fan.velocities, fan.velocities)
    along = np.einsum("lmd,lmdi->lmi", fan.velocities, spread) / speed[:, :, None]
    return np.asarray(spread - fan.velocities[:, :, :, None] * along[:, :, None, :])


def _scattered(fan: Fan) -> FloatArray:
    """∂exp(r u)/∂u in an orthonormal basis across u [L, R + 1, dim, k − 1], by least squares over near directions."""
    n, rank = fan.directions.shape
    count = min(2 * rank + 1, n)
    _, near = cKDTree(fan.directions).query(fan.directions, k=count)
    result = np.full((*fan.points.shape, rank - 1), np.nan)
    for ray in range(n):
        u = fan.directions[ray]
        across = np.linalg.svd(u[None])[2][1:]
        offsets = (fan.directions[near[ray, 1:]] - u) @ across.T
        # A node needs all its neighbours; a fan is cut back by one node where they end, not fitted to fewer.
        moved = fan.points[near[ray, 1:]] - fan.points[ray]
        result[ray] = np.einsum("in,nmd->mdi", np.linalg.pinv(offsets), moved)
    return result
