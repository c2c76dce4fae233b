"""Alignment of charts by rigid motions, with graph distances of a given weight: one least-squares problem.

    E(Z) = Σ_charts E_c(Z)  +  μ Σ_landmarks P (|z_i − z_l| − g d_li)²,
    E_c(Z) = min over R, t of Σ_j w_cj |z_j − t − v_cj R|²,     R orthogonal,

where chart c gives its members j coordinates v_cj with weights w_cj. The best R and t depend on Z; eliminated to first
order (Gauss–Newton with variable projection) they leave

    H = L ⊗ 1 − Kᵀ G⁻¹ K,     L = diag(Σ_c w_c) − Sᵀ diag(1/Σ_j w_cj) S,

with the weights S [C, n], generators of rotations applied to the arms u = (v − v̄) R in K [C·p, n·k], and their Gram
matrices G [C, p, p], p = k(k − 1)/2. All of them are sparse; memory is linear in the number of members.

Steps solve (H + μ V) δ = −½∇E by conjugate gradients, V the Hessian of a majorising quadratic of the stress. H is as
ill-conditioned as a thin plate, since chains of charts have bending modes of low energy; the rigid motions of clusters
of rows, solved for directly, precondition it. E falls in every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import bsr_array, csr_array, diags_array, kron

from subbundle._numbers import MOST_ROUNDS, SINGULAR
from subbundle._types import FloatArray, IntArray
from subbundle.atlas.base import nearest_frame
from subbundle.embedding.skeleton import Stress
from subbundle.embedding.tuning import LAYOUT_ROUNDS, LAYOUT_SETTLED


@dataclass(frozen=True, slots=True)
class ChartMembers:
    """Members of charts as one list.

    Those of chart c are the entries starts[c] .. starts[c + 1] of ``rows`` [m], with ``coordinates`` v [m, k] and
    ``weights`` [m], 1/standard error² up to a common factor; ``starts`` [C + 1].
    """

    starts: IntArray
    rows: IntArray
    coordinates: FloatArray
    weights: FloatArray

    @property
    def charts(self) -> IntArray:
        """Chart of each entry [m]."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


class RigidCharts:
    """E(Z) = Σ_c E_c(Z) of ``members`` among ``count`` rows, its gradient and its curvature H at the current Z."""

    def __init__(self, members: ChartMembers, count: int) -> None:
        self.members, self.count = members, count
        self.rank = members.coordinates.shape[1]
        self._of = members.charts
        charts, entries = len(members.starts) - 1, len(members.rows)
        self._sum = csr_array((np.ones(entries), np.arange(entries), members.starts), shape=(charts, entries))
        self._spread = csr_array((np.ones(entries), (members.rows, np.arange(entries))), shape=(count, entries))
        self.mass = np.maximum(self._sum @ members.weights, 1e-300)
        self._weights = csr_array((members.weights, members.rows, members.starts), shape=(charts, count))
        self.degrees = np.asarray(self._spread @ members.weights)
        self._arms = members.coordinates - self._means(members.coordinates)[self._of]
        self.size = float(np.sum(members.weights[:, None] * self._arms**2))
        self._planes = np.triu_indices(self.rank, 1)
        self._turned = self._arms
        self._across: csr_array | None = None
        self._gram: FloatArray = np.empty((charts, 0, 0))

    def at(self, positions: FloatArray) -> tuple[float, FloatArray]:
        """E and half of its negative gradient [n, k] at ``positions`` [n, k]; `product` then belongs to these."""
        weights = self.members.weights[:, None]
        here = positions[self.members.rows]
        here = here - self._means(here)[self._of]
        self.turns = nearest_frame(self._moments(weights * self._arms, here))
        self._turned = np.einsum("mi,mij->mj", self._arms, self.turns[self._of])
        off = self._turned - here
        self.residuals = np.asarray(self._sum @ np.einsum("m,mk,mk->m", self.members.weights, off, off))
        return float(self.residuals.sum()), np.asarray(self._spread @ (weights * off))

    def linearise(self) -> None:
        """Prepare `product` for the positions last given to `at`."""
        first, second = self._planes
        if not first.size:
            self._across = None
            return
        weighted = self._turned * self.members.weights[:, None]
        gram = _turned_products(self._moments(weighted, self._turned), first, second)
        traces = np.trace(gram, axis1=1, axis2=2)
        gram += (1e-9 * traces + 1e-300)[:, None, None] * np.eye(first.size)
        self._gram = np.asarray(np.linalg.inv(gram), dtype=np.float64)
        entries = np.stack([weighted[:, first], -weighted[:, second]], axis=2)
        order, indices, starts = self._pattern
        shape = (gram.shape[0] * first.size, self.count * self.rank)
        self._across = csr_array((entries.ravel()[order], indices, starts), shape=shape)
        self._back = csr_array(self._across.T)

    @cached_property
    def _pattern(self) -> tuple[IntArray, IntArray, IntArray]:
        """Order, columns and starts of rows of the entries of K: u turned in the plane (a, b) is u_a e_b − u_b e_a."""
        first, second = self._planes
        rows = self._of[:, None] * first.size + np.arange(first.size)
        columns = self.members.rows[:, None, None] * self.rank + np.stack([second, first], axis=1)
        rows = np.broadcast_to(rows[:, :, None], columns.shape).ravel()
        order = np.lexsort([columns.ravel(), rows])
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(self.mass) * first.size))])
        return order, columns.ravel()[order], starts

    def _moments(self, weighted: FloatArray, others: FloatArray) -> FloatArray:
        """Σ w u ⊗ z [C, k, k] over the members of each chart, of w u and z [m, k]."""
        rows = [np.asarray(self._sum @ (weighted[:, [a]] * others)) for a in range(self.rank)]
        return np.stack(rows, axis=1)

    def product(self, x: FloatArray) -> FloatArray:
        """H x for ``x`` [n, k]."""
        result = self.degrees[:, None] * x - self._weights.T @ ((self._weights @ x) / self.mass[:, None])
        if self._across is not None:
            angles = (self._across @ x.ravel()).reshape(len(self.mass), -1)
            solved = np.einsum("cpq,cq->cp", self._gram, angles)
            result -= (self._back @ solved.ravel()).reshape(x.shape)
        return np.asarray(result)

    def reduced(self, basis: csr_array) -> FloatArray:
        """Bᵀ H B, dense, for a sparse ``basis`` [n·k, b]."""
        mapped = csr_array(kron(self._weights, np.eye(self.rank), format="csr") @ basis)
        own = basis.T @ diags_array(np.repeat(self.degrees, self.rank)) @ basis
        own = own - mapped.T @ diags_array(np.repeat(1.0 / self.mass, self.rank)) @ mapped
        result = own.toarray()
        if self._across is not None:
            across = csr_array(self._across @ basis)
            charts, angles = self._gram.shape[:2]
            solve = bsr_array((self._gram, np.arange(charts), np.arange(charts + 1)), shape=(charts * angles,) * 2)
            result -= (across.T @ (solve @ across)).toarray()
        return np.asarray(result)

    def _means(self, entries: FloatArray) -> FloatArray:
        """Weighted means [C, k] over the members of each chart."""
        return np.asarray((self._sum @ (self.members.weights[:, None] * entries)) / self.mass[:, None])


