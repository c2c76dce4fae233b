"""Coordinates whose distances follow those over the atlas, for manifolds that cannot be flattened.

Positions t_c of the bases minimise the raw stress

    Σ (|t_p − t_c| − d_pc)²        over pivots p and all bases c of the same part,

d the shortest paths over the chart graph, times the factor by which straightening shortens them. Pivots are at most
200 bases spread evenly, so that memory is linear. The descent starts from the aligned charts and from classical
scaling, and the lower end is taken.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.csgraph import dijkstra

from subbundle._types import FloatArray, IntArray
from subbundle.embedding.atlas_distance import AtlasDistance

_PIVOTS = 200
_CHECKED = 400
_ROUNDS = 500


def stress_positions(distance: AtlasDistance, bases: FloatArray, shifts: FloatArray, labels: IntArray) -> FloatArray:
    """Positions [M, k] of the bases, from ``shifts`` [M, k], those of each part of ``labels`` [M] on their own."""
    positions = shifts.copy()
    factor = _straightening(distance, bases)
    for label in range(int(labels.max()) + 1):
        part = np.flatnonzero(labels == label)
        if len(part) > shifts.shape[1] + 1:
            pivots, lengths = _pivot_distances(distance, part)
            lengths *= factor
            starts = (positions[part], _landmark_scaling(pivots, lengths, shifts.shape[1]))
            found = [_descend(start, pivots, lengths) for start in starts]
            positions[part] = min(found, key=lambda one: one[0])[1]
    return positions


def stretched_maps(
    forward: FloatArray, backward: FloatArray, pairs: IntArray, positions: FloatArray, fallback: FloatArray
) -> FloatArray:
    """Linear maps A_c [M, k, k] with t_e − t_c ≈ v_c(μ_e) A_c over the charts e linked to c.

    They are held to ``fallback`` [M, k, k] in directions that no link shows.
    """
    count, rank = positions.shape
    own, cross = np.zeros((count, rank, rank)), np.zeros((count, rank, rank))
    for steps, (here, there) in ((forward, pairs.T), (backward, pairs.T[::-1])):
        moved = positions[there] - positions[here]
        np.add.at(own, here, np.einsum("pi,pj->pij", steps, steps))
        np.add.at(cross, here, np.einsum("pi,pj->pij", steps, moved))
    held = 1e-3 * np.trace(own, axis1=1, axis2=2)[:, None, None] * np.eye(rank) + 1e-300 * np.eye(rank)
    return np.asarray(np.linalg.solve(own + held, cross + held @ fallback))


def _straightening(distance: AtlasDistance, bases: FloatArray) -> float:
    """Median ratio of straightened to graph distances, over pairs spread evenly."""
    count = len(bases)
    first = (np.arange(min(_CHECKED, count)) * count) // min(_CHECKED, count)
    second = first[np.argsort((np.arange(len(first)) * 0.6180339887498949) % 1.0, kind="stable")]
    sources, which = np.unique(first, return_inverse=True)
    graph = dijkstra(distance.graph.matrix, indices=sources)[which, second]
    usable = np.isfinite(graph) & (graph > 0.0)
    if not usable.any():
        return 1.0
    straight = distance.between(bases[first[usable]], bases[second[usable]])
    return float(min(np.median(straight / graph[usable]), 1.0))


def _pivot_distances(distance: AtlasDistance, part: IntArray) -> tuple[IntArray, FloatArray]:
    """Pivots, as places in ``part`` [m] spread evenly over it, and their distances [L, m] over the graph."""
    count = min(_PIVOTS, len(part))
    pivots = (np.arange(count) * len(part)) // count
    return pivots, dijkstra(distance.graph.matrix[part][:, part], indices=pivots)


def _landmark_scaling(pivots: IntArray, lengths: FloatArray, rank: int) -> FloatArray:
    """Classical scaling of the pivots, and the other bases placed by their distances to them."""
    squared = lengths**2
    own = squared[:, pivots]
    mean = own.mean(axis=1)
    inner = -0.5 * (own - mean[:, None] - mean[None] + mean.mean())
    values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    # Eigenvectors have no sign of their own; the largest entry is made positive.
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    vectors = vectors * np.where(largest < 0.0, -1.0, 1.0)
    scale = np.sqrt(np.maximum(values, 1e-12 * values[0]))
    return np.asarray(-0.5 * (squared - mean[:, None]).T @ (vectors / scale))


def _descend(start: FloatArray, pivots: IntArray, lengths: FloatArray) -> tuple[float, FloatArray]:
    """Stress and positions [m, k] where the descent from ``start`` ends."""
    shape = start.shape

    def stress(flat: FloatArray) -> tuple[float, FloatArray]:
        z = flat.reshape(shape)
        offsets = z[pivots][:, None] - z[None]
        apart = np.sqrt(np.einsum("lmk,lmk->lm", offsets, offsets))
        off = apart - lengths
        pull = (np.divide(off, apart, out=np.zeros_like(off), where=apart > 0.0))[:, :, None] * offsets
        gradient = -2.0 * pull.sum(axis=0)
        np.add.at(gradient, pivots, 2.0 * pull.sum(axis=1))
        return float(np.sum(off**2)), gradient.ravel()

    found = minimize(stress, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _ROUNDS, "ftol": 1e-10})
    return float(found.fun), np.asarray(found.x).reshape(shape)
