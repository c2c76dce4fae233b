"""From a triangle soup with small defects to a manifold mesh."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.triangles.topology import (
    are_large,
    border_edges,
    component_labels,
    edges_of,
    face_normals,
    loops_of,
    normal_sums,
    split_umbrellas,
)

_ROUNDS = 3


def make_manifold(vertices: FloatArray, faces: IntArray, width: float) -> tuple[FloatArray, IntArray, IntArray]:
    """Remove faces at edges of more than two, split fans that share a vertex only, fill holes narrower than ``width``.

    Returns vertices, faces and for the first vertices the row each had before; the rest are the centres of filled
    holes.
    """
    edges = edges_of(faces)
    for _ in range(_ROUNDS):
        if edges.counts.max(initial=0) <= 2:
            break
        faces = faces[~(edges.counts > 2)[edges.of_face].any(axis=1)]
        edges = edges_of(faces)
    vertices, faces, rows = split_umbrellas(vertices, faces, edges)
    # Splitting fans only renumbers the ends of an edge of one or two faces.
    border = border_edges(faces, edges) if edges.counts.max(initial=0) <= 2 else None
    vertices, faces = fill_holes(vertices, faces, width, border)
    return vertices, faces, rows


def fill_holes(
    vertices: FloatArray, faces: IntArray, width: float, border: IntArray | None = None
) -> tuple[FloatArray, IntArray]:
    """Close border loops that fit into a ball of diameter ``width`` by a fan around their centroid."""
    border = border_edges(faces) if border is None else border
    middles: list[FloatArray] = []
    fans: list[IntArray] = []
    for rows in loops_of(border):
        loop = border[rows]
        if len(np.unique(loop[:, 0])) != len(loop) or len(loop) < 3:
            continue  # the loop touches itself
        corners = vertices[loop[:, 0]]
        middle = corners.mean(axis=0)
        if 2.0 * np.linalg.norm(corners - middle, axis=1).max() < width:
            centre = np.full(len(loop), len(vertices) + len(middles))
            middles.append(middle)
            fans.append(np.column_stack([loop[:, 1], loop[:, 0], centre]))
    if not middles:
        return vertices, faces
    return np.concatenate([vertices, np.array(middles)]), np.concatenate([faces, *fans])


def dots(first: FloatArray, second: FloatArray) -> FloatArray:
    """Inner products [n] of rows [n, 3]: along so short an axis NumPy's sums take several times as long."""
    return np.asarray(first[:, 0] * second[:, 0] + first[:, 1] * second[:, 1] + first[:, 2] * second[:, 2])


def vertex_normals(vertices: FloatArray, faces: IntArray, sided: bool = True) -> FloatArray:
    """Unit normals [n, 3]: the means of the faces around, weighted by area; zero for a vertex of no face.

    Unless the mesh is ``sided``, orientations of faces may differ; the normal is the leading eigenvector of Σ n nᵀ.
    """
    normals = normal_sums(vertices, faces)
    if not sided:
        across = face_normals(vertices, faces)
        sums = np.zeros((len(vertices), 3, 3))
        np.add.at(sums, faces.ravel(), np.repeat(np.einsum("mi,mj->mij", across, across), 3, axis=0))
        axes = np.linalg.eigh(sums)[1][:, :, 2]
        normals = np.where(np.sum(axes * normals, axis=1, keepdims=True) < 0.0, -axes, axes)
    length = np.sqrt(dots(normals, normals))[:, None]
    unit: FloatArray = np.divide(normals, length, out=np.zeros_like(normals), where=length > 0.0)
    return unit


def keep_large_components(vertices: FloatArray, faces: IntArray, supported: NDArray[np.bool_]) -> IntArray:
    """The ``faces`` of connected components with at least `SMALLEST_PART` of the area of the largest.

    Only faces with a ``supported`` [n] corner count: components of the zero set far from all data have none.
    """
    label = component_labels(faces, len(vertices))[faces[:, 0]]
    seen = supported[faces].any(axis=1)
    across = face_normals(vertices, faces)
    areas = 0.5 * np.sqrt(dots(across, across))
    area = np.bincount(label, areas * seen).astype(np.float64)
    return np.asarray(faces[are_large(area)[label]])
