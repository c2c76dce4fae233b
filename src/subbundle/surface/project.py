"""Moving mesh vertices onto the surface, each with the bandwidth that suits its surroundings.

A vertex is carried onto a robust quadric (`local.tangential`) whose bandwidth `widths` has chosen, and smoothed as far
as its standard error asks for (`soften`). Noise moves observations sideways as well, so the middle of the cloud around
a curved surface f is not f but f smoothed by a Gaussian of variance σ², which lies

    ½ σ² (II_11 + II_22)

off it, towards the centres of curvature. That much is taken back, with curvatures averaged over the mesh.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.surface import variance
from subbundle.surface import widths as choosing
from subbundle.surface.facing import FacingPyramid
from subbundle.surface.local import QuadricFit, WeightedCloud
from subbundle.surface.pilot import Pilot
from subbundle.surface.pyramid import Pyramid
from subbundle.surface.soften import soften

# Longest way of a vertex, in cells; further away is another sheet.
FURTHEST = 1.5
# Weight that the six terms of a quadric take from Σ w of a Gaussian window, and the least that is left.
_FREEDOM, _LEAST_FREEDOM = 1.5, 0.3
_SMOOTHING, _BEND_ROUNDS = 5, 12
# Root mean square of the residuals, in cuts, from which on observations lie on both sides and not around.
_BETWEEN = 0.4
# Most that is taken back, in noise levels.
_MOST_BACK = 0.5


@dataclass(frozen=True, slots=True)
class Settled:
    """Vertices on the surface.

    Attributes
    ----------
    points, normals : [n, 3]
    drift : [n]
        |P (m − p)| at the ridge: how far the local mean lies to the side; infinite where there is no observation.
    support : [n]
        Observations per area, as a part of what is typical; zero where they lie around the vertex but not near it, as
        they do between two walls.
    stayed : [n] of bool
        Vertices that no observation speaks for, or that would have gone too far.
    error : [n]
        Standard error of the positions along the normals; infinite where no observation speaks.
    """

    points: FloatArray
    normals: FloatArray
    drift: FloatArray
    support: FloatArray
    stayed: NDArray[np.bool_]
    error: FloatArray


def settle(
    cloud: WeightedCloud, vertices: FloatArray, normals: FloatArray, bandwidth: float, unseen: NDArray[np.bool_]
) -> Settled:
    """Look at the cloud around ``vertices`` [n, 3] of a mesh with outward ``normals`` [n, 3]; none moves yet.

    The zero set lies near enough to the surface for robust quadrics to start from; a step onto the ridge of one width
    for all would only blur narrow things.
    """
    fit = cloud.fit(vertices, bandwidth, rounds=0)
    return Settled(
        points=vertices,
        normals=normals,
        drift=np.where(fit.mass > 0.0, fit.drift, np.inf),
        support=fit.mass / np.median(fit.mass[fit.mass > 0.0]) if fit.mass.any() else fit.mass,
        stayed=(fit.mass <= 0.0) | unseen,
        error=np.full(len(vertices), np.inf),
    )


def refine(cloud: Pyramid | FacingPyramid, settled: Settled, faces: IntArray, pilot: Pilot, cell: float) -> Settled:
    """Carry ``settled`` vertices onto robust quadrics with the bandwidth of least risk for each."""
    average = choosing.neighbour_average(faces, len(settled.points))
    chosen = choosing.choose(cloud, settled.points, settled.normals, ~settled.stayed, average, pilot)
    cuts = choosing.cut(pilot, chosen.widths)
    fit = cloud.quadric(settled.points, settled.normals, chosen.widths, cuts, rounds=choosing.ROUNDS)
    way = np.linalg.norm(fit.points - settled.points, axis=1)
    stayed = ~np.isfinite(fit.gain) | (way > FURTHEST * cell) | settled.stayed
    bend = fit.bend
    for _ in range(_BEND_ROUNDS):
        bend = average @ bend
    # Both estimates err upwards: the pilot's where the surface bends within its window, the other, by differences of
    # heights, where the narrowest windows are hardly wider than the noise.
    noise = min(pilot.noise, chosen.noise)
    back = np.clip(0.5 * noise * bend, -_MOST_BACK, _MOST_BACK) * noise
    points = np.where(stayed[:, None], settled.points, fit.points - back[:, None] * fit.normals)
    error = _standard_error(fit, stayed)
    points = soften(points, error, average, cell)
    # Where nothing speaks the surface is as smooth as it can be.
    for _ in range(_SMOOTHING):
        points = np.where(stayed[:, None], average @ points, points)
    normals = np.where(stayed[:, None], settled.normals, fit.normals)
    between = np.isfinite(fit.residual) & (fit.residual > (_BETWEEN * cuts) ** 2)
    support = np.where(between, 0.0, settled.support)
    return Settled(points, normals, settled.drift, support, stayed, error)


def _standard_error(fit: QuadricFit, stayed: NDArray[np.bool_]) -> FloatArray:
    """Of the heights of the fits [n], from the scatter of the observations around each: √(Var e) with its own σ²."""
    error = np.full(len(stayed), np.inf)
    known = np.flatnonzero(~stayed)
    mass = fit.mass[known]
    noise_sq = fit.residual[known] * mass / np.maximum(mass - _FREEDOM, _LEAST_FREEDOM)
    error[known] = np.sqrt(variance.of_height(fit.gain[known]) * noise_sq)
    return error
