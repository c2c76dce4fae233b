"""BFGS on the same objective, one target after the other: the paper's optimiser, for comparison."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from subbundle._types import FloatArray, IntArray, Status
from subbundle.geodesics._levenberg import Search
from subbundle.geodesics.shooting import Shots


def bfgs(
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
    """Minimise |exp(B v) − y|² + w |v_k|²/2 by SciPy's BFGS; arguments and result as in `levenberg`.

    Where a geodesic ends early the objective is a large constant, which the line search steps back from.
    """
    n, m = start.shape
    unknowns, residuals, status = start.copy(), np.full(n, np.inf), np.zeros(n, np.int8)
    dim = fire(np.arange(0), start[:0]).ends.shape[1]
    ends, iterations = np.full((n, dim), np.nan), np.zeros(n, np.int64)
    all_spent, weight = np.zeros(n, np.int64), np.zeros(m)
    weight[:speeds] = 0.5 * penalty
    for row in range(n):
        index = np.array([row])
        wall = 4.0 * (float(np.sum(start[row] ** 2)) + scale**2)

        spent = [0]

        def value_and_slope(
            v: FloatArray, index: IntArray = index, wall: float = wall, spent: list[int] = spent
        ) -> tuple[float, FloatArray]:
            if spent[0] > most[index[0]]:
                return wall, np.zeros_like(v)
            shots = fire(index, v[None])
            spent[0] += int(shots.evaluations[0])
            if shots.status[0] != Status.OK:
                return wall, np.zeros_like(v)
            miss = shots.misses[0]
            return float(miss @ miss + weight @ v**2), 2.0 * (shots.jacobians[0].T @ miss + weight * v)

        result = minimize(
            value_and_slope, start[row], jac=True, method="BFGS",
            options={"maxiter": max_iterations, "gtol": max(tol, 1e-7) * scale},
        )  # fmt: skip
        shots = fire(index, result.x[None])
        unknowns[row], iterations[row], status[row] = result.x, result.nfev, shots.status[0]
        if shots.status[0] == Status.OK:
            ends[row] = shots.ends[0]
            residuals[row] = float(np.linalg.norm(shots.misses[0]))
            # Status 2 is SciPy's loss of precision: the geodesics' own accuracy, not a failure.
            at_rest = result.status in (0, 2) and spent[0] <= most[row]
            status[row] = Status.OK if at_rest else Status.NOT_CONVERGED
        all_spent[row] = spent[0]
    return Search(unknowns, ends, residuals, iterations, status, all_spent)
