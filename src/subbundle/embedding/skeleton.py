"""The initial layout: neighbour graphs of several sizes laid out by their distances, and averaged.

*Scaling.* Classical scaling of the landmarks and Gower's formula for the others give the start. Then the stress

    Σ_li P_li (|z_i − z_l| − d_li)²,     P_li = d_li⁻²,    over landmarks l and all rows i,

falls in every round of majorisation: V Z⁺ = B(Z) Z with the Laplacian V of the weights. Rows other than landmarks are
paired with landmarks only, so their block of V is diagonal and V is solved by a Schur complement of the size of the
landmarks.

*Averaging.* A graph with short cuts folds the layout, which has a large leave-one-out prediction error; graphs with e
times the least error have the weight e⁻¹² in the mean of the graph distances, so that nearly equal ones are averaged
and those with short cuts are negligible. Charts are made from the smallest neighbourhoods with nearly the least error,
and distances have the scale of their graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import eigsh

from subbundle._numbers import MOST_ROUNDS
from subbundle._types import FloatArray, IntArray, evenly
from subbundle.embedding import tuning
from subbundle.embedding.quality import prediction_error
from subbundle.graph.neighbor_graph import graph_of
from subbundle.graph.neighborhoods import Neighborhoods, frame_size, neighborhoods
from subbundle.local.frames import sign_of_largest

# Distances below this fraction of the longest have no more weight: 1/d² would be infinite for equal rows.
_NEAREST = 1e-3


def landmark_scaling(landmarks: IntArray, distances: FloatArray, rank: int) -> FloatArray:
    """Positions [n, k] from ``distances`` [L, n] of the rows ``landmarks`` [L]; eigenvectors have a fixed sign."""
    squared = distances**2
    own = squared[:, landmarks]
    mean = own.mean(axis=0)
    inner = -0.5 * (own - mean - mean[:, None] + mean.mean())
    values, vectors = _leading(0.5 * (inner + inner.T), rank)
    vectors = vectors * sign_of_largest(vectors)
    scale = np.sqrt(np.maximum(values, 1e-12 * max(float(values[0]), 1e-300)))
    positions = -0.5 * (squared - mean[:, None]).T @ (vectors / scale)
    if positions.shape[1] < rank:
        positions = np.pad(positions, ((0, 0), (0, rank - positions.shape[1])))
    return np.asarray(positions - positions.mean(axis=0))


def _leading(matrix: FloatArray, rank: int) -> tuple[FloatArray, FloatArray]:
    """The ``rank`` largest eigenvalues, descending, and their eigenvectors; fewer if the matrix is smaller."""
    count = len(matrix)
    if count <= 10 * rank:
        values, vectors = np.linalg.eigh(matrix)
    else:
        # A fixed start, so that eigenvectors are deterministic.
        values, vectors = eigsh(matrix, k=rank, which="LA", v0=np.cos(np.arange(count)))
        order = np.argsort(values, kind="stable")
        values, vectors = values[order], vectors[:, order]
    return values[::-1][:rank], vectors[:, ::-1][:, :rank]


class Stress:
    """Σ P (|z_i − z_l| − d)² of ``distances`` [L, n] from the rows ``landmarks`` [L], with P = d^(−``power``).

    With 2 relative errors have equal weights, and neighbours as much as distant rows; with 0 all distances have.
    """

    def __init__(self, landmarks: IntArray, distances: FloatArray, power: float = 2.0) -> None:
        self.landmarks, self.distances = landmarks, distances
        self.weights = np.maximum(distances, _NEAREST * float(distances.max())) ** -power
        self.weights[np.arange(len(landmarks)), landmarks] = 0.0
        self.degrees = self.weights.sum(axis=0)
        self.degrees[landmarks] += self.weights.sum(axis=1)

    @property
    def total(self) -> float:
        """Sum of all weights."""
        return float(self.weights.sum())

    def value(self, positions: FloatArray, scale: float = 1.0) -> float:
        """The stress of ``positions`` [n, k] against ``scale`` times the distances."""
        return float(np.sum(self.weights * (self._apart(positions) - scale * self.distances) ** 2))

    def descent(self, positions: FloatArray, scale: float = 1.0) -> FloatArray:
        """Half of the negative gradient at ``positions`` [n, k]."""
        apart = np.maximum(self._apart(positions), 1e-9 * float(self.distances.max()))
        return self._laplacian(self.weights * (scale * self.distances / apart - 1.0), positions)

    def product(self, x: FloatArray) -> FloatArray:
        """V x for ``x`` [n, k], V the Hessian of a quadratic that majorises the stress."""
        return self._laplacian(self.weights, x)

    def reduced(self, basis: csr_array) -> FloatArray:
        """Bᵀ (V ⊗ 1) B, dense, for a sparse ``basis`` [n·k, b]."""
        total = np.zeros((basis.shape[1],) * 2)
        rank = basis.shape[0] // self.distances.shape[1]
        for a in range(rank):
            own = csr_array(basis[a::rank])
            cross = csr_array(own[self.landmarks]).T @ np.asarray(self.weights @ own)
            total += (own.T @ own.multiply(self.degrees[:, None])).toarray() - cross - cross.T
        return total

    def scale_of(self, positions: FloatArray) -> float:
        """Median ratio of distances between ``positions`` [n, k] to the given ones, over the longer half of these."""
        far = self.distances > np.median(self.distances)
        return float(np.median(self._apart(positions)[far] / self.distances[far])) if far.any() else 1.0

    def minimised(
        self, positions: FloatArray, rounds: int = MOST_ROUNDS, tol: float = 0.1 * tuning.SCALING_TOL
    ) -> FloatArray:
        """Positions [n, k] after at most ``rounds`` rounds of majorisation, fewer when changes fall below ``tol``."""
        solve = self._solver()
        for _ in range(rounds):
            moved = positions + solve(self.descent(positions))
            moved -= moved.mean(axis=0)
            change = np.sqrt(np.sum((moved - positions) ** 2) / np.sum(moved**2))
            positions = moved
            if change < tol:
                break
        return positions

    def _apart(self, positions: FloatArray) -> FloatArray:
        here = positions[self.landmarks]
        squared = np.zeros(self.distances.shape)
        for a in range(positions.shape[1]):
            squared += np.subtract.outer(here[:, a], positions[:, a]) ** 2
        return np.sqrt(squared)

    def _laplacian(self, weights: FloatArray, x: FloatArray) -> FloatArray:
        """Σ w (x_i − x_l) at rows i, and its negative at landmarks l."""
        here = x[self.landmarks]
        result = weights.sum(axis=0)[:, None] * x - weights.T @ here
        result[self.landmarks] += weights.sum(axis=1)[:, None] * here - weights @ x
        return np.asarray(result)

    def _solver(self) -> Callable[[FloatArray], FloatArray]:
        """V⁺ as a function of right-hand sides that add up to zero."""
        count, few = self.distances.shape[1], len(self.landmarks)
        others = np.setdiff1d(np.arange(count), self.landmarks)
        own = -self.weights[:, self.landmarks] - self.weights[:, self.landmarks].T
        own[np.diag_indices(few)] += self.degrees[self.landmarks]
        cross, inverse = -self.weights[:, others], 1.0 / self.degrees[others]
        schur = own - (cross * inverse) @ cross.T
        # The constants are the null space; a full block of ones removes it.
        factor = cho_factor(schur + np.trace(schur) / few**2)

        def solve(right: FloatArray) -> FloatArray:
            solution = np.empty_like(right)
            outer = right[others] * inverse[:, None]
            solution[self.landmarks] = cho_solve(factor, right[self.landmarks] - cross @ outer)
            solution[others] = outer - inverse[:, None] * (cross.T @ solution[self.landmarks])
            return solution

        return solve


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
        Of least stress.
    error : float
        Prediction error of the rows from these.
    """

    edges: Neighborhoods
    lengths: csr_array
    stress: Stress
    positions: FloatArray
    error: float


