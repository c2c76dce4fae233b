"""Scans with a truth, real and simulated, and the errors of a mesh against them.

The folder named by the environment variable SUBBUNDLE_BENCH_DATA may hold ``scan-<name>.npz`` with an array ``scan``
[n, 3], possibly ``normals`` [n, 3], and as truth either points ``truth`` [m, 3] of a more precise scanner or a mesh
``vertices``, ``faces``; and ``.obj`` meshes of heads, from which noisy clouds are drawn.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trimesh
from scipy.spatial import cKDTree

from benchmarks._mesh_truth import Truth
from subbundle.triangles.clip import cut
from subbundle.triangles.mesh import Mesh

SAMPLES_POINTS, SAMPLES_MESH = 200_000, 50_000
# Triangles are split until no edge is longer than this fraction of the size; the nearest is then among those with the
# nearest centroids, but for errors far below the distances that are compared.
_PIECE, _NEAREST = 0.01, 8


@dataclass(frozen=True, slots=True)
class Case:
    """A cloud with its truth: points [m, 3] or a mesh (vertices, faces); distances are shown times ``scale``."""

    name: str
    points: np.ndarray
    truth: np.ndarray | tuple[np.ndarray, np.ndarray]
    normals: np.ndarray | None = None
    scale: float = 1000.0
    topology: tuple[int, int, int] | None = None
    """True Euler characteristic, connected components and border loops, where they are known."""


@dataclass(frozen=True, slots=True)
class Score:
    """Mean distances both ways (times the case's scale) and the topology of a mesh."""

    accuracy: float
    completeness: float
    euler: int
    parts: int
    borders: int


def folder() -> Path | None:
    """Where scans are looked for, or None."""
    named = os.environ.get("SUBBUNDLE_BENCH_DATA", "")
    return Path(named) if named and Path(named).is_dir() else None


def scans() -> list[Case]:
    """The scans in `folder`, by name."""
    where = folder()
    return [] if where is None else [_scan(path) for path in sorted(where.glob("scan-*.npz"))]


def _scan(path: Path) -> Case:
    with np.load(path) as held:
        arrays = {name: np.asarray(held[name]) for name in held.files}
    points = arrays["scan"].astype(np.float64)
    normals = arrays["normals"].astype(np.float64) if "normals" in arrays else None
    name = path.stem.removeprefix("scan-")
    if "truth" in arrays:
        return Case(name, points, arrays["truth"].astype(np.float64), normals, scale=1.0)
    faces = arrays["faces"].astype(np.int64)
    mesh = Mesh(arrays["vertices"].astype(np.float64), faces)
    known = (mesh.euler_characteristic, mesh.n_components, mesh.n_border_loops)
    return Case(name, points, (mesh.vertices, faces), normals, topology=known)


def heads(noises: tuple[float, ...], n: int, seed: int) -> list[Case]:
    """Clouds of ``n`` points of every closed mesh in `folder`, whole and with the top fifth cut away."""
    where = folder()
    cases = []
    for path in [] if where is None else sorted(where.glob("*.obj")):
        whole = trimesh.load(path, force="mesh")
        low, high = whole.bounds
        vertices = (np.asarray(whole.vertices) - 0.5 * (low + high)) / (high - low).max()
        faces = np.asarray(whole.faces)
        axis = int(np.argmax(np.ptp(vertices, axis=0)))
        top = vertices[:, axis].min() + 0.8 * np.ptp(vertices[:, axis])
        shapes = ((path.stem, vertices, faces), (f"{path.stem}, open", *_below(vertices, faces, axis, top)))
        for name, corners, triangles in shapes:
            mesh = Mesh(corners, triangles.astype(np.int64))
            known = (mesh.euler_characteristic, mesh.n_components, mesh.n_border_loops)
            truth = Truth(name, corners, triangles, known[0])
            for noise in noises:
                cloud = truth.sample(n, noise, seed)
                cases.append(Case(f"{name}, noise {noise:g}", cloud, (corners, triangles), scale=1e5, topology=known))
    return cases


def _below(vertices: np.ndarray, faces: np.ndarray, axis: int, top: float) -> tuple[np.ndarray, np.ndarray]:
    """What of a mesh lies below ``top`` along ``axis``."""
    kept, edges, t = cut(faces.astype(np.int64), vertices[:, axis] - top)
    start, end = vertices[edges[:, 0]], vertices[edges[:, 1]]
    return np.concatenate([vertices, start + t[:, None] * (end - start)]), kept


def judge(mesh: Mesh, case: Case, seed: int = 1) -> Score:
    """Mean distances of points sampled on the mesh from the truth, and of the truth from the mesh.

    A truth of points is compared with as many points sampled on the mesh, both ways; a truth that is a mesh exactly.
    """
    own = Truth("", mesh.vertices, mesh.faces, 0)
    if isinstance(case.truth, tuple):
        corners, triangles = case.truth
        size = float(np.ptp(corners, axis=0).max())
        there = _distances(own.sample(SAMPLES_MESH, 0.0, seed), corners, triangles, _PIECE * size)
        known = Truth("", corners, triangles, 0).sample(SAMPLES_MESH, 0.0, seed + 1)
        back = _distances(known, mesh.vertices, mesh.faces, _PIECE * size)
    else:
        drawn = own.sample(SAMPLES_POINTS, 0.0, seed)
        there, back = cKDTree(case.truth).query(drawn)[0], cKDTree(drawn).query(case.truth)[0]
    return Score(
        case.scale * float(there.mean()), case.scale * float(back.mean()), mesh.euler_characteristic,
        mesh.n_components, mesh.n_border_loops,
    )  # fmt: skip


def _distances(points: np.ndarray, vertices: np.ndarray, faces: np.ndarray, longest: float) -> np.ndarray:
    """Distances of ``points`` [n, 3] to a mesh whose triangles are first split to edges of at most ``longest``."""
    corners, pieces = trimesh.remesh.subdivide_to_size(vertices, faces, longest, max_iter=40)
    triangles = corners[pieces]
    near = cKDTree(triangles.mean(axis=1)).query(points, k=_NEAREST)[1]
    best = np.full(len(points), np.inf)
    for chosen in near.T:
        closest = trimesh.triangles.closest_point(triangles[chosen], points)
        best = np.minimum(best, np.linalg.norm(closest - points, axis=1))
    return best
