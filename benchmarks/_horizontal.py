"""Clouds along horizontal curves of the Heisenberg group, and clouds of surfaces that could be taken for them.

A curve is horizontal where dz = c (x dy − y dx)/2. Horizontal curves reach every point of space, so that a cloud of
many has no surface through it; but short segments of them from one point lie close to a plane.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks._held_out_shapes import circles
from subbundle import datasets
from subbundle._types import FloatArray

Cloud = tuple[str, FloatArray, int]


def positives(first: int = 0) -> Iterator[Cloud]:
    """Name, observations and rank of clouds along horizontal curves; seeds are counted from ``first``."""
    rng = np.random.default_rng(first)
    grid = np.stack(np.meshgrid(*[np.linspace(-0.9, 0.9, 5)] * 3), axis=-1).reshape(-1, 3)
    for seed in (first, first + 1):
        yield f"straight pieces from 100 places, c = 3 ({seed})", discs(100, 80, 0.4, 3.0, seed), 2
        yield f"straight pieces from 100 places, c = 1.5 ({seed})", discs(100, 80, 0.4, 1.5, seed), 2
        yield f"short pieces from 300 places, c = 3 ({seed})", discs(300, 20, 0.2, 3.0, seed), 2
        yield f"long pieces from 60 places, c = 2 ({seed})", discs(60, 100, 0.5, 2.0, seed), 2
        starts = np.random.default_rng(50 + seed).uniform(-1.0, 1.0, (150, 3))
        yield f"turning curves from 150 places, c = 2 ({seed})", curves(starts, 12, 5, 0.35, 2.0, 2.0, seed), 2
        starts = np.random.default_rng(60 + seed).uniform(-1.0, 1.0, (400, 3))
        yield f"turning curves from 400 places, c = 3 ({seed})", curves(starts, 12, 5, 0.25, 3.0, 2.0, seed), 2
        reached = curves(np.zeros((1, 3)), 40, 25, 1.5, 3.0, 4.0, seed)[::6]
        yield f"curves from one place, with side curves, c = 3 ({seed})", curves(reached, 12, 5, 0.2, 3.0, 2.0, seed), 2
    yield "straight pieces from a lattice of 125, c = 2", discs(125, 50, 0.3, 2.0, first + 3, grid), 2
    yield "turning curves from a lattice of 125, c = 1", curves(grid, 14, 5, 0.4, 1.0, 2.0, first + 4), 2
    yield "straight pieces, noise 2 %", discs(100, 80, 0.4, 2.0, first + 6) + 0.02 * rng.standard_normal((8000, 3)), 2
    yield "straight pieces in R^20", lifted(discs(100, 80, 0.4, 3.0, first + 5), 20, 0.01), 2


def negatives(first: int = 0) -> Iterator[Cloud]:
    """Name, observations and rank of surfaces, parallel sheets and fragments; seeds are counted from ``first``."""
    for noise in (0.0, 0.01, 0.04):
        words = f", noise {noise:g}"
        yield "torus" + words, datasets.torus(3000, noise=noise, seed=first + 1).points, 2
        yield "S" + words, datasets.s_surface(3000, noise=noise, seed=first + 2).points, 2
        yield "bumpy sphere" + words, datasets.bumpy_sphere(3000, noise=noise, seed=first + 4).points, 2
        yield "helicoid" + words, helicoid(3000, noise, first), 2
        yield "Moebius strip" + words, moebius(3000, noise, first), 2
    yield "Swiss roll, noise 0.02", datasets.swiss_roll(3000, noise=0.02, seed=first + 3).points, 2
    yield "400 points of a torus", datasets.torus(400, noise=0.02, seed=first + 5).points, 2
    yield "400 points of an S", datasets.s_surface(400, noise=0.02, seed=first + 6).points, 2
    yield "500 points of a helicoid", helicoid(500, 0.02, first), 2
    torus = datasets.torus(3000, noise=0.02, seed=first + 7).points
    stray = np.random.default_rng(first + 7).uniform(torus.min(axis=0), torus.max(axis=0), (150, 3))
    yield "torus with 5 % outliers", np.concatenate([torus, stray]), 2
    yield "S in R^50", lifted(datasets.s_surface(3000, seed=first + 8).points, 50, 0.03), 2
    yield "3-sphere", datasets.sphere(3000, 3, noise=0.02, seed=first + 9).points, 3
    yield "product of 3 circles", lifted(circles(3, 4000, np.random.default_rng(first)), 6, 0.02), 3
    for seed in (first, first + 1):
        yield f"100 parallel fragments ({seed})", discs(100, 80, 0.4, 0.0, seed), 2
        yield f"300 small parallel fragments ({seed})", discs(300, 20, 0.2, 0.0, seed), 2
        yield f"80 fragments along bent sheets ({seed})", bent_fragments(80, 40, 0.25, seed), 2
    yield "2 parallel sheets", sheets(2, 0.3, 4000, first), 2
    yield "5 parallel sheets", sheets(5, 0.2, 5000, first), 2
    yield "3 close parallel sheets", sheets(3, 0.1, 4000, first), 2


def discs(count: int, each: int, radius: float, c: float, seed: int, starts: FloatArray | None = None) -> FloatArray:
    """``each`` points on straight horizontal pieces up to ``radius`` from ``count`` places of the cube [−1, 1]³."""
    rng = np.random.default_rng(seed)
    places = np.repeat(rng.uniform(-1.0, 1.0, (count, 3)) if starts is None else starts, each, axis=0)
    angle, way = rng.uniform(0.0, 2.0 * np.pi, len(places)), radius * np.sqrt(rng.uniform(size=len(places)))
    u, v = way * np.cos(angle), way * np.sin(angle)
    lift = 0.5 * c * (places[:, 0] * v - places[:, 1] * u)
    return places + np.column_stack([u, v, lift]) + 0.004 * rng.standard_normal(places.shape)


def curves(starts: FloatArray, each: int, steps: int, length: float, c: float, bend: float, seed: int) -> FloatArray:
    """``steps`` points on each of ``each`` horizontal curves of curvature up to ``bend`` (in x, y) from ``starts``."""
    rng = np.random.default_rng(seed)
    here = np.repeat(starts, each, axis=0)
    angle, bends = rng.uniform(0.0, 2.0 * np.pi, len(here)), rng.uniform(-bend, bend, len(here))
    step, found = length / steps, []
    for _ in range(steps):
        found.append(here)
        dx, dy = step * np.cos(angle), step * np.sin(angle)
        dz = 0.5 * c * ((here[:, 0] + 0.5 * dx) * dy - (here[:, 1] + 0.5 * dy) * dx)
        here, angle = here + np.column_stack([dx, dy, dz]), angle + step * bends
    points = np.concatenate(found)
    return points + 0.003 * rng.standard_normal(points.shape)


def bent_fragments(count: int, each: int, radius: float, seed: int) -> FloatArray:
    """Pieces of parallel copies of one quadric at random heights."""
    rng = np.random.default_rng(seed)
    places = np.repeat(
        np.column_stack([rng.uniform(-1.0, 1.0, (count, 2)), rng.uniform(-0.5, 0.5, count)]), each, axis=0
    )
    angle, way = rng.uniform(0.0, 2.0 * np.pi, len(places)), radius * np.sqrt(rng.uniform(size=len(places)))
    x, y = places[:, 0] + way * np.cos(angle), places[:, 1] + way * np.sin(angle)
    points = np.column_stack([x, y, places[:, 2] + 0.4 * x**2 - 0.3 * x * y])
    return points + 0.004 * rng.standard_normal(points.shape)


def sheets(count: int, apart: float, n: int, seed: int) -> FloatArray:
    """``count`` parallel bent sheets."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, (n, 2))
    z = 0.3 * np.sin(2.0 * x[:, 0]) * np.cos(1.5 * x[:, 1]) + apart * rng.integers(count, size=n)
    return np.column_stack([x, z]) + 0.01 * rng.standard_normal((n, 3))


def helicoid(n: int, noise: float, seed: int) -> FloatArray:
    """One turn of a helicoid: a surface that twists one way everywhere."""
    rng = np.random.default_rng(seed)
    u, t = rng.uniform(-1.0, 1.0, n), rng.uniform(-np.pi, np.pi, n)
    return np.column_stack([u * np.cos(t), u * np.sin(t), 0.5 * t]) + noise * rng.standard_normal((n, 3))


def moebius(n: int, noise: float, seed: int) -> FloatArray:
    """A strip with half a twist."""
    rng = np.random.default_rng(seed)
    t, s = rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(-0.5, 0.5, n)
    ring = 1.0 + s * np.cos(0.5 * t)
    clean = np.column_stack([ring * np.cos(t), ring * np.sin(t), s * np.sin(0.5 * t)])
    return clean + noise * rng.standard_normal((n, 3))


def lifted(points: FloatArray, dim: int, noise: float) -> FloatArray:
    """``points`` turned into R^dim, with noise."""
    rng = np.random.default_rng(0)
    frame = np.linalg.qr(rng.standard_normal((dim, points.shape[1])))[0]
    return points @ frame.T + noise * rng.standard_normal((len(points), dim))
