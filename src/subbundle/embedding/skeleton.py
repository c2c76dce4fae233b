"""The skeleton of a layout: neighbour graphs of several sizes, averaged by how well their layouts predict the rows.

Every graph is laid out by landmark scaling. A graph with short cuts folds the rows up and predicts them badly when each
is left out; those with e times the least error count by e⁻¹² in the mean of the graph distances, so that near ties are
averaged over and short cuts drop out. Charts are made from the smallest neighbourhoods that predict about as well as
any, and distances have the scale of their graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from subbundle._types import FloatArray, IntArray, evenly
from subbundle.embedding.quality import prediction_error
from subbundle.embedding.scaling import Stress, landmark_scaling
from subbundle.graph.neighbor_graph import graph_of
from subbundle.graph.neighborhoods import Neighborhoods, frame_size, neighborhoods

# Neighbourhoods grow by this factor from 2k + 2 rows, up to the larger of the two: thirty, or twice the first.
_GROWTH, _LARGEST = 1.5, 30
# A smaller neighbourhood is taken for the charts if its layout predicts within this factor of the best.
_TIE = 1.05
# Power of the relative error in the weight of a graph.
_SHARPNESS = 12.0
# Numbers in the table of distances from landmarks, and the fewest landmarks.
_TABLE, _FEWEST_LANDMARKS = 300_000, 150
# Rounds of the first layout and the relative gain that ends them; another one follows it.
_ROUNDS, _TOL = 30, 1e-3


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Graph distances and the edges that charts are made from.

    Attributes
    ----------
    edges : Neighborhoods
        Of the chosen neighbourhoods.
    lengths : csr_array [n, n]
        Their graph, in one component.
    stress : Stress
        Of the averaged distances from landmarks.
    positions : [n, k]
        Least stress.
    error : float
        How badly these predict the rows.
    """

    edges: Neighborhoods
    lengths: csr_array
    stress: Stress
    positions: FloatArray
    error: float


def ladder(rank: int, count: int) -> list[int]:
    """Sizes of neighbourhoods that are compared among ``count`` rows."""
    first = 2 * rank + 2
    sizes = [first]
    while sizes[-1] * _GROWTH <= max(_LARGEST, 2 * first):
        sizes.append(round(sizes[-1] * _GROWTH))
    return [size for size in sizes if size < count] or [count - 1]


def landmarks_among(count: int) -> IntArray:
    """Rows spread evenly over ``count`` rows, as many as a table of distances may hold."""
    return evenly(count, max(_FEWEST_LANDMARKS, _TABLE // count))


def skeleton(points: FloatArray, near: IntArray, frames: FloatArray, *, averaged: bool) -> Skeleton:
    """The skeleton of ``points`` [n, D] with neighbours ``near`` [n, m] and ``frames`` [n, k, D].

    ``averaged`` rows are fits to many neighbours; their errors go together, so that frames take all of a neighbourhood.
    """
    count, rank = len(points), frames.shape[1]
    landmarks = landmarks_among(count)
    tried = []
    known: dict[int, Neighborhoods] = {}
    # The largest first: smaller ones with frames from as many neighbours are parts of them.
    for size in ladder(rank, min(count, near.shape[1] + 1))[::-1]:
        few = size if averaged else min(size, frame_size(rank))
        if few not in known:
            known[few] = neighborhoods(points, near[:, :size], rank, frame_neighbors=few, frames=frames)
        edges = known[few].nearest(size)
        lengths = graph_of(points, edges).joined()
        tried.append(_settled(points, edges, lengths, _stress(lengths, landmarks)))
    tried.reverse()
    errors = np.array([one.error for one in tried])
    shares = (errors.min() / np.maximum(errors, 1e-300)) ** _SHARPNESS
    best = tried[int(np.flatnonzero(errors <= _TIE * errors.min())[0])]
    mean = sum(
        share * _scale(one.stress.distances, best.stress.distances) * one.stress.distances
        for share, one in zip(shares / shares.sum(), tried, strict=True)
    )
    return _settled(points, best.edges, best.lengths, Stress(landmarks, np.asarray(mean)))


def _scale(distances: FloatArray, wanted: FloatArray) -> float:
    """What to multiply ``distances`` with: paths zigzag more the fewer neighbours a graph has."""
    apart = distances > 0.0
    return float(np.median(wanted[apart] / distances[apart])) if apart.any() else 1.0


def skeleton_of(points: FloatArray, edges: Neighborhoods, lengths: csr_array) -> Skeleton:
    """The skeleton of given ``edges`` with their graph ``lengths``, nothing to compare."""
    stress = _stress(lengths, landmarks_among(len(points)))
    return _settled(points, edges, lengths, stress)


def _settled(points: FloatArray, edges: Neighborhoods, lengths: csr_array, stress: Stress) -> Skeleton:
    start = landmark_scaling(stress.landmarks, stress.distances, edges.frames.shape[1])
    positions = stress.minimised(start, _ROUNDS, _TOL)
    return Skeleton(edges, lengths, stress, positions, prediction_error(points, positions))


def _stress(lengths: csr_array, landmarks: IntArray) -> Stress:
    return Stress(landmarks, dijkstra(lengths, directed=False, indices=landmarks))
