"""Distances among many points: shortest paths through the landmarks, with arcs to these from both ends.

The landmarks lie on the ridge, so that arcs between neighbours carry none of the noise of the observations, and each has
so many neighbours that zigzags hardly count: what is left of them is within half a per cent. With G the lengths of
the shortest paths through the graph and A(x, l) the arcs from a point to the landmarks around it,

    L(x, y) = min( A(x, y),  min_{i, j} A(x, l_i) + G_ij + A(l_j, y) ).

Points are no nodes of the paths of others, so that an entry depends on its two points only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_array, csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from subbundle._memory import blocks
from subbundle._types import BoolArray, FloatArray, IntArray
from subbundle.bundles.base import LearnedSubbundle
from subbundle.bundles.surroundings import FLAT, surroundings_of
from subbundle.geodesics.paths import PathGraph, path_graph
from subbundle.geodesics.shortest import feet_on_ridge, joined, shortest_paths
from subbundle.geodesics.straighten import arcs
from subbundle.graph.neighborhoods import ACROSS

# Pairs up to which each has a path of its own.
_FEW = 25_600


@dataclass(frozen=True, slots=True)
class Attached:
    """Points with arcs to the landmarks around them.

    Attributes
    ----------
    feet, offsets : [n, dim]
        Projections to the ridge, zero where there is none, and what they leave out.
    known : [n]
    frames : [n, dim, k]
    near : [n, q]
    arcs : [n, q]
        Infinite across the tangent spaces.
    """

    feet: FloatArray
    offsets: FloatArray
    known: BoolArray
    frames: FloatArray
    near: IntArray
    arcs: FloatArray


def through_graph(bundle: LearnedSubbundle, n: int, m: int) -> bool:
    """Whether a matrix [n, m] is read off the graph: in R^d, with many pairs."""
    return n * m > _FEW and surroundings_of(bundle) is FLAT


def graph_distances(bundle: LearnedSubbundle, points: FloatArray, others: FloatArray | None, tol: float) -> FloatArray:
    """Distances [n, m], symmetric without ``others``; infinite between components, NaN off the data."""
    graph = path_graph(bundle)
    here = _attached(bundle, graph, points)
    there = here if others is None else _attached(bundle, graph, others)
    lengths = np.full((len(here.feet), len(there.feet)), np.inf)
    reach = np.where(np.isfinite(here.arcs), here.arcs, 0.0).max(axis=1, initial=0.0)
    tree, columns = cKDTree(there.feet[there.known]), np.flatnonzero(there.known)
    for rows in blocks(len(here.feet), graph.graph.shape[0] + here.near.shape[1] * len(there.feet)):
        _through_landmarks(graph, here, there, rows, lengths)
    for row in np.flatnonzero(here.known):
        near = columns[tree.query_ball_point(here.feet[row], reach[row])]
        length = _arcs(here.feet[row], here.frames[row][None], there.feet[near], there.frames[near])
        lengths[row, near] = np.minimum(lengths[row, near], length)
    if others is None:
        lengths = np.minimum(lengths, lengths.T)
        np.fill_diagonal(lengths, 0.0)
    together = joined(bundle, points, points if others is None else others, every=True)
    known = here.known[:, None] & there.known[None, :]
    i, j = np.nonzero(np.isinf(lengths) & together & known)
    lengths[i, j] = shortest_paths(bundle, here.feet[i], there.feet[j], tol).lengths
    for rows in blocks(len(lengths), lengths.shape[1] * points.shape[1]):
        across = here.offsets[rows, None] - there.offsets[None]
        lengths[rows] = np.sqrt(lengths[rows] ** 2 + (across * across).sum(axis=2))
    return np.where(known, np.where(together, lengths, np.inf), np.nan)


def _attached(bundle: LearnedSubbundle, graph: PathGraph, points: FloatArray) -> Attached:
    feet, known = feet_on_ridge(bundle, points)
    feet[~known] = 0.0
    frames = np.nan_to_num(bundle.frame(feet).vectors)
    count = min(graph.neighbors, len(graph.points)) or 1
    near = np.reshape(cKDTree(graph.points).query(feet, k=count)[1], (len(feet), count))
    lengths = np.empty(near.shape)
    for row in range(len(feet)):
        ends = np.swapaxes(graph.frames[near[row]], 1, 2)
        lengths[row] = _arcs(feet[row], frames[row][None], graph.points[near[row]], ends)
    return Attached(feet, np.where(known[:, None], points - feet, 0.0), known, frames, near, lengths)


def _arcs(x: FloatArray, frame: FloatArray, ends: FloatArray, frames: FloatArray) -> FloatArray:
    """Arcs [m] from x [dim] to ``ends`` [m, dim] with the frames there; infinite across these. Exchanged, the same."""
    edges = ends - x
    squared = (edges * edges).sum(axis=1)
    here, there = (((edges[:, :, None] * part).sum(axis=1) ** 2).sum(axis=1) for part in (frame, frames))
    along = (np.minimum(here, there) >= (1.0 - ACROSS**2) * squared) | (squared == 0)
    return np.where(along, arcs(np.sqrt(squared), np.minimum(here, there), np.maximum(here, there)), np.inf)


def _through_landmarks(graph: PathGraph, here: Attached, there: Attached, rows: slice, lengths: FloatArray) -> None:
    """Write the paths from these ``rows`` into ``lengths`` [n, m]."""
    leave, near = here.arcs[rows], here.near[rows]
    count, nodes = len(near), len(graph.points)
    usable = np.isfinite(leave)
    # Zero is no edge in a sparse graph.
    legs = np.maximum(leave[usable], 1e-300)
    first = csr_array((legs, (np.nonzero(usable)[0], near[usable])), shape=(count, nodes))
    both = csr_array(block_array([[csr_array((count, count)), first], [None, graph.graph]]))
    found = dijkstra(both, indices=np.arange(count))[:, count:]
    for row, reached in enumerate(found):
        lengths[rows][row] = (reached[there.near] + there.arcs).min(axis=1, initial=np.inf)
