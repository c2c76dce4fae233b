"""Moving mesh vertices onto the surface, each with the bandwidth that suits its surroundings.

A vertex is projected onto a robust quadric (`local.tangential`) of the bandwidth chosen by `widths`. Noise moves
observations sideways as well, so the middle of the cloud around a curved surface f is not f but f smoothed by a
Gaussian of variance σ², which lies

    ½ σ² (II_11 + II_22)

off it, towards the centres of curvature. That much is taken back, with curvatures averaged over the mesh.

Then the mesh is smoothed where vertices are uncertain. With s_i the standard error of vertex i and p_i its projection,

    x_i = (c_i p_i + λ mean of the neighbours' x)/(c_i + λ),     c_i = min(1, (s₀/s_i)⁴),

is solved for, which makes Σ c_i |x_i − p_i|² + λ Σ |x_i − mean|² small: vertices known better than s₀ hardly move, and
those without nearby observations become a membrane. s₀ is twice the typical error, which is what the windows chose to
leave: smoothing further would round more than it gains. Nor does an error of a small fraction of a cell show in the
mesh.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from subbundle._types import FloatArray, IntArray
from subbundle.surface import tuning
from subbundle.surface import widths as choosing
from subbundle.surface.blend import blended_quadrics
from subbundle.surface.local import QuadricFit
from subbundle.surface.pilot import FREEDOM, Pilot
from subbundle.surface.pyramid import Levels

# Weight of a window, at least, after that which the terms of its quadric take: no error is infinite or imaginary.
_LEAST_FREEDOM = 0.3


@dataclass(frozen=True, slots=True)
class Settled:
    """Vertices on the surface.

    Attributes
    ----------
    points : [n, 3]
    support : [n]
        Observations per area, as a fraction of what is typical.
    error : [n]
        Standard error of the positions along the normals; infinite without nearby observations.
    """

    points: FloatArray
    support: FloatArray
    error: FloatArray


def refine(
    cloud: Levels, vertices: FloatArray, normals: FloatArray, faces: IntArray, unseen: NDArray[np.bool_], pilot: Pilot,
    cell: float,
) -> Settled:  # fmt: skip
    """Project ``vertices`` [n, 3] with outward ``normals`` [n, 3] onto robust quadrics of the bandwidth of least risk.

    The zero set lies near enough to the surface for robust quadrics to start from; a step onto the ridge of one width
    for all would only blur narrow things. Vertices ``unseen`` [n] stay.
    """
    average = choosing.neighbour_average(faces, len(vertices))
    along = choosing.elongation(normals, average)
    chosen = choosing.choose(cloud, vertices, normals, ~unseen, average, pilot, along)
    cuts = choosing.cut(pilot, chosen.widths)
    fit = blended_quadrics(cloud, vertices, normals, ~unseen, average, chosen.widths, cuts, tuning.QUADRIC_STEPS, along)
    way = np.linalg.norm(fit.points - vertices, axis=1)
    stayed = ~np.isfinite(fit.gain) | (way > tuning.SEEN_CELLS * cell) | unseen
    bend = fit.bend
    for _ in range(tuning.AVERAGING_ROUNDS):
        bend = average @ bend
    # Both estimates err upwards: the pilot's where the surface bends within its window, the other, by differences of
    # heights, where the narrowest windows are hardly wider than the noise.
    noise = min(pilot.noise, chosen.noise)
    back = taken_back(noise, bend)
    points = np.where(stayed[:, None], vertices, fit.points - back[:, None] * fit.normals)
    error = _standard_error(fit, stayed)
    points = soften(points, error, average, cell)
    density = fit.mass / chosen.widths**2
    support = density / np.median(density[~unseen]) if not unseen.all() else density
    return Settled(points, support, error)


def taken_back(noise: float, bend: FloatArray) -> FloatArray:
    """½ σ² (II_11 + II_22) [n], for ``bend`` [n] = II_11 + II_22: at most a noise level."""
    return np.asarray(np.clip(0.5 * noise * bend, -1.0, 1.0) * noise)


def _standard_error(fit: QuadricFit, stayed: NDArray[np.bool_]) -> FloatArray:
    """Of the heights of the fits [n], from the scatter of the observations around each: √(Var e) with its own σ²."""
    error = np.full(len(stayed), np.inf)
    known = np.flatnonzero(~stayed)
    error[known] = np.sqrt(height_variance(fit.mass[known], fit.gain[known], fit.residual[known]))
    return error


def height_variance(mass: FloatArray, gain: FloatArray, residual: FloatArray) -> FloatArray:
    """Var e [n] of heights, with the noise of the residuals around each fit."""
    noise_sq = residual * mass / np.maximum(mass - FREEDOM, _LEAST_FREEDOM)
    return np.asarray(choosing.variance_of_height(gain) * noise_sq)


# Rounds for all vertices, which leave 1e-7 of the error where they are known; rings solved for around the others.
_FEW_ROUNDS, _BESIDE = 8, 2


def soften(points: FloatArray, error: FloatArray, average: Any, cell: float) -> FloatArray:
    """``points`` [n, 3] pulled to the ``average`` of their neighbours where their standard ``error`` [n] is large."""
    trust = np.zeros(len(points))
    known = np.isfinite(error)
    if known.any():
        sure = max(tuning.SURE_CELLS * cell, tuning.SURE_ERRORS * float(np.median(error[known])))
        trust[known] = (sure / np.maximum(error[known], sure)) ** 4
    x = points
    for _ in range(_FEW_ROUNDS):
        x = _relaxed(points, trust, average @ x)
    # Where vertices are known, every round leaves λ/(1 + λ) of the error: the others, and those beside, are solved for.
    unsure = trust < 1.0
    for _ in range(_BESIDE):
        unsure = average @ unsure > 0.0
    # A component of which nothing is known has no membrane.
    part = connected_components(average, directed=False)[1]
    unsure &= (np.bincount(part, trust) > 0.0)[part]
    rows, rest = np.flatnonzero(unsure), np.flatnonzero(~unsure)
    if rows.size == 0:
        return x
    x, some = x.copy(), tuning.SOFTENING * average[rows]
    system = csc_array(-some[:, rows])
    system.setdiag(system.diagonal() + trust[rows] + tuning.SOFTENING)
    x[rows] = splu(system).solve(trust[rows, None] * points[rows] + some[:, rest] @ x[rest])
    return x


def _relaxed(points: FloatArray, trust: FloatArray, mean: FloatArray) -> FloatArray:
    return (trust[:, None] * points + tuning.SOFTENING * mean) / (trust + tuning.SOFTENING)[:, None]
