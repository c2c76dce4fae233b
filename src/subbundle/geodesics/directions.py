"""Unit vectors spread evenly over the sphere S^(k−1), for any k, the same ones each time.

k = 1 has two directions, ±1, and k = 2 equal angles. For k ≥ 3 take a set u_0..u_{n−1} of low discrepancy in the unit
cube [0, 1)^(k−1), and push it to the sphere by a map that preserves volume. The set:

    u_i = ((i + ½)/n, frac(½ + i/g), frac(½ + i/g²), …),       g > 1 the root of g^(k−1) = g + 1,

the first coordinate a regular grid, the others a Kronecker sequence on the generalised golden ratio (g = 1.618… for
k = 3, where the result is a Fibonacci lattice). The map: on S^(m−1) the first coordinate c has (1 + c)/2 distributed as
Beta((m−1)/2, (m−1)/2), and what remains is a point on a sphere S^(m−2) of radius √(1 − c²), down to the circle.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray
from subbundle._validation import as_integer

# Directions by default for k = 2; each further dimension doubles them, as long as they are fewer than 64 for each of
# the k (k + 1)/2 coefficients of a quadratic function of them, which is from k = 6 on.
_ON_A_CIRCLE, _PER_COEFFICIENT = 100, 64


def default_count(rank: int) -> int:
    """Directions of a fan unless given: 2 for rank 1 (there are no more), 100 · 2^(k − 2) up to rank 5, then as k²."""
    if rank == 1:
        return 2
    return int(min(_ON_A_CIRCLE * 2 ** (rank - 2), _PER_COEFFICIENT * rank * (rank + 1) // 2))


def directions(rank: int, n: int) -> FloatArray:
    """``n`` evenly spread unit vectors [n, rank] of R^rank; for rank 1 there are two, so ``n`` must be 2.

    Examples
    --------
    >>> directions(2, 4).round(3) + 0.0
    array([[ 1.,  0.],
           [ 0.,  1.],
           [-1.,  0.],
           [ 0., -1.]])
    """
    rank = as_integer(rank, "rank", low=1)
    if rank == 1:
        as_integer(n, "n", low=2, high=2, why="in one dimension the unit vectors are -1 and 1")
        return np.array([[1.0], [-1.0]])
    n = as_integer(n, "n", low=1)
    if rank == 2:
        return _circle(np.arange(n) / n)
    return _sphere(_even_in_cube(rank - 1, n))


def _circle(turns: FloatArray) -> FloatArray:
    angle = 2.0 * np.pi * turns
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _even_in_cube(dim: int, n: int) -> FloatArray:
    """u_0..u_{n−1} [n, dim], dim ≥ 2."""
    golden = 2.0
    for _ in range(100):  # g ← (1 + g)^(1/dim) has a derivative below 1/2
        golden = (1.0 + golden) ** (1.0 / dim)
    index = np.arange(n)
    kronecker = (0.5 + index[:, None] / golden ** np.arange(1, dim)) % 1.0
    return np.concatenate([(index[:, None] + 0.5) / n, kronecker], axis=1)


def _sphere(cube: FloatArray) -> FloatArray:
    """Points [n, dim + 1] of the unit sphere from points [n, dim] of the unit cube, preserving volume."""
    from scipy.special import betaincinv  # imported here, not with the library, which it would slow down

    dim = cube.shape[1]
    points = np.empty((len(cube), dim + 1))
    radius = np.ones(len(cube))
    for i in range(dim - 1):
        shape = (dim - i) / 2.0
        half = betaincinv(shape, shape, cube[:, i])
        points[:, i] = radius * (2.0 * half - 1.0)
        radius = radius * 2.0 * np.sqrt(half * (1.0 - half))
    points[:, dim - 1 :] = radius[:, None] * _circle(cube[:, -1])
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))
