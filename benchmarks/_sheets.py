"""Shapes with known coordinates: u ↦ x(u) isometric from a box of R^k, bent in many dimensions, with noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Noisy ``points`` [n, d], true ``coordinates`` [n, k]; ``floor``: root mean square of the noise along it."""

    points: np.ndarray
    coordinates: np.ndarray
    floor: float
    place: Map


def _sheet(place: Map, coordinates: np.ndarray, noise: float, rng: np.random.Generator) -> Sheet:
    clean = place(coordinates)
    offsets = noise * rng.standard_normal(clean.shape)
    step = 1e-5
    along = np.zeros(len(clean))
    for a in range(coordinates.shape[1]):
        shift = step * np.eye(coordinates.shape[1])[a]
        # Isometric: the derivatives are orthonormal.
        tangent = (place(coordinates + shift) - place(coordinates - shift)) / (2.0 * step)
        along += np.sum(offsets * tangent, axis=1) ** 2
    return Sheet(clean + offsets, coordinates, float(np.sqrt(along.mean())), place)


def _rotation(dim: int, rank: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(7).standard_normal((dim, rank)))[0].T


def s_map(u: np.ndarray) -> np.ndarray:
    t, y = u.T
    return np.column_stack([np.sin(t), y, np.sign(t) * (np.cos(t) - 1.0)])


def s_sheet(n: int, seed: int, *, noise: float = 0.025, dim: int = 3, hole: bool = False) -> Sheet:
    """The S-surface in R^dim; with a hole, an ellipse of half axes 1.5 and 0.6 is missing from its middle."""
    rng = np.random.default_rng(seed)
    u = np.column_stack([rng.uniform(-1.5 * np.pi, 1.5 * np.pi, 2 * n), rng.uniform(0.0, 2.0, 2 * n)])
    if hole:
        u = u[np.hypot(u[:, 0] / 1.5, (u[:, 1] - 1.0) / 0.6) > 1.0]
    axes = np.eye(3) if dim == 3 else _rotation(dim, 3)
    return _sheet(lambda v: s_map(v) @ axes, u[:n], noise, rng)


def roll_sheet(n: int, seed: int, *, noise: float = 0.025) -> Sheet:
    """The Swiss roll (t cos t, t sin t)/10, 3π/2 ≤ t ≤ 9π/2, times [0, 2]."""
    rng = np.random.default_rng(seed)
    fine = np.linspace(1.2 * np.pi, 4.8 * np.pi, 40001)
    length = (fine * np.sqrt(1.0 + fine**2) + np.arcsinh(fine)) / 20.0
    low, high = np.interp([1.5 * np.pi, 4.5 * np.pi], fine, length)
    u = np.column_stack([rng.uniform(low, high, n), rng.uniform(0.0, 2.0, n)])

    def place(v: np.ndarray) -> np.ndarray:
        t = np.interp(v[:, 0], length, fine)
        for _ in range(3):
            t -= ((t * np.sqrt(1.0 + t**2) + np.arcsinh(t)) / 20.0 - v[:, 0]) / (np.sqrt(1.0 + t**2) / 10.0)
        return np.column_stack([t * np.cos(t) / 10.0, v[:, 1], t * np.sin(t) / 10.0])

    return _sheet(place, u, noise, rng)


def strip_sheet(n: int, seed: int, *, noise: float = 0.025, dim: int = 100) -> Sheet:
    """A strip of length 4 and width 1 that bends in 24 dimensions: twelve circular motions at once, at unit speed."""
    rng = np.random.default_rng(seed)
    u = np.column_stack([rng.uniform(0.0, 4.0, n), rng.uniform(0.0, 1.0, n)])
    pace = 0.7 * np.arange(1, 13) ** 0.7
    radii = 1.0 / (pace * np.sqrt(len(pace)))
    axes = _rotation(dim, 25)

    def place(v: np.ndarray) -> np.ndarray:
        turn = v[:, :1] * pace
        return np.hstack([radii * np.cos(turn), radii * np.sin(turn), v[:, 1:]]) @ axes

    return _sheet(place, u, noise, rng)


