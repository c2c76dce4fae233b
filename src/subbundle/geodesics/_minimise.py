"""Optimisers of shooting problems: Levenberg–Marquardt, many at once with a damping each, and the paper's BFGS.

Minimises |exp(B v) − y|² + w |v_k|²/2 over v, where v_k are the coordinates that determine the speed (so |v_k|²/2 = H)
and w is the penalty weight. A step solves

    (JᵀJ + ½ w I_k + μ D) δ = −(Jᵀ r + ½ w v_k),        D = diag(JᵀJ)

and is taken if it lowers the objective; μ falls after a success and rises after a failure. A trial whose geodesic ends
before time 1 counts as a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from subbundle._types import FloatArray, IntArray, Status, StatusArray
from subbundle.geodesics.shooting import Shots

# Longest step relative to the current |v|: exp is far from linear beyond it.
_TRUST = 0.5
# Damping above which a search ends: its steps are too short.
_MOST_DAMPING = 1e8
# Relative decrease of the objective below which a search has converged.
_GAIN = 1e-9


@dataclass(slots=True)
class Search:
    """State of a batch of searches.

    Attributes
    ----------
    unknowns : [n, m]
    ends : [n, dim]
    residuals : [n]
        |exp(B v) − y|; infinite where no geodesic arrived.
    iterations : [n]
    status : [n]
    spent : [n]
        Evaluations of the field.
    """

    unknowns: FloatArray
    ends: FloatArray
    residuals: FloatArray
    iterations: IntArray
    status: StatusArray
    spent: IntArray


def levenberg(
    shoot_rows: Callable[[IntArray, FloatArray], Shots],
    start: FloatArray,
    *,
    speeds: int,
    penalty: float,
    scale: float,
    tol: float,
    max_iterations: int,
    most: IntArray,
) -> Search:
    """Run all searches. ``shoot_rows(rows, unknowns)`` computes geodesics of these rows; the first ``speeds`` unknowns
    determine the speed; a search that has taken ``most`` [n] evaluations ends."""
    n, m = start.shape
    shots, start = _first_shots(shoot_rows, start, most)
    spent = shots.evaluations
    state = Search(start, shots.ends, np.full(n, np.inf), np.ones(n, np.int64), shots.status.copy(), spent)
    jacobians, misses = shots.jacobians, shots.misses
    weight = np.zeros(m)
    weight[:speeds] = 0.5 * penalty
    value = _objective(misses, start, weight)
    damping = np.full(n, 1e-3)
    barrier = np.zeros(n, np.int8)
    state.status[state.status == Status.OK] = Status.NOT_CONVERGED
    for _ in range(max_iterations):
        rows = np.flatnonzero((state.status == Status.NOT_CONVERGED) & (spent <= most))
        if rows.size == 0:
            break
        step = _step(jacobians[rows], misses[rows], state.unknowns[rows], weight, damping[rows], scale)
        tried = state.unknowns[rows] + step
        shots = shoot_rows(rows, tried)
        state.iterations[rows] += 1
        spent[rows] += shots.evaluations
        missed = shots.misses
        now = np.where(shots.status == Status.OK, _objective(missed, tried, weight), np.inf)
        better = now <= value[rows]
        size = np.sqrt(np.einsum("nm,nm->n", step, step))
        # No decrease left: at the projection of a target off the submanifold, or at a conjugate point.
        still = better & (value[rows] - now <= _GAIN * value[rows])
        accepted, rejected = rows[better], rows[~better]
        state.unknowns[accepted], state.ends[accepted] = tried[better], shots.ends[better]
        jacobians[accepted], misses[accepted], value[accepted] = shots.jacobians[better], missed[better], now[better]
        damping[accepted] = np.maximum(damping[accepted] * 0.1, 1e-12)
        damping[rejected] *= 10.0
        # A step this short has reached the accuracy of the geodesics themselves.
        state.status[rows[still | (size <= tol * scale)]] = Status.OK
        # No step decreases the objective: converged, or stopped at the border by geodesics that end early.
        barrier[rows] = shots.status
        stalled = (damping > _MOST_DAMPING) & (state.status == Status.NOT_CONVERGED)
        state.status[stalled] = barrier[stalled]
    arrived = np.isfinite(state.ends).all(axis=1)
    state.residuals[arrived] = np.sqrt(np.einsum("nd,nd->n", misses[arrived], misses[arrived]))
    return state


def _first_shots(
    shoot_rows: Callable[[IntArray, FloatArray], Shots], start: FloatArray, most: IntArray
) -> tuple[Shots, FloatArray]:
    """Shoot from the starts; where a geodesic ends early, start from a little before its end instead."""
    rows = np.arange(len(start))
    shots = shoot_rows(rows, start)
    start = start.copy()
    for _ in range(4):
        short = np.flatnonzero((shots.status != Status.OK) & (shots.reached > 1e-6) & (shots.evaluations <= most))
        if short.size == 0:
            break
        start[short] *= 0.9 * shots.reached[short, None]
        again = shoot_rows(short, start[short])
        shots.evaluations[short] += again.evaluations
        for name in ("ends", "jacobians", "reached", "status", "misses"):
            getattr(shots, name)[short] = getattr(again, name)
    return shots, start


def _objective(misses: FloatArray, unknowns: FloatArray, weight: FloatArray) -> FloatArray:
    value: FloatArray = np.einsum("nd,nd->n", misses, misses) + np.einsum("nm,nm->n", unknowns, unknowns * weight)
    return value


def _step(
    jacobians: FloatArray,
    misses: FloatArray,
    unknowns: FloatArray,
    weight: FloatArray,
    damping: FloatArray,
    scale: float,
) -> FloatArray:
    normal = np.einsum("ndi,ndj->nij", jacobians, jacobians)
    gradient = np.einsum("ndi,nd->ni", jacobians, misses) + unknowns * weight
    diagonal = np.einsum("nii->ni", normal).copy()
    floor = 1e-10 * diagonal.max(axis=1, keepdims=True) + 1e-300
    index = np.arange(unknowns.shape[1])
    normal[:, index, index] += weight + damping[:, None] * np.maximum(diagonal, floor) + 1e-14 * floor
    step = -np.linalg.solve(normal, gradient[:, :, None])[:, :, 0]
    size = np.sqrt(np.einsum("nm,nm->n", step, step))
    bound = np.maximum(_TRUST * np.sqrt(np.einsum("nm,nm->n", unknowns, unknowns)), 2.0 * scale)
    limited: FloatArray = step * np.minimum(1.0, bound / np.maximum(size, 1e-300))[:, None]
    return limited


def bfgs(
    shoot_rows: Callable[[IntArray, FloatArray], Shots],
    start: FloatArray,
    *,
    speeds: int,
    penalty: float,
    scale: float,
    tol: float,
    max_iterations: int,
    most: IntArray,
) -> Search:
    """Minimise |exp(B v) − y|² + w |v_k|²/2 by SciPy's BFGS; arguments and result as in `levenberg`.

    Where a geodesic ends early the objective is a large constant, which the line search steps back from.
    """
    n, m = start.shape
    unknowns, residuals, status = start.copy(), np.full(n, np.inf), np.zeros(n, np.int8)
    dim = shoot_rows(np.arange(0), start[:0]).ends.shape[1]
    ends, iterations = np.full((n, dim), np.nan), np.zeros(n, np.int64)
    all_spent, weight = np.zeros(n, np.int64), np.zeros(m)
    weight[:speeds] = 0.5 * penalty
    for row in range(n):
        index = np.array([row])
        ceiling = 4.0 * (float(np.sum(start[row] ** 2)) + scale**2)

        spent = [0]

        def value_and_slope(
            v: FloatArray, index: IntArray = index, ceiling: float = ceiling, spent: list[int] = spent
        ) -> tuple[float, FloatArray]:
            if spent[0] > most[index[0]]:
                return ceiling, np.zeros_like(v)
            shots = shoot_rows(index, v[None])
            spent[0] += int(shots.evaluations[0])
            if shots.status[0] != Status.OK:
                return ceiling, np.zeros_like(v)
            miss = shots.misses[0]
            return float(miss @ miss + weight @ v**2), 2.0 * (shots.jacobians[0].T @ miss + weight * v)

        result = minimize(
            value_and_slope, start[row], jac=True, method="BFGS",
            options={"maxiter": max_iterations, "gtol": max(tol, 1e-7) * scale},
        )  # fmt: skip
        shots = shoot_rows(index, result.x[None])
        unknowns[row], iterations[row], status[row] = result.x, result.nfev, shots.status[0]
        if shots.status[0] == Status.OK:
            ends[row] = shots.ends[0]
            residuals[row] = float(np.linalg.norm(shots.misses[0]))
            # Status 2 is SciPy's loss of precision: the geodesics' own accuracy, not a failure.
            converged = result.status in (0, 2) and spent[0] <= most[row]
            status[row] = Status.OK if converged else Status.NOT_CONVERGED
        all_spent[row] = spent[0]
    return Search(unknowns, ends, residuals, iterations, status, all_spent)