def _turned_products(moments: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    """Σ w (u turned in one plane)·(u turned in another) [C, p, p], from Σ w u uᵀ [C, k, k] and the planes' axes [p].

    (u_a e_b − u_b e_a)·(u_c e_d − u_d e_c) = u_a u_c δ_bd − u_a u_d δ_bc − u_b u_c δ_ad + u_b u_d δ_ac.
    """
    axes = ((first, second, 1.0), (second, first, -1.0))
    terms = [
        sign * other_sign * moments[:, a[:, None], c] * (b[:, None] == d)
        for a, b, sign in axes
        for c, d, other_sign in axes
    ]
    return np.asarray(sum(terms))


# Halvings of a step that does not decrease E.
_HALVINGS = 4
# Rows per cluster of the preconditioner: its dense factor has the size n/this · k(k + 1)/2, at most as large as this.
_PER_CLUSTER, _MOST_COARSE = 12, 2400


def joint_layout(
    positions: FloatArray, charts: RigidCharts, stress: Stress, clusters: IntArray, *, weight: float, scale: float,
    goal: float = np.inf,
) -> FloatArray:  # fmt: skip
    """Positions [n, k] of least E from ``positions``, with μ = ``weight`` × (all weights of charts/all of the stress).

    ``clusters`` [n] numbers compact groups of rows; ``scale`` is g. Gains decrease with the rounds, which end early if
    E would stay above ``goal`` even if all remaining ones gained as much as the last.
    """
    mu = weight * float(charts.members.weights.sum()) / stress.total
    energy, descent = _energy(positions, charts, stress, mu, scale)
    for done in range(LAYOUT_ROUNDS):
        charts.linearise()
        # The first rounds move most; after them an older preconditioner suffices.
        if done & (done - 1) == 0:
            solve = _preconditioner(charts, stress, mu, clusters, positions)
        step = conjugate_gradients(charts, stress, mu, descent, solve)
        for _ in range(_HALVINGS):
            lower, new_descent = _energy(positions + step, charts, stress, mu, scale)
            if lower < energy:
                break
            step = 0.5 * step
        if lower >= energy:
            # The linearisation is that of the last trial positions; the better ones are kept.
            charts.at(positions)
            break
        gain, energy, descent = energy - lower, lower, new_descent
        positions = positions + step
        if gain <= LAYOUT_SETTLED * energy or energy - (LAYOUT_ROUNDS - 1 - done) * gain > goal:
            break
    return np.asarray(positions - positions.mean(axis=0))


def compact_clusters(graph: csr_array, rank: int) -> IntArray:
    """Compact groups of rows of a neighbour ``graph``, by breadth-first search from the first row without one."""
    count = graph.shape[0]
    width = rank * (rank + 1) // 2
    size = max(_PER_CLUSTER, -(-count * width // _MOST_COARSE))
    cluster = np.full(count, -1, np.int64)
    found = 0
    for row in range(count):
        if cluster[row] >= 0:
            continue
        taken, ahead = 1, [row]
        cluster[row] = found
        while ahead and taken < size:
            here = ahead.pop(0)
            for other in graph.indices[graph.indptr[here] : graph.indptr[here + 1]]:
                if cluster[other] < 0 and taken < size:
                    cluster[other] = found
                    taken += 1
                    ahead.append(int(other))
        found += 1
    return cluster


def _energy(
    positions: FloatArray, charts: RigidCharts, stress: Stress, mu: float, scale: float
) -> tuple[float, FloatArray]:
    energy, descent = charts.at(positions)
    return energy + mu * stress.value(positions, scale), descent + mu * stress.descent(positions, scale)


def conjugate_gradients(
    charts: RigidCharts, stress: Stress, mu: float, right: FloatArray, solve: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """δ [n, k] with (H + μ V) δ ≈ ``right``."""
    solution = np.zeros_like(right)
    left = right.copy()
    direction = solve(left)
    size = float(np.sum(left * direction))
    first = size
    # Rigid motions of the whole are the null space.
    raised = SINGULAR * (charts.degrees + mu * stress.degrees)[:, None]
    for _ in range(MOST_ROUNDS):
        moved = charts.product(direction) + mu * stress.product(direction) + raised * direction
        length = size / max(float(np.sum(direction * moved)), 1e-300)
        solution += length * direction
        left -= length * moved
        solved = solve(left)
        before, size = size, float(np.sum(left * solved))
        # The relative error of the energy is the square of that of the step.
        if size <= LAYOUT_SETTLED * first:
            break
        direction = solved + (size / before) * direction
    return solution


def _preconditioner(
    charts: RigidCharts, stress: Stress, mu: float, clusters: IntArray, positions: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """The diagonal plus the exact solution on the rigid motions of the clusters."""
    diagonal = (charts.degrees + mu * stress.degrees)[:, None]
    diagonal = np.maximum(diagonal, 1e-12 * float(diagonal.max()))
    basis = _rigid_motions(clusters, positions)
    coarse = charts.reduced(basis) + mu * stress.reduced(basis)
    coarse[np.diag_indices_from(coarse)] *= 1.0 + 1e-6
    # Relative to the energy of the motions in the diagonal: that of a translation of all is rounding, of either sign.
    whole = basis.multiply(basis).T @ np.broadcast_to(diagonal, positions.shape).ravel()
    coarse[np.diag_indices_from(coarse)] += 1e-9 * float(np.mean(whole)) + 1e-300
    factor = cho_factor(coarse, lower=True)
    across = csr_array(basis.T)

    def solve(x: FloatArray) -> FloatArray:
        inside = (basis @ cho_solve(factor, across @ x.ravel())).reshape(x.shape)
        return np.asarray(x / diagonal + inside)

    return solve


def _rigid_motions(clusters: IntArray, positions: FloatArray) -> csr_array:
    """Columns (cluster, shift or turn) [n·k, clusters · k(k+1)/2] of the rigid motions of the clusters."""
    count, rank = positions.shape
    number = int(clusters.max()) + 1
    sizes = np.bincount(clusters, minlength=number)[:, None]
    middle = np.column_stack([np.bincount(clusters, weights=z, minlength=number) for z in positions.T]) / sizes
    arms = positions - middle[clusters]
    spread = np.bincount(clusters, weights=np.sum(arms**2, axis=1), minlength=number) / sizes[:, 0]
    arms = arms / np.sqrt(spread + 1e-300)[clusters][:, None]
    first, second = np.triu_indices(rank, 1)
    width = rank + len(first)
    values = np.zeros((count, rank, width))
    values[:, np.arange(rank), np.arange(rank)] = 1.0
    turns = rank + np.arange(len(first))
    values[:, second, turns] = arms[:, first]
    values[:, first, turns] = -arms[:, second]
    columns = np.broadcast_to((clusters * width)[:, None, None] + np.arange(width), values.shape)
    starts = np.arange(count * rank + 1) * width
    basis = csr_array((values.ravel(), columns.ravel().copy(), starts), shape=(count * rank, number * width))
    basis.eliminate_zeros()
    return basis
