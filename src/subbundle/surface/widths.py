"""The bandwidth that suits the surroundings of every vertex of a mesh.

At one vertex in eight robust quadrics are fitted with bandwidths a_0 < a_1 < …; e_j is the height found with a_j, its
variance known from `variance`.

The bias of a quadric grows like a⁴, so the difference to the height of the next narrower window shows it almost in
full, with far less noise than the difference to the narrowest would. The risk of a_j is

    R_j = max(0, ⟨(e_j − e_i)² − Var(e_j − e_i)⟩) / (1 − (a_i/a_j)⁴)² + ⟨Var e_j⟩,     i = j − 1,

⟨·⟩ an average over the mesh around the vertex. Halfway between two rungs the bias is interpolated linearly in a, as it
grows at edges (where it grows faster the window is taken narrower than it might be), the variance as a power. Taking
the bandwidth of least risk would follow the noise in R; instead log a is averaged with weights exp(−2 R_j/min R), and
smoothed over the mesh. σ² is such that at two narrow windows, where there is hardly any bias, the typical difference is
explained, and at most that of the pilot.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array

from subbundle import _elementwise
from subbundle._types import FloatArray, IntArray
from subbundle.surface import variance
from subbundle.surface.local import WeightedCloud
from subbundle.surface.pilot import CUT, NARROW, SPACINGS, Pilot
from subbundle.surface.pyramid import Levels
from subbundle.triangles.topology import edges_of

ROUNDS = 2
_RATIO, _RUNGS = 1.69, 5
_MODEL_ERROR = 0.1
# One vertex in so many is tried, and so many are enough for the noise.
_STRIDE, _COMPARED = 8, 4000
_RISK_ROUNDS, _RUNG_ROUNDS = 40, 6
# Fraction of the largest risk below which a risk is rounding.
_NO_RISK = 1e-12
# A difference counts at most so many noise levels: one wild height must not decide for all around it.
_LARGEST = 1.5


class Widths(NamedTuple):
    """A bandwidth for every vertex [n], and the standard deviation of the observations across the surface."""

    widths: FloatArray
    noise: float


def ladder(pilot: Pilot) -> FloatArray:
    """The bandwidths that are tried, from the narrowest of the pilot on."""
    narrowest = max(SPACINGS * pilot.spacing, NARROW * pilot.noise)
    rungs: FloatArray = narrowest * np.power(_RATIO, np.arange(_RUNGS, dtype=np.float64))
    return rungs


def cut(pilot: Pilot, widths: FloatArray) -> FloatArray:
    """Heights [n] beyond which observations have no weight, with room for what is not quadratic."""
    return CUT * np.hypot(pilot.noise, _MODEL_ERROR * widths)


def neighbour_average(faces: IntArray, n: int) -> Any:
    """The sparse matrix [n, n] that averages a vertex with its neighbours."""
    low, high = edges_of(faces).ends.T
    own = np.arange(n)
    # In this order the columns of every row rise.
    pairs = np.concatenate([high, own, low]), np.concatenate([low, own, high])
    return _normalised(coo_array((np.ones(len(pairs[0])), pairs), shape=(n, n)).tocsr())


def choose(
    cloud: Levels, points: FloatArray, normals: FloatArray, usable: np.ndarray, average: Any, pilot: Pilot,
    along: FloatArray,
) -> Widths:  # fmt: skip
    """Bandwidths for the vertices ``points``, ``normals`` [n, 3] of a mesh with the given `neighbour_average`.

    Windows are elongated ``along`` [n, 3], as in `elongation`. Vertices that are not ``usable`` [n] say nothing.
    """
    rungs = ladder(pilot)
    rows = np.arange(0, len(points), _STRIDE)
    rows = rows[usable[rows]]
    heights, gains = heights_at(cloud, points[rows], normals[rows], rungs, pilot, along[rows])
    known = np.isfinite(gains).all(axis=0)
    rows, heights, gains = rows[known], heights[:, known], gains[:, known]
    if len(rows) == 0:
        return Widths(np.full(len(points), rungs[1]), pilot.noise)
    # Both estimates err upwards: where narrow features bend inside the narrowest windows, far.
    noise_sq = min(noise_square(cloud, points[rows], normals[rows], pilot, along[rows]), pilot.noise**2)
    # What is within three edges of the vertices that were tried.
    near = (average @ (average @ average[:, rows])).tocsr()
    around, terms = _normalised(near[rows]), risk_terms(heights, gains, rungs, noise_sq)
    both = np.ascontiguousarray(np.concatenate(terms).T)
    for _ in range(_RISK_ROUNDS):
        both = around @ both
    rung = least_risk(both.T[: len(rungs)], both.T[len(rungs) :])
    # From the vertices that were tried to all: those out of reach of any take what is typical.
    total = np.asarray(near.sum(axis=1)).ravel()
    spread = np.where(total > 0.0, near @ rung / np.maximum(total, 1e-300), np.median(rung))
    for _ in range(_RUNG_ROUNDS):
        spread = average @ spread
    return Widths(width_of(rungs, spread), float(np.sqrt(noise_sq)))


def heights_at(
    cloud: Levels | WeightedCloud, points: FloatArray, normals: FloatArray, rungs: FloatArray, pilot: Pilot,
    along: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Heights over the points and their variances for noise 1, [rungs, n] each."""
    heights, gains = np.empty((len(rungs), len(points))), np.empty((len(rungs), len(points)))
    for j, width in enumerate(rungs):
        widths = np.full(len(points), width)
        fit = cloud.quadric(points, normals, widths, cut(pilot, widths), rounds=ROUNDS, along=along)
        heights[j] = np.sum((fit.points - points) * normals, axis=1)
        gains[j] = variance.of_height(fit.gain)
    return heights, gains


