"""Clouds of known dimension that the choice of the rank was not tuned on: other shapes, noise, seeds and spaces.

Noise is relative to the diameter, in every coordinate. Some clouds have 5 % outliers, spread evenly over the box around
them; some have a density that varies 10 : 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from subbundle import datasets
from subbundle._types import FloatArray

# Name, clean cloud, dimension, dimension of the space (0: as it comes), noise, part of outliers.
Row = tuple[str, Callable[[int, np.random.Generator], FloatArray], int, int, float, float]


def held_out(n: int) -> Iterator[tuple[str, FloatArray, int]]:
    """Name, observations [n, d] and dimension."""
    return clouds(_LIST, n, seed=1000)


def clouds(rows: list[Row], n: int, *, seed: int) -> Iterator[tuple[str, FloatArray, int]]:
    """Name, observations [n, d] and dimension of every row of a list."""
    for row, (name, make, k, dim, noise, stray) in enumerate(rows):
        rng = np.random.default_rng(seed + row)
        clean = make(n, rng)
        dim = dim or clean.shape[1]
        words = f"{name} in R^{dim}, noise {100.0 * noise:g} %" + (f", {stray:.0%} outliers" if stray else "")
        yield words, _observed(clean, dim, noise, stray, rng), k


def _observed(clean: FloatArray, dim: int, noise: float, stray: float, rng: np.random.Generator) -> FloatArray:
    """``clean`` [n, m] turned into R^dim, with noise, and with a part replaced by outliers."""
    frame = np.linalg.qr(rng.standard_normal((dim, clean.shape[1])))[0]
    points = (clean - clean.mean(axis=0)) @ frame.T
    size = 2.0 * float(np.quantile(np.linalg.norm(points, axis=1), 0.99))
    points += noise * size * rng.standard_normal(points.shape)
    outlying = rng.uniform(size=len(points)) < stray
    points[outlying] = rng.uniform(points.min(axis=0), points.max(axis=0), (int(outlying.sum()), dim))
    return points


def _helix(n: int, rng: np.random.Generator) -> FloatArray:
    t = rng.uniform(0.0, 6.0 * np.pi, n)
    return np.column_stack([np.cos(t), np.sin(t), 0.2 * t])


def trigonometric(k: int, m: int, n: int, rng: np.random.Generator) -> FloatArray:
    """A random map of the unit k-cube by cosines of up to one wave a side, m coordinates."""
    u = rng.uniform(0.0, 1.0, (n, k))
    return np.cos(u @ rng.uniform(-np.pi, np.pi, (k, m)) + rng.uniform(0.0, 2.0 * np.pi, m))


def circles(k: int, n: int, rng: np.random.Generator) -> FloatArray:
    t = rng.uniform(0.0, 2.0 * np.pi, (n, k))
    return np.concatenate([np.cos(t), np.sin(t)], axis=1)


def ellipsoid(axes: tuple[float, ...], n: int, rng: np.random.Generator) -> FloatArray:
    return datasets.sphere(n, len(axes) - 1, seed=int(rng.integers(1000))).clean * np.array(axes)


def paraboloid(k: int, n: int, rng: np.random.Generator) -> FloatArray:
    ball = rng.standard_normal((n, k))
    ball *= rng.uniform(0.0, 1.0, (n, 1)) ** (1.0 / k) / np.linalg.norm(ball, axis=1, keepdims=True)
    return np.column_stack([ball, 0.6 * (ball**2).sum(axis=1)])


def _saddle_of_uneven_density(n: int, rng: np.random.Generator) -> FloatArray:
    # Density falls tenfold from one end to the other.
    u = np.log(1.0 + rng.uniform(0.0, 1.0, n) * (np.exp(2.3) - 1.0)) / 1.15 - 1.0
    v = rng.uniform(-1.0, 1.0, n)
    return np.column_stack([u, v, 0.5 * u * v])


def _sphere_of_uneven_density(n: int, rng: np.random.Generator) -> FloatArray:
    kept = datasets.sphere(12 * n, seed=int(rng.integers(1000))).clean
    kept = kept[rng.uniform(size=len(kept)) < np.exp(1.15 * (kept[:, 2] - 1.0))]
    return kept[:n]


def _moebius(n: int, rng: np.random.Generator) -> FloatArray:
    t, s = rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(-0.5, 0.5, n)
    ring = 1.0 + s * np.cos(0.5 * t)
    return np.column_stack([ring * np.cos(t), ring * np.sin(t), s * np.sin(0.5 * t)])


def _thick_roll(n: int, rng: np.random.Generator) -> FloatArray:
    roll = datasets.swiss_roll(n, seed=int(rng.integers(1000))).clean
    return np.column_stack([roll, rng.uniform(0.0, 2.0, n)])


def _rotations(m: int, n: int, rng: np.random.Generator) -> FloatArray:
    """SO(m) as matrices, dimension m (m − 1)/2."""
    q, r = np.linalg.qr(rng.standard_normal((n, m, m)))
    q *= np.sign(np.einsum("nii->ni", r))[:, None, :]
    q[:, :, 0] *= np.linalg.det(q)[:, None]
    return q.reshape(n, -1)


def _planes(p: int, m: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Projectors onto p-dimensional subspaces of R^m, dimension p (m − p)."""
    q = np.linalg.qr(rng.standard_normal((n, m, p)))[0]
    return (q @ np.swapaxes(q, 1, 2)).reshape(n, -1)


