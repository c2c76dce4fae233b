"""The bandwidth of least estimated risk at every vertex of a mesh.

At one vertex in eight robust quadrics are fitted with bandwidths a_0 < a_1 < …; e_j is the height estimated with a_j,
of known variance.

The bias of a quadric grows like a⁴, so the difference to the height of the next narrower window contains almost all of
it, with far less noise than the difference to the narrowest. By the rule of `selection.risk` the risk of a_j is

    R_j = max(0, ⟨(e_j − e_i)² − Var(e_j − e_i)⟩) / (1 − (a_i/a_j)⁴)² + ⟨Var e_j⟩,     i = j − 1,

⟨·⟩ an average over the mesh around the vertex; variances are those of one fit, in closed form. Halfway between two
bandwidths the bias is interpolated linearly in a, as it grows at edges (where it grows faster the window is narrower
than optimal), the variance as a power. The
minimiser of R would follow the noise in R; instead log a is averaged with weights exp(−2 R_j/min R), and smoothed over
the mesh. σ² explains the median difference of heights between two narrow windows, where there is hardly any bias, and
is at most that of the pilot.

With M the matrix of the normal equations and noise σ, the height e estimated with bandwidth a has the variance

    Var e = ⅝ σ² (M⁻¹)_00,

exact for a Gaussian window inside a uniform cloud, where it is σ² V(a)/ρ, V(a) = 5/(8π a²), and of the right order at a
border, where a one-sided fit is far less certain. Heights at two bandwidths a, b have the correlation

    C/√(V(a) V(b)),     C = (c² + c⁶/(a b)²)/(π (a b)²),     1/c² = 1/a² + 1/b².

Windows are elongated where the surface is curved in one direction only: along a crest, a groove, an edge or a tube one
width for both directions is too narrow along or too wide across. ⟨n nᵀ⟩ over a few edges around a vertex has as
principal directions the normal and the directions in which normals vary most and least, with variances κ² ℓ² for
curvatures κ over a distance ℓ. The bias of a quadric of width a is about κ³ a⁴ for a shape that changes on the scale of
its curvature: equal along and across if

    a_along / a_across = (κ_across / κ_along)^(3/4) = ((variance + c)/(variance along + c))^(3/8),

c the variance of a negligible rotation of the normals.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array

from subbundle import _elementwise
from subbundle._numbers import MEDIAN_SQUARE
from subbundle._types import FloatArray, IntArray
from subbundle.local.frames import tangents_from_normals
from subbundle.local.standard_errors import PLANE_GAIN
from subbundle.selection.risk import bias_fraction
from subbundle.surface import tuning
from subbundle.surface.local import SAMPLE, WeightedCloud
from subbundle.surface.pilot import Pilot
from subbundle.surface.pyramid import Levels
from subbundle.surface.repair import dots
from subbundle.triangles.topology import edges_of

# Fraction of the largest risk below which a risk is rounding error.
_NO_RISK = 1e-12


class Widths(NamedTuple):
    """A bandwidth for every vertex [n], and the standard deviation of the observations across the surface."""

    widths: FloatArray
    noise: float


def bandwidths(pilot: Pilot) -> FloatArray:
    """The grid of bandwidths, from the narrowest of the pilot on."""
    narrowest = max(tuning.BANDWIDTH_SPACINGS * pilot.spacing, tuning.NARROWEST_NOISES * pilot.noise)
    grid: FloatArray = narrowest * np.power(tuning.RUNG_RATIO, np.arange(tuning.RUNGS, dtype=np.float64))
    return grid


def cut(pilot: Pilot, widths: FloatArray) -> FloatArray:
    """Heights [n] beyond which observations have no weight, with an allowance for terms that are not quadratic."""
    return tuning.CUT_NOISES * np.hypot(pilot.noise, tuning.MODEL_ERROR * widths)


def neighbour_average(faces: IntArray, n: int) -> Any:
    """The sparse matrix [n, n] that averages a vertex with its neighbours."""
    low, high = edges_of(faces).ends.T
    own = np.arange(n)
    # In this order the columns of every row ascend.
    pairs = np.concatenate([high, own, low]), np.concatenate([low, own, high])
    return _normalised(coo_array((np.ones(len(pairs[0])), pairs), shape=(n, n)).tocsr())


def choose(
    cloud: Levels, points: FloatArray, normals: FloatArray, usable: np.ndarray, average: Any, pilot: Pilot,
    along: FloatArray,
) -> Widths:  # fmt: skip
    """Bandwidths for the vertices ``points``, ``normals`` [n, 3] of a mesh with the given `neighbour_average`.

    Windows are elongated ``along`` [n, 3], as in `elongation`. Vertices that are not ``usable`` [n] are left out.
    """
    grid = bandwidths(pilot)
    rows = np.arange(0, len(points), tuning.STRIDE)
    rows = rows[usable[rows]]
    heights, gains = heights_at(cloud, points[rows], normals[rows], grid, pilot, along[rows])
    known = np.isfinite(gains).all(axis=0)
    rows, heights, gains = rows[known], heights[:, known], gains[:, known]
    if len(rows) == 0:
        return Widths(np.full(len(points), grid[1]), pilot.noise)
    # Both estimates are biased upwards, strongly where features are narrower than the narrowest windows.
    noise_sq = min(noise_square(cloud, points[rows], normals[rows], pilot, along[rows]), pilot.noise**2)
    # Vertices within three edges of those with fits.
    near = (average @ (average @ average[:, rows])).tocsr()
    around, terms = _normalised(near[rows]), risk_terms(heights, gains, grid, noise_sq)
    both = np.ascontiguousarray(np.concatenate(terms).T)
    for _ in range(tuning.RISK_ROUNDS):
        both = around @ both
    index = least_risk(both.T[: len(grid)], both.T[len(grid) :])
    # From the vertices with fits to all: those out of reach of any take the median.
    total = np.asarray(near.sum(axis=1)).ravel()
    spread = np.where(total > 0.0, near @ index / np.maximum(total, 1e-300), np.median(index))
    for _ in range(_window_rounds()):
        spread = average @ spread
    return Widths(width_of(grid, spread), float(np.sqrt(noise_sq)))


def heights_at(
    cloud: Levels | WeightedCloud, points: FloatArray, normals: FloatArray, grid: FloatArray, pilot: Pilot,
    along: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Heights over the points and their variances for noise 1, [m, n] each, at the m bandwidths of ``grid``."""
    shape, widths = (len(grid), len(points)), np.repeat(grid, len(points))
    points, normals = np.tile(points, (len(grid), 1)), np.tile(normals, (len(grid), 1))
    along = None if along is None else np.tile(along, (len(grid), 1))
    fit = cloud.quadric(points, normals, widths, cut(pilot, widths), rounds=tuning.QUADRIC_STEPS, along=along)
    return dots(fit.points - points, normals).reshape(shape), variance_of_height(fit.gain).reshape(shape)


