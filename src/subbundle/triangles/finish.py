"""The last steps to a mesh: fans parted, small parts dropped, faces turned alike, vertices numbered anew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.triangles.topology import face_areas, parts_of, split_umbrellas
from subbundle.triangles.tuning import SMALLEST_PART
from subbundle.triangles.turning import turn_alike, turn_outward


@dataclass(frozen=True, slots=True)
class Finished:
    """A manifold mesh.

    Attributes
    ----------
    vertices, faces : [n, d], [m, 3]
    rows : [n]
        Which of the points given each vertex is.
    orientable : bool
        Whether all faces could be turned alike.
    """

    vertices: FloatArray
    faces: IntArray
    rows: IntArray
    orientable: bool


def finish(points: FloatArray, faces: IntArray) -> Finished:
    """A mesh of ``faces`` [m, 3] with corners among ``points`` [n, d]; in R³ it is turned outward."""
    vertices, faces, rows = split_umbrellas(points, faces)
    part = parts_of(faces, len(vertices))[faces[:, 0]]
    area = np.bincount(part, face_areas(vertices, faces))
    faces = faces[area[part] >= SMALLEST_PART * area.max()]
    faces, orientable = turn_alike(faces)
    used, place = np.unique(faces, return_inverse=True)
    vertices, faces = np.ascontiguousarray(vertices[used]), place.reshape(-1, 3).astype(np.int64)
    if orientable and points.shape[1] == 3:
        faces = turn_outward(vertices, faces)
    return Finished(vertices, faces, rows[used], orientable)
