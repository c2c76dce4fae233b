"""Areas and planes of triangles in R^d."""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.triangles._edge_kernels import sum_normals


def face_areas(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Areas [m] of ``faces``: ½ √(|p|² |q|² − (p·q)²) for two sides p, q."""
    p, q = _sides(vertices, faces)
    square = np.sum(p * p, axis=1) * np.sum(q * q, axis=1) - np.sum(p * q, axis=1) ** 2
    areas: FloatArray = 0.5 * np.sqrt(np.maximum(square, 0.0))
    return areas


def face_normals(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Normals [m, 3] of the faces, as long as twice their area."""
    corners = vertices[faces]
    across: FloatArray = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]).astype(np.float64)
    return across


def normal_sums(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Sums [n, 3] over the ``faces`` around every vertex of their normals, as long as twice the areas; for d = 3."""
    sums = np.zeros((len(vertices), 3))
    sum_normals(np.ascontiguousarray(vertices, dtype=np.float64), np.ascontiguousarray(faces, dtype=np.int64), sums)
    return sums


def face_frames(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Orthonormal bases [m, d, 2] of the planes of ``faces``, turned as their corners run."""
    p, q = _sides(vertices, faces)
    first = p / np.maximum(np.linalg.norm(p, axis=1, keepdims=True), 1e-300)
    second = q - np.sum(first * q, axis=1, keepdims=True) * first
    second /= np.maximum(np.linalg.norm(second, axis=1, keepdims=True), 1e-300)
    return np.stack([first, second], axis=2)


def vertex_frames(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Orthonormal bases [n, d, 2] of the tangent planes at the vertices, turned as the faces around them.

    The projectors of the faces around, weighted by area, are averaged; the plane of the two leading eigenvectors is
    found by two rounds of subspace iteration from the plane of one of the faces, whose turn it keeps.
    """
    frames, areas = face_frames(vertices, faces), face_areas(vertices, faces)
    corners, owner = faces.ravel(), np.repeat(np.arange(len(faces)), 3)
    order = np.lexsort((areas[owner], corners))
    result = np.zeros((len(vertices), vertices.shape[1], 2))
    result[corners[order]] = frames[owner[order]]  # the largest face is written last
    for _ in range(2):
        inner = np.einsum("mdi,mdj->mij", frames[owner], result[corners]) * areas[owner][:, None, None]
        total = np.zeros_like(result)
        np.add.at(total, corners, frames[owner] @ inner)
        result = _orthonormal(total)
    return result


def _orthonormal(frames: FloatArray) -> FloatArray:
    """Columns of ``frames`` [n, d, 2] by Gram and Schmidt; zero where there is nothing."""
    first = frames[:, :, 0] / np.maximum(np.linalg.norm(frames[:, :, 0], axis=1, keepdims=True), 1e-300)
    second = frames[:, :, 1] - np.sum(first * frames[:, :, 1], axis=1, keepdims=True) * first
    second /= np.maximum(np.linalg.norm(second, axis=1, keepdims=True), 1e-300)
    return np.stack([first, second], axis=2)


def _sides(vertices: FloatArray, faces: IntArray) -> tuple[FloatArray, FloatArray]:
    corners = vertices[faces]
    return corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
