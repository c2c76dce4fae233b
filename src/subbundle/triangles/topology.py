"""Edges, umbrellas, border loops and parts of triangle meshes given as arrays of corners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from subbundle._types import FloatArray, IntArray
from subbundle.triangles._edge_kernels import number_edges


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges of a mesh.

    Attributes
    ----------
    ends : [e, 2]
        Vertices, the lower first.
    counts : [e]
        How many faces meet in each edge.
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


def border_edges(faces: IntArray) -> IntArray:
    """Edges [b, 2] that belong to one face only, directed as in that face."""
    edges = edges_of(faces)
    alone = edges.counts[edges.of_face] == 1
    directed: IntArray = faces[:, [[0, 1], [1, 2], [2, 0]]][alone]
    return directed


def parts_of(faces: IntArray, n: int) -> IntArray:
    """The number of the connected component of each of ``n`` vertices; parts are numbered by their first vertex."""
    ends = np.concatenate([faces[:, :2], faces[:, 1:]])
    graph = coo_array((np.ones(len(ends), dtype=np.int8), ends.T), shape=(n, n))
    labels: IntArray = connected_components(graph, directed=False)[1].astype(np.int64)
    return labels


def loops_of(border: IntArray) -> list[IntArray]:
    """Rows of ``border`` [b, 2] that hang together, one array per loop."""
    if len(border) == 0:
        return []
    names, place = np.unique(border, return_inverse=True)
    place = place.reshape(-1, 2)
    graph = coo_array((np.ones(len(place)), place.T), shape=(len(names),) * 2)
    label = connected_components(graph, directed=False)[1][place[:, 0]]
    order = np.argsort(label, kind="stable")
    return list(np.split(order, np.flatnonzero(np.diff(label[order])) + 1))


def split_umbrellas(vertices: FloatArray, faces: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Give every fan of faces its own vertex, so that no two fans touch in a point only.

    Corners of faces that share a vertex and an edge of exactly two faces belong to one fan. Returns vertices, faces
    and the old row [n] of every vertex.
    """
    edges = edges_of(faces)
    m = len(faces)
    slots = edges.of_face.ravel()
    order = np.argsort(slots, kind="stable")
    paired = order[edges.counts[slots[order]] == 2].reshape(-1, 2)
    # Slot s of the list is edge s % 3 of face s // 3; its ends are the corners s and the next one of the face.
    follower = np.arange(3 * m).reshape(m, 3)[:, [1, 2, 0]].ravel()
    corner_vertex = faces.ravel()
    links = []
    for first in (np.arange(3 * m), follower):
        left = first[paired[:, 0]]
        same = corner_vertex[paired[:, 1]] == corner_vertex[left]
        links.append(np.column_stack([left, np.where(same, paired[:, 1], follower[paired[:, 1]])]))
    joined = np.concatenate(links)
    graph = coo_array((np.ones(len(joined), dtype=np.int8), joined.T), shape=(3 * m, 3 * m))
    fan = connected_components(graph, directed=False)[1]
    _, first_corner, place = np.unique(fan, return_index=True, return_inverse=True)
    # Fans in the order of their vertices, so that a mesh without shared points comes back as it was.
    rank = np.argsort(corner_vertex[first_corner], kind="stable")
    back = np.empty(len(rank), dtype=np.int64)
    back[rank] = np.arange(len(rank))
    old = corner_vertex[first_corner[rank]]
    return vertices[old], back[place].reshape(m, 3), old