def box_sheet(n: int, seed: int, *, rank: int, dim: int, noise: float = 0.025) -> Sheet:
    """A box of side 1.5, each edge bent to an arc in two dimensions of its own."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(0.0, 1.5, (n, rank))
    radii = np.linspace(0.6, 1.2, rank)
    axes = _rotation(dim, 2 * rank)
    return _sheet(lambda v: np.hstack([radii * np.sin(v / radii), radii * np.cos(v / radii)]) @ axes, u, noise, rng)


@dataclass(frozen=True, slots=True)
class Curved:
    """Noisy ``points``, and ``distance(i, j)``: geodesic distances between the clean points of these rows."""

    points: np.ndarray
    distance: Callable[[np.ndarray, np.ndarray], np.ndarray]


def cap(n: int, seed: int, *, noise: float = 0.025, angle: float = np.pi / 3) -> Curved:
    """A spherical cap of the given angle from its pole: great circles."""
    rng = np.random.default_rng(seed)
    height, turn = rng.uniform(np.cos(angle), 1.0, n), rng.uniform(0.0, 2.0 * np.pi, n)
    ring = np.sqrt(1.0 - height**2)
    clean = np.column_stack([ring * np.cos(turn), ring * np.sin(turn), height])
    points = clean + noise * rng.standard_normal(clean.shape)
    return Curved(points, lambda i, j: np.arccos(np.clip(np.sum(clean[i] * clean[j], axis=1), -1.0, 1.0)))


def torus_patch(n: int, seed: int, *, noise: float = 0.025, dim: int = 10) -> Curved:
    """The outer part of a torus (radii 1 and 0.5; two thirds around, half of the tube) in R^dim.

    Geodesics between two points are found as the shortest of curves (θ(s), φ(s)) with 40 nodes, by Newton's method on
    their energy.
    """
    rng = np.random.default_rng(seed)
    angles = np.empty((0, 2))
    while len(angles) < n:
        some = rng.uniform([0.0, -0.5 * np.pi], [4.0 * np.pi / 3.0, 0.5 * np.pi], (2 * n, 2))
        kept = rng.uniform(0.0, 1.5, 2 * n) < 1.0 + 0.5 * np.cos(some[:, 1])
        angles = np.concatenate([angles, some[kept]])
    angles = angles[:n]
    ring = 1.0 + 0.5 * np.cos(angles[:, 1])
    flat = np.column_stack([ring * np.cos(angles[:, 0]), ring * np.sin(angles[:, 0]), 0.5 * np.sin(angles[:, 1])])
    clean = flat @ _rotation(dim, 3)
    points = clean + noise * rng.standard_normal(clean.shape)
    return Curved(points, lambda i, j: _torus_distance(angles[i], angles[j]))


def _torus_distance(first: np.ndarray, second: np.ndarray, nodes: int = 40) -> np.ndarray:
    """Lengths of the geodesics between angles [p, 2] on the outer half, where the shortest stays."""
    share = np.linspace(0.0, 1.0, nodes + 1)[None, :, None]
    path = first[:, None] * (1.0 - share) + second[:, None] * share

    def length(path: np.ndarray) -> np.ndarray:
        middle = 0.5 * (path[:, 1:] + path[:, :-1])
        step = np.diff(path, axis=1)
        return np.sqrt((1.0 + 0.5 * np.cos(middle[..., 1])) ** 2 * step[..., 0] ** 2 + 0.25 * step[..., 1] ** 2)

    # Clairaut: along a geodesic r(φ)² θ' is constant. For a given φ(s), the best θ has θ' ∝ 1/r²; φ follows by descent.
    for _ in range(4000):
        middle = 0.5 * (path[:, 1:, 1] + path[:, :-1, 1])
        radius = 1.0 + 0.5 * np.cos(middle)
        rate = 1.0 / radius**2
        total = path[:, -1, 0] - path[:, 0, 0]
        turn = total[:, None] * rate / rate.sum(axis=1, keepdims=True)
        path[:, 1:-1, 0] = path[:, :1, 0] + np.cumsum(turn, axis=1)[:, :-1]
        # Energy Σ r² Δθ² + ¼ Δφ²: gradient in φ.
        pull = -0.5 * np.sin(middle) * radius * turn**2
        phi = path[:, :, 1]
        gradient = 0.5 * (pull[:, 1:] + pull[:, :-1]) * 2.0 + 0.5 * (2.0 * phi[:, 1:-1] - phi[:, :-2] - phi[:, 2:])
        path[:, 1:-1, 1] -= 0.9 * gradient
    return length(path).sum(axis=1)
