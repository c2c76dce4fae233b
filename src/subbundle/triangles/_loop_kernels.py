"""Numba loops that find short non-separating loops.

On a closed surface let C be a spanning forest of the faces (over the edges they share) and T one of the vertices over
edges that C does not cross. Of an edge x in neither, the faces on both sides are joined by a path in C; together they
are a closed curve of faces. Those curves, 2 per handle, form a basis of cohomology mod 2: a loop of edges bounds a
region exactly if it crosses each of them an even number of times. Every x has a random 64-bit word, and an edge the
exclusive or of the words of the curves that cross it: its *mark*. A loop whose marks do not cancel is non-separating.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.triangles._edge_kernels import join


@kernel
def leftover(ends, crossed, n, words, left):
    """Set ``left`` [e] to the word of every edge in neither forest, else 0; ``crossed`` [e] by the forest of faces."""
    lower = np.arange(n)
    for e in range(ends.shape[0]):
        left[e] = np.uint64(0)
        if not crossed[e] and not join(lower, ends[e, 0], ends[e, 1]):
            left[e] = words[e]


@kernel
def mark_edges(order, before, through, pairs, left, marks):
    """Fill ``marks`` [e]: of edges in neither forest their own word, of those in that of faces the word of the subtree.

    Parameters
    ----------
    order : [m]
        Faces, each after its parent ``before`` [m] (−1 for roots), with which it shares the edge ``through`` [m].
    pairs : [e, 2]
        The two faces of every edge.
    left : [e]
        Words of the edges in neither forest, 0 for others.
    """
    held = np.zeros(order.shape[0], np.uint64)
    for e in range(pairs.shape[0]):
        marks[e] = left[e]
        if left[e] != 0:
            held[pairs[e, 0]] ^= left[e]
            held[pairs[e, 1]] ^= left[e]
    for i in range(order.shape[0] - 1, -1, -1):
        face = order[i]
        if before[face] >= 0:
            marks[through[face]] = held[face]
            held[before[face]] ^= held[face]


@kernel
def shortest_loops(first, other, length, mark, roots, longest, starts, lengths, marks, members):
    """For every root the shortest loop through it whose marks do not cancel, if it is at most ``longest``.

    ``first`` [n + 1], ``other``, ``length``, ``mark`` are the edges of the graph, row by row. The path from the root to
    the loop and back is removed. Writes lengths (infinite if there is none) and marks [r] of the loops, and their
    vertices one after another into the growing ``members``, which is returned; loop r begins at ``starts[r]``.
    """
    n = first.shape[0] - 1
    far, seen = np.full(n, np.inf), np.zeros(n, np.uint64)
    back, done = np.full(n, -1, np.int64), np.zeros(n, np.bool_)
    touched = np.empty(n, np.int64)
    keys, nodes = np.empty(16), np.empty(16, np.int64)
    count = 0
    for r in range(roots.shape[0]):
        root = roots[r]
        far[root], back[root] = 0.0, -1
        touched[0] = root
        n_touched = 1
        keys[0], nodes[0], waiting = 0.0, root, 1
        best, best_u, best_v, best_mark = longest, -1, -1, np.uint64(0)
        while waiting > 0:
            d, u = keys[0], nodes[0]
            waiting -= 1
            _sift_down(keys, nodes, waiting)
            if done[u] or 2.0 * d > best:
                continue
            done[u] = True
            for k in range(first[u], first[u + 1]):
                v = other[k]
                if done[v]:
                    total = d + far[v] + length[k]
                    cycle = seen[u] ^ seen[v] ^ mark[k]
                    if total < best and cycle != 0:
                        best, best_u, best_v, best_mark = total, u, v, cycle
                elif d + length[k] < far[v] and d + length[k] <= best:
                    if not np.isfinite(far[v]):
                        touched[n_touched] = v
                        n_touched += 1
                    far[v], back[v], seen[v] = d + length[k], u, seen[u] ^ mark[k]
                    if waiting == keys.size:
                        keys, nodes = _grown(keys, waiting), _grown(nodes, waiting)
                    _sift_up(keys, nodes, waiting, far[v], v)
                    waiting += 1
        starts[r] = count
        lengths[r], marks[r] = np.inf, best_mark
        if best_u >= 0:
            meet = _common_ancestor(back, best_u, best_v)
            lengths[r] = best - 2.0 * far[meet]
            while members.shape[0] < count + 2 * n_touched:
                members = _grown(members, count)
            u = best_u
            while u != meet:
                members[count] = u
                count += 1
                u = back[u]
            members[count] = meet
            count += 1
            begin, v = count, best_v
            while v != meet:
                members[count] = v
                count += 1
                v = back[v]
            for i in range((count - begin) // 2):
                members[begin + i], members[count - 1 - i] = members[count - 1 - i], members[begin + i]
        for i in range(n_touched):
            v = touched[i]
            far[v], seen[v], done[v], back[v] = np.inf, np.uint64(0), False, -1
    starts[roots.shape[0]] = count
    return members


# A binary heap of pairs (key, node), in two arrays; `heapq` on a list of tuples takes four seconds to compile.


@kernel
def _grown(values, count):
    """An array twice as long, with the first ``count`` of ``values``."""
    longer = np.empty(2 * values.size, values.dtype)
    for i in range(count):
        longer[i] = values[i]
    return longer


@kernel
def _sift_up(keys, nodes, place, key, node):
    """Insert (``key``, ``node``) at ``place``, the first free one, and restore the order of the heap."""
    while place > 0:
        above = (place - 1) // 2
        if keys[above] < key or (keys[above] == key and nodes[above] <= node):
            break
        keys[place], nodes[place] = keys[above], nodes[above]
        place = above
    keys[place], nodes[place] = key, node


@kernel
def _sift_down(keys, nodes, count):
    """Replace the least pair by the last one, at ``count``, and restore the order of the heap."""
    key, node, place = keys[count], nodes[count], 0
    while 2 * place + 1 < count:
        below = 2 * place + 1
        if below + 1 < count and (
            keys[below + 1] < keys[below] or (keys[below + 1] == keys[below] and nodes[below + 1] < nodes[below])
        ):
            below += 1
        if key < keys[below] or (key == keys[below] and node <= nodes[below]):
            break
        keys[place], nodes[place] = keys[below], nodes[below]
        place = below
    keys[place], nodes[place] = key, node


@kernel
def _common_ancestor(back, u, v):
    """The lowest common ancestor of u and v."""
    depth_u, depth_v = 0, 0
    i = u
    while back[i] >= 0:
        i = back[i]
        depth_u += 1
    i = v
    while back[i] >= 0:
        i = back[i]
        depth_v += 1
    while depth_u > depth_v:
        u = back[u]
        depth_u -= 1
    while depth_v > depth_u:
        v = back[v]
        depth_v -= 1
    while u != v:
        u, v = back[u], back[v]
    return u
