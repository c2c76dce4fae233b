"""Numba loop that numbers the edges of a mesh."""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel


@kernel
def number_edges(faces, n, of_face, ends, counts):
    """Number the edges of ``faces`` [m, 3] with ``n`` vertices, by their lower end, then by the other; return how many.

    Half-edges are sorted into the bins of their lower ends by counting; a bin has a handful, and is searched through.
    Fills ``of_face`` [m, 3], and the rows of ``ends`` [3 m, 2] and ``counts`` [3 m] that there are edges.
    """
    first = np.zeros(n + 1, np.int64)
    for f in range(faces.shape[0]):
        for i in range(3):
            first[min(faces[f, i], faces[f, (i + 1) % 3]) + 1] += 1
    for v in range(n):
        first[v + 1] += first[v]
    place, half = first[:n].copy(), np.empty(3 * faces.shape[0], np.int64)
    for f in range(faces.shape[0]):
        for i in range(3):
            low = min(faces[f, i], faces[f, (i + 1) % 3])
            half[place[low]] = 3 * f + i
            place[low] += 1
    count = 0
    for low in range(n):
        # Insertion sort by the other end.
        for k in range(first[low] + 1, first[low + 1]):
            h, key = half[k], _higher(faces, half[k])
            j = k - 1
            while j >= first[low] and _higher(faces, half[j]) > key:
                half[j + 1] = half[j]
                j -= 1
            half[j + 1] = h
        for k in range(first[low], first[low + 1]):
            high = _higher(faces, half[k])
            if k == first[low] or high != ends[count - 1, 1]:
                ends[count, 0], ends[count, 1] = low, high
                count += 1
            counts[count - 1] += 1
            of_face[half[k] // 3, half[k] % 3] = count - 1
    return count


@kernel
def _higher(faces, half):
    f, i = half // 3, half % 3
    return max(faces[f, i], faces[f, (i + 1) % 3])
