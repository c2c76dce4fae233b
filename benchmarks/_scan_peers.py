"""Meshes of a scan without normals by Open3D and PyMeshLab, at the best of a few settings by the truth.

At depth 8 the cells are about as wide as the spacing; 30 neighbours are usual for noisy clouds. With our
normals: those of the nearest vertices of our mesh.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

from benchmarks._extras import require
from subbundle.triangles.mesh import Mesh

NEIGHBOURS, RESOLUTION = 30, 200
DEPTHS, SCALES = (6.0, 7.0, 8.0), (3.0, 6.0)


def poisson(points: np.ndarray, normals: np.ndarray | None, depth: float) -> Mesh:
    """Open3D: normals, consistent orientation, screened Poisson."""
    o3d = require("open3d")
    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points))
    if normals is None:
        cloud.estimate_normals(o3d.geometry.KDTreeSearchParamKNN(NEIGHBOURS))
        cloud.orient_normals_consistent_tangent_plane(NEIGHBOURS)
    else:
        cloud.normals = o3d.utility.Vector3dVector(normals)
    made = o3d.geometry.TriangleMesh.create_from_point_cloud_poisson(cloud, depth=int(depth), n_threads=1)[0]
    return Mesh(np.asarray(made.vertices), np.asarray(made.triangles).astype(np.int64))


def apss(points: np.ndarray, normals: np.ndarray | None, scale: float) -> Mesh:
    """PyMeshLab: normals of 30 neighbours, marching cubes of algebraic point set surfaces."""
    meshlab = require("pymeshlab")
    work = meshlab.MeshSet()
    given = {} if normals is None else {"v_normals_matrix": normals}
    work.add_mesh(meshlab.Mesh(vertex_matrix=points, **given))
    if normals is None:
        work.compute_normal_for_point_clouds(k=NEIGHBOURS)
    work.generate_marching_cubes_apss(filterscale=scale, resolution=RESOLUTION)
    made = work.current_mesh()
    return Mesh(made.vertex_matrix(), made.face_matrix().astype(np.int64))


# What makes the mesh, the settings that are tried, and whether it gets our normals.
PEERS: dict[str, tuple[Callable[[np.ndarray, np.ndarray | None, float], Mesh], tuple[float, ...], bool]] = {
    "Open3D Poisson, own normals": (poisson, DEPTHS, False),
    "Open3D Poisson, our normals": (poisson, DEPTHS, True),
    "PyMeshLab APSS, own normals": (apss, SCALES, False),
    "PyMeshLab APSS, our normals": (apss, SCALES, True),
}


def normals_of(mesh: Mesh, points: np.ndarray) -> np.ndarray:
    """The normal of the nearest vertex of ``mesh`` for every point."""
    assert mesh.normals is not None
    return mesh.normals[cKDTree(mesh.vertices).query(points)[1]]


def timed(run: Callable[[], Mesh]) -> tuple[Mesh, float]:
    start = time.process_time()
    return run(), time.process_time() - start
