"""The last steps to a mesh: fans parted, small components dropped, faces turned alike, vertices numbered anew.

Faces are turned alike if neighbours run through their common edge in opposite directions. Seen on the double cover,
every face twice, once turned over: if a face and its mirror image are connected, their component has only one side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from subbundle._types import FloatArray, IntArray
from subbundle.triangles.topology import component_labels, face_areas, split_umbrellas
from subbundle.triangles.tuning import SMALLEST_PART


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
    part = component_labels(faces, len(vertices))[faces[:, 0]]
    area = np.bincount(part, face_areas(vertices, faces))
    faces = faces[area[part] >= SMALLEST_PART * area.max()]
    faces, orientable = turn_alike(faces)
    used, place = np.unique(faces, return_inverse=True)
    vertices, faces = np.ascontiguousarray(vertices[used]), place.reshape(-1, 3).astype(np.int64)
    if orientable and points.shape[1] == 3:
        faces = turn_outward(vertices, faces)
    return Finished(vertices, faces, rows[used], orientable)


def turn_alike(faces: IntArray) -> tuple[IntArray, bool]:
    """``faces`` [m, 3] of a manifold, turned alike, and whether that was possible everywhere.

    Parts without sides are turned along a tree, and keep a seam.
    """
    m = len(faces)
    pairs, opposed = _neighbours(faces)
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(m, m))
    count, part = connected_components(graph, directed=False)
    cover = _cover(pairs, opposed, m)
    first = np.full(count, m)
    np.minimum.at(first, part, np.arange(m))
    one_sided = np.zeros(count, np.bool_)
    one_sided[part] = cover[:m] == cover[m:]
    upright = cover[:m] == cover[first[part]]
    if one_sided.any():
        tree = _trees(graph.tocsr(), first[one_sided], pairs, m)
        cover = _cover(pairs[tree], opposed[tree], m)
        upright = np.where(one_sided[part], cover[:m] == cover[first[part]], upright)
    return np.where(upright[:, None], faces, faces[:, ::-1]), not one_sided.any()


def _neighbours(faces: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
    """Pairs [p, 2] of faces with a common edge, and whether they run through it in opposite directions."""
    directed = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    forward = directed[:, 0] < directed[:, 1]
    low, high = directed.min(axis=1), directed.max(axis=1)
    order = np.lexsort((high, low))
    same = np.flatnonzero((np.diff(low[order]) == 0) & (np.diff(high[order]) == 0))
    one, other = order[same], order[same + 1]
    return np.column_stack([one // 3, other // 3]), forward[one] != forward[other]


def _cover(pairs: IntArray, opposed: NDArray[np.bool_], m: int) -> IntArray:
    """Part of every face [m] and of its mirror image [m] on the double cover."""
    one, other = pairs.T
    rows = np.concatenate([one, one + m])
    columns = np.concatenate([np.where(opposed, other, other + m), np.where(opposed, other + m, other)])
    graph = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(2 * m, 2 * m))
    labels: IntArray = connected_components(graph, directed=False)[1].astype(np.int64)
    return labels


def _trees(graph: object, roots: IntArray, pairs: IntArray, m: int) -> NDArray[np.bool_]:
    """Which ``pairs`` belong to breadth-first trees from ``roots``."""
    steps = []
    for root in roots:
        order, before = breadth_first_order(graph, int(root), directed=False)
        steps.append(np.column_stack([order[1:], before[order[1:]]]))
    names = np.sort(np.concatenate(steps), axis=1) @ np.array([m, 1])
    return np.isin(np.sort(pairs, axis=1) @ np.array([m, 1]), names)


def turn_outward(vertices: FloatArray, faces: IntArray) -> IntArray:
    """``faces`` in R³, turned alike, with every part's volume about its own middle made positive."""
    part = component_labels(faces, len(vertices))[faces[:, 0]]
    corners = vertices[faces]
    size = np.bincount(part)
    middle = np.column_stack([np.bincount(part, corners.mean(axis=1)[:, i]) for i in range(3)])
    corners = corners - (middle / np.maximum(size, 1)[:, None])[part][:, None, :]
    volume = np.bincount(part, np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])))
    return np.where((volume[part] < 0.0)[:, None], faces[:, ::-1], faces)
