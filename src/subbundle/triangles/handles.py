"""Cutting handles that are too thin to be resolved.

A handle has non-separating loops: around it, and through its tunnel. The mesh is cut along such a loop if it is short,
and both sides are capped: this removes the handle, or closes the tunnel, whichever loop is the shorter.

Every non-separating loop has an edge with a mark (`_loop_kernels`), and a loop no longer than L lies in a ball of
radius L/2 around each of its vertices. So a search around the ends of the marked edges finds them all. Loops that share
no vertex and whose marks are independent are cut in one round: together they are non-separating.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from subbundle._types import FloatArray, IntArray
from subbundle.triangles._loop_kernels import leftover, mark_edges, shortest_loops
from subbundle.triangles.topology import Edges, border_edges, component_labels, edges_of, loops_of

# Rounds of finding and cutting: of loops that cross, one is cut in a later round.
_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Cut:
    """A mesh after its short loops were cut.

    Attributes
    ----------
    vertices, faces : [n, 3], [m, 3]
        The vertices given come first.
    lengths : [c]
        Of the loops that were cut.
    middles : [c, 3]
        Their centroids.
    """

    vertices: FloatArray
    faces: IntArray
    lengths: FloatArray
    middles: FloatArray


Reject = Callable[[FloatArray, IntArray, list[IntArray], NDArray[np.bool_]], NDArray[np.bool_]]


def cut_short_loops(
    vertices: FloatArray,
    faces: IntArray,
    longest: float,
    scale: FloatArray,
    reject: Reject | None = None,
    furthest: float = 0.0,
) -> Cut:
    """Cut and cap all non-separating loops of edges not longer than ``longest`` of a manifold mesh.

    Lengths are multiplied by the ``scale`` [n] at the vertices: below 1 where the resolution is lower. Of loops up to
    ``furthest`` those are cut for which ``reject(vertices, faces, loops, short)`` is true, evaluated for the shortest
    of the same homology class; ``short`` marks those not longer than ``longest``.
    """
    lengths: list[float] = []
    middles: list[FloatArray] = []
    for _ in range(_ROUNDS):
        found, marks, loops = short_loops(vertices, faces, max(longest, furthest), scale)
        _, shortest, ways = np.unique(marks, return_index=True, return_inverse=True)
        short = found[shortest] <= longest
        if reject is not None and short.size:
            short = reject(vertices, faces, [loops[i] for i in shortest], short)
        rows = np.flatnonzero(short[ways])
        chosen = _independent(found[rows], marks[rows], [loops[i] for i in rows], len(vertices))
        if not chosen:
            break
        before = len(lengths)
        for length, loop in chosen:
            # A loop may meet a border on one of its sides; then it is cut on the other.
            opened = _cut(vertices, faces, loop) or _cut(vertices, faces, loop[::-1])
            if opened is not None:
                lengths.append(length)
                middles.append(vertices[loop].mean(axis=0))
                vertices, faces = opened
                scale = np.concatenate([scale, scale[loop], np.full(2, scale[loop].mean())])
        if len(lengths) == before:
            break
    return Cut(vertices, faces, np.array(lengths), np.array(middles).reshape(-1, 3))


def short_loops(
    vertices: FloatArray, faces: IntArray, longest: float, scale: FloatArray
) -> tuple[FloatArray, np.ndarray, list[IntArray]]:
    """Lengths [c], marks [c] and vertices of non-separating loops up to ``longest``, the shortest first."""
    edges = edges_of(faces)
    closed, n = _capped(faces, len(vertices), edges)
    edges = edges if n == len(vertices) else edges_of(closed)
    if (edges.counts != 2).any():
        raise ValueError(f"faces must form a manifold; {int((edges.counts > 2).sum())} edges have more than two.")
    nothing: tuple[FloatArray, np.ndarray, list[IntArray]] = (np.empty(0), np.empty(0, np.uint64), [])
    if _all_spheres(closed, n, edges):
        return nothing
    marks = _marks(closed, n, edges)
    marked = np.flatnonzero(marks)
    real = (edges.ends < len(vertices)).all(axis=1)
    ends = edges.ends[real]
    if marked.size == 0 or len(ends) == 0:
        return nothing
    roots = np.unique(edges.ends[marked][:, 0])
    roots = roots[roots < len(vertices)]
    length = np.linalg.norm(vertices[ends[:, 0]] - vertices[ends[:, 1]], axis=1) * scale[ends].mean(axis=1)
    low, high = np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])
    order = np.lexsort((high, low))
    first = np.searchsorted(low[order], np.arange(len(vertices) + 1)).astype(np.int64)
    starts, found = np.empty(len(roots) + 1, np.int64), np.empty(len(roots))
    classes = np.empty(len(roots), np.uint64)
    both = np.concatenate([length, length])[order], np.concatenate([marks[real], marks[real]])[order]
    members = shortest_loops(
        first, high[order].astype(np.int64), *both, roots.astype(np.int64), longest, starts, found, classes,
        np.empty(1024, np.int64),
    )  # fmt: skip
    rows = np.argsort(found, kind="stable")
    rows = rows[found[rows] <= longest]
    return found[rows], classes[rows], [members[starts[r] : starts[r + 1]] for r in rows]


def _all_spheres(faces: IntArray, n: int, edges: Edges) -> bool:
    """Whether all connected components of a closed mesh are spheres: of no other surface is V − E + F as large as 2."""
    used = np.zeros(n, np.bool_)
    used[faces.ravel()] = True
    count = len(np.unique(component_labels(faces, n)[used]))
    return bool(int(used.sum()) - len(edges.ends) + len(faces) == 2 * count)


def _capped(faces: IntArray, n: int, edges: Edges) -> tuple[IntArray, int]:
    """Faces with every border closed by a fan around a vertex of its own, and the number of vertices."""
    border = border_edges(faces, edges)
    fans = []
    for rows in loops_of(border):
        fans.append(np.column_stack([border[rows][:, ::-1], np.full(len(rows), n)]))
        n += 1
    return np.concatenate([faces, *fans]), n


def _marks(faces: IntArray, n: int, edges: Edges) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """The marks [e] of the edges of a closed mesh with ``n`` vertices and these ``edges``."""
    m, e = len(faces), len(edges.ends)
    slots = np.argsort(edges.of_face.ravel(), kind="stable").reshape(e, 2)
    pairs = np.sort(slots // 3, axis=1).astype(np.int64)
    graph = coo_array((np.ones(e), pairs.T), shape=(m, m)).tocsr()
    before, order = np.full(m, -1, np.int64), []
    label = connected_components(graph, directed=False)[1]
    for root in np.unique(label, return_index=True)[1]:
        reached, parents = breadth_first_order(graph, root, directed=False)
        before[reached[1:]] = parents[reached[1:]]
        order.append(reached)
    child = np.flatnonzero(before >= 0)
    through = np.full(m, -1, np.int64)
    # Two faces may share more than one edge; the forest crosses one of them.
    keys = pairs[:, 0] * m + pairs[:, 1]
    by_key = np.argsort(keys, kind="stable")
    key = np.minimum(child, before[child]) * m + np.maximum(child, before[child])
    through[child] = by_key[np.searchsorted(keys[by_key], key)]
    crossed = np.zeros(e, np.bool_)
    crossed[through[child]] = True
    words = np.random.default_rng(0).integers(1, 2**64, e, dtype=np.uint64)
    left, marks = np.empty(e, np.uint64), np.empty(e, np.uint64)
    leftover(edges.ends.astype(np.int64), crossed, n, words, left)
    mark_edges(np.concatenate(order).astype(np.int64), before, through, pairs, left, marks)
    return marks


def _independent(
    lengths: FloatArray, marks: np.ndarray[tuple[int], np.dtype[np.uint64]], loops: list[IntArray], n: int
) -> list[tuple[float, IntArray]]:
    """Of the loops, the shortest first, those that share no vertex and whose marks are independent mod 2."""
    taken = np.zeros(n, np.bool_)
    basis: dict[int, int] = {}
    chosen = []
    for length, mark, loop in zip(lengths, marks.tolist(), loops, strict=True):
        if taken[loop].any() or len(loop) < 3 or len(np.unique(loop)) != len(loop):
            continue
        rest = mark
        while rest and rest.bit_length() in basis:
            rest ^= basis[rest.bit_length()]
        if rest:
            basis[rest.bit_length()] = rest
            taken[loop] = True
            chosen.append((float(length), loop))
    return chosen


def _cut(vertices: FloatArray, faces: IntArray, loop: IntArray) -> tuple[FloatArray, IntArray] | None:
    """Cut along ``loop`` and close both sides by a fan; None where a border meets the loop on its left."""
    on = np.zeros(len(vertices), np.bool_)
    on[loop] = True
    near = np.flatnonzero(on[faces].any(axis=1))
    half = {}
    for row, face in zip(near.tolist(), faces[near].tolist(), strict=True):
        for i in range(3):
            half[face[i], face[(i + 1) % 3]] = (row, face[(i + 2) % 3])
    k, corners = len(loop), loop.tolist()
    moved: list[tuple[int, int, int]] = []
    for i, v in enumerate(corners):
        # Faces on the left of the loop at v, by rotation from the edge to the next vertex to that from the last one.
        towards = corners[(i + 1) % k]
        while towards != corners[i - 1]:
            side = half.get((v, towards))
            if side is None:
                return None
            moved.append((side[0], v, len(vertices) + i))
            towards = side[1]
    rows, old, new = np.array(moved).T
    faces = faces.copy()
    slot = np.argmax(faces[rows] == old[:, None], axis=1)
    faces[rows, slot] = new
    copies, middle = len(vertices) + np.arange(k), len(vertices) + k
    left = np.column_stack([np.roll(copies, -1), copies, np.full(k, middle)])
    right = np.column_stack([loop, np.roll(loop, -1), np.full(k, middle + 1)])
    centre = vertices[loop].mean(axis=0)
    return np.concatenate([vertices, vertices[loop], [centre, centre]]), np.concatenate([faces, left, right])
