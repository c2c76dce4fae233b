"""Moving mesh vertices onto the surface, each with the bandwidth that suits its surroundings.

A vertex is first carried to the second-order ridge, then fitted by robust quadrics (`_quadric_kernels`) at bandwidths
a_0 < a_1 < …; e_j is the height found with a_j. With M the matrix of the normal equations, noise σ gives it the
variance

    Var e_j = ⅝ σ² (M_j⁻¹)_00,

exact for a Gaussian window inside a uniform cloud, where it is σ² V(a)/ρ, V(a) = 5/(8π a²), and right in order at a
border, where a one-sided fit is far less certain. Heights at two bandwidths a, b have the correlation

    C/√(V(a) V(b)),     C = (c² + c⁶/(a b)²)/(π (a b)²),     1/c² = 1/a² + 1/b².

What the difference to the narrowest window has beyond its variance is bias, so the risk of a_j is

    R_j = max(0, ⟨(e_j − e_0)² − Var(e_j − e_0)⟩) + ⟨Var e_j⟩,

⟨·⟩ an average over the mesh around the vertex. The bandwidth of least risk, smoothed over the mesh, is used for the
final fit. σ² is not taken from the pilot but such that at the two narrowest windows, where there is hardly any bias,
the typical difference is explained.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, diags_array

from subbundle._types import FloatArray, IntArray
from subbundle.meshing.local import WeightedCloud
from subbundle.meshing.pilot import Pilot

_RIDGE_ROUNDS, _QUADRIC_ROUNDS = 1, 2
# Longest way of a vertex, in cells; further away is another sheet.
FURTHEST = 1.5
_LADDER = 1.35 ** np.arange(5)
# Narrowest window in spacings and in noise levels; heights further than this many noise levels have no weight.
_LEAST_SPACINGS, _LEAST_NOISE, _CUT = 1.5, 1.2, 4.0
_MODEL_ERROR = 0.1
_STRIDE = 6
_SMOOTHING = 5
_RISK_ROUNDS, _RUNG_ROUNDS = 48, 6
# A squared difference counts at most so many of its variances: one wild height must not decide for all around it.
_LARGEST = 12.0
# Median of a squared standard normal number.
_MEDIAN = 0.4549


@dataclass(frozen=True, slots=True)
class Settled:
    """Vertices on the surface.

    Attributes
    ----------
    points, normals : [n, 3]
    drift : [n]
        |P (m − p)| at the ridge: how far the local mean lies to the side; infinite where there is no observation.
    density : [n]
        Observations per area.
    stayed : [n] of bool
        Vertices that no observation speaks for, or that would have gone too far.
    """

    points: FloatArray
    normals: FloatArray
    drift: FloatArray
    density: FloatArray
    stayed: np.ndarray[tuple[int], np.dtype[np.bool_]]


def settle(
    cloud: WeightedCloud, vertices: FloatArray, normals: FloatArray, pilot: Pilot, bandwidth: float, cell: float
) -> Settled:
    """Carry ``vertices`` [n, 3] of a mesh with outward ``normals`` [n, 3] to the second-order ridge."""
    fit = cloud.fit(vertices, bandwidth, rounds=_RIDGE_ROUNDS)
    sign = np.where(np.sum(fit.normals * normals, axis=1) < 0.0, -1.0, 1.0)
    way = np.linalg.norm(fit.points - vertices, axis=1)
    stayed = (fit.mass <= 0.0) | (way > FURTHEST * cell)
    density = fit.mass * np.sqrt(1.0 + (pilot.noise / bandwidth) ** 2) / (2.0 * np.pi * bandwidth**2)
    return Settled(
        points=np.where(stayed[:, None], vertices, fit.points),
        normals=np.where(stayed[:, None], normals, sign[:, None] * fit.normals),
        drift=np.where(fit.mass > 0.0, fit.drift, np.inf),
        density=density,
        stayed=stayed,
    )


def refine(cloud: WeightedCloud, settled: Settled, faces: IntArray, pilot: Pilot, cell: float) -> Settled:
    """Fit robust quadrics at ``settled`` vertices with the bandwidth of least risk for each."""
    average = neighbour_average(faces, len(settled.points))
    widths = _widths(cloud, settled, average, pilot)
    fit = cloud.quadric(settled.points, settled.normals, widths, _cut(pilot, widths), rounds=_QUADRIC_ROUNDS)
    way = np.linalg.norm(fit.points - settled.points, axis=1)
    stayed = ~np.isfinite(fit.gain) | (way > FURTHEST * cell) | settled.stayed
    points = np.where(stayed[:, None], settled.points, fit.points)
    # Where nothing speaks the surface is as smooth as it can be.
    for _ in range(_SMOOTHING):
        points = np.where(stayed[:, None], average @ points, points)
    normals = np.where(stayed[:, None], settled.normals, fit.normals)
    return Settled(points, normals, settled.drift, settled.density, stayed)


def neighbour_average(faces: IntArray, n: int) -> Any:
    """The sparse matrix [n, n] that averages a vertex with its neighbours."""
    ends = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    both = np.concatenate([ends, ends[:, ::-1]])
    joined = coo_array((np.ones(len(both)), both.T), shape=(n, n)).tocsr()
    joined.data[:] = 1.0
    joined = (joined + diags_array(np.ones(n))).tocsr()
    return (diags_array(1.0 / joined.sum(axis=1)) @ joined).tocsr()


def _cut(pilot: Pilot, widths: FloatArray) -> FloatArray:
    """Heights beyond which observations have no weight, with room for what is not quadratic."""
    return _CUT * np.hypot(pilot.noise, _MODEL_ERROR * widths)


def _widths(cloud: WeightedCloud, settled: Settled, average: Any, pilot: Pilot) -> FloatArray:
    """The bandwidth [n] of least risk around every vertex, from one vertex in `_STRIDE`."""
    rows = np.arange(0, len(settled.points), _STRIDE)
    points, normals = settled.points[rows], settled.normals[rows]
    ladder = max(_LEAST_SPACINGS * pilot.spacing, _LEAST_NOISE * pilot.noise) * _LADDER
    heights, gains = np.empty((len(ladder), len(rows))), np.empty((len(ladder), len(rows)))
    for j, width in enumerate(ladder):
        fit = cloud.quadric(points, normals, width, _cut(pilot, np.full(len(rows), width)), rounds=_QUADRIC_ROUNDS)
        heights[j] = np.sum((fit.points - points) * normals, axis=1)
        gains[j] = 0.625 * fit.gain
    known = np.isfinite(gains).all(axis=0) & ~settled.stayed[rows]
    rows, heights, gains = rows[known], heights[:, known], gains[:, known]
    if len(rows) == 0:
        return np.full(len(settled.points), ladder[1])
    agree = np.array([_correlation(width, ladder[0]) for width in ladder])[:, None]
    differ = gains + gains[0] - 2.0 * agree * np.sqrt(gains * gains[0])
    noise_sq = float(np.median((heights[1] - heights[0]) ** 2 / differ[1])) / _MEDIAN
    spread = np.zeros((len(settled.points), 1 + 2 * len(ladder)))
    spread[rows, 0] = 1.0
    squares = np.minimum((heights - heights[0]) ** 2, _LARGEST * noise_sq * differ)
    spread[rows, 1 : 1 + len(ladder)] = (squares - noise_sq * differ).T
    spread[rows, 1 + len(ladder) :] = noise_sq * gains.T
    for _ in range(_RISK_ROUNDS):
        spread = average @ spread
    spread = spread[:, 1:] / np.maximum(spread[:, :1], 1e-12)
    risk = np.maximum(spread[:, : len(ladder)], 0.0) + spread[:, len(ladder) :]
    rung = np.argmin(risk, axis=1).astype(np.float64)
    for _ in range(_RUNG_ROUNDS):
        rung = average @ rung
    widths: FloatArray = ladder[0] * (_LADDER[1] / _LADDER[0]) ** rung
    return widths


def _correlation(a: float, b: float) -> float:
    """Of the heights that two windows find in the same noise."""
    c_sq = 1.0 / (a**-2 + b**-2)
    shared = (c_sq + c_sq**3 / (a * b) ** 2) / (np.pi * (a * b) ** 2)
    return float(shared * 8.0 * np.pi * a * b / 5.0)