def noise_square(
    cloud: Levels | WeightedCloud, points: FloatArray, normals: FloatArray, pilot: Pilot,
    along: FloatArray | None = None,
) -> float:  # fmt: skip
    """σ² that explains the differences of heights over some of ``points`` between the narrowest window and a wider one.

    That is wider by half a step of the grid: over a whole step a detailed surface differs by more than noise.
    """
    few = slice(None, None, max(len(points) // SAMPLE, 1))
    grid = bandwidths(pilot)[0] * np.array([1.0, np.sqrt(tuning.RUNG_RATIO)])
    stretched = None if along is None else along[few]
    heights, gains = heights_at(cloud, points[few], normals[few], grid, pilot, stretched)
    known = np.isfinite(gains).all(axis=0)
    if not known.any():
        return pilot.noise**2
    heights, gains = heights[:, known], gains[:, known]
    agree = height_correlation(float(grid[1]), float(grid[0]))
    squares = (heights[1] - heights[0]) ** 2 / variance_of_difference(gains[1], gains[0], agree)
    return float(np.median(squares)) / MEDIAN_SQUARE


def risk_terms(
    heights: FloatArray, gains: FloatArray, grid: FloatArray, noise_sq: float
) -> tuple[FloatArray, FloatArray]:
    """Squared bias and variance [m, n] before they are averaged, from ``heights`` and ``gains`` [m, n]."""
    before = np.maximum(np.arange(len(grid)) - 1, 0)
    agree = np.array([height_correlation(grid[j], grid[i]) for j, i in enumerate(before)])[:, None]
    differ = variance_of_difference(gains, gains[before], agree)
    seen = np.array([bias_fraction(grid[i] / grid[j], 4.0) for j, i in enumerate(before)])[:, None]
    # Clipped, so that one outlying height does not decide for all around it, nor rounding where there is no noise.
    squares = np.minimum((heights - heights[before]) ** 2, tuning.CUT_NOISES**2 * noise_sq) - noise_sq * differ
    return squares / seen**2, noise_sq * gains


def least_risk(bias: FloatArray, spread: FloatArray) -> FloatArray:
    """The index [n] in the grid, fractional, from averaged squared ``bias`` and variance ``spread`` [m, n]."""
    bias = np.maximum(bias, 0.0)
    bias[0] = 0.0
    # √ratio as a fraction of the way from 1 to the ratio; between the first two bandwidths bias is taken to be linear.
    way = (np.sqrt(tuning.RUNG_RATIO) - 1.0) / (tuning.RUNG_RATIO - 1.0)
    off = np.sqrt(bias)
    off[0] = off[1] / tuning.RUNG_RATIO
    risk = np.empty((2 * len(bias) - 1, bias.shape[1]))
    risk[::2] = bias + spread
    risk[1::2] = ((1.0 - way) * off[:-1] + way * off[1:]) ** 2 + np.sqrt(spread[:-1] * spread[1:])
    # A cloud without noise may have no risk at all: then all bandwidths have equal weights.
    least = np.maximum(risk.min(axis=0), _NO_RISK * risk.max(axis=0) + np.finfo(float).tiny)
    weights = _elementwise.exp(tuning.RISK_SHARPNESS * (1.0 - risk / least))
    index: FloatArray = 0.5 * (np.arange(len(risk))[:, None] * weights).sum(axis=0) / weights.sum(axis=0)
    return index


def width_of(grid: FloatArray, index: FloatArray) -> FloatArray:
    """The bandwidth [n] at a fractional ``index`` [n] in the grid."""
    return np.asarray(grid[0] * _elementwise.exp(np.log(tuning.RUNG_RATIO) * index))


def _window_rounds() -> int:
    """Rounds of `neighbour_average` that reach over a window.

    A round has the variance 3/7 e² in each direction, with edges e to six neighbours; a window is some edges wide.
    """
    return int(np.ceil(7.0 / 3.0 / tuning.CELL_WINDOWS**2))


def _normalised(matrix: Any) -> Any:
    """The sparse ``matrix`` with rows that sum to one, changed in place."""
    matrix.data *= np.repeat(1.0 / np.asarray(matrix.sum(axis=1)).ravel(), np.diff(matrix.indptr))
    return matrix


def variance_of_height(gain: FloatArray) -> FloatArray:
    """Var e / σ² from the gain (M⁻¹)_00 of a fit."""
    return PLANE_GAIN * gain


def variance_of_difference(first: FloatArray, second: FloatArray, correlation: float | FloatArray) -> FloatArray:
    """Variance of the difference of two heights with the given variances."""
    return first + second - 2.0 * correlation * np.sqrt(first * second)


def height_correlation(a: float, b: float) -> float:
    """Correlation of the heights estimated at bandwidths a and b from the same noise."""
    c_sq = 1.0 / (a**-2 + b**-2)
    shared = (c_sq + c_sq**3 / (a * b) ** 2) / (np.pi * (a * b) ** 2)
    return float(shared * 8.0 * np.pi * a * b / 5.0)


def elongation(normals: FloatArray, average: Any) -> FloatArray:
    """Tangents t [n, 3] of the vertices of a mesh, along which windows are |t| ≥ 1 times as long as wide.

    ``normals`` [n, 3] are the unit normals there, ``average`` is as in `widths.neighbour_average`.
    """
    i, j = np.triu_indices(3)
    products = normals[:, i] * normals[:, j]
    for _ in range(_window_rounds()):
        products = average @ products
    # In the tangent plane a scatter (x, z; z, y) is largest at the angle φ with cos 2φ = (x − y)/2r, least across it.
    first, second = np.moveaxis(tangents_from_normals(normals), 2, 0)
    twice = np.where(i == j, 1.0, 2.0) * products
    x, y = (np.einsum("np,np->n", twice, t[:, i] * t[:, j]) for t in (first, second))
    z = np.einsum("np,np->n", twice, 0.5 * (first[:, i] * second[:, j] + first[:, j] * second[:, i]))
    r = np.hypot(0.5 * (x - y), z)
    cosine = np.clip(0.5 * (x - y) / np.maximum(r, np.finfo(float).tiny), -1.0, 1.0)
    least = np.copysign(np.sqrt(0.5 * (1.0 - cosine)), z)[:, None] * first
    least -= np.sqrt(0.5 * (1.0 + cosine))[:, None] * second
    more, less = np.maximum(0.5 * (x + y) + r, 0.0), np.maximum(0.5 * (x + y) - r, 0.0)
    turn = tuning.LEAST_TURN**2
    return np.asarray(((more + turn) / (less + turn))[:, None] ** 0.375 * least)
