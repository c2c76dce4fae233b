"""Clouds of known dimension, a second test set for the choice of the rank."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks._held_out_shapes import Row, bent_cube, circles, clouds, ellipsoid, paraboloid, spheres, trigonometric
from subbundle._types import FloatArray


def fresh(n: int) -> Iterator[tuple[str, FloatArray, int]]:
    """Name, observations [n, d] and dimension."""
    return clouds(_LIST, n, seed=5000)


def _torus_knot(n: int, rng: np.random.Generator) -> FloatArray:
    t = rng.uniform(0.0, 2.0 * np.pi, n)
    ring = 2.0 + np.cos(3.0 * t)
    return np.column_stack([ring * np.cos(2.0 * t), ring * np.sin(2.0 * t), np.sin(3.0 * t)])


def _catenoid(n: int, rng: np.random.Generator) -> FloatArray:
    t, z = rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(-1.0, 1.0, n)
    return np.column_stack([np.cosh(z) * np.cos(t), np.cosh(z) * np.sin(t), z])


def _klein_bottle(n: int, rng: np.random.Generator) -> FloatArray:
    u, v = rng.uniform(0.0, 2.0 * np.pi, (2, n))
    ring = 2.0 + np.cos(v)
    return np.column_stack(
        [ring * np.cos(u), ring * np.sin(u), np.sin(v) * np.cos(0.5 * u), np.sin(v) * np.sin(0.5 * u)]
    )


def _pairs_of_unit_vectors(m: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Orthonormal pairs in R^m, dimension 2m − 3."""
    return np.linalg.qr(rng.standard_normal((n, m, 2)))[0].reshape(n, -1)


def _rank_one(p: int, q: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Products x yᵀ of unit vectors of R^p and R^q, dimension p + q − 2."""
    x, y = rng.standard_normal((n, p)), rng.standard_normal((n, q))
    x, y = x / np.linalg.norm(x, axis=1)[:, None], y / np.linalg.norm(y, axis=1)[:, None]
    return (x[:, :, None] * y[:, None, :]).reshape(n, -1)


_LIST: list[Row] = [
    ("torus knot", _torus_knot, 1, 0, 0.01, 0.0),
    ("torus knot", _torus_knot, 1, 100, 0.005, 0.0),
    ("trigonometric curve", partial(trigonometric, 1, 5), 1, 15, 0.02, 0.0),
    ("catenoid", _catenoid, 2, 0, 0.015, 0.05),
    ("Klein bottle", _klein_bottle, 2, 0, 0.015, 0.0),
    ("Klein bottle", _klein_bottle, 2, 75, 0.01, 0.0),
    ("ellipsoid", partial(ellipsoid, (1.0, 0.6, 0.6)), 2, 40, 0.02, 0.0),
    ("trigonometric sheet", partial(trigonometric, 2, 7), 2, 7, 0.005, 0.05),
    ("S1 x S2", partial(spheres, 1, 2), 3, 0, 0.02, 0.0),
    ("trigonometric block", partial(trigonometric, 3, 9), 3, 100, 0.005, 0.0),
    ("products of unit vectors of R^2 and R^3", partial(_rank_one, 2, 3), 3, 0, 0.01, 0.0),
    ("ellipsoid", partial(ellipsoid, (1.0, 1.0, 0.8, 0.8, 0.6)), 4, 15, 0.01, 0.0),
    ("S1 x S3", partial(spheres, 1, 3), 4, 60, 0.01, 0.0),
    ("bent cube", partial(bent_cube, 4), 4, 0, 0.005, 0.05),
    ("S1 x S4", partial(spheres, 1, 4), 5, 0, 0.01, 0.0),
    ("orthonormal pairs of R^4", partial(_pairs_of_unit_vectors, 4), 5, 0, 0.01, 0.0),
    ("product of 5 circles", partial(circles, 5), 5, 0, 0.002, 0.0),
    ("paraboloid", partial(paraboloid, 5), 5, 100, 0.015, 0.0),
    ("ellipsoid", partial(ellipsoid, (1.0, 1.0, 0.9, 0.9, 0.8, 0.8, 0.7)), 6, 0, 0.005, 0.0),
    ("S2 x S4", partial(spheres, 2, 4), 6, 30, 0.01, 0.0),
    ("bent cube", partial(bent_cube, 6), 6, 100, 0.02, 0.0),
    ("trigonometric cube", partial(trigonometric, 6, 24), 6, 24, 0.005, 0.0),
]
