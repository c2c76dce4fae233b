"""Projection of mesh vertices to the surface, each with its own bandwidth.

A vertex is projected onto a robust quadric (`local.tangential`) of the bandwidth chosen by `widths`. Noise also moves
observations tangentially, so the mean of the cloud around a curved surface f is f smoothed by a Gaussian of variance
σ², with the bias

    ½ σ² (II_11 + II_22)

towards the centres of curvature. It is subtracted, with curvatures averaged over the mesh.

Then the mesh is smoothed where vertices are uncertain. With s_i the standard error of vertex i and p_i its projection,

    x_i = (c_i p_i + λ mean of the neighbours' x)/(c_i + λ),     c_i = min(1, (s₀/s_i)⁴),

is solved for, which makes Σ c_i |x_i − p_i|² + λ Σ |x_i − mean|² small: vertices of error below s₀ hardly move, and
those without nearby observations become a membrane. s₀ is twice the typical error, which is that of least risk: more
smoothing would add more bias than it removes noise. It is at least a small fraction of a cell, an error that is not
visible in the mesh.
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

# Least residual degrees of freedom of a window, as weight, so that no error is infinite or imaginary.
_LEAST_FREEDOM = 0.3


@dataclass(frozen=True, slots=True)
class Projected:
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
) -> Projected:  # fmt: skip
    """Project ``vertices`` [n, 3] with outward ``normals`` [n, 3] onto robust quadrics of the bandwidth of least risk.

    The zero set is near enough to the surface to start robust quadrics from; a step to the ridge of one bandwidth would
    only blur narrow features. Vertices ``unseen`` [n] are not moved.
    """
    average = choosing.neighbour_average(faces, len(vertices))
    along = choosing.elongation(normals, average)
    chosen = choosing.choose(cloud, vertices, normals, ~unseen, average, pilot, along)
    cuts = choosing.cut(pilot, chosen.widths)
    fit = blended_quadrics(cloud, vertices, normals, ~unseen, average, chosen.widths, cuts, tuning.QUADRIC_STEPS, along)
    way = np.linalg.norm(fit.points - vertices, axis=1)
    stayed = ~np.isfinite(fit.gain) | (way > tuning.SEEN_CELLS * cell) | unseen
    curvature = fit.curvature
    for _ in range(tuning.AVERAGING_ROUNDS):
        curvature = average @ curvature
    # Both estimates are biased upwards: the pilot's where the surface is curved within its window, the other, by
    # differences of heights, where the narrowest windows are hardly wider than the noise.
    noise = min(pilot.noise, chosen.noise)
    back = noise_bias(noise, curvature)
    points = np.where(stayed[:, None], vertices, fit.points - back[:, None] * fit.normals)
    error = _standard_error(fit, stayed)
    points = smooth_uncertain(points, error, average, cell)
    density = fit.mass / chosen.widths**2
    support = density / np.median(density[~unseen]) if not unseen.all() else density
    return Projected(points, support, error)


def noise_bias(noise: float, curvature: FloatArray) -> FloatArray:
    """½ σ² (II_11 + II_22) [n], for ``curvature`` [n] = II_11 + II_22: at most a noise level."""
    return np.asarray(np.clip(0.5 * noise * curvature, -1.0, 1.0) * noise)


def _standard_error(fit: QuadricFit, stayed: NDArray[np.bool_]) -> FloatArray:
    """√(Var e) [n] of the heights of the fits, each with σ² estimated from its own residuals."""
    error = np.full(len(stayed), np.inf)
    known = np.flatnonzero(~stayed)
    error[known] = np.sqrt(height_variance(fit.mass[known], fit.gain[known], fit.residual[known]))
    return error


def height_variance(mass: FloatArray, gain: FloatArray, residual: FloatArray) -> FloatArray:
    """Var e [n] of heights, with σ² estimated from the residuals of each fit."""
    noise_sq = residual * mass / np.maximum(mass - FREEDOM, _LEAST_FREEDOM)
    return np.asarray(choosing.variance_of_height(gain) * noise_sq)


# Iterations for all vertices, which leave 1e-7 of the error at certain ones; rings solved for around the others.
_FEW_ROUNDS, _BESIDE = 8, 2


def smooth_uncertain(points: FloatArray, error: FloatArray, average: Any, cell: float) -> FloatArray:
    """``points`` [n, 3] smoothed by the ``average`` over neighbours where their standard ``error`` [n] is large."""
    confidence = np.zeros(len(points))
    known = np.isfinite(error)
    if known.any():
        sure = max(tuning.SURE_CELLS * cell, tuning.SURE_ERRORS * float(np.median(error[known])))
        confidence[known] = (sure / np.maximum(error[known], sure)) ** 4
    x = points
    for _ in range(_FEW_ROUNDS):
        x = _relaxed(points, confidence, average @ x)
    # At certain vertices an iteration leaves λ/(1 + λ) of the error: the others, and their neighbours, are solved for.
    uncertain = confidence < 1.0
    for _ in range(_BESIDE):
        uncertain = average @ uncertain > 0.0
    # A component without certain vertices has no membrane.
    label = connected_components(average, directed=False)[1]
    uncertain &= (np.bincount(label, confidence) > 0.0)[label]
    rows, rest = np.flatnonzero(uncertain), np.flatnonzero(~uncertain)
    if rows.size == 0:
        return x
    x, some = x.copy(), tuning.SOFTENING * average[rows]
    system = csc_array(-some[:, rows])
    system.setdiag(system.diagonal() + confidence[rows] + tuning.SOFTENING)
    x[rows] = splu(system).solve(confidence[rows, None] * points[rows] + some[:, rest] @ x[rest])
    return x


def _relaxed(points: FloatArray, confidence: FloatArray, mean: FloatArray) -> FloatArray:
    return (confidence[:, None] * points + tuning.SOFTENING * mean) / (confidence + tuning.SOFTENING)[:, None]