def noise_square(
    cloud: Levels | WeightedCloud, points: FloatArray, normals: FloatArray, pilot: Pilot,
    along: FloatArray | None = None,
) -> float:  # fmt: skip
    """σ² that explains by how much heights over some of ``points`` differ between the narrowest window and the next.

    That is half a rung wider: over a whole one a detailed surface differs by more than noise.
    """
    few = slice(None, None, max(len(points) // _COMPARED, 1))
    rungs = ladder(pilot)[0] * np.array([1.0, np.sqrt(_RATIO)])
    part = None if along is None else along[few]
    heights, gains = heights_at(cloud, points[few], normals[few], rungs, pilot, part)
    known = np.isfinite(gains).all(axis=0)
    if not known.any():
        return pilot.noise**2
    heights, gains = heights[:, known], gains[:, known]
    agree = variance.correlation(float(rungs[1]), float(rungs[0]))
    return variance.noise_square(heights[1] - heights[0], variance.of_difference(gains[1], gains[0], agree))


def risk_terms(
    heights: FloatArray, gains: FloatArray, rungs: FloatArray, noise_sq: float
) -> tuple[FloatArray, FloatArray]:
    """Squared bias and variance [rungs, n] before they are averaged, from ``heights`` and ``gains`` [rungs, n]."""
    before = np.maximum(np.arange(len(rungs)) - 1, 0)
    agree = np.array([variance.correlation(rungs[j], rungs[i]) for j, i in enumerate(before)])[:, None]
    differ = variance.of_difference(gains, gains[before], agree)
    seen = np.maximum(1.0 - (rungs[before] / rungs) ** 4, 0.5)[:, None]
    squares = np.minimum((heights - heights[before]) ** 2, _LARGEST**2 * noise_sq) - noise_sq * differ
    return squares / seen**2, noise_sq * gains


def least_risk(bias: FloatArray, spread: FloatArray) -> FloatArray:
    """The rung [n], between whole numbers, from averaged squared ``bias`` and variance ``spread`` [rungs, n]."""
    bias = np.maximum(bias, 0.0)
    bias[0] = 0.0
    # √ratio is so far on the way from 1 to the ratio; below the first two rungs the bias is taken to grow like a.
    way = (np.sqrt(_RATIO) - 1.0) / (_RATIO - 1.0)
    off = np.sqrt(bias)
    off[0] = off[1] / _RATIO
    risk = np.empty((2 * len(bias) - 1, bias.shape[1]))
    risk[::2] = bias + spread
    risk[1::2] = ((1.0 - way) * off[:-1] + way * off[1:]) ** 2 + np.sqrt(spread[:-1] * spread[1:])
    # A cloud without noise may have no risk at all: then all rungs are as good.
    least = np.maximum(risk.min(axis=0), _NO_RISK * risk.max(axis=0) + np.finfo(float).tiny)
    weights = _elementwise.exp(2.0 * (1.0 - risk / least))
    rung: FloatArray = 0.5 * (np.arange(len(risk))[:, None] * weights).sum(axis=0) / weights.sum(axis=0)
    return rung


def width_of(rungs: FloatArray, rung: FloatArray) -> FloatArray:
    """The bandwidth [n] at a ``rung`` [n] between whole numbers."""
    return np.asarray(rungs[0] * _elementwise.exp(np.log(_RATIO) * rung))


def _normalised(matrix: Any) -> Any:
    """The sparse ``matrix`` with rows that sum to one, changed in place."""
    matrix.data *= np.repeat(1.0 / np.asarray(matrix.sum(axis=1)).ravel(), np.diff(matrix.indptr))
    return matrix
