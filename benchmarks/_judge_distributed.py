"""Errors for the tuned constants of distributed/: small scenes with a truth, meshed and denoised in tiles, with the
sizes above which a scene is only sampled made small."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np

import subbundle as sb
from subbundle.distributed import mesh_scale, plan, sample
from subbundle.triangles.mesh import Mesh


def _ball(n: int, centre: float, radius: float, noise: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    x *= radius / np.linalg.norm(x, axis=1, keepdims=True)
    return x + [centre, 0.0, 0.0] + noise * rng.normal(size=x.shape)


def _height(xy: np.ndarray) -> np.ndarray:
    return 0.25 * np.sin(2.0 * xy[:, 0]) * np.cos(2.0 * xy[:, 1])


def _hills(n: int, noise: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    xy = rng.uniform([-2.0, -1.0], [2.0, 1.0], (n, 2))
    return np.column_stack([xy, _height(xy)]) + noise * rng.normal(size=(n, 3))


def _slab(n: int, seed: int) -> np.ndarray:
    """A closed box of sides 2, 1 and 0.2."""
    rng, sides = np.random.default_rng(seed), np.array([2.0, 1.0, 0.2])
    axis = rng.choice(3, n, p=(1.0 / sides) / (1.0 / sides).sum())
    points = rng.uniform(-0.5, 0.5, (n, 3)) * sides
    points[np.arange(n), axis] = rng.choice([-0.5, 0.5], n) * sides[axis]
    return points + 0.002 * rng.normal(size=points.shape)


def _off_slab(x: np.ndarray) -> np.ndarray:
    beyond = np.abs(x) - [1.0, 0.5, 0.1]
    outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
    return np.abs(outside + np.minimum(beyond.max(axis=1), 0.0))


def _gap() -> np.ndarray:
    """A sphere without two caps, one of which is to be bridged."""
    points = _ball(6000, 0.0, 1.0, 0.004, 9)
    return points[(points[:, 2] < np.cos(0.17)) & (points[:, 2] > -np.cos(0.6))]


def _scenes() -> dict[str, tuple[np.ndarray, Callable[[np.ndarray], np.ndarray], tuple[int, int]]]:
    """Points, distance from the truth, and the true Euler characteristic and number of components."""
    torus = sb.datasets.torus(4000, noise=0.01, seed=0)
    decks = np.concatenate([_hills(3000, 0.0, 7), _hills(3000, 0.0, 8) + [0.0, 0.0, 0.4]])
    outliers = np.random.default_rng(1).uniform(-1.5, 1.5, (150, 3))
    nested = np.concatenate([_ball(3000, 0.0, 1.0, 0.0, 3), _ball(2000, 0.0, 0.7, 0.0, 4)])

    def from_sphere(x: np.ndarray) -> np.ndarray:
        return np.abs(np.linalg.norm(x, axis=1) - 1.0)

    def between(x: np.ndarray) -> np.ndarray:
        radius = np.linalg.norm(x, axis=1)
        return np.minimum(np.abs(radius - 1.0), np.abs(radius - 0.7))

    def off_hills(x: np.ndarray) -> np.ndarray:
        above = x[:, 2] - _height(x)
        return np.minimum(np.abs(above), np.abs(above - 0.4))

    return {
        "hills": (_hills(5000, 0.005, 5), off_hills, (1, 1)),
        "torus": (torus.points, torus.distance, (0, 1)),
        "slab": (_slab(8000, 6), _off_slab, (2, 1)),
        "decks": (decks, off_hills, (2, 2)),
        "outliers": (np.concatenate([_ball(3000, 0.0, 1.0, 0.01, 0), outliers]), from_sphere, (2, 1)),
        "nested": (nested, between, (4, 2)),
        "gap": (_gap(), from_sphere, (1, 1)),
    }


def _meshed(points: np.ndarray, folder: Path) -> Mesh:
    import trimesh

    made = sb.distributed.reconstruct(points, folder / "mesh.ply")
    read = trimesh.load(made.paths[0], process=False)
    return Mesh(np.asarray(read.vertices), np.asarray(read.faces), np.asarray(read.vertex_normals))


def _denoised(folder: Path) -> dict[str, float]:
    """The error of a denoised sphere whose bandwidth is chosen around places, and the fraction of inward normals."""
    with mock.patch.object(plan, "SAMPLE", 400), mock.patch.object(sample, "SAMPLE", 400):
        made = sb.distributed.denoise(_ball(6000, 0.0, 1.0, 0.03, 2), folder / "out", normals=True)
    table = np.load(made.paths[0])
    inward = np.sum(table[:, :3] * table[:, 3:6], axis=1) < 0.0
    error = float(np.sqrt(np.mean((np.linalg.norm(table[:, :3], axis=1) - 1.0) ** 2)))
    return {"denoised": error, "inward": 0.01 + float(np.mean(inward))}


def figures() -> dict[str, float]:
    """Root mean square distances of vertices and points, and one and how far topology is from the true one."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.SubbundleWarning)
        folder = Path(name)
        for scene, (points, distance, (euler, components)) in _scenes().items():
            mesh = _meshed(points, folder)
            found[scene] = float(np.sqrt(np.mean(distance(mesh.vertices) ** 2)))
            wrong = abs(mesh.euler_characteristic - euler) + abs(mesh.n_components - components)
            # Faces turned inward make the volume negative; a height field has none.
            inward = scene in ("slab", "torus") and mesh.volume < 0.0
            found[f"{scene}, topology"] = 1.0 + wrong + inward
        with mock.patch.object(mesh_scale, "_MOST_POINTS", 4000):
            scene = sb.distributed.plan_tiles(_hills(12_000, 0.005, 0), folder / "look")
            found["noise around places"] = abs(mesh_scale.plan_scale(scene).noise / 0.005 - 1.0) + 0.05
        return found | _denoised(folder)
