"""`simplify_mesh`: fewer triangles by collapsing edges where that costs least, with the topology kept.

Quadric error metrics of Garland and Heckbert, as the package fast-simplification has them. It does not look at the
topology, so this is compared before and after: components, borders, Euler characteristic, edges of more than two faces.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray
from subbundle._validation import as_integer
from subbundle.triangles.mesh import Mesh

# Where so few triangles would change the topology, so many times more are tried.
_MORE = 1.5


def check_simplifier() -> None:
    """Raise when the package that simplifies is not there."""
    if find_spec("fast_simplification") is None:
        raise ImportError(
            'fewer faces need fast-simplification, which is not installed. Write: pip install "subbundle[simplify]"'
        )


def simplify_mesh(mesh: Mesh, n_faces: int) -> Mesh:
    """``mesh`` in R³ with at most ``n_faces`` triangles, or as few above that as keep its topology.

    Attributes come from the nearest vertex of ``mesh``; normals are those of the new triangles.
    """
    wanted = as_integer(n_faces, "n_faces", low=4)
    if mesh.ambient_dim != 3:
        raise ValueError(f"meshes are simplified in R³ only; this one lies in R^{mesh.ambient_dim}.")
    check_simplifier()
    while wanted < len(mesh.faces):
        vertices, faces = _collapsed(mesh, wanted)
        fewer = Mesh(vertices, faces)
        if _topology(fewer) == _topology(mesh) and len(faces) <= wanted:
            nearest = cKDTree(mesh.vertices).query(vertices)[1]
            kept = {name: values[nearest] for name, values in mesh.attributes.items()}
            normals = None if mesh.normals is None else _normals(vertices, faces, mesh.normals[nearest])
            return replace(mesh, vertices=vertices, faces=faces, normals=normals, attributes=kept)
        wanted = int(_MORE * wanted) + 1
    return mesh


def _collapsed(mesh: Mesh, n_faces: int) -> tuple[FloatArray, IntArray]:
    """Vertices and faces after collapsing edges; single precision is enough around the middle of the mesh."""
    middle = mesh.vertices.mean(axis=0)
    found = import_module("fast_simplification").simplify(
        np.ascontiguousarray(mesh.vertices - middle), np.ascontiguousarray(mesh.faces, dtype=np.int32),
        target_count=n_faces,
    )  # fmt: skip
    used, faces = np.unique(np.asarray(found[1]), return_inverse=True)
    return np.asarray(found[0], dtype=np.float64)[used] + middle, faces.reshape(-1, 3).astype(np.int64)


def _topology(mesh: Mesh) -> tuple[int, int, int, int, bool]:
    if len(mesh.faces) == 0:
        return 0, 0, 0, 0, True
    numbers = mesh.n_components, mesh.n_border_loops, mesh.euler_characteristic, mesh.n_nonmanifold_edges
    return *numbers, mesh.is_oriented


def _normals(vertices: FloatArray, faces: IntArray, former: FloatArray) -> FloatArray:
    """Means of the normals of the faces by area; where these cancel, as they were."""
    corners = vertices[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    each, spread = faces.ravel(), np.repeat(across, 3, axis=0)
    total = np.column_stack([np.bincount(each, spread[:, i], len(vertices)) for i in range(3)])
    length = np.linalg.norm(total, axis=1, keepdims=True)
    normals: FloatArray = np.where(length > 0.0, total / np.where(length > 0.0, length, 1.0), former)
    return normals
