"""Distances among many points: shortest paths through the landmarks, with arcs to these from both ends.

The landmarks lie on the ridge, so that arcs between neighbours carry none of the noise of the observations, and each
has so many neighbours that zigzags hardly count: what is left of them is within half a per cent on dense data. With G
the lengths of the shortest paths through the graph and A(x, l) the arcs from a point to the landmarks around it,

    L(x, y) = min( A(x, y),  min_{i, j} A(x, l_i) + G_ij + A(l_j, y) ).

Points are no nodes of the paths of others, so that an entry depends on its two points only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._memory import blocks
from subbundle._types import BoolArray, FloatArray, IntArray
from subbundle.bundles.base import LearnedSubbundle
from subbundle.bundles.surroundings import FLAT, surroundings_of
from subbundle.geodesics.paths import PathGraph, path_graph
from subbundle.geodesics.shortest import feet_on_ridge, joined, shortest_paths
from subbundle.geodesics.straighten import arcs_between

# Pairs up to which each has a path of its own.
_FEW = 2_500
# Length scales up to which an arc joins two points: about as far as landmarks have neighbours on sparse data.
# Largest sine of its angle to the subspaces at both: one of 45° is wrong by per cents where it is no circle, but on
# sparse data zigzags through landmarks are longer.
_NEAR, _BENT = 6.0, 0.7


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
    legs : [n, q]
        Infinite across the tangent spaces.
    """

    feet: FloatArray
    offsets: FloatArray
    known: BoolArray
    frames: FloatArray
    near: IntArray
    legs: FloatArray


def through_graph(bundle: LearnedSubbundle, n: int, m: int) -> bool:
    """Whether a matrix [n, m] is read off the graph: in R^d, with many pairs."""
    return n * m > _FEW and surroundings_of(bundle) is FLAT


def graph_distances(bundle: LearnedSubbundle, points: FloatArray, others: FloatArray | None, tol: float) -> FloatArray:
    """Distances [n, m], symmetric without ``others``; infinite between components, NaN off the data."""
    graph = path_graph(bundle)
    here = _attached(bundle, graph, points)
    there = here if others is None else _attached(bundle, graph, others)
    lengths = np.full((len(here.feet), len(there.feet)), np.inf)
    tree, columns = cKDTree(there.feet[there.known]), np.flatnonzero(there.known)
    for rows in blocks(len(here.feet), graph.graph.shape[0] + here.near.shape[1] * len(there.feet)):
        _through_landmarks(graph, here, there, rows, lengths)
    for row in np.flatnonzero(here.known):
        near = columns[tree.query_ball_point(here.feet[row], _NEAR * bundle.length_scale)]
        length = arcs_between(here.feet[row], here.frames[row], there.feet[near], there.frames[near], _BENT)
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
    return np.where(together, np.where(known, lengths, np.nan), np.inf)


def _attached(bundle: LearnedSubbundle, graph: PathGraph, points: FloatArray) -> Attached:
    feet, known = feet_on_ridge(bundle, points)
    feet[~known] = 0.0
    frames = np.nan_to_num(bundle.frame(feet).vectors)
    near, legs = graph.legs(feet, frames)
    return Attached(feet, np.where(known[:, None], points - feet, 0.0), known, frames, near, legs)


def _through_landmarks(graph: PathGraph, here: Attached, there: Attached, rows: slice, lengths: FloatArray) -> None:
    """Write the paths from these ``rows`` into ``lengths`` [n, m]."""
    for row, reached in zip(lengths[rows], graph.lengths(here.near[rows], here.legs[rows])[0], strict=True):
        row[:] = (reached[there.near] + there.legs).min(axis=1, initial=np.inf)
