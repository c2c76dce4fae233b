"""Edges, umbrellas, border loops and parts of triangle meshes given as arrays of corners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from subbundle._types import FloatArray, IntArray
from subbundle.triangles._edge_kernels import join_faces, number_edges, part_fans


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


def border_edges(faces: IntArray, edges: Edges | None = None) -> IntArray:
    """Edges [b, 2] that belong to one face only, directed as in that face; ``edges`` if they are known already."""
    edges = edges_of(faces) if edges is None else edges
    alone = edges.counts[edges.of_face] == 1
    directed: IntArray = faces[:, [[0, 1], [1, 2], [2, 0]]][alone]
    return directed


def parts_of(faces: IntArray, n: int) -> IntArray:
    """The number of the connected component of each of ``n`` vertices; parts are numbered by their first vertex."""
    labels: IntArray = np.empty(n, np.int64)
    join_faces(np.ascontiguousarray(faces, dtype=np.int64), labels)
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


def split_umbrellas(
    vertices: FloatArray, faces: IntArray, edges: Edges | None = None
) -> tuple[FloatArray, IntArray, IntArray]:
    """Give every fan of faces its own vertex, so that no two fans touch in a point only.

    Corners of faces that share a vertex and an edge of exactly two faces belong to one fan. Returns vertices, faces
    and the old row [n] of every vertex. ``edges`` are those of the faces, if they are known already.
    """
    edges = edges_of(faces) if edges is None else edges
    parted = np.empty((len(faces), 3), np.int64)
    old = part_fans(np.ascontiguousarray(faces, dtype=np.int64), len(vertices), edges.of_face, edges.counts, parted)
    return vertices[old], parted, old
