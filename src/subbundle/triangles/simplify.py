"""`simplify_mesh`: fewer triangles by collapsing edges where that costs least, with the topology kept.

Quadric error metrics of Garland and Heckbert, as implemented in the package fast-simplification, which does not
preserve topology: where a thin spine collapses, a component of a few triangles remains, attached at an edge of four
faces. Fans of faces are split there and such components dropped. Then components, borders and Euler characteristic are
compared with those before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray
from subbundle._validation import as_integer, needed
from subbundle.triangles.mesh import Mesh
from subbundle.triangles.topology import compact, component_labels, normal_sums, split_umbrellas
from subbundle.triangles.tuning import AGGRESSIVENESS, MORE_FACES


def simplifier() -> Any:
    """The package fast-simplification, or an error where it is not installed."""
    return needed("fast_simplification", "simplify", "a smaller number of faces")


def simplify_mesh(mesh: Mesh, n_faces: int) -> Mesh:
    """``mesh`` in R³ with at most ``n_faces`` triangles, or as few more as preserve its topology.

    Attributes come from the nearest vertex of ``mesh``; normals are those of the new triangles.
    """
    target = as_integer(n_faces, "n_faces", low=4)
    if mesh.ambient_dim != 3:
        raise ValueError(f"meshes are simplified in R³ only; this one lies in R^{mesh.ambient_dim}.")
    simplifier()
    topology = _topology(mesh)
    while target < len(mesh.faces):
        for aggressiveness in AGGRESSIVENESS:
            vertices, faces = _collapsed(mesh, target, aggressiveness)
            if len(faces) > target or _topology(Mesh(vertices, faces)) != topology:
                continue
            nearest = cKDTree(mesh.vertices).query(vertices)[1]
            kept = {name: values[nearest] for name, values in mesh.attributes.items()}
            normals = None if mesh.normals is None else _normals(vertices, faces, mesh.normals[nearest])
            return replace(mesh, vertices=vertices, faces=faces, normals=normals, attributes=kept)
        target = int(MORE_FACES * target) + 1
    return mesh


def _collapsed(mesh: Mesh, n_faces: int, aggressiveness: float) -> tuple[FloatArray, IntArray]:
    """Vertices and faces after collapsing edges, without the small components that this leaves."""
    # The thresholds are relative to a mesh of size 1.
    middle, size = mesh.vertices.mean(axis=0), float(np.ptp(mesh.vertices, axis=0).max())
    found = simplifier().simplify(
        np.ascontiguousarray((mesh.vertices - middle) / size), np.ascontiguousarray(mesh.faces, dtype=np.int32),
        target_count=n_faces, agg=aggressiveness,
    )  # fmt: skip
    faces = np.asarray(found[1]).astype(np.int64)
    faces = faces[(faces != faces[:, [1, 2, 0]]).all(axis=1)]
    vertices, faces, _ = split_umbrellas(size * np.asarray(found[0], dtype=np.float64) + middle, faces)
    label = component_labels(faces, len(vertices))[faces[:, 0]]
    largest = np.argsort(-np.bincount(label), kind="stable")[: mesh.n_components]
    faces, used = compact(faces[np.isin(label, largest)], len(vertices))
    return vertices[used], faces


def _topology(mesh: Mesh) -> tuple[int, int, int, int, bool]:
    if len(mesh.faces) == 0:
        return 0, 0, 0, 0, True
    numbers = mesh.n_components, mesh.n_border_loops, mesh.euler_characteristic, mesh.n_nonmanifold_edges
    return *numbers, mesh.is_oriented


def _normals(vertices: FloatArray, faces: IntArray, former: FloatArray) -> FloatArray:
    """Means of the normals of the faces by area; the ``former`` ones where these cancel."""
    total = normal_sums(vertices, faces)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    normals: FloatArray = np.where(length > 0.0, total / np.where(length > 0.0, length, 1.0), former)
    return normals
