"""Cutting meshes: along the zero set of a function on the vertices, at middles of edges, quads into triangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.triangles.topology import Edges, border_edges, component_labels, edges_of
from subbundle.triangles.tuning import EQUAL_BEND, SNAP


def outer_region(faces: IntArray, outside: FloatArray) -> FloatArray:
    """``outside`` [n] with the positive regions that do not touch the border of the mesh set to inside."""
    n = len(outside)
    positive = outside > 0.0
    if not positive.any():
        return outside
    within = faces[positive[faces].all(axis=1)]
    pairs = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    pairs = pairs[positive[pairs].all(axis=1)]
    triangles = np.concatenate([within, np.column_stack([pairs, pairs[:, 1]])])
    part = component_labels(triangles, n) if len(triangles) else np.arange(n)
    touching = np.zeros(n, dtype=bool)
    touching[border_edges(faces).ravel()] = True
    open_part = np.zeros(int(part.max()) + 1, dtype=bool)
    open_part[part[touching & positive]] = True
    return np.where(positive & ~open_part[part], -1e-12, outside)


def cut(faces: IntArray, outside: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Cut ``faces`` [m, 3] along outside = 0 and keep the part where it is negative.

    Returns faces, and for the new vertices, numbered from n on, the edge [c, 2] each lies on and its place t [c]
    along it, from the first end. A cut near a kept vertex goes through it: no slivers.
    """
    n = len(outside)
    out = outside > 0.0
    count = out[faces].sum(axis=1)
    kept = faces[count == 0]
    mixed = faces[(count == 1) | (count == 2)]
    if len(mixed) == 0:
        return kept, np.empty((0, 2), np.int64), np.empty(0)
    # Turn every cut face so that the corner that stands alone comes first.
    alone = np.where((out[mixed].sum(axis=1) == 1)[:, None], out[mixed], ~out[mixed])
    turn = (np.argmax(alone, axis=1)[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(mixed, turn, axis=1).T
    ends = np.concatenate([np.sort(np.column_stack([a, b]), axis=1), np.sort(np.column_stack([a, c]), axis=1)])
    keys, place = np.unique(ends @ np.array([n, 1]), return_inverse=True)
    edges = np.column_stack([keys // n, keys % n])
    inner = np.where(out[edges[:, 0]], edges[:, 1], edges[:, 0])
    outer = edges.sum(axis=1) - inner
    t = outside[inner] / (outside[inner] - outside[outer])
    name = np.where(t < SNAP, inner, n + np.arange(len(edges)))
    ab, ac = name[place[: len(a)]], name[place[len(a) :]]
    single = ~out[a]  # only the first corner is kept
    pieces = [
        np.column_stack([a, ab, ac])[single],
        np.column_stack([ab, b, c])[~single],
        np.column_stack([ab, c, ac])[~single],
    ]
    pieces = [p[(p[:, 0] != p[:, 1]) & (p[:, 1] != p[:, 2]) & (p[:, 2] != p[:, 0])] for p in pieces]
    return np.concatenate([kept, *pieces]), np.column_stack([inner, outer]), t


def smoothed(vertices: FloatArray, faces: IntArray, reach: float) -> FloatArray:
    """Vertices [n, 3] with the jags taken out of the border: every vertex of it averaged with its two neighbours.

    A round has the variance ½ e² along edges e, and as many are made as ``reach`` edges need.
    """
    rows, ends = np.unique(border_edges(faces), return_inverse=True)
    average = _rim_average(ends.reshape(-1, 2), len(rows))
    rim = vertices[rows]
    for _ in range(round(2.0 * reach**2)):
        rim = average(rim)
    vertices = vertices.copy()
    vertices[rows] = rim
    return vertices


def without_hairpins(vertices: FloatArray, faces: IntArray, reach: float) -> FloatArray:
    """`smoothed`, and again around the vertices where the border still turns by more than a right angle.

    Averaging draws a tongue, out and back over many vertices, together into edges far shorter than the others, and
    where these reverse there is a cusp whatever their length. More rounds over as many edges as the smoothing reaches
    spread them out along the border; it ends with the cusps, or after as many rounds as draw a tongue of that reach
    straight.
    """
    vertices = smoothed(vertices, faces, reach)
    rows, ends = np.unique(border_edges(faces), return_inverse=True)
    first, second = ends.reshape(-1, 2).T
    average, rim, rounds = _rim_average(ends.reshape(-1, 2), len(rows)), vertices[rows], round(2.0 * reach**2)
    for _ in range(rounds**2):
        # The edges u, w from a vertex to its neighbours make an acute angle where |u + w|² > |u|² + |w|².
        way = rim[second] - rim[first]
        both = np.column_stack([np.bincount(first, x, len(rows)) - np.bincount(second, x, len(rows)) for x in way.T])
        squares = np.bincount(ends.ravel(), np.repeat(np.sum(way**2, axis=1), 2), len(rows))
        around = np.sum(both**2, axis=1) > squares
        if not around.any():
            break
        for _ in range(rounds):
            near = around[first] | around[second]
            around[first[near]] = around[second[near]] = True
        rim = np.where(around[:, None], average(rim), rim)
    vertices[rows] = rim
    return vertices


def _rim_average(ends: IntArray, n: int) -> Callable[[FloatArray], FloatArray]:
    """The map that replaces each of ``n`` vertices, joined by the edges ``ends`` [e, 2], by half of itself and half the
    mean of its neighbours."""
    first, second = ends.T
    count = np.bincount(ends.ravel(), minlength=n)[:, None]

    def average(rim: FloatArray) -> FloatArray:
        sides = [np.bincount(first, x[second], n) + np.bincount(second, x[first], n) for x in rim.T]
        return np.asarray(0.5 * rim + 0.5 * np.column_stack(sides) / count)

    return average


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


def split_curved(
    vertices: FloatArray, faces: IntArray, normals: FloatArray, free: NDArray[np.bool_], turn: float
) -> tuple[IntArray, IntArray]:
    """`split_edges` between ``free`` [n] vertices along which the ``normals`` [n, 3] turn by more than ``turn``.

    The chord of an edge e cuts a bend by |e·Δn|/8, and those of its halves by a quarter of that.
    """
    edges = edges_of(faces)
    start, end = edges.ends.T
    along = vertices[end] - vertices[start]
    turned = np.abs(np.sum(along * (normals[end] - normals[start]), axis=1))
    bent = turned > turn * np.linalg.norm(along, axis=1)
    return split_edges(faces, len(vertices), edges, bent & free[start] & free[end])


def split_quads(vertices: FloatArray, quads: IntArray) -> IntArray:
    """Triangles [2m, 3]: every quad cut so that its two triangles bend least; of equals, along the shorter diagonal."""
    a, b, c, d = (vertices[quads[:, i]] for i in range(4))
    bend_ac = _cosine(a, b, c, a, c, d)
    bend_bd = _cosine(a, b, d, b, c, d)
    shorter = np.linalg.norm(a - c, axis=1) <= np.linalg.norm(b - d, axis=1)
    by_ac = np.where(np.abs(bend_ac - bend_bd) < EQUAL_BEND, shorter, bend_ac > bend_bd)[:, None]
    first = np.where(by_ac, quads[:, [0, 1, 2]], quads[:, [0, 1, 3]])
    second = np.where(by_ac, quads[:, [0, 2, 3]], quads[:, [1, 2, 3]])
    return np.stack([first, second], axis=1).reshape(-1, 3)


def _cosine(*corners: Any) -> FloatArray:
    """Cosine of the angle between the normals of two triangles."""
    first = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    second = np.cross(corners[4] - corners[3], corners[5] - corners[3])
    size = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    cosine: FloatArray = np.sum(first * second, axis=1) / np.maximum(size, 1e-300)
    return cosine
