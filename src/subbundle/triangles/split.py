"""Splitting edges of a mesh in the middle, so that faces still fit together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subbundle._types import IntArray
from subbundle.triangles.topology import Edges


def split_edges(faces: IntArray, n: int, edges: Edges, chosen: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Split the ``chosen`` [e] of the ``edges`` of ``faces`` [m, 3] on ``n`` vertices.

    A face with two edges to split gets its third split as well, and becomes four; one with a single edge becomes two.
    Returns the new faces, turned as the old ones, and the ends [k, 2] of the edges in whose middles the new vertices
    ``n``, ``n + 1``, … belong.
    """
    chosen = chosen.copy()
    while True:
        count = chosen[edges.of_face].sum(axis=1)
        two = count == 2
        if not two.any():
            break
        chosen[edges.of_face[two].ravel()] = True
    middle = np.cumsum(chosen) - 1 + n
    whole, half, four = faces[count == 0], np.flatnonzero(count == 1), np.flatnonzero(count == 3)
    # The edge to be split comes first: from corner a to b, its middle m, the corner across c.
    turn = (np.argmax(chosen[edges.of_face[half]], axis=1)[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(faces[half], turn, axis=1).T
    m = middle[np.take_along_axis(edges.of_face[half], turn[:, :1], axis=1)[:, 0]]
    u, v, w = faces[four].T
    uv, vw, wu = middle[edges.of_face[four]].T
    pieces = [(a, m, c), (m, b, c), (u, uv, wu), (uv, v, vw), (wu, vw, w), (uv, vw, wu)]
    return np.concatenate([whole, *(np.column_stack(piece) for piece in pieces)]), edges.ends[chosen]
