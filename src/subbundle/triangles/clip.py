"""Cutting meshes: along the zero set of a function on the vertices, at midpoints of edges, quads into triangles."""

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
    label = component_labels(triangles, n) if len(triangles) else np.arange(n)
    touching = np.zeros(n, dtype=bool)
    touching[border_edges(faces).ravel()] = True
    touches = np.zeros(int(label.max()) + 1, dtype=bool)
    touches[label[touching & positive]] = True
    return np.where(positive & ~touches[label], -1e-12, outside)


def cut(faces: IntArray, outside: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Cut ``faces`` [m, 3] along outside = 0 and keep the side where it is negative.

    Returns faces, and for the new vertices, numbered from n on, the edge [c, 2] of each and its parameter t [c] along
    it, from the first end. A cut near a kept vertex is moved to it, to avoid slivers.
    """
    n = len(outside)
    out = outside > 0.0
    count = out[faces].sum(axis=1)
    kept = faces[count == 0]
    mixed = faces[(count == 1) | (count == 2)]
    if len(mixed) == 0:
        return kept, np.empty((0, 2), np.int64), np.empty(0)
    # Rotate the corners of every cut face so that the one alone on its side comes first.
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
    """Vertices [n, 3] with a smoothed border: every vertex of it averaged with its two neighbours.

    A round has the variance ½ e² along edges e; their number gives a standard deviation of ``reach`` edges.
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
    """`smoothed`, and further around the vertices where the border still turns by more than a right angle.

    Averaging shrinks a tongue of many vertices to edges far shorter than the others, with a cusp where these reverse.
    More rounds, over as many edges as the smoothing reaches, distribute them along the border; they end when there is
    no cusp, or after as many rounds as straighten a tongue of that reach.
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
    """The map that replaces each of ``n`` vertices, joined by the edges ``ends`` [e, 2], by the mean of itself and the
    mean of its neighbours."""
    first, second = ends.T
    count = np.bincount(ends.ravel(), minlength=n)[:, None]

    def average(rim: FloatArray) -> FloatArray:
        sides = [np.bincount(first, x[second], n) + np.bincount(second, x[first], n) for x in rim.T]
        return np.asarray(0.5 * rim + 0.5 * np.column_stack(sides) / count)

    return average


def split_edges(faces: IntArray, n: int, edges: Edges, chosen: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Split the ``chosen`` [e] of the ``edges`` of ``faces`` [m, 3] on ``n`` vertices.

    Where two edges of a face are split the third is split as well, and the face becomes four; with one edge it becomes
    two. Returns the new faces, oriented as the old ones, and the ends [k, 2] of the edges whose midpoints are the new
    vertices ``n``, ``n + 1``, ….
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
    # The edge to be split comes first: from corner a to b, with midpoint m and opposite corner c.
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
    """`split_edges` between ``free`` [n] vertices along which the ``normals`` [n, 3] rotate by more than ``turn``.

    The chord error of an edge e is |e·Δn|/8, and that of its halves a quarter of it.
    """
    edges = edges_of(faces)
    start, end = edges.ends.T
    along = vertices[end] - vertices[start]
    turned = np.abs(np.sum(along * (normals[end] - normals[start]), axis=1))
    curved = turned > turn * np.linalg.norm(along, axis=1)
    return split_edges(faces, len(vertices), edges, curved & free[start] & free[end])


def split_quads(vertices: FloatArray, quads: IntArray) -> IntArray:
    """Triangles [2m, 3]: every quad split by the diagonal of least dihedral angle; of equals, by the shorter one."""
    a, b, c, d = (vertices[quads[:, i]] for i in range(4))
    cosine_ac = _cosine(a, b, c, a, c, d)
    cosine_bd = _cosine(a, b, d, b, c, d)
    shorter = np.linalg.norm(a - c, axis=1) <= np.linalg.norm(b - d, axis=1)
    by_ac = np.where(np.abs(cosine_ac - cosine_bd) < EQUAL_BEND, shorter, cosine_ac > cosine_bd)[:, None]
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
