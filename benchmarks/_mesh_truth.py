"""True surfaces as fine meshes whose longest side is 1, and noisy points drawn from them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trimesh

from subbundle.surface.extract import extract
from subbundle.triangles.clip import split_quads

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data" / "nefertiti-lowres.obj"


@dataclass(frozen=True, slots=True)
class Truth:
    """A surface: ``vertices`` [n, 3], ``faces`` [m, 3], its Euler characteristic and the length of its border."""

    name: str
    vertices: np.ndarray
    faces: np.ndarray
    euler: int
    border: float = 0.0

    def sample(self, n: int, noise: float, seed: int = 0) -> np.ndarray:
        """``n`` points uniform by area, with Gaussian noise."""
        rng = np.random.default_rng(seed)
        corners = self.vertices[self.faces]
        area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
        chosen = corners[rng.choice(len(corners), n, p=area / area.sum())]
        # Uniform on a triangle: fold the unit square over its diagonal.
        u = rng.uniform(size=(n, 2))
        u = np.where(u.sum(axis=1, keepdims=True) > 1.0, 1.0 - u, u)
        clean = chosen[:, 0] + np.einsum("ni,nid->nd", u, chosen[:, 1:] - chosen[:, :1])
        return clean + noise * rng.standard_normal((n, 3))


def truths() -> list[Truth]:
    """The surfaces made here, and a bust where one is found (SUBBUNDLE_BENCH_MESH, or beside the checkout)."""
    path = Path(os.environ.get("SUBBUNDLE_BENCH_MESH", _BESIDE))
    found = [_from_file(path)] if path.is_file() else []
    return [*found, torus(), genus_two(), bumpy_patch()]


def torus() -> Truth:
    return _level_set("torus", lambda x, y, z: np.hypot(np.hypot(x, y) - 1.0, z) - 0.4, (1.45, 1.45, 0.45), 0.012, 0)


def genus_two() -> Truth:
    return _level_set(
        "genus 2", lambda x, y, z: (y**2 - x**2 * (1.0 - x**2)) ** 2 + z**2 - 0.01, (1.2, 0.65, 0.15), 0.008, -2
    )


def slab(thickness: float) -> Truth:
    """All points at distance thickness/2 from a flat rectangle of 1 by 0.6: two walls and a round rim."""

    def distance(x, y, z):
        side = np.hypot(np.maximum(np.abs(x) - 0.5, 0.0), np.maximum(np.abs(y) - 0.3, 0.0))
        return np.hypot(side, z) - 0.5 * thickness

    half = 0.6 * thickness
    return _level_set(f"slab {thickness:g}", distance, (0.5 + half, 0.3 + half, half), thickness / 8.0, 2)


def box() -> Truth:
    """A box of 1 by 0.7 by 0.5, with sharp edges and corners."""
    made = trimesh.creation.box((1.0, 0.7, 0.5))
    return Truth("box", np.asarray(made.vertices), np.asarray(made.faces), 2)


def bumpy_patch() -> Truth:
    """The graph of 0.1 sin 6x cos 4y over the unit square."""
    axis = np.linspace(-0.5, 0.5, 401)
    x, y = (grid.ravel() for grid in np.meshgrid(axis, axis, indexing="ij"))
    rows = np.arange(401 * 401).reshape(401, 401)
    a, b, c, d = (part.ravel() for part in (rows[:-1, :-1], rows[1:, :-1], rows[1:, 1:], rows[:-1, 1:]))
    faces = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    vertices = np.column_stack([x, y, 0.1 * np.sin(6.0 * x) * np.cos(4.0 * y)])
    rim = [rows[0], rows[-1], rows[:, 0], rows[:, -1]]
    border = sum(np.linalg.norm(np.diff(vertices[side], axis=0), axis=1).sum() for side in rim)
    return Truth("bumpy patch, open", vertices, faces, 1, float(border))


def _level_set(
    name: str, field: Callable[..., np.ndarray], half: tuple[float, float, float], cell: float, euler: int
) -> Truth:
    """The zero set of ``field`` inside the box ± ``half``, its vertices brought onto it by Newton's method."""
    axes = [np.arange(-h - 3.0 * cell, h + 3.0 * cell, cell) for h in half]
    values = field(*np.meshgrid(*axes, indexing="ij")).astype(np.float32)
    places, quads = extract(values)
    vertices = np.array([axis[0] for axis in axes]) + cell * places
    for _ in range(4):
        value = field(*vertices.T)
        steps = 1e-6 * np.eye(3)
        slope = np.column_stack([(field(*(vertices + s).T) - field(*(vertices - s).T)) / 2e-6 for s in steps])
        vertices = vertices - (value / np.maximum(np.sum(slope**2, axis=1), 1e-12))[:, None] * slope
    size = np.ptp(vertices, axis=0).max()
    return Truth(name, vertices / size, split_quads(vertices, quads), euler)


def _from_file(path: Path) -> Truth:
    mesh = trimesh.load(path, force="mesh")
    low, high = mesh.bounds
    vertices = (np.asarray(mesh.vertices) - 0.5 * (low + high)) / (high - low).max()
    return Truth(path.stem, vertices, np.asarray(mesh.faces), int(mesh.euler_number))
