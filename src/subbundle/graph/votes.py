"""Signs that fulfil votes of pairs: a positive vote for equal signs of its two rows, a negative one for opposite signs.

Clusters start as single rows. In every round each cluster merges with the cluster with which the sum of all its votes
is largest in absolute value, flipped where the sum is negative (Borůvka's algorithm with signs). Sums over whole
borders are robust: one wrong vote is outvoted. At the end every row takes the sign that the sum of its neighbours'
votes indicates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subbundle._groups import double_cover
from subbundle._types import FloatArray, IntArray

# Rounds of majority votes at the end; two or three are enough.
_MOST_ROUNDS = 20


def merge_votes(
    n: int, pairs: IntArray, votes: FloatArray, *, areas: FloatArray | None = None, large: float = 0.0,
    least: float = 0.0, agree: bool = False, start: tuple[FloatArray, IntArray] | None = None,
    fixed: NDArray[np.bool_] | None = None,
) -> tuple[FloatArray, IntArray]:  # fmt: skip
    """Signs [n] by Borůvka's algorithm on the votes summed between clusters, and the first row [n] of every cluster.

    With the ``areas`` [n] of the rows, two clusters of areas of at least ``large`` are joined by no less than the
    ``least`` votes, or, if it is enough that votes ``agree``, by fewer of which three quarters do.
    Clusters that hold ``fixed`` [n] rows are not joined to each other. ``start`` are signs and clusters to begin with.
    """
    signs, cluster = (np.ones(n), np.arange(n)) if start is None else start
    while True:
        ends = cluster[pairs]
        apart = ends[:, 0] != ends[:, 1]
        if not apart.any():
            return signs, cluster
        signed = votes[apart] * signs[pairs[apart, 0]] * signs[pairs[apart, 1]]
        keys, group = np.unique(np.sort(ends[apart], axis=1) @ np.array([n, 1]), return_inverse=True)
        total, two = np.bincount(group, signed), np.column_stack([keys // n, keys % n])
        if areas is not None:
            wide = np.bincount(cluster, areas, n) >= large
            weight = np.bincount(group, np.abs(signed))
            few = (weight < least) & (np.abs(total) < 0.5 * weight) if agree else np.abs(total) < least
            total[wide[two].all(axis=1) & few] = 0.0
        free = np.ones(n, np.bool_) if fixed is None else np.bincount(cluster, fixed, n) == 0.0
        total[~free[two].any(axis=1)] = 0.0
        best = _strongest(n, two[:, 0], two[:, 1], np.abs(total), free)
        best = best[np.abs(total[best]) > 0.0]
        if best.size == 0:
            return signs, cluster
        cluster, flips = _join(cluster, two[best], np.sign(total[best]))
        signs = signs * flips


def _strongest(n: int, first: IntArray, second: IntArray, strength: FloatArray, free: NDArray[np.bool_]) -> IntArray:
    """Rows that are the strongest of a ``free`` [n] cluster; ties go to the lower row, the same for both ends."""
    order = np.lexsort((-np.arange(len(strength)), strength))  # later is stronger
    best = np.full(n, -1, dtype=np.int64)
    best[first[order]] = order
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    other = np.full(n, -1, dtype=np.int64)
    other[second[order]] = order
    both = np.where((best >= 0) & ((other < 0) | (rank[best] > rank[other])), best, other)
    return np.unique(both[(both >= 0) & free])


def _join(cluster: IntArray, joins: IntArray, relation: FloatArray) -> tuple[IntArray, FloatArray]:
    """New clusters [n] after the ``joins`` [m, 2], and the flip [n] of every row.

    The joins form a forest, since all follow the order of one list of strengths. Signs are those of its double cover,
    with cluster c and its mirror image c + n: 1 where c is connected to the root, −1 where its image is.
    """
    tree, first, cover = double_cover(joins, relation > 0.0, len(cluster))
    root = first[tree]
    return root[cluster], np.where(cover[: len(cluster)] == cover[root], 1.0, -1.0)[cluster]


def majority_signs(signs: FloatArray, pairs: IntArray, votes: FloatArray) -> FloatArray:
    """``signs`` [n], flipped where the sum of the neighbours' votes contradicts them, until none does."""
    n = len(signs)
    for _ in range(_MOST_ROUNDS):
        total = np.bincount(pairs[:, 0], votes * signs[pairs[:, 1]], minlength=n)
        total += np.bincount(pairs[:, 1], votes * signs[pairs[:, 0]], minlength=n)
        wrong = total * signs < 0.0
        if not wrong.any():
            break
        signs = np.where(wrong, -signs, signs)
    return signs
