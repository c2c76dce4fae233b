"""Errors for the tuned constants of `surface` and `triangles`: small scans with a truth in closed form.

They are those of `_made_scans` with a fifth of the points and the noise √5 times as large, so that the ratios of
windows, spacing and noise are the same; and others with borders, holes, given normals, not orientable, or in more than
three dimensions. The error of a scan is the mean distance from mesh to truth plus that from truth to mesh, in noise
levels. Defects are 1 plus the absolute errors of Euler characteristic, components and borders.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import trimesh
from scipy.spatial import cKDTree

import subbundle as sb

N, SEED, SIGMA = 6000, 5, 0.011
WINDOW = 1.1 * 1.8 * SIGMA
MAJOR, MINOR = 0.35, 0.15
SAMPLES = 3000

Distance = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Scan:
    """Noisy ``points`` of a surface, ``clean`` ones, the ``distance`` to it and its Euler number, parts and borders."""

    points: np.ndarray
    clean: np.ndarray
    distance: Distance
    topology: tuple[int, int, int]
    options: dict[str, Any] = field(default_factory=dict)


def figures() -> dict[str, float]:
    """Error of every scan, and the defects of all."""
    found: dict[str, float] = {"defects": 1.0}
    for name, make in SCANS.items():
        scan = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sb.SubbundleWarning)
            mesh = sb.reconstruct(scan.points, n_jobs=1, **scan.options)
        found[name] = _error(mesh, scan) / SIGMA
        known = mesh.euler_characteristic, mesh.n_components, mesh.n_border_loops
        found["defects"] += sum(abs(a - b) for a, b in zip(known, scan.topology, strict=True))
    return found


def _error(mesh: Any, scan: Scan) -> float:
    rng = np.random.default_rng(1)
    corners = mesh.vertices[mesh.faces]
    sides = corners[:, 1:] - corners[:, :1]
    square = np.sum(sides**2, axis=2)
    area = np.sqrt(np.maximum(square[:, 0] * square[:, 1] - np.sum(sides[:, 0] * sides[:, 1], axis=1) ** 2, 0.0))
    chosen = rng.choice(len(area), SAMPLES, p=area / area.sum())
    weights = rng.dirichlet(np.ones(3), SAMPLES)
    there = scan.distance(np.einsum("ni,nid->nd", weights, corners[chosen])).mean()
    some = scan.clean[rng.choice(len(scan.clean), min(SAMPLES, len(scan.clean)), replace=False)]
    if some.shape[1] > 3:
        return float(there + cKDTree(np.concatenate([mesh.vertices, corners.mean(axis=1)])).query(some)[0].mean())
    near, best = cKDTree(corners.mean(axis=1)).query(some, k=6)[1], np.full(len(some), np.inf)
    for faces in near.T:
        best = np.minimum(best, np.linalg.norm(trimesh.triangles.closest_point(corners[faces], some) - some, axis=1))
    return float(there + best.mean())


def _noisy(clean: np.ndarray, noise: Any = SIGMA) -> np.ndarray:
    return clean + noise * np.random.default_rng(SEED + 1).standard_normal(clean.shape)


# Tori ----------------------------------------------------------------------------------------------------------------


def _torus(major: float = MAJOR, minor: float = MINOR, n: int = N) -> tuple[np.ndarray, np.ndarray, Distance]:
    """Points [n, 3] of a torus, uniform by area, their outward normals, and the distance to it."""
    rng = np.random.default_rng(SEED)
    around, across = rng.uniform(0.0, 2.0 * np.pi, (2, 4 * n))
    kept = rng.uniform(0.0, major + minor, 4 * n) < major + minor * np.cos(across)
    return *_place(around[kept][:n], across[kept][:n], major, minor), _torus_distance(major, minor)


def _place(around: np.ndarray, across: np.ndarray, major: float, minor: float) -> tuple[np.ndarray, np.ndarray]:
    out = np.column_stack([np.cos(around), np.sin(around), np.zeros_like(around)])
    normals = np.cos(across)[:, None] * out + np.sin(across)[:, None] * [0.0, 0.0, 1.0]
    return major * out + minor * normals, normals


def _torus_distance(major: float, minor: float) -> Distance:
    return lambda x: np.abs(np.hypot(np.hypot(x[:, 0], x[:, 1]) - major, x[:, 2]) - minor)


def _tunnel() -> Scan:
    clean, _, distance = _torus(MINOR + 1.5 * WINDOW)
    return Scan(_noisy(clean), clean, distance, (0, 1, 0))


def _tube() -> Scan:
    clean, _, distance = _torus(0.4, 6.0 * SIGMA, 4000)
    return Scan(_noisy(clean), clean, distance, (0, 1, 0))


def _layers() -> Scan:
    clean, _, distance = _torus()
    second = np.where(np.random.default_rng(SEED).random(N) < 0.5, 0.5, -0.5)
    shift = 3.0 * SIGMA * np.array([0.48, 0.6, 0.64])
    apart = (np.clip(clean[:, 0] / 0.1, 0.0, 1.0) * second)[:, None] * shift
    return Scan(_noisy(clean + apart), clean, distance, (0, 1, 0))


def _growing_noise() -> Scan:
    clean, _, distance = _torus()
    along = (clean[:, :1] + MAJOR + MINOR) / (2.0 * (MAJOR + MINOR))
    return Scan(_noisy(clean, 0.4 * SIGMA * (1.0 + 4.0 * along)), clean, distance, (0, 1, 0))


def _falling_density() -> Scan:
    clean, _, distance = _torus(n=4 * N)
    along = (clean[:, 0] + MAJOR + MINOR) / (2.0 * (MAJOR + MINOR))
    kept = clean[np.random.default_rng(SEED).random(len(clean)) < 20.0**-along][:N]
    return Scan(_noisy(kept), clean, distance, (0, 1, 0))


def _outliers() -> Scan:
    """A tenth of the observations in clumps two windows wide, and a twentieth anywhere."""
    clean, normals, distance = _torus()
    rng = np.random.default_rng(SEED)
    where = rng.choice(N, 6, replace=False)
    far = rng.uniform(5.0 * WINDOW, 0.2, (6, 1)) * np.where(rng.random((6, 1)) < 0.5, 1.0, -1.0)
    middle = np.repeat(clean[where] + far * normals[where], N // 60, axis=0)
    clumps = middle + 2.0 * WINDOW * rng.standard_normal(middle.shape)
    lone = rng.uniform(-0.6, 0.6, (N // 20, 3))
    return Scan(np.concatenate([_noisy(clean), clumps, lone]), clean, distance, (0, 1, 0))


def _scan_lines() -> Scan:
    step = np.sqrt(4.0 * np.pi**2 * MAJOR * MINOR / N)
    lines, count = round(2.0 * np.pi * MAJOR / (2.0 * step)), round(4.0 * np.pi * MINOR / step)
    rng = np.random.default_rng(SEED)
    around = np.repeat(2.0 * np.pi * np.arange(lines) / lines, count)
    across = np.tile(2.0 * np.pi * np.arange(count) / count, lines) + np.repeat(rng.uniform(size=lines), count)
    clean = _place(around, across, MAJOR, MINOR)[0]
    return Scan(_noisy(clean, 0.5 * SIGMA), _torus()[0], _torus_distance(MAJOR, MINOR), (0, 1, 0))


def _unseen() -> Scan:
    """A torus with a hole that is bridged and one that stays open; the truth is what was seen, and the first hole."""
    clean, _, distance = _torus()
    small = np.linalg.norm(clean - [MAJOR + MINOR, 0.0, 0.0], axis=1) < 2.5 * WINDOW
    large = np.linalg.norm(clean - [-MAJOR - MINOR, 0.0, 0.0], axis=1) < 8.0 * WINDOW
    return Scan(_noisy(clean)[~(small | large)], clean[~large], distance, (-1, 1, 1))


# Others --------------------------------------------------------------------------------------------------------------


def _slab(levels: float, n: int = 7000) -> tuple[np.ndarray, np.ndarray, Distance]:
    """Points of a slab so many noise levels thick, 1 by 0.6 with a round rim, outward normals, and the distance."""
    half, rng = 0.5 * levels * SIGMA, np.random.default_rng(SEED)

    def distance(x: np.ndarray) -> np.ndarray:
        side = np.hypot(np.maximum(np.abs(x[:, 0]) - 0.5, 0.0), np.maximum(np.abs(x[:, 1]) - 0.3, 0.0))
        return np.abs(np.hypot(side, x[:, 2]) - half)

    flat = rng.uniform([-0.5 - half, -0.3 - half], [0.5 + half, 0.3 + half], (4 * n, 2))
    inside = np.clip(flat, [-0.5, -0.3], [0.5, 0.3])
    away = np.linalg.norm(flat - inside, axis=1)
    rise = np.sqrt(np.maximum(half**2 - away**2, 0.0)) / half
    # By area: 1 over the slope on the rim.
    kept = (away < half) & (rng.random(4 * n) < 0.2 / np.maximum(rise, 0.2))
    sign = np.where(rng.random(kept.sum()) < 0.5, 1.0, -1.0)
    normals = np.column_stack([(flat - inside)[kept] / half, rise[kept] * sign])
    return (np.column_stack([inside[kept], np.zeros(kept.sum())]) + half * normals)[:n], normals[:n], distance


def _wall(levels: float) -> Scan:
    clean, _, distance = _slab(levels)
    return Scan(_noisy(clean), clean, distance, (2, 1, 0))


def _wall_with_normals() -> Scan:
    clean, normals, distance = _slab(5.0)
    turned = _noisy(normals, 0.1)
    return Scan(_noisy(clean, 0.7 * SIGMA), clean, distance, (2, 1, 0), {"normals": turned})


def _box() -> Scan:
    """A box with sharp edges, without noise to speak of on one half, closed over a missing face."""
    rng = np.random.default_rng(SEED)
    half = np.array([0.3, 0.22, 0.16])
    clean = rng.uniform(-half, half, (5000, 3))
    axis = rng.choice(3, 5000, p=(1.0 / half) / np.sum(1.0 / half))
    rows = np.arange(5000)
    clean[rows, axis] = half[axis] * np.where(rng.random(5000) < 0.5, 1.0, -1.0)

    def distance(x: np.ndarray) -> np.ndarray:
        over = np.abs(x) - half
        return np.abs(np.linalg.norm(np.maximum(over, 0.0), axis=1) + np.minimum(over.max(axis=1), 0.0))

    noisy = _noisy(clean, SIGMA * np.where(clean[:, :1] > 0.0, 0.5, 0.2))
    missing = clean[:, 0] < -0.3 + 1e-9
    return Scan(noisy[~missing], clean[~missing], distance, (2, 1, 0), {"closed": True})


def _moebius() -> Scan:
    rng = np.random.default_rng(SEED)
    t, w = rng.uniform(0.0, 2.0 * np.pi, 6000), rng.uniform(-0.2, 0.2, 6000)

    def place(t: np.ndarray, w: np.ndarray) -> np.ndarray:
        ring = 0.4 + w * np.cos(0.5 * t)
        return np.column_stack([ring * np.cos(t), ring * np.sin(t), w * np.sin(0.5 * t)])

    t_fine, w_fine = (grid.ravel() for grid in np.meshgrid(np.linspace(0, 2 * np.pi, 700), np.linspace(-0.2, 0.2, 110)))
    tree = cKDTree(place(t_fine, w_fine))
    clean = place(t, w)
    return Scan(_noisy(clean, 0.5 * SIGMA), clean, lambda x: tree.query(x)[0], (0, 1, 1))


def _four_dimensions() -> Scan:
    """Half a torus S¹ × S¹ of radii 0.3 and 0.2 in R⁴, with two borders."""
    s, t = np.random.default_rng(SEED).uniform([0.0, 0.0], [np.pi, 2.0 * np.pi], (2500, 2)).T
    clean = np.column_stack([0.3 * np.cos(s), 0.3 * np.sin(s), 0.2 * np.cos(t), 0.2 * np.sin(t)])

    def distance(x: np.ndarray) -> np.ndarray:
        return np.hypot(np.hypot(x[:, 0], x[:, 1]) - 0.3, np.hypot(x[:, 2], x[:, 3]) - 0.2)

    return Scan(_noisy(clean), clean, distance, (0, 1, 2))


SCANS: dict[str, Callable[[], Scan]] = {
    "wall, 6 noise levels": lambda: _wall(6.0),
    "wall, 4 noise levels": lambda: _wall(4.0),
    "wall, normals": _wall_with_normals,
    "tunnel, 3 windows": _tunnel,
    "tube, 6 noise levels": _tube,
    "layers": _layers,
    "noise 1 : 5": _growing_noise,
    "density 1 : 20": _falling_density,
    "outliers": _outliers,
    "scan lines": _scan_lines,
    "unseen patches": _unseen,
    "box, closed": _box,
    "Möbius band": _moebius,
    "four dimensions": _four_dimensions,
}
