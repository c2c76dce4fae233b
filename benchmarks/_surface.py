"""The surface of the head experiment: a noisy cloud of size 1 whose true distance function is known.

A mesh is used when one is found: the file named by the environment variable SUBBUNDLE_BENCH_MESH, or a bust in
``shared/data`` beside the checkout. Otherwise it is the library's bumpy sphere, scaled to size 1.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trimesh
from scipy.spatial import cKDTree

import subbundle as sb

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data" / "nefertiti-lowres.obj"


@dataclass(frozen=True, slots=True)
class Surface:
    """``points`` [n, 3], noisy; ``distance(points [m, 3]) -> [m]`` to the true surface, exact."""

    name: str
    points: np.ndarray
    distance: Callable[[np.ndarray], np.ndarray]


def noisy_surface(n: int, noise: float) -> Surface:
    """``n`` observations of a surface whose longest side is 1."""
    path = Path(os.environ.get("SUBBUNDLE_BENCH_MESH", _BESIDE))
    if path.is_file():
        return _from_mesh(path, n, noise)
    made = sb.datasets.bumpy_sphere(n, seed=0)
    scale = float(np.ptp(made.clean, axis=0).max())
    points = made.clean / scale + noise * np.random.default_rng(0).standard_normal((n, 3))
    return Surface("bumpy sphere of subbundle.datasets", points, lambda x: made.distance(x * scale) / scale)


def _from_mesh(path: Path, n: int, noise: float) -> Surface:
    mesh = trimesh.load(path, process=False, force="mesh")
    low, high = mesh.bounds
    corners = (np.asarray(mesh.vertices) - 0.5 * (low + high)) / (high - low).max()
    triangles = corners[np.asarray(mesh.faces)]
    rng = np.random.default_rng(0)
    area = np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    chosen = triangles[rng.choice(len(triangles), n, p=area / area.sum())]
    # Uniform on a triangle: fold the unit square over its diagonal.
    u = rng.uniform(size=(n, 2))
    u = np.where(u.sum(axis=1, keepdims=True) > 1.0, 1.0 - u, u)
    clean = chosen[:, 0] + np.einsum("ni,nid->nd", u, chosen[:, 1:] - chosen[:, :1])
    return Surface(path.stem, clean + noise * rng.standard_normal((n, 3)), lambda x: distance_to_mesh(x, triangles))


def distance_to_mesh(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Exact distance of ``points`` [n, 3] to ``triangles`` [m, 3, 3].

    The nearest corner bounds the distance. Any triangle that comes nearer has its centroid within that bound plus its
    own radius, so only those are tried; large triangles are kept apart, lest their radius widen the search for all.
    """
    bound = cKDTree(triangles.reshape(-1, 3)).query(points)[0]
    centroids = triangles.mean(axis=1)
    radius = np.linalg.norm(triangles - centroids[:, None], axis=2).max(axis=1)
    best = bound.copy()
    limit = np.quantile(radius, 0.99)
    for group in (np.flatnonzero(radius <= limit), np.flatnonzero(radius > limit)):
        if not group.size:
            continue
        tree = cKDTree(centroids[group])
        near = tree.query_ball_point(points, bound + radius[group].max())
        rows = np.repeat(np.arange(len(points)), [len(found) for found in near])
        tried = group[np.concatenate([np.asarray(found, dtype=np.int64) for found in near])]
        closest = trimesh.triangles.closest_point(triangles[tried], points[rows])
        np.minimum.at(best, rows, np.linalg.norm(closest - points[rows], axis=1))
    return best
