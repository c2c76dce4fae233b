"""Smoothing a mesh in proportion to what is not known of its vertices.

With s_i the standard error of vertex i and p_i where its own fit puts it,

    x_i ← (c_i p_i + λ mean of the neighbours' x)/(c_i + λ),     c_i = min(1, (s₀/s_i)⁴),

is the Jacobi iteration for Σ c_i |x_i − p_i|² + λ Σ |x_i − mean|²: vertices known better than s₀ hardly move, and those
that nobody knows become a membrane. An error below a small fraction of a cell, the length of an edge, does not show in
the mesh; and an error that is usual for the scan is what the windows chose to leave, so that smoothing further would
round more than it gains. s₀ is the larger of the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import FloatArray

# Standard error, in cells and in typical ones, up to which a vertex stays where it is; strength and rounds.
_SURE, _USUAL, _STRENGTH, _ROUNDS = 0.07, 2.0, 0.15, 100
# Rounds for all vertices, which leave 1e-7 of the error where they are known; rings around the others that go on.
_FEW_ROUNDS, _BESIDE = 8, 2


def soften(points: FloatArray, error: FloatArray, average: Any, cell: float) -> FloatArray:
    """``points`` [n, 3] pulled to the ``average`` of their neighbours where their standard ``error`` [n] is large."""
    trust = np.zeros(len(points))
    known = np.isfinite(error)
    if known.any():
        sure = max(_SURE * cell, _USUAL * float(np.median(error[known])))
        trust[known] = (sure / np.maximum(error[known], sure)) ** 4
    x = points
    for _ in range(_FEW_ROUNDS):
        x = _relaxed(points, trust, average @ x)
    # Where vertices are known, every round leaves λ/(1 + λ) of the error: only the others, and those beside, go on.
    unsure = trust < 1.0
    for _ in range(_BESIDE):
        unsure = average @ unsure > 0.0
    rows = np.flatnonzero(unsure)
    if rows.size == 0:
        return x
    x, some = x.copy(), average[rows]
    for _ in range(_ROUNDS - _FEW_ROUNDS):
        x[rows] = _relaxed(points[rows], trust[rows], some @ x)
    return x


def _relaxed(points: FloatArray, trust: FloatArray, mean: FloatArray) -> FloatArray:
    return (trust[:, None] * points + _STRENGTH * mean) / (trust + _STRENGTH)[:, None]
