"""Numba loops over the faces of a mesh: its edges numbered, its fans split, the normals at its vertices.

Union–find over n members: ``lower`` [n] begins as ``np.arange(n)``. It points from every member to a lower one of its
component, and from the lowest, which represents the component, to itself.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel


@kernel
def number_edges(faces, n, of_face, ends, counts):
    """Number the edges of ``faces`` [m, 3] with ``n`` vertices, by their lower end, then by the other; return how many.

    Counting sort of half-edges by their lower ends, then insertion sort of the few in a bin. Fills ``of_face`` [m, 3],
    and as many rows of ``ends`` [3 m, 2] and ``counts`` [3 m] as there are edges.
    """
    first = np.zeros(n + 1, np.int64)
    for f in range(faces.shape[0]):
        for i in range(3):
            first[min(faces[f, i], faces[f, (i + 1) % 3]) + 1] += 1
    for v in range(n):
        first[v + 1] += first[v]
    size = 3 * faces.shape[0]
    place, half, higher = first[:n].copy(), np.empty(size, np.int64), np.empty(size, np.int64)
    for f in range(faces.shape[0]):
        for i in range(3):
            a, b = faces[f, i], faces[f, (i + 1) % 3]
            low = min(a, b)
            half[place[low]], higher[place[low]] = 3 * f + i, max(a, b)
            place[low] += 1
    count, slots = 0, of_face.reshape(-1)
    for low in range(n):
        # Insertion sort by the other end.
        for k in range(first[low] + 1, first[low + 1]):
            h, high, j = half[k], higher[k], k
            while j > first[low] and higher[j - 1] > high:
                half[j], higher[j] = half[j - 1], higher[j - 1]
                j -= 1
            half[j], higher[j] = h, high
        for k in range(first[low], first[low + 1]):
            if k == first[low] or higher[k] != higher[k - 1]:
                ends[count, 0], ends[count, 1] = low, higher[k]
                count += 1
            counts[count - 1] += 1
            slots[half[k]] = count - 1
    return count


@kernel
def split_fans(faces, n, of_face, counts, split):
    """Number the fans of ``faces`` [m, 3] with ``n`` vertices into ``split`` [m, 3]; return the vertex of each.

    Corners that share a vertex and an edge of exactly two faces belong to one fan. Fans are numbered by their vertices,
    those of one vertex by their first corners, so that a mesh of one fan per vertex is unchanged.
    """
    corner, slots, out = faces.reshape(-1), of_face.reshape(-1), split.reshape(-1)
    lower, other = np.arange(corner.size), np.full(counts.size, -1, np.int64)
    for s in range(corner.size):
        if counts[slots[s]] != 2:
            continue
        t = other[slots[s]]
        if t < 0:
            other[slots[s]] = s
            continue
        # The ends of edges s and t are the corners of these numbers and the next ones of their faces.
        s_next, t_next = s - 2 if s % 3 == 2 else s + 1, t - 2 if t % 3 == 2 else t + 1
        if corner[s] != corner[t]:
            t, t_next = t_next, t
        join(lower, s, t)
        join(lower, s_next, t_next)
    first = np.zeros(n + 1, np.int64)
    for c in range(corner.size):
        first[corner[c] + 1] += lower[c] == c
    for v in range(n):
        first[v + 1] += first[v]
    owner = np.empty(first[n], np.int64)
    for c in range(corner.size):
        if lower[c] == c:
            out[c] = first[corner[c]]
            owner[out[c]] = corner[c]
            first[corner[c]] += 1
        else:
            # The first corner of the fan has its number already.
            out[c] = out[lowest(lower, c)]
    return owner


@kernel
def join_faces(faces, labels):
    """Number the connected components of the vertices by their first ones, into ``labels`` [n]."""
    lower, count = np.arange(labels.size), 0
    for f in range(faces.shape[0]):
        join(lower, faces[f, 0], faces[f, 1])
        join(lower, faces[f, 1], faces[f, 2])
    for v in range(labels.size):
        if lower[v] == v:
            labels[v] = count
            count += 1
        else:
            labels[v] = labels[lowest(lower, v)]


@kernel
def sum_normals(vertices, faces, out):
    """Add to ``out`` [n, 3] at the corners of ``faces`` [m, 3] their normals, as long as twice their areas."""
    for f in range(faces.shape[0]):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        x0, x1, x2 = vertices[a, 0], vertices[a, 1], vertices[a, 2]
        u0, u1, u2 = vertices[b, 0] - x0, vertices[b, 1] - x1, vertices[b, 2] - x2
        v0, v1, v2 = vertices[c, 0] - x0, vertices[c, 1] - x1, vertices[c, 2] - x2
        n0, n1, n2 = u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0
        for corner in range(3):
            row = faces[f, corner]
            out[row, 0] += n0
            out[row, 1] += n1
            out[row, 2] += n2


@kernel
def lowest(lower, i):
    """The lowest member of the component of ``i``, with path halving."""
    while lower[i] != i:
        lower[i] = lower[lower[i]]
        i = lower[i]
    return i


@kernel
def join(lower, i, j):
    """Merge the components of ``i`` and ``j``; return whether they were different."""
    a, b = lowest(lower, i), lowest(lower, j)
    lower[max(a, b)] = min(a, b)
    return a != b
