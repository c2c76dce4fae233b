"""The last steps to a mesh: fans split, small components dropped, faces oriented, vertices renumbered.

Faces are oriented consistently if neighbours traverse their common edge in opposite directions. The double cover has
every face twice, once reversed: a component in which a face is connected to its mirror image is not orientable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from subbundle._groups import double_cover
from subbundle._types import FloatArray, IntArray
from subbundle.triangles.topology import are_large, compact, component_labels, face_areas, split_umbrellas


@dataclass(frozen=True, slots=True)
class Finished:
    """A manifold mesh.

    Attributes
    ----------
    vertices, faces : [n, d], [m, 3]
    rows : [n]
        Row of each vertex among the points given.
    orientable : bool
        Whether all faces could be oriented consistently.
    """

    vertices: FloatArray
    faces: IntArray
    rows: IntArray
    orientable: bool


def finish(points: FloatArray, faces: IntArray) -> Finished:
    """A mesh of ``faces`` [m, 3] with corners among ``points`` [n, d]; in R³ it is oriented outward."""
    vertices, faces, rows = split_umbrellas(points, faces)
    label = component_labels(faces, len(vertices))[faces[:, 0]]
    area = np.bincount(label, face_areas(vertices, faces)).astype(np.float64)
    faces = faces[are_large(area)[label]]
    faces, orientable = orient_consistently(faces)
    faces, used = compact(faces, len(vertices))
    vertices = np.ascontiguousarray(vertices[used])
    if orientable and points.shape[1] == 3:
        faces = orient_outward(vertices, faces)
    return Finished(vertices, faces, rows[used], orientable)


def orient_consistently(faces: IntArray) -> tuple[IntArray, bool]:
    """``faces`` [m, 3] of a manifold, oriented consistently, and whether that was possible everywhere.

    Components that are not orientable are oriented along a tree, and have a seam.
    """
    m = len(faces)
    pairs, opposed = _neighbours(faces)
    label, first, cover = double_cover(pairs, opposed, m)
    one_sided = np.zeros(len(first), np.bool_)
    one_sided[label] = cover[:m] == cover[m:]
    upright = cover[:m] == cover[first[label]]
    if one_sided.any():
        tree = _trees(first[one_sided], pairs, m)
        cover = double_cover(pairs[tree], opposed[tree], m)[2]
        upright = np.where(one_sided[label], cover[:m] == cover[first[label]], upright)
    return np.where(upright[:, None], faces, faces[:, ::-1]), not one_sided.any()


def _neighbours(faces: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
    """Pairs [p, 2] of faces with a common edge, and whether they traverse it in opposite directions."""
    directed = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    forward = directed[:, 0] < directed[:, 1]
    low, high = directed.min(axis=1), directed.max(axis=1)
    order = np.lexsort((high, low))
    same = np.flatnonzero((np.diff(low[order]) == 0) & (np.diff(high[order]) == 0))
    one, other = order[same], order[same + 1]
    return np.column_stack([one // 3, other // 3]), forward[one] != forward[other]


def _trees(roots: IntArray, pairs: IntArray, m: int) -> NDArray[np.bool_]:
    """Which ``pairs`` belong to breadth-first trees from ``roots``."""
    graph, steps = coo_array((np.ones(len(pairs)), pairs.T), shape=(m, m)).tocsr(), []
    for root in roots:
        order, before = breadth_first_order(graph, int(root), directed=False)
        steps.append(np.column_stack([order[1:], before[order[1:]]]))
    names = np.sort(np.concatenate(steps), axis=1) @ np.array([m, 1])
    return np.isin(np.sort(pairs, axis=1) @ np.array([m, 1]), names)


def orient_outward(vertices: FloatArray, faces: IntArray) -> IntArray:
    """``faces`` in R³, oriented consistently, with positive volume of every component about its own centroid."""
    label = component_labels(faces, len(vertices))[faces[:, 0]]
    corners = vertices[faces]
    size = np.bincount(label)
    middle = np.column_stack([np.bincount(label, corners.mean(axis=1)[:, i]) for i in range(3)])
    corners = corners - (middle / np.maximum(size, 1)[:, None])[label][:, None, :]
    volume = np.bincount(label, np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])))
    return np.where((volume[label] < 0.0)[:, None], faces[:, ::-1], faces)