def graph_sizes(rank: int, count: int) -> list[int]:
    """Sizes of neighbourhoods that are compared among ``count`` rows."""
    first = 2 * rank + 2
    sizes = [first]
    while sizes[-1] * tuning.GRAPH_GROWTH <= max(tuning.LARGEST_GRAPH, 2 * first):
        sizes.append(round(sizes[-1] * tuning.GRAPH_GROWTH))
    return [size for size in sizes if size < count] or [count - 1]


def landmarks_among(count: int) -> IntArray:
    """Rows spread evenly over ``count`` rows, as many as fit the bound on the table of distances."""
    return evenly(count, max(tuning.FEWEST_LANDMARKS, tuning.DISTANCE_TABLE // count))


def skeleton(points: FloatArray, near: IntArray, frames: FloatArray, *, averaged: bool) -> Skeleton:
    """The skeleton of ``points`` [n, D] with neighbours ``near`` [n, m] and ``frames`` [n, k, D].

    ``averaged`` rows are fits to many neighbours with correlated errors, so that frames use all of a neighbourhood.
    """
    count, rank = len(points), frames.shape[1]
    landmarks = landmarks_among(count)
    tried = []
    known: dict[int, Neighborhoods] = {}
    # The largest first: smaller ones with frames from as many neighbours are subgraphs of them.
    for size in graph_sizes(rank, min(count, near.shape[1] + 1))[::-1]:
        few = size if averaged else min(size, frame_size(rank))
        if few not in known:
            known[few] = neighborhoods(points, near[:, :size], rank, frame_neighbors=few, frames=frames)
        edges = known[few].nearest(size)
        lengths = graph_of(points, edges).joined()
        tried.append(_of_least_stress(points, edges, lengths, _stress(lengths, landmarks)))
    tried.reverse()
    errors = np.array([one.error for one in tried])
    weights = (errors.min() / np.maximum(errors, 1e-300)) ** tuning.GRAPH_SHARPNESS
    # The smallest neighbourhoods with at least half the weight of the best.
    best = tried[int(np.flatnonzero(weights >= 0.5)[0])]
    mean = sum(
        weight * _scale(one.stress.distances, best.stress.distances) * one.stress.distances
        for weight, one in zip(weights / weights.sum(), tried, strict=True)
    )
    return _of_least_stress(points, best.edges, best.lengths, Stress(landmarks, np.asarray(mean)))


def _scale(distances: FloatArray, reference: FloatArray) -> float:
    """Median ratio of ``reference`` to ``distances``: paths are longer the fewer neighbours a graph has."""
    apart = distances > 0.0
    return float(np.median(reference[apart] / distances[apart])) if apart.any() else 1.0


def skeleton_of(points: FloatArray, edges: Neighborhoods, lengths: csr_array) -> Skeleton:
    """The skeleton of given ``edges`` with their graph ``lengths``, without averaging."""
    stress = _stress(lengths, landmarks_among(len(points)))
    return _of_least_stress(points, edges, lengths, stress)


def _of_least_stress(points: FloatArray, edges: Neighborhoods, lengths: csr_array, stress: Stress) -> Skeleton:
    start = landmark_scaling(stress.landmarks, stress.distances, edges.frames.shape[1])
    positions = stress.minimised(start, tol=tuning.SCALING_TOL)
    return Skeleton(edges, lengths, stress, positions, prediction_error(points, positions))


def _stress(lengths: csr_array, landmarks: IntArray) -> Stress:
    return Stress(landmarks, dijkstra(lengths, directed=False, indices=landmarks))
