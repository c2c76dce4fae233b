"""Levenberg–Marquardt for many small shooting problems at once, each with its own damping.

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

from subbundle._types import FloatArray, IntArray, Status, StatusArray
from subbundle.geodesics.shooting import Shots

# Longest step relative to the current |v| and to the length scale: exp is far from linear beyond it.
_TRUST = 0.5
# Damping above which steps are too short to help, and the search ends.
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
    fire: Callable[[IntArray, FloatArray], Shots],
    start: FloatArray,
    *,
    speeds: int,
    penalty: float,
    scale: float,
    tol: float,
    max_iterations: int,
    most: IntArray,
) -> Search:
    """Run all searches. ``fire(rows, unknowns)`` shoots for these rows; the first ``speeds`` unknowns
    determine the speed; a search that has taken ``most`` [n] evaluations ends."""
    n, m = start.shape
    shots, start = _first_shots(fire, start, most)
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
        shots = fire(rows, tried)
        state.iterations[rows] += 1
        spent[rows] += shots.evaluations
        missed = shots.misses
        now = np.where(shots.status == Status.OK, _objective(missed, tried, weight), np.inf)
        better = now <= value[rows]
        size = np.sqrt(np.einsum("nm,nm->n", step, step))
        # No decrease left: at the projection of a target off the submanifold, or at a conjugate point.
        still = better & (value[rows] - now <= _GAIN * value[rows])
        won, lost = rows[better], rows[~better]
        state.unknowns[won], state.ends[won] = tried[better], shots.ends[better]
        jacobians[won], misses[won], value[won] = shots.jacobians[better], missed[better], now[better]
        damping[won] = np.maximum(damping[won] * 0.1, 1e-12)
        damping[lost] *= 10.0
        # A step this short has reached the accuracy of the geodesics themselves.
        state.status[rows[still | (size <= tol * scale)]] = Status.OK
        # No step decreases the objective: converged, or stopped at the border by geodesics that end early.
        barrier[rows] = shots.status
        stuck = (damping > _MOST_DAMPING) & (state.status == Status.NOT_CONVERGED)
        state.status[stuck] = barrier[stuck]
    arrived = np.isfinite(state.ends).all(axis=1)
    state.residuals[arrived] = np.sqrt(np.einsum("nd,nd->n", misses[arrived], misses[arrived]))
    return state


def _first_shots(
    fire: Callable[[IntArray, FloatArray], Shots], start: FloatArray, most: IntArray
) -> tuple[Shots, FloatArray]:
    """Shoot from the starts; where a geodesic ends early, start from a little before its end instead."""
    rows = np.arange(len(start))
    shots = fire(rows, start)
    start = start.copy()
    for _ in range(4):
        short = np.flatnonzero((shots.status != Status.OK) & (shots.reached > 1e-6) & (shots.evaluations <= most))
        if short.size == 0:
            break
        start[short] *= 0.9 * shots.reached[short, None]
        again = fire(short, start[short])
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
