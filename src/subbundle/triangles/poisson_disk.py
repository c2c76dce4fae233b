"""Poisson-disk samples: points at least a given distance apart, with all others nearer than that to one of them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.spatial import cKDTree

from subbundle._compiled import kernel
from subbundle._types import FloatArray, IntArray

_FACTOR = 0x9E3779B97F4A7C15


def spread(points: FloatArray, apart: float, rank: FloatArray | None = None) -> IntArray:
    """Rows of ``points`` [n, d], ascending, at least ``apart`` from each other; all others are nearer to one.

    Greedy, by descending ``rank`` [n] (borders first), those of equal rank in an order that depends only on their
    coordinates.
    """
    n = len(points)
    order = np.lexsort((hashes(points), np.zeros(n) if rank is None else -rank))
    pairs = cKDTree(points[order]).query_pairs(apart, output_type="ndarray")
    graph = coo_array(
        (np.ones(2 * len(pairs), np.int8), np.concatenate([pairs, pairs[:, ::-1]]).T), shape=(n, n)
    ).tocsr()
    kept = np.ones(n, np.bool_)
    _thin(graph.indptr.astype(np.int64), graph.indices.astype(np.int64), kept)
    chosen: IntArray = np.sort(order[kept]).astype(np.int64)
    return chosen


def hashes(points: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """A number for every row of ``points`` [n, d] that depends on its bits only."""
    bits = np.ascontiguousarray(points + 0.0).view(np.uint64)  # + 0 turns −0 into 0
    mixed = np.zeros(len(points), np.uint64)
    for column in bits.T:
        mixed = (mixed ^ column) * np.uint64(_FACTOR)
        mixed ^= mixed >> np.uint64(29)
    return mixed


@kernel
def _thin(starts, neighbours, kept):  # type: ignore[no-untyped-def]
    """Remove from ``kept`` [n], row by row, the neighbours of every row that is still in it."""
    for i in range(len(kept)):
        if kept[i]:
            for slot in range(starts[i], starts[i + 1]):
                if neighbours[slot] > i:
                    kept[neighbours[slot]] = False
