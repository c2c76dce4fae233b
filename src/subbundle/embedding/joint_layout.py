"""The one least-squares problem: charts as rigid pieces, tied to graph distances as strongly as the charts need it.

    E(Z) = Σ_charts w |z_j − t_c − v_cj R_c|²  +  μ Σ_landmarks P (|z_i − z_l| − g d_li)²

Steps solve (H + μ V) δ = −½∇E by conjugate gradients: H is the Gauss–Newton curvature of the charts with their motions
eliminated, V a paraboloid above the stress. Chains of charts bend easily, so H is as stiff as a thin plate; the rigid
motions of clusters of rows, solved for directly, precondition it. E falls in every step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

from subbundle._numbers import MOST_ROUNDS, SINGULAR
from subbundle._types import FloatArray, IntArray
from subbundle.embedding.rigid_charts import RigidCharts
from subbundle.embedding.scaling import Stress

# Most rounds, of which a few suffice, and halvings of a step that does not gain.
_ROUNDS, _HALVINGS = 25, 4
# Relative gain of E below which the rounds end, and accuracy of the conjugate gradients.
_SETTLED, _TOL = 3e-4, 1e-2
# Rows per cluster of the preconditioner: its dense factor has the size n/this · k(k + 1)/2, at most as large as this.
_PER_CLUSTER, _MOST_COARSE = 12, 2400


def joint_layout(
    positions: FloatArray, charts: RigidCharts, stress: Stress, clusters: IntArray, *, tie: float, scale: float,
    goal: float = np.inf,
) -> FloatArray:  # fmt: skip
    """Positions [n, k] of least E from ``positions``, with μ = ``tie`` × (all weights of charts/all of the stress).

    ``clusters`` [n] numbers compact groups of rows; ``scale`` is g. Rounds gain less and less; they end early when E
    would stay above ``goal`` though all that are left gained as much as the last.
    """
    mu = tie * float(charts.members.weights.sum()) / stress.total
    energy, descent = _energy(positions, charts, stress, mu, scale)
    for done in range(_ROUNDS):
        charts.linearise()
        # The first rounds move most; after them an older preconditioner serves as well.
        if done & (done - 1) == 0:
            solve = _preconditioner(charts, stress, mu, clusters, positions)
        step = _conjugate_gradients(charts, stress, mu, descent, solve)
        for _ in range(_HALVINGS):
            lower, new_descent = _energy(positions + step, charts, stress, mu, scale)
            if lower < energy:
                break
            step = 0.5 * step
        if lower >= energy:
            # The model belongs to the last positions tried; the better ones are kept.
            charts.at(positions)
            break
        gain, energy, descent = energy - lower, lower, new_descent
        positions = positions + step
        if gain <= _SETTLED * energy or energy - (_ROUNDS - 1 - done) * gain > goal:
            break
    return np.asarray(positions - positions.mean(axis=0))


def compact_clusters(graph: csr_array, rank: int) -> IntArray:
    """Compact groups of rows of a neighbour ``graph``: the first row without one takes its neighbours along."""
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
    return energy + mu * stress.value(positions, scale), descent + mu * stress.pull(positions, scale)


def _conjugate_gradients(
    charts: RigidCharts, stress: Stress, mu: float, right: FloatArray, solve: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """δ [n, k] with (H + μ V) δ ≈ ``right``."""
    solution = np.zeros_like(right)
    left = right.copy()
    direction = solve(left)
    size = float(np.sum(left * direction))
    first = size
    # Rigid motions of the whole cost nothing.
    raised = SINGULAR * (charts.degrees + mu * stress.degrees)[:, None]
    for _ in range(MOST_ROUNDS):
        moved = charts.product(direction) + mu * stress.product(direction) + raised * direction
        length = size / max(float(np.sum(direction * moved)), 1e-300)
        solution += length * direction
        left -= length * moved
        solved = solve(left)
        before, size = size, float(np.sum(left * solved))
        if size <= _TOL**2 * first:
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
    coarse = charts.reduced(basis) + mu * _reduced_stress(stress, basis, positions.shape[1])
    coarse[np.diag_indices_from(coarse)] *= 1.0 + 1e-6
    # Relative to the diagonal's energy of the motions: that of a translation of everything is rounding, of either sign.
    whole = basis.multiply(basis).T @ np.broadcast_to(diagonal, positions.shape).ravel()
    coarse[np.diag_indices_from(coarse)] += 1e-9 * float(np.mean(whole)) + 1e-300
    factor = cho_factor(coarse, lower=True)
    across = csr_array(basis.T)

    def solve(x: FloatArray) -> FloatArray:
        inside = (basis @ cho_solve(factor, across @ x.ravel())).reshape(x.shape)
        return np.asarray(x / diagonal + inside)

    return solve


def _reduced_stress(stress: Stress, basis: csr_array, rank: int) -> FloatArray:
    """Bᵀ (V ⊗ 1) B, dense."""
    total = np.zeros((basis.shape[1],) * 2)
    for a in range(rank):
        own = csr_array(basis[a::rank])
        weighted = stress.weights @ own
        at_landmarks = csr_array(own[stress.landmarks])
        cross = at_landmarks.T @ np.asarray(weighted)
        total += (own.T @ own.multiply(stress.degrees[:, None])).toarray() - cross - cross.T
    return total


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
