"""Clouds whose density varies 10 : 1, some with varying noise or curvature, and their ground truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray

_QUERIES = 480
_SPIRAL = np.log(10.0) / (3.0 * np.pi)


@dataclass(frozen=True, slots=True)
class Varying:
    """Observations, queries spread evenly over the shape and away from its borders, and the truth at points near it.

    ``distance`` takes [n, d] and returns [n]; ``tangents`` returns orthonormal bases [n, d, k].
    """

    points: FloatArray
    queries: FloatArray
    rank: int
    distance: Callable[[FloatArray], FloatArray]
    tangents: Callable[[FloatArray], FloatArray]


def sphere(n: int, dim: int, noise: float, falling: bool = False, seed: int = 0) -> Varying:
    """Density 10^(x/2); with ``falling`` noise from √10 to 1/√10 times as large, where observations are dense."""
    rng = np.random.default_rng(seed)
    clean = _thinned(rng, n, lambda m: _unit(rng.standard_normal((m, 3))), lambda p: 10.0 ** (0.5 * (p[:, 0] - 1.0)))
    level = noise * (10.0 ** (-0.5 * clean[:, :1]) if falling else np.ones((n, 1)))

    def tangents(p: FloatArray) -> FloatArray:
        return _complement(_unit(p))

    return _lift(rng, clean, level, _unit(rng.standard_normal((_QUERIES, 3))), dim, 2,
                 lambda p: np.linalg.norm(p, axis=1) - 1.0, tangents)  # fmt: skip


def torus(n: int, noise: float, seed: int = 0) -> Varying:
    """Density 10^(cos u / 2) along the large circle."""
    rng = np.random.default_rng(seed)

    def uniform(m: int) -> FloatArray:
        angles = rng.uniform(0.0, 2.0 * np.pi, (m, 2))
        return angles[rng.uniform(size=m) < (1.0 + 0.4 * np.cos(angles[:, 1])) / 1.4]

    def place(u: FloatArray) -> FloatArray:
        ring = 1.0 + 0.4 * np.cos(u[:, 1])
        return np.column_stack([ring * np.cos(u[:, 0]), ring * np.sin(u[:, 0]), 0.4 * np.sin(u[:, 1])])

    def distance(p: FloatArray) -> FloatArray:
        return np.asarray(np.hypot(np.hypot(p[:, 0], p[:, 1]) - 1.0, p[:, 2]) - 0.4)

    def tangents(p: FloatArray) -> FloatArray:
        ring = p * [1.0, 1.0, 0.0]
        return _complement(_unit(p - _unit(ring)))

    clean = place(_thinned(rng, n, uniform, lambda u: 10.0 ** (0.5 * (np.cos(u[:, 0]) - 1.0))))
    return _lift(rng, clean, np.full((n, 1), noise), place(uniform(2 * _QUERIES)[:_QUERIES]), 3, 2, distance, tangents)


def cone(n: int, noise: float, growing: bool = False, seed: int = 0) -> Varying:
    """Radii 0.1 to 1, height twice the radius: density and curvature 1/r; with ``growing`` noise times r."""
    rng = np.random.default_rng(seed)

    def place(radius: FloatArray) -> FloatArray:
        angle = rng.uniform(0.0, 2.0 * np.pi, len(radius))
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 2.0 * radius])

    def tangents(p: FloatArray) -> FloatArray:
        ring = _unit(p * [1.0, 1.0, 0.0])
        return _complement(_unit(2.0 * ring - [0.0, 0.0, 1.0]))

    radius = rng.uniform(0.1, 1.0, n)
    level = noise * (radius if growing else np.ones(n))[:, None]
    queries = place(np.sqrt(rng.uniform(0.15**2, 0.9**2, _QUERIES)))
    return _lift(rng, place(radius), level, queries, 3, 2,
                 lambda p: (2.0 * np.hypot(p[:, 0], p[:, 1]) - p[:, 2]) / np.sqrt(5.0), tangents)  # fmt: skip


def spheres(n: int, noise: float, seed: int = 0) -> Varying:
    """Two spheres of radii 0.2 and 2; the small one is ten times as dense, and half of the queries are on it."""
    rng = np.random.default_rng(seed)
    few = n // 11
    centre = np.array([3.0, 0.0, 0.0])

    def both(m: int, small: int) -> FloatArray:
        unit = _unit(rng.standard_normal((m, 3)))
        return np.asarray(np.where(np.arange(m)[:, None] < small, 0.2 * unit + centre, 2.0 * unit))

    def nearer(p: FloatArray) -> tuple[FloatArray, FloatArray]:
        small, large = np.linalg.norm(p - centre, axis=1) - 0.2, np.linalg.norm(p, axis=1) - 2.0
        nearest = np.abs(small) < np.abs(large)
        return np.where(nearest, small, large), np.where(nearest[:, None], p - centre, p)

    clean, queries = both(n, few), both(_QUERIES, _QUERIES // 2)
    return _lift(rng, clean, np.full((n, 1), noise), queries, 3, 2,
                 lambda p: nearer(p)[0], lambda p: _complement(_unit(nearer(p)[1])))  # fmt: skip


def spiral(n: int, dim: int, noise: float, seed: int = 0) -> Varying:
    """A logarithmic spiral that climbs, in 1.5 turns from radius 0.1 to 1: density and curvature 1/r, noise r."""
    rng = np.random.default_rng(seed)

    def place(turn: FloatArray) -> FloatArray:
        radius = 0.1 * np.exp(_SPIRAL * turn)
        return np.column_stack([radius * np.cos(turn), radius * np.sin(turn), 0.5 * radius])

    fine = np.linspace(-0.5, 3.0 * np.pi + 0.3, 40001)
    known, tree = place(fine), cKDTree(place(fine))
    way = _unit(np.gradient(known, axis=0))

    def distance(p: FloatArray) -> FloatArray:
        nearest = tree.query(p)[1]
        offset = p - known[nearest]
        along = np.einsum("nd,nd->n", offset, way[nearest])
        return np.asarray(np.linalg.norm(offset - along[:, None] * way[nearest], axis=1))

    turn = rng.uniform(0.0, 3.0 * np.pi, n)
    level = noise * 0.1 * np.exp(_SPIRAL * turn)[:, None]
    queries = place(np.log(rng.uniform(0.13, 0.9, _QUERIES) / 0.1) / _SPIRAL)
    return _lift(
        rng, place(turn), level, queries, dim, 1, distance, lambda p: np.asarray(way[tree.query(p)[1]][:, :, None])
    )


def _lift(
    rng: np.random.Generator,
    clean: FloatArray,
    level: FloatArray,
    queries: FloatArray,
    dim: int,
    rank: int,
    distance: Callable[[FloatArray], FloatArray],
    tangents: Callable[[FloatArray], FloatArray],
) -> Varying:
    """The shape turned into R^dim, with noise in all directions."""
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((dim, dim)))[0][:, : clean.shape[1]]

    def far(p: FloatArray) -> FloatArray:
        inside = p @ turn
        outside = np.einsum("nd,nd->n", p, p) - np.einsum("nd,nd->n", inside, inside)
        return np.asarray(np.sqrt(distance(inside) ** 2 + np.maximum(outside, 0.0)))

    def bases(p: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("de,nek->ndk", turn, tangents(p @ turn)))

    noisy = clean @ turn.T + level * rng.standard_normal((len(clean), dim))
    return Varying(noisy, queries @ turn.T, rank, far, bases)


def _thinned(
    rng: np.random.Generator,
    n: int,
    draw: Callable[[int], FloatArray],
    density: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """``n`` draws, kept with the probability that ``density`` gives."""
    kept: list[FloatArray] = []
    while sum(map(len, kept)) < n:
        more = draw(n)
        kept.append(more[rng.uniform(size=len(more)) < density(more)])
    return np.concatenate(kept)[:n]


def _unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _complement(normals: FloatArray) -> FloatArray:
    """Orthonormal bases [n, 3, 2] of the planes across ``normals`` [n, 3]."""
    axes = np.eye(3)[np.abs(normals).argmin(axis=1)]
    first = _unit(np.cross(normals, axes))
    return np.stack([first, np.cross(normals, first)], axis=2)
