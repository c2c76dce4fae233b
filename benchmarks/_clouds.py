"""Noisy clouds with exact geodesic distances between their first points.

Noise along the surface is not identifiable. The points whose distances are compared have noise across the surface only,
so that their true distances are those of their projections.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.spatial.distance import cdist

from benchmarks._extras import require
from subbundle._types import FloatArray

N, COUNT = 20000, 40
# The torus, its mesh, and the smaller clouds in many dimensions.
MAJOR, MINOR, RINGS, SEGMENTS = 1.0, 0.4, 240, 100
FEW, FEW_COUNT, NOISE = 3000, 24, 0.025


@dataclass(frozen=True, slots=True)
class Measured:
    """Observations [n, d], exact distances [m, m] between the feet of the first m on the surface, and the diameter."""

    name: str
    points: FloatArray
    truth: FloatArray
    size: float


def surfaces(noise: float) -> Iterator[Measured]:
    """Sphere, cylinder and torus with noise relative to their size."""
    rng = np.random.default_rng(0)
    ball = rng.standard_normal((N, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    cosine = np.clip(ball[:COUNT] @ ball[:COUNT].T, -1.0, 1.0)
    across = _frames(ball[:COUNT])
    yield _noisy("sphere", ball, across, np.arccos(cosine), 2.0, noise, rng)
    angle, height = rng.uniform(0.0, 2.0 * np.pi, N), rng.uniform(-1.0, 1.0, N)
    tube = np.column_stack([np.cos(angle), np.sin(angle), height])
    turn = np.abs((angle[:COUNT, None] - angle[:COUNT] + np.pi) % (2.0 * np.pi) - np.pi)
    truth = np.hypot(turn, height[:COUNT, None] - height[:COUNT])
    across = _frames(tube[:COUNT] * [1.0, 1.0, 0.0])
    yield _noisy("cylinder", tube, across, truth, np.sqrt(8.0), noise, rng)
    vertices, _ = torus_mesh()
    rows = rng.choice(len(vertices), COUNT, replace=False)
    rest = torus_points(_uniform_on_torus(N - COUNT, rng))
    truth = torus_distances(tuple(rows.tolist()))
    clean = np.concatenate([vertices[rows], rest])
    yield _noisy("torus", clean, _torus_normals(vertices[rows]), truth, 2.0 * (MAJOR + MINOR), noise, rng)


def in_many_dimensions() -> Iterator[tuple[Measured, int]]:
    """A Swiss roll in R³, a patch of a torus in R^10, a bent three-dimensional block in R^20; and their ranks."""
    rng = np.random.default_rng(1)
    arc, across = rng.uniform(4.0, 14.0, FEW), rng.uniform(0.0, 2.0, FEW)
    radius, h = np.sqrt(arc / 5.0), 1e-5
    # r = √(t/5): turns stay about evenly apart, and the arc length is found by summing finely.
    fine = np.linspace(0.0, 14.0, 200001)
    curve = np.column_stack([np.sqrt(fine / 5.0) * np.cos(fine), np.sqrt(fine / 5.0) * np.sin(fine)])
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    flat = np.column_stack([np.interp(arc, fine, length), across])
    roll = np.column_stack([radius * np.cos(arc), across, radius * np.sin(arc)])
    ahead, behind = (
        np.sqrt((arc[:FEW_COUNT] + side) / 5.0)[:, None] * _circle(arc[:FEW_COUNT] + side) for side in (h, -h)
    )
    normals = np.insert((ahead - behind)[:, ::-1] * [-1.0, 1.0], 1, 0.0, axis=1)
    truth = cdist(flat[:FEW_COUNT], flat[:FEW_COUNT])
    yield _few("Swiss roll in R³", roll, _frames(normals), truth, 3, rng), 2
    vertices, _ = torus_mesh()
    u = 2.0 * np.pi * np.arange(RINGS) / RINGS
    v = 2.0 * np.pi * np.arange(SEGMENTS) / SEGMENTS
    grid = np.stack(np.meshgrid(_wrapped(u), _wrapped(v), indexing="ij"), axis=-1).reshape(-1, 2)
    inner = np.flatnonzero((np.abs(grid) < [0.8, 1.0]).all(axis=1))
    rows = rng.choice(inner, FEW_COUNT, replace=False)
    patch = torus_points(rng.uniform([-1.2, -1.5], [1.2, 1.5], (FEW - FEW_COUNT, 2)))
    truth = torus_distances(tuple(rows.tolist()))
    clean = np.concatenate([vertices[rows], patch])
    yield _few("torus patch in R^10", clean, _torus_normals(vertices[rows]), truth, 10, rng), 2
    block = rng.uniform(-1.0, 1.0, (FEW, 3))
    bent = np.concatenate([np.cos(block), np.sin(block)], axis=1)
    normals = np.zeros((FEW_COUNT, 6, 3))
    for i in range(3):
        normals[:, [i, 3 + i], i] = bent[:FEW_COUNT][:, [i, 3 + i]]
    yield _few("bent block in R^20", bent, normals, cdist(block[:FEW_COUNT], block[:FEW_COUNT]), 20, rng), 3


def torus_points(angles: FloatArray) -> FloatArray:
    """Points [n, 3] at ``angles`` [n, 2]: around the axis, and around the tube."""
    ring = MAJOR + MINOR * np.cos(angles[:, 1])
    return np.column_stack([ring * np.cos(angles[:, 0]), ring * np.sin(angles[:, 0]), MINOR * np.sin(angles[:, 1])])


def torus_mesh() -> tuple[FloatArray, np.ndarray]:
    """Vertices and triangles of a regular mesh."""
    u = 2.0 * np.pi * np.arange(RINGS) / RINGS
    v = 2.0 * np.pi * np.arange(SEGMENTS) / SEGMENTS
    vertices = torus_points(np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1).reshape(-1, 2))
    i, j = (part.ravel() for part in np.meshgrid(np.arange(RINGS), np.arange(SEGMENTS), indexing="ij"))
    a, b = i * SEGMENTS + j, (i + 1) % RINGS * SEGMENTS + j
    c, d = (i + 1) % RINGS * SEGMENTS + (j + 1) % SEGMENTS, i * SEGMENTS + (j + 1) % SEGMENTS
    return vertices, np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])


@cache
def torus_distances(rows: tuple[int, ...]) -> FloatArray:
    """Exact distances on the mesh of the torus between its vertices ``rows``.

    The mesh lies inside the torus by a few ten-thousandths of its size, and so do its distances.
    """
    exact = require("pygeodesic.geodesic").PyGeodesicAlgorithmExact(*torus_mesh())
    chosen = np.array(rows)
    return np.stack([exact.geodesicDistances(np.array([row]), None)[0][chosen] for row in rows])


def _uniform_on_torus(n: int, rng: np.random.Generator) -> FloatArray:
    """Angles [n, 2] of points spread evenly by area: the wider ring is taken more often."""
    angles = rng.uniform(0.0, 2.0 * np.pi, (4 * n, 2))
    kept = rng.uniform(0.0, MAJOR + MINOR, 4 * n) < MAJOR + MINOR * np.cos(angles[:, 1])
    return angles[kept][:n]


def _wrapped(angle: FloatArray) -> FloatArray:
    return (angle + np.pi) % (2.0 * np.pi) - np.pi


def _circle(angle: FloatArray) -> FloatArray:
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _frames(normals: FloatArray) -> FloatArray:
    """Unit normals as frames [n, d, 1]."""
    return np.asarray((normals / np.linalg.norm(normals, axis=1, keepdims=True))[:, :, None])


def _torus_normals(points: FloatArray) -> FloatArray:
    ring = points * [1.0, 1.0, 0.0]
    return _frames(points - MAJOR * ring / np.linalg.norm(ring, axis=1, keepdims=True))


def _noisy(
    name: str, clean: FloatArray, normals: FloatArray, truth: FloatArray, size: float, noise: float,
    rng: np.random.Generator,
) -> Measured:  # fmt: skip
    """``clean`` [n, d] with noise relative to the size; in the first rows only along ``normals`` [m, d, codim]."""
    moved = noise * size * rng.standard_normal(clean.shape)
    m = len(normals)
    moved[:m] = np.einsum("ndc,nec,ne->nd", normals, normals, moved[:m])
    return Measured(name, clean + moved, truth, size)


def _few(
    name: str, clean: FloatArray, normals: FloatArray, truth: FloatArray, dim: int, rng: np.random.Generator
) -> Measured:
    """``clean`` turned into R^dim, with noise in all of its coordinates; in the first rows only across the surface."""
    own = clean.shape[1]
    turn = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    moved = NOISE * rng.standard_normal((len(clean), dim))
    m = len(normals)
    moved[:m, :own] = np.einsum("ndc,nec,ne->nd", normals, normals, moved[:m, :own])
    moved[:, :own] += clean
    return Measured(name, moved @ turn.T, truth, float(truth.max()))