def spheres(p: int, q: int, n: int, rng: np.random.Generator) -> FloatArray:
    seeds = rng.integers(1000, size=2)
    return np.concatenate(
        [datasets.sphere(n, p, seed=int(seeds[0])).clean, datasets.sphere(n, q, seed=int(seeds[1])).clean], axis=1
    )


def bent_cube(k: int, n: int, rng: np.random.Generator) -> FloatArray:
    u = rng.uniform(-1.0, 1.0, (n, k))
    return np.column_stack([u, 0.5 * u[:, 0] * u[:, 1], 0.4 * np.sin(2.0 * u[:, -1])])


_LIST: list[Row] = [
    ("helix", _helix, 1, 0, 0.005, 0.0),
    ("helix", _helix, 1, 60, 0.015, 0.0),
    ("helix", _helix, 1, 0, 0.005, 0.05),
    ("trigonometric curve", partial(trigonometric, 1, 8), 1, 30, 0.01, 0.0),
    ("ellipse", partial(ellipsoid, (1.0, 0.4)), 1, 0, 0.02, 0.0),
    ("ellipsoid", partial(ellipsoid, (1.0, 0.8, 0.5)), 2, 0, 0.01, 0.0),
    ("ellipsoid", partial(ellipsoid, (1.0, 0.8, 0.5)), 2, 80, 0.01, 0.0),
    ("ellipsoid", partial(ellipsoid, (1.0, 0.8, 0.5)), 2, 0, 0.005, 0.05),
    ("product of 2 circles", partial(circles, 2), 2, 0, 0.02, 0.0),
    ("product of 2 circles", partial(circles, 2), 2, 20, 0.005, 0.05),
    ("paraboloid", partial(paraboloid, 2), 2, 50, 0.015, 0.0),
    ("Moebius strip", _moebius, 2, 0, 0.01, 0.0),
    ("saddle of density 10 : 1", _saddle_of_uneven_density, 2, 10, 0.01, 0.0),
    ("sphere of density 10 : 1", _sphere_of_uneven_density, 2, 0, 0.015, 0.0),
    ("trigonometric sheet", partial(trigonometric, 2, 12), 2, 100, 0.01, 0.0),
    ("projective plane", partial(_planes, 1, 3), 2, 0, 0.01, 0.0),
    ("SO(3)", partial(_rotations, 3), 3, 0, 0.0, 0.0),
    ("SO(3)", partial(_rotations, 3), 3, 0, 0.015, 0.0),
    ("SO(3)", partial(_rotations, 3), 3, 70, 0.01, 0.0),
    ("Swiss roll x interval", _thick_roll, 3, 0, 0.005, 0.0),
    ("product of 3 circles", partial(circles, 3), 3, 12, 0.01, 0.0),
    ("paraboloid", partial(paraboloid, 3), 3, 0, 0.005, 0.05),
    ("trigonometric block", partial(trigonometric, 3, 15), 3, 40, 0.01, 0.0),
    ("ellipsoid", partial(ellipsoid, (1.0, 0.9, 0.7, 0.6)), 3, 90, 0.015, 0.0),
    ("S2 x S2", partial(spheres, 2, 2), 4, 0, 0.01, 0.0),
    ("planes of R^4", partial(_planes, 2, 4), 4, 0, 0.005, 0.0),
    ("paraboloid", partial(paraboloid, 4), 4, 25, 0.02, 0.0),
    ("bent cube", partial(bent_cube, 4), 4, 100, 0.01, 0.0),
    ("product of 4 circles", partial(circles, 4), 4, 0, 0.005, 0.0),
    ("S2 x S3", partial(spheres, 2, 3), 5, 0, 0.005, 0.0),
    ("paraboloid", partial(paraboloid, 5), 5, 30, 0.01, 0.0),
    ("bent cube", partial(bent_cube, 5), 5, 0, 0.02, 0.0),
    ("trigonometric cube", partial(trigonometric, 5, 20), 5, 20, 0.005, 0.0),
    ("ellipsoid", partial(ellipsoid, (1.0, 1.0, 0.9, 0.9, 0.8, 0.8)), 5, 50, 0.01, 0.0),
    ("SO(4)", partial(_rotations, 4), 6, 0, 0.005, 0.0),
    ("paraboloid", partial(paraboloid, 6), 6, 60, 0.005, 0.0),
    ("bent cube", partial(bent_cube, 6), 6, 12, 0.01, 0.0),
    ("S3 x S3", partial(spheres, 3, 3), 6, 0, 0.01, 0.0),
]  # fmt: skip
