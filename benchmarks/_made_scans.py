"""Synthetic scans of difficult cases, with the truth as a fine mesh: size about 1, noise 0.005.

Thin walls, narrow tunnels, a thin tube, a thread, inconsistent layers, noise and density that vary, clusters of
outliers, scan lines. Sizes are relative to the window of `reconstruct` at this noise and density, 1.1 times 1.8 noise
levels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import trimesh

from benchmarks._mesh_truth import Truth, _level_set, slab
from benchmarks._scan_data import Case
from subbundle.triangles.mesh import Mesh

SIGMA = 0.005
WINDOW = 1.1 * 1.8 * SIGMA
N, SEED = 30_000, 5
# Radii of the torus on which noise, density, layers, outliers and scan lines are tried.
MAJOR, MINOR = 0.35, 0.15


def made_scans() -> dict[str, Callable[[], Case]]:
    """What makes each case, by name."""
    return {
        "wall, 8 noise levels": partial(_wall, 8.0),
        "wall, 6 noise levels": partial(_wall, 6.0),
        "wall, 4 noise levels": partial(_wall, 4.0),
        "tunnel, 4 windows": partial(_tunnel, 4.0),
        "tunnel, 3 windows": partial(_tunnel, 3.0),
        "tunnel, 2 windows": partial(_tunnel, 2.0),
        "tube, radius 6 noise levels": _tube,
        "thread, grooves of 8 noise levels": _thread,
        "layers, 3 noise levels apart": _layers,
        "noise growing 1 : 5": _growing_noise,
        "density 1 : 20": _falling_density,
        "10 % outliers in clumps": _clumps,
        "scan lines 1 : 4": _scan_lines,
    }


def _case(name: str, truth: Truth, points: np.ndarray) -> Case:
    faces = np.asarray(truth.faces, dtype=np.int64)
    mesh = Mesh(truth.vertices, faces)
    known = (mesh.euler_characteristic, mesh.n_components, mesh.n_border_loops)
    return Case(name, points, (truth.vertices, faces), topology=known)


def _torus(major: float = MAJOR, minor: float = MINOR) -> Truth:
    made = trimesh.creation.torus(major, minor, major_sections=300, minor_sections=150)
    return Truth("torus", np.asarray(made.vertices), np.asarray(made.faces), 0)


def _on_torus(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points [count, 3] of the torus, uniform by area, and their outward normals."""
    around, across = rng.uniform(0.0, 2.0 * np.pi, (2, 2 * count + 1000))
    kept = rng.uniform(0.0, MAJOR + MINOR, len(across)) < MAJOR + MINOR * np.cos(across)
    return _place(around[kept][:count], across[kept][:count])


def _place(around: np.ndarray, across: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    out = np.column_stack([np.cos(around), np.sin(around), np.zeros_like(around)])
    normals = np.cos(across)[:, None] * out + np.sin(across)[:, None] * [0.0, 0.0, 1.0]
    return MAJOR * out + MINOR * normals, normals


def _wall(levels: float) -> Case:
    """Two walls and a round rim, 1 by 0.6."""
    truth = slab(levels * SIGMA)
    noise = float(np.ptp(truth.vertices[:, 2])) / levels  # it was scaled to a length of 1
    return _case(f"wall, {levels:g} noise levels", truth, truth.sample(36_000, noise, SEED))


def _tunnel(windows: float) -> Case:
    """A torus whose hole is so many windows wide."""
    truth = _torus(MINOR + 0.5 * windows * WINDOW, MINOR)
    return _case(f"tunnel, {windows:g} windows", truth, truth.sample(N, SIGMA, SEED))


def _tube() -> Case:
    truth = _torus(0.45, 6.0 * SIGMA)
    return _case("tube, radius 6 noise levels", truth, truth.sample(N, SIGMA, SEED))


def _thread() -> Case:
    """A screw of radius 0.2, its groove 8 noise levels deep and as wide at half its depth, with flat ends."""
    deep, pitch, half = 8.0 * SIGMA, 16.0 * SIGMA, 0.45

    def field(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        fade = np.clip((half - 0.06 - np.abs(z)) / 0.06, 0.0, 1.0)
        wave = np.cos(2.0 * np.pi * z / pitch - np.arctan2(y, x))
        side = np.hypot(x, y) - 0.2 - 0.5 * deep * fade * wave
        return np.maximum(side, np.abs(z) - half)

    truth = _level_set("thread", field, (0.24, 0.24, half + 0.01), 0.005, 2)
    return _case("thread, grooves of 8 noise levels", truth, truth.sample(40_000, SIGMA / (2.0 * half), SEED))


def _layers() -> Case:
    """Two scans that agree on one half; on the other, one lies 3 noise levels beside the other, the truth between."""
    rng = np.random.default_rng(SEED)
    points, _ = _on_torus(N, rng)
    second = rng.random(N) < 0.5
    part = np.clip(points[:, 0] / 0.1, 0.0, 1.0)
    shift = 3.0 * SIGMA * np.array([0.48, 0.6, 0.64])
    points = points + (part * np.where(second, 0.5, -0.5))[:, None] * shift
    return _case("layers, 3 noise levels apart", _torus(), points + SIGMA * rng.standard_normal(points.shape))


def _growing_noise() -> Case:
    rng = np.random.default_rng(SEED)
    points, _ = _on_torus(N, rng)
    along = (points[:, :1] + MAJOR + MINOR) / (2.0 * (MAJOR + MINOR))
    noise = 0.4 * SIGMA * (1.0 + 4.0 * along)
    return _case("noise growing 1 : 5", _torus(), points + noise * rng.standard_normal(points.shape))


def _falling_density() -> Case:
    rng = np.random.default_rng(SEED)
    points, _ = _on_torus(4 * N, rng)
    along = (points[:, 0] + MAJOR + MINOR) / (2.0 * (MAJOR + MINOR))
    points = points[rng.random(len(points)) < 20.0**-along][:N]
    return _case("density 1 : 20", _torus(), points + SIGMA * rng.standard_normal(points.shape))


def _clumps() -> Case:
    """30 clumps as wide as two windows, between 4 windows and a tenth of the size away."""
    rng = np.random.default_rng(SEED)
    points, _ = _on_torus(N, rng)
    places, normals = _on_torus(30, rng)
    far = rng.uniform(4.0 * WINDOW, 0.1, (30, 1)) * np.where(rng.random((30, 1)) < 0.5, 1.0, -1.0)
    middle = np.repeat(places + far * normals, N // 300, axis=0)
    outliers = middle + 2.0 * WINDOW * rng.standard_normal(middle.shape)
    cloud = np.vstack([points + SIGMA * rng.standard_normal(points.shape), outliers])
    return _case("10 % outliers in clumps", _torus(), cloud)


def _scan_lines() -> Case:
    """Lines around the tube, four times as far apart as the points on them."""
    step = np.sqrt(np.pi**2 * MAJOR * MINOR / 20_000)
    lines, count = round(2.0 * np.pi * MAJOR / (4.0 * step)), round(2.0 * np.pi * MINOR / step)
    rng = np.random.default_rng(SEED)
    around = np.repeat(2.0 * np.pi * np.arange(lines) / lines, count)
    across = np.tile(2.0 * np.pi * np.arange(count) / count, lines) + np.repeat(rng.uniform(size=lines), count)
    points, _ = _place(around, across)
    return _case("scan lines 1 : 4", _torus(), points + SIGMA * rng.standard_normal(points.shape))
