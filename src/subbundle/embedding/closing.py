"""Closed manifolds, and where to cut them.

Development along shortest paths from a central node, each step in the chart of the preceding node and rotated with the
frames, separates neighbours on a closed manifold. Edges whose ends are more than three times their length apart after
development cross the cut, as nodes of a fan so far apart in its coordinates lie on different sheets. Curvature alone
also separates them, but little: on a sphere the factor is θ/sin θ at the angle θ from the start, three at 131°.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from subbundle._types import FloatArray, evenly
from subbundle.atlas.base import nearest_frame
from subbundle.charts.tuning import SHEETS_APART
from subbundle.embedding.skeleton import Skeleton
from subbundle.embedding.tuning import CENTRE_PROBES
from subbundle.graph.neighborhoods import Neighborhoods


def crossing_edges(found: Skeleton) -> NDArray[np.bool_]:
    """Which edges [n, m] of ``found`` cross the cut."""
    positions, edges = unrolled(found), found.edges
    apart = np.linalg.norm(positions[edges.neighbors] - positions[:, None], axis=2)
    # For rows that nearly coincide the factor would be large by noise alone.
    return np.asarray(apart > SHEETS_APART * np.maximum(edges.arcs, np.median(edges.arcs))) & edges.along


def without_crossing(edges: Neighborhoods, crossing: NDArray[np.bool_]) -> Neighborhoods:
    """``edges`` with those ``crossing`` [n, m] dropped, in both directions."""
    count = len(edges.neighbors)
    rows = np.broadcast_to(np.arange(count)[:, None], crossing.shape)[crossing]
    cut = csr_array((np.ones(len(rows)), (rows, edges.neighbors[crossing])), shape=(count, count))
    cut = csr_array(cut + cut.T)
    own = np.repeat(np.arange(count), edges.neighbors.shape[1])
    dropped = np.asarray(cut[own, edges.neighbors.ravel()]).reshape(edges.neighbors.shape) > 0.0
    return replace(edges, across=np.where(dropped, 1.0, edges.across))


def unrolled(found: Skeleton) -> FloatArray:
    """Positions [n, k] by development of the charts along the shortest paths from a central node."""
    edges, lengths = found.edges, found.lengths
    count, rank = len(edges.neighbors), edges.frames.shape[1]
    probes = evenly(count, CENTRE_PROBES)
    centre = int(np.argmin(dijkstra(lengths, directed=False, indices=probes).max(axis=0)))
    distance, before = dijkstra(lengths, directed=False, indices=centre, return_predecessors=True)
    order = np.argsort(distance, kind="stable")[1:]
    parents = before[order]
    turns = nearest_frame(edges.frames[order] @ edges.frames[parents].transpose(0, 2, 1))
    steps = _steps(edges, lengths, parents, order, turns)
    positions, turned = np.zeros((count, rank)), np.broadcast_to(np.eye(rank), (count, rank, rank)).copy()
    for node, parent, turn, step in zip(order, parents, turns, steps, strict=True):
        positions[node] = positions[parent] + step @ turned[parent]
        turned[node] = turn @ turned[parent]
    return positions


def _steps(
    edges: Neighborhoods, lengths: csr_array, parents: NDArray[np.int32], nodes: NDArray[np.int64], turns: FloatArray
) -> FloatArray:
    """The step [p, k] from each parent to its node in the frame of the parent, as long as the edge."""
    count = len(edges.neighbors)
    rows = np.repeat(np.arange(count), edges.neighbors.shape[1])
    number = csr_array((np.arange(1, rows.size + 1), (rows, edges.neighbors.ravel())), shape=(count, count))
    forward = np.asarray(number[parents, nodes]).ravel() - 1
    backward = np.asarray(number[nodes, parents]).ravel() - 1
    offsets = edges.offsets.reshape(rows.size, -1)
    # The relation of neighbours is not symmetric: where the edge is missing, the reverse one is negated.
    reverse = -np.einsum("pi,pij->pj", offsets[backward], turns)
    found = np.where((forward >= 0)[:, None], offsets[forward], np.where((backward >= 0)[:, None], reverse, 0.0))
    size = np.maximum(np.linalg.norm(found, axis=1), 1e-300)
    return np.asarray(found * (np.asarray(lengths[parents, nodes]).ravel() / size)[:, None])
