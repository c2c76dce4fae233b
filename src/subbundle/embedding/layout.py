"""Laying out aligned charts: turned to principal axes, the parts side by side, or developed at a base point."""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.embedding.chart_links import nearest_orthogonal

# Gap between two parts, as a part of the width of the largest.
_GAP = 0.15


def by_size(labels: IntArray, weights: FloatArray) -> IntArray:
    """``labels`` [M] renumbered so that the part of largest total ``weights`` [M] is 0."""
    sizes = np.bincount(labels, weights=weights)
    rank = np.empty(len(sizes), np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return np.asarray(rank[labels])


def lay_out(
    maps: FloatArray, shifts: FloatArray, labels: IntArray, weights: FloatArray, *, least_gap: float
) -> tuple[FloatArray, FloatArray]:
    """Maps and shifts after a rigid motion of each part: its principal axes along the coordinates, longest first, its
    centre at zero; the second part and those after it follow along the first coordinate, bases no closer than
    ``least_gap``."""
    maps, shifts = maps.copy(), shifts.copy()
    edge, gap = 0.0, 0.0
    for label in range(int(labels.max()) + 1):
        part = np.flatnonzero(labels == label)
        share = weights[part] / weights[part].sum()
        centred = shifts[part] - share @ shifts[part]
        axes = np.linalg.eigh((centred * share[:, None]).T @ centred)[1][:, ::-1]
        turned = centred @ axes
        # The sign of an axis: the longer tail points up. Symmetric data falls back on the sign of the eigenvector.
        axes = axes * np.where(np.sum(share[:, None] * turned**3, axis=0) < 0.0, -1.0, 1.0)
        shifts[part], maps[part] = centred @ axes, maps[part] @ axes
        low, high = shifts[part, 0].min(), shifts[part, 0].max()
        if label == 0:
            edge, gap = high, max(_GAP * (high - low), least_gap)
        else:
            shifts[part, 0] += edge + gap - low
            edge += gap + high - low
    return maps, shifts


def develop_at(
    maps: FloatArray, shifts: FloatArray, image: FloatArray, differential: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Maps and shifts after the rigid motion of all parts that carries ``image`` [k] to zero and turns the
    ``differential`` [k, k] of the coordinates there (rows: tangent directions) into the identity."""
    turn = nearest_orthogonal(differential[None])[0][0].T
    return maps @ turn, (shifts - image) @ turn
