"""Edges, fans, border loops, connected components, areas and planes of triangle meshes given as arrays of corners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subbundle._groups import components_of, members_of
from subbundle._types import FloatArray, IntArray
from subbundle.triangles._edge_kernels import join_faces, number_edges, split_fans, sum_normals
from subbundle.triangles.tuning import SMALLEST_PART


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges of a mesh.

    Attributes
    ----------
    ends : [e, 2]
        Vertices, the lower first.
    counts : [e]
        Number of faces at each edge.
    of_face : [m, 3]
        The edges of every face: from corner 0 to 1, 1 to 2, 2 to 0.
    """

    ends: IntArray
    counts: IntArray
    of_face: IntArray


def edges_of(faces: IntArray) -> Edges:
    """The edges of ``faces`` [m, 3]."""
    n = int(faces.max()) + 1 if len(faces) else 1
    of_face, ends, counts = (
        np.empty((len(faces), 3), np.int64),
        np.empty((3 * len(faces), 2), np.int64),
        np.zeros(3 * len(faces), np.int64),
    )
    count = number_edges(np.ascontiguousarray(faces, dtype=np.int64), n, of_face, ends, counts)
    return Edges(ends[:count].copy(), counts[:count].copy(), of_face)


def border_edges(faces: IntArray, edges: Edges | None = None) -> IntArray:
    """Edges [b, 2] that belong to one face only, directed as in that face; ``edges`` are computed unless given."""
    edges = edges_of(faces) if edges is None else edges
    face, side = np.nonzero(edges.counts[edges.of_face] == 1)
    return np.column_stack([faces[face, side], faces[face, (side + 1) % 3]])


def component_labels(faces: IntArray, n: int) -> IntArray:
    """The number of the connected component of each of ``n`` vertices, in the order of their first vertices."""
    labels: IntArray = np.empty(n, np.int64)
    join_faces(np.ascontiguousarray(faces, dtype=np.int64), labels)
    return labels


def are_large(area: FloatArray) -> NDArray[np.bool_]:
    """Which connected components are kept, by the supported ``area`` [p] of their faces."""
    return np.asarray(area >= SMALLEST_PART * area.max())


def compact(faces: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Faces renumbered without unused vertices, and the old row of every vertex that is kept."""
    used = np.zeros(n, dtype=bool)
    used[faces.ravel()] = True
    place = np.cumsum(used) - 1
    return place[faces], np.flatnonzero(used)


def loops_of(border: IntArray) -> list[IntArray]:
    """Rows of the connected components of ``border`` [b, 2], one array per loop."""
    if len(border) == 0:
        return []
    names, place = np.unique(border, return_inverse=True)
    place = place.reshape(-1, 2)
    return members_of(components_of(place, len(names))[1][place[:, 0]])


def split_umbrellas(
    vertices: FloatArray, faces: IntArray, edges: Edges | None = None
) -> tuple[FloatArray, IntArray, IntArray]:
    """Give every fan of faces its own vertex, so that no two fans share only a vertex.

    Corners of faces that share a vertex and an edge of exactly two faces belong to one fan. Returns vertices, faces
    and the old row [n] of every vertex. ``edges`` are those of the faces, computed unless given.
    """
    edges = edges_of(faces) if edges is None else edges
    split = np.empty((len(faces), 3), np.int64)
    old = split_fans(np.ascontiguousarray(faces, dtype=np.int64), len(vertices), edges.of_face, edges.counts, split)
    return vertices[old], split, old


def face_areas(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Areas [m] of ``faces``: ½ √(|p|² |q|² − (p·q)²) for two sides p, q."""
    p, q = _sides(vertices, faces)
    square = np.sum(p * p, axis=1) * np.sum(q * q, axis=1) - np.sum(p * q, axis=1) ** 2
    areas: FloatArray = 0.5 * np.sqrt(np.maximum(square, 0.0))
    return areas


def face_normals(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Normals [m, 3] of the faces, of length twice their area."""
    a, b, c = (vertices[corner] for corner in faces.T)
    return np.asarray(np.cross(b - a, c - a), dtype=np.float64)


def normal_sums(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Sums [n, 3] over the ``faces`` around every vertex of their normals, of length twice the areas; for d = 3."""
    sums = np.zeros((len(vertices), 3))
    sum_normals(np.ascontiguousarray(vertices, dtype=np.float64), np.ascontiguousarray(faces, dtype=np.int64), sums)
    return sums


def face_frames(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Orthonormal bases [m, d, 2] of the planes of ``faces``, oriented by the order of their corners."""
    return _orthonormal(np.stack(_sides(vertices, faces), axis=2))


def vertex_frames(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Orthonormal bases [n, d, 2] of the tangent planes at the vertices, oriented as the faces around them.

    The projectors of the faces around, weighted by area, are averaged (`mean_frames`).
    """
    owner = np.repeat(np.arange(len(faces)), 3)
    frames, areas = face_frames(vertices, faces)[owner], face_areas(vertices, faces)[owner]
    return mean_frames(frames, areas, faces.ravel(), len(vertices), _orthonormal)


def mean_frames(
    frames: FloatArray, weights: FloatArray, rows: IntArray, n: int, orthonormal: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Orthonormal bases [n, d, k] of the leading eigenvectors of Σ w P over the ``frames`` [m, d, k] of each of n rows.

    Two rounds of subspace iteration from the frame of greatest weight w, which gives the orientation.
    """
    order = np.lexsort((weights, rows))
    result = np.zeros((n, *frames.shape[1:]))
    result[rows[order]] = frames[order]  # the one of greatest weight is written last
    for _ in range(2):
        total = np.zeros_like(result)
        np.add.at(total, rows, frames @ (frames.transpose(0, 2, 1) @ result[rows] * weights[:, None, None]))
        result = orthonormal(total)
    return result


def _orthonormal(frames: FloatArray) -> FloatArray:
    """Columns of ``frames`` [n, d, 2], orthonormalised by Gram–Schmidt; zero where they vanish."""
    first = frames[:, :, 0] / np.maximum(np.linalg.norm(frames[:, :, 0], axis=1, keepdims=True), 1e-300)
    second = frames[:, :, 1] - np.sum(first * frames[:, :, 1], axis=1, keepdims=True) * first
    second /= np.maximum(np.linalg.norm(second, axis=1, keepdims=True), 1e-300)
    return np.stack([first, second], axis=2)


def _sides(vertices: FloatArray, faces: IntArray) -> tuple[FloatArray, FloatArray]:
    corners = vertices[faces]
    return corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
