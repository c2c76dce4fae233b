"""Other meshing methods, with settings chosen by the truth."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from benchmarks._extras import require
from benchmarks._mesh_truth import Truth
from subbundle.triangles.topology import component_labels, edges_of

SAMPLES = 20_000
DEPTHS, TRIMS = (6, 7, 8, 9), (0.0, 0.02, 0.06)


@dataclass(frozen=True, slots=True)
class Judged:
    """Distances between a mesh and the truth (both ways), topology, and seconds."""

    setting: str
    to_truth: float
    to_truth_rms: float
    from_truth: float
    from_truth_rms: float
    furthest: float
    euler: int
    parts: int
    crowded: int
    seconds: float


def judge(vertices: np.ndarray, faces: np.ndarray, truth: Truth, *, setting: str = "", seconds: float = 0.0) -> Judged:
    """Measure a mesh: points sampled on it against the true triangles, and points of the truth against its own."""
    own = Truth("", vertices, faces, 0)
    there = _distance(truth.vertices, truth.faces, own.sample(SAMPLES, 0.0, 1))
    back = _distance(vertices, faces, truth.sample(SAMPLES, 0.0, 2))
    edges = edges_of(faces)
    used = np.unique(faces)
    return Judged(
        setting, float(there.mean()), _rms(there), float(back.mean()), _rms(back), float(there.max()),
        len(used) - len(edges.ends) + len(faces), len(np.unique(component_labels(faces, len(vertices))[used])),
        int(np.sum(edges.counts > 2)), seconds,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Oriented:
    """Points with normals estimated and turned by Open3D, from so many neighbours, in so many seconds."""

    points: np.ndarray
    normals: np.ndarray
    neighbours: int
    seconds: float


def oriented(points: np.ndarray, neighbours: int) -> Oriented:
    o3d = require("open3d")
    start = time.perf_counter()
    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points))
    cloud.estimate_normals(o3d.geometry.KDTreeSearchParamKNN(neighbours))
    cloud.orient_normals_consistent_tangent_plane(neighbours)
    return Oriented(points, np.asarray(cloud.normals), neighbours, time.perf_counter() - start)


def poisson(clouds: list[Oriented], truth: Truth, depths: tuple[int, ...] = DEPTHS) -> tuple[Judged, float]:
    """Open3D's screened Poisson, best of all settings and ``clouds``; and seconds at depth 8 with the first of them."""
    o3d = require("open3d")
    best, seconds_8 = None, float("nan")
    for given in clouds:
        cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(given.points))
        cloud.normals = o3d.utility.Vector3dVector(given.normals)
        for depth in depths:
            start = time.perf_counter()
            mesh, support = o3d.geometry.TriangleMesh.create_from_point_cloud_poisson(cloud, depth=depth)
            seconds = given.seconds + time.perf_counter() - start
            if depth == 8 and given is clouds[0]:
                seconds_8 = seconds
            vertices, faces, support = np.asarray(mesh.vertices), np.asarray(mesh.triangles), np.asarray(support)
            for trim in TRIMS if truth.border else (0.0,):  # a closed surface has nothing to trim
                kept = faces[(support[faces] >= np.quantile(support, trim)).all(axis=1)] if trim else faces
                setting = f"depth {depth}, {given.neighbours} neighbours, trim {trim:g}"
                best = _better(best, judge(vertices, kept.astype(np.int64), truth, setting=setting, seconds=seconds))
    assert best is not None
    return best, seconds_8


def apss(given: Oriented, truth: Truth, scales: tuple[float, ...]) -> Judged:
    """PyMeshLab's APSS on normals oriented by Open3D, best of several filter ``scales``."""
    meshlab = require("pymeshlab")
    best = None
    for scale in scales:
        begin = time.perf_counter()
        work = meshlab.MeshSet()
        work.add_mesh(meshlab.Mesh(vertex_matrix=given.points, v_normals_matrix=given.normals))
        work.generate_marching_cubes_apss(filterscale=scale, resolution=200)
        mesh = work.current_mesh()
        if mesh.face_number() == 0:
            continue
        seconds = given.seconds + time.perf_counter() - begin
        found = judge(mesh.vertex_matrix(), mesh.face_matrix().astype(np.int64), truth, setting=f"scale {scale:g}",
                      seconds=seconds)  # fmt: skip
        best = _better(best, found)
    assert best is not None
    return best


def _better(best: Judged | None, found: Judged) -> Judged:
    """The one with the smaller sum of both mean distances: the nearer alone would reward leaving things out."""
    if best is None or found.to_truth + found.from_truth < best.to_truth + best.from_truth:
        return found
    return best


def _distance(vertices: np.ndarray, faces: np.ndarray, points: np.ndarray) -> np.ndarray:
    o3d = require("open3d")
    scene = o3d.t.geometry.RaycastingScene()
    scene.add_triangles(
        o3d.core.Tensor(vertices.astype(np.float32)), o3d.core.Tensor(np.ascontiguousarray(faces, dtype=np.uint32))
    )
    return scene.compute_distance(o3d.core.Tensor(points.astype(np.float32))).numpy().astype(np.float64)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
