"""Shapes with known projections, tangent spaces, and geodesics in closed form or by their own equations.

None of it uses the library. A shape samples points uniformly by volume (a patch by its parameters), projects nearby
points to itself, and integrates its geodesics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray

# Fourth-order steps along geodesics that have no closed form, and samples of a curve between which is interpolated.
STEPS, SAMPLES = 400, 40001


class Shape(Protocol):
    """A k-dimensional shape of the given ``size`` (diameter); ``reach`` is the length geodesics are followed for."""

    rank: int
    size: float
    reach: float

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """``n`` points [n, d] of the shape."""

    def nearest(self, points: FloatArray) -> FloatArray:
        """Parameters [n, k] of the nearest points of the shape."""

    def at(self, parameters: FloatArray) -> FloatArray:
        """Points [n, d]."""

    def tangents(self, parameters: FloatArray) -> FloatArray:
        """Derivatives [n, d, k] by the parameters."""

    def follow(self, parameters: FloatArray, velocities: FloatArray) -> FloatArray:
        """Parameters [n, k] after time 1 on geodesics with these velocities [n, k] of the parameters."""

    def inside(self, parameters: FloatArray, margin: float) -> np.ndarray:
        """Whether they are further than ``margin`` from every border [n]."""


@dataclass(frozen=True)
class Sphere:
    """The unit sphere; its parameters are the points themselves."""

    rank: int = 2
    size: float = 2.0
    reach: float = 1.5

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.nearest(rng.standard_normal((n, 3)))

    def nearest(self, points: FloatArray) -> FloatArray:
        return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))

    def at(self, parameters: FloatArray) -> FloatArray:
        return parameters

    def tangents(self, parameters: FloatArray) -> FloatArray:
        return np.asarray(np.linalg.qr(parameters[:, :, None], mode="complete")[0][:, :, 1:])

    def follow(self, parameters: FloatArray, velocities: FloatArray) -> FloatArray:
        speed = np.linalg.norm(velocities, axis=1, keepdims=True)
        return np.asarray(np.cos(speed) * parameters + np.sin(speed) / speed * velocities)

    def inside(self, parameters: FloatArray, margin: float) -> np.ndarray:
        return np.ones(len(parameters), dtype=bool)


@dataclass(frozen=True)
class Torus:
    """The torus around the z axis with radii 1 and 0.4; angles around the axis and around the tube."""

    minor: float = 0.4
    rank: int = 2
    size: float = 2.8
    reach: float = 1.2

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        angles = rng.uniform(0.0, 2.0 * np.pi, (4 * n, 2))
        kept = rng.uniform(0.0, 1.0 + self.minor, 4 * n) < 1.0 + self.minor * np.cos(angles[:, 1])
        return self.at(angles[kept][:n])

    def nearest(self, points: FloatArray) -> FloatArray:
        around = np.hypot(points[:, 0], points[:, 1]) - 1.0
        return np.column_stack([np.arctan2(points[:, 1], points[:, 0]), np.arctan2(points[:, 2], around)])

    def at(self, parameters: FloatArray) -> FloatArray:
        u, v = parameters.T
        ring = 1.0 + self.minor * np.cos(v)
        return np.column_stack([ring * np.cos(u), ring * np.sin(u), self.minor * np.sin(v)])

    def tangents(self, parameters: FloatArray) -> FloatArray:
        u, v = parameters.T
        ring, nil, r = 1.0 + self.minor * np.cos(v), np.zeros_like(u), self.minor
        first = np.column_stack([-ring * np.sin(u), ring * np.cos(u), nil])
        second = np.column_stack([-r * np.sin(v) * np.cos(u), -r * np.sin(v) * np.sin(u), r * np.cos(v)])
        return np.stack([first, second], axis=2)

    def follow(self, parameters: FloatArray, velocities: FloatArray) -> FloatArray:
        def acceleration(x: FloatArray, v: FloatArray) -> FloatArray:
            ring, sine = 1.0 + self.minor * np.cos(x[:, 1]), np.sin(x[:, 1])
            return np.column_stack(
                [2.0 * self.minor * sine / ring * v[:, 0] * v[:, 1], -ring * sine / self.minor * v[:, 0] ** 2]
            )

        return _runge_kutta(parameters, velocities, acceleration)

    def inside(self, parameters: FloatArray, margin: float) -> np.ndarray:
        return np.ones(len(parameters), dtype=bool)


@dataclass(frozen=True)
class Strip:
    """A plane curve c(t), start ≤ t ≤ stop, times [0, width], or the curve alone; arc length and height."""

    curve: Callable[[FloatArray], FloatArray]
    start: float
    stop: float
    size: float
    reach: float
    width: float = 0.0

    def __post_init__(self) -> None:
        t = np.linspace(self.start, self.stop, SAMPLES)
        points = self.curve(t)
        length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
        for name, value in (("t", t), ("points", points), ("length", length), ("tree", cKDTree(points))):
            object.__setattr__(self, name, value)

    @property
    def rank(self) -> int:
        return 2 if self.width else 1

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.at(rng.uniform(0.0, 1.0, (n, self.rank)) * [self.length[-1], self.width][: self.rank])

    def nearest(self, points: FloatArray) -> FloatArray:
        rows = self.tree.query(points[:, :2])[1]
        before, after = np.maximum(rows - 1, 0), np.minimum(rows + 1, SAMPLES - 1)
        chord = self.points[after] - self.points[before]
        along = np.einsum("nd,nd->n", points[:, :2] - self.points[before], chord) / np.sum(chord**2, axis=1)
        length = self.length[before] + np.clip(along, 0.0, 1.0) * (self.length[after] - self.length[before])
        return np.column_stack([length, *(np.clip(points[:, 2:], 0.0, self.width).T)])

    def at(self, parameters: FloatArray) -> FloatArray:
        plane = self.curve(np.interp(parameters[:, 0], self.length, self.t))
        return np.column_stack([plane, *parameters[:, 1:].T])

    def tangents(self, parameters: FloatArray) -> FloatArray:
        t, h = np.interp(parameters[:, 0], self.length, self.t), 1e-5
        along = self.curve(t + h) - self.curve(t - h)
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        found = np.zeros((len(t), 1 + self.rank, self.rank))
        found[:, :2, 0] = along
        if self.width:
            found[:, 2, 1] = 1.0
        return found

    def follow(self, parameters: FloatArray, velocities: FloatArray) -> FloatArray:
        return np.asarray(parameters + velocities)

    def inside(self, parameters: FloatArray, margin: float) -> np.ndarray:
        kept = (parameters[:, 0] > margin) & (parameters[:, 0] < self.length[-1] - margin)
        if self.width:
            kept &= (parameters[:, 1] > margin) & (parameters[:, 1] < self.width - margin)
        return np.asarray(kept)


@dataclass(frozen=True)
class Patch:
    """The graph z = f(x, y) of waves over [−1, 1]²; x and y."""

    rank: int = 2
    size: float = 2.8
    reach: float = 1.0

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.at(rng.uniform(-1.0, 1.0, (n, 2)))

    def nearest(self, points: FloatArray) -> FloatArray:
        grid, tree = self._sampled
        x = grid[tree.query(points)[1]]
        for _ in range(8):
            jacobian, offset = self.tangents(x), points - self.at(x)
            hessian = np.einsum("ndi,ndj->nij", jacobian, jacobian) - offset[:, 2, None, None] * self._hessian(x)
            step = np.linalg.solve(hessian, np.einsum("ndi,nd->ni", jacobian, offset)[..., None])[..., 0]
            x = np.clip(x + np.clip(step, -0.02, 0.02), -1.0, 1.0)
        return x

    def at(self, parameters: FloatArray) -> FloatArray:
        x, y = parameters.T
        return np.column_stack([x, y, 0.25 * np.sin(3.0 * x + 0.5) * np.cos(2.5 * y) + 0.15 * x * y])

    def tangents(self, parameters: FloatArray) -> FloatArray:
        found = np.zeros((len(parameters), 3, 2))
        found[:, 0, 0] = found[:, 1, 1] = 1.0
        found[:, 2] = self._slope(parameters)
        return found

    def follow(self, parameters: FloatArray, velocities: FloatArray) -> FloatArray:
        def acceleration(x: FloatArray, v: FloatArray) -> FloatArray:
            slope = self._slope(x)
            bend = np.einsum("ni,nij,nj->n", v, self._hessian(x), v)
            return np.asarray(-(bend / (1.0 + np.sum(slope**2, axis=1)))[:, None] * slope)

        return _runge_kutta(parameters, velocities, acceleration)

    def inside(self, parameters: FloatArray, margin: float) -> np.ndarray:
        return np.asarray((np.abs(parameters) < 1.0 - margin).all(axis=1))

    @cached_property
    def _sampled(self) -> tuple[FloatArray, cKDTree]:
        grid = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 201)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
        return grid, cKDTree(self.at(grid))

    def _slope(self, parameters: FloatArray) -> FloatArray:
        x, y = parameters.T
        a, b = 3.0 * x + 0.5, 2.5 * y
        return np.column_stack([0.75 * np.cos(a) * np.cos(b) + 0.15 * y, -0.625 * np.sin(a) * np.sin(b) + 0.15 * x])

    def _hessian(self, parameters: FloatArray) -> FloatArray:
        a, b = 3.0 * parameters[:, 0] + 0.5, 2.5 * parameters[:, 1]
        found = np.empty((len(a), 2, 2))
        found[:, 0, 0] = -2.25 * np.sin(a) * np.cos(b)
        found[:, 0, 1] = found[:, 1, 0] = -1.875 * np.cos(a) * np.sin(b) + 0.15
        found[:, 1, 1] = -1.5625 * np.sin(a) * np.cos(b)
        return found


@dataclass(frozen=True)
class Block:
    """(cos u_i, sin u_i), i = 1, 2, 3, |u_i| ≤ 1.2: a bent block in R⁶; the angles."""

    rank: int = 3
    size: float = 3.2
    reach: float = 1.2

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.at(rng.uniform(-1.2, 1.2, (n, 3)))

    def nearest(self, points: FloatArray) -> FloatArray:
        return np.clip(np.arctan2(points[:, 3:], points[:, :3]), -1.2, 1.2)

    def at(self, parameters: FloatArray) -> FloatArray:
        return np.concatenate([np.cos(parameters), np.sin(parameters)], axis=1)

    def tangents(self, parameters: FloatArray) -> FloatArray:
        found = np.zeros((len(parameters), 6, 3))
        for i in range(3):
            found[:, i, i], found[:, 3 + i, i] = -np.sin(parameters[:, i]), np.cos(parameters[:, i])
        return found

    def follow(self, parameters: FloatArray, velocities: FloatArray) -> FloatArray:
        return np.asarray(parameters + velocities)

    def inside(self, parameters: FloatArray, margin: float) -> np.ndarray:
        return np.asarray((np.abs(parameters) < 1.2 - margin).all(axis=1))


def shapes() -> dict[str, Shape]:
    """All of them by name."""
    return {
        "sphere": Sphere(),
        "torus": Torus(),
        "S-surface": Strip(_s, -1.5 * np.pi, 1.5 * np.pi, 4.0, 2.0, 2.0),
        "Swiss roll": Strip(_roll, 1.5 * np.pi, 4.5 * np.pi, 2.8, 1.6, 2.0),
        "wavy patch": Patch(),
        "spiral arm, k = 1": Strip(_arm, 0.0, 1.5 * np.pi, 3.0, 2.0),
        "bent block, k = 3": Block(),
    }


def _s(t: FloatArray) -> FloatArray:
    return np.column_stack([np.sin(t), np.sign(t) * (np.cos(t) - 1.0)])


def _roll(t: FloatArray) -> FloatArray:
    return np.column_stack([t * np.cos(t), t * np.sin(t)]) / 10.0


def _arm(t: FloatArray) -> FloatArray:
    return (1.0 + t / 5.0)[:, None] * np.column_stack([np.cos(t), np.sin(t)])


def _runge_kutta(
    x: FloatArray, v: FloatArray, acceleration: Callable[[FloatArray, FloatArray], FloatArray]
) -> FloatArray:
    """x(1) of x″ = acceleration(x, x′)."""
    h = 1.0 / STEPS
    for _ in range(STEPS):
        a1 = acceleration(x, v)
        v2 = v + 0.5 * h * a1
        a2 = acceleration(x + 0.5 * h * v, v2)
        v3 = v + 0.5 * h * a2
        a3 = acceleration(x + 0.5 * h * v2, v3)
        v4 = v + h * a3
        a4 = acceleration(x + h * v3, v4)
        x, v = x + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4), v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    return x
