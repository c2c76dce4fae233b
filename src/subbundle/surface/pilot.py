"""Pilot estimates of noise, density and bandwidth.

A few hundred observations are projected to the ridge at increasing bandwidths until λ_3 is well below λ_2, as around a
surface. There, with λ_3 = σ² a²/(a² + σ²) for noise σ around a plane and kernel mass 2π a² ρ / √(1 + σ²/a²) for
density ρ,

    σ² = λ_3 a² / (a² − λ_3),      ρ = Σw √(1 + σ²/a²) / (2π a²),      spacing ρ^(−1/2).

On thin tubes λ_3 also contains curvature, so σ is estimated once more from the residuals of robust quadrics, and the
lower value is taken. The bandwidth must exceed the noise, or neighbours are not neighbours on the surface, and the
spacing, or there are none: a = max(1.8 σ, 1.5 spacing).

Walls may be so thin that every window covers both sides. Heights around the middle of two sheets at ±p with noise σ
have variance v = p² + σ² and kurtosis κ = 3 − 2 p⁴/v², so

    p² = v √((3 − κ)/2),      σ² = v − p².

They are taken for two sheets, rather than one with noise of another distribution, if the density of the heights at 0 is
far below that at ±p.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray
from subbundle.surface import tuning
from subbundle.surface.local import FIRST_SAMPLE, SAMPLE, LocalFit, WeightedCloud
from subbundle.surface.repair import dots

# Bandwidth, as a fraction of the size of the cloud, at which the search for a surface ends.
_WIDEST = 0.15
# Degrees of freedom of the six terms of a quadric, as weight in Σ w of a Gaussian window; and the fraction of the
# variance of Gaussian noise that is left under biweights.
FREEDOM = 1.5
_T = np.linspace(-tuning.CUT_NOISES, tuning.CUT_NOISES, 401)
_W = np.exp(-0.5 * _T**2) * (1.0 - (_T / tuning.CUT_NOISES) ** 2) ** 2
_KEPT = float(np.sum(_W * _T**2) / np.sum(_W))


@dataclass(frozen=True, slots=True)
class Pilot:
    """Noise σ, spacing of the observations on the surface, and the bandwidth that follows (all lengths).

    ``two_sided`` if the scan is walls throughout whose two sides look like one sheet.
    """

    noise: float
    spacing: float
    bandwidth: float
    two_sided: bool = False

    def of_more_points(self, ratio: float, *, rescale: bool) -> Pilot:
        """The same for a cloud ``ratio`` times as dense; with ``rescale`` the bandwidth follows."""
        spacing = float(self.spacing / np.sqrt(ratio))
        bandwidth = bandwidth_of(self.noise, spacing) if rescale else self.bandwidth
        return replace(self, spacing=spacing, bandwidth=bandwidth)


def bandwidth_of(noise: float, spacing: float) -> float:
    """The bandwidth for given noise and spacing."""
    return max(tuning.BANDWIDTH_NOISES * noise, tuning.BANDWIDTH_SPACINGS * spacing)


def estimate_pilot(cloud: WeightedCloud) -> Pilot:
    """Estimate noise, spacing and bandwidth of ``cloud``, or raise when it does not lie around a surface."""
    width = _first_width(cloud)
    sample = cloud.sample(SAMPLE)
    near = estimate(cloud.fit(sample, width, rounds=tuning.RIDGE_STEPS), width)
    width = tuning.SECOND_LOOK * near.bandwidth
    wide = estimate(cloud.fit(sample, width, rounds=tuning.RIDGE_STEPS), width)
    # More neighbours give better estimates, but noise that is far larger in wider windows indicates a second sheet.
    doubtful = wide.noise > tuning.SECOND_SHEET * max(near.noise, near.spacing / tuning.SECOND_SHEET**2)
    return _with_quadrics(cloud, sample, near if doubtful else wide)


def _with_quadrics(cloud: WeightedCloud, sample: FloatArray, seen: Pilot) -> Pilot:
    """``seen`` with the noise of the residuals of robust quadrics, where it is lower."""
    noise = seen.noise
    for _ in range(tuning.CUT_ROUNDS):
        width = max(tuning.BANDWIDTH_SPACINGS * seen.spacing, tuning.NARROWEST_NOISES * noise)
        start = cloud.fit(sample, tuning.SECOND_LOOK * width, rounds=tuning.RIDGE_STEPS)
        fit = cloud.quadric(start.points, start.normals, width, tuning.CUT_NOISES * noise, rounds=tuning.RIDGE_STEPS)
        known = np.isfinite(fit.gain) & (start.mass > 0.0) & (fit.mass > 2.0 * FREEDOM)
        if known.sum() < 0.5 * len(sample):
            return seen
        variances = fit.residual[known] * fit.mass[known] / (fit.mass[known] - FREEDOM)
        noise = min(float(np.sqrt(np.median(variances) / _KEPT)), noise)
    return Pilot(noise, seen.spacing, bandwidth_of(noise, seen.spacing))


def with_thin_walls(cloud: WeightedCloud, seen: Pilot) -> Pilot:
    """``seen`` with the noise of each of two sheets, if its noise is that of both together."""
    fit = cloud.fit(cloud.sample(FIRST_SAMPLE), tuning.SECOND_LOOK * seen.bandwidth, rounds=tuning.RIDGE_STEPS)
    fit = fit.take(np.flatnonzero(np.isfinite(fit.points).all(axis=1)))
    heights = np.abs(heights_around(cloud, fit, np.full(len(fit.points), seen.noise))[1])
    if not heights.any():
        return seen
    square = float(np.mean(heights**2))
    kurtosis = min(float(np.mean(heights**4)) / square**2, 3.0)
    apart = float(np.sqrt(square * np.sqrt((3.0 - kurtosis) / 2.0)))
    middle, beside = np.sum(heights < apart / 3.0), np.sum(np.abs(heights - apart) < apart / 3.0)
    noise = float(np.sqrt(max(square - apart**2, 0.0)))
    if apart < noise or middle > 0.5 * tuning.WALL_VALLEY * beside:
        return seen
    spacing = float(np.sqrt(2.0) * seen.spacing)
    return Pilot(noise, spacing, bandwidth_of(noise, spacing), two_sided=True)


def heights_around(cloud: WeightedCloud, fit: LocalFit, radius: FloatArray) -> tuple[IntArray, FloatArray]:
    """Rows of ``fit`` and heights over them, of the observations within ``radius`` [n] of the normals there."""
    observations = cloud.cloud.points
    near = cKDTree(observations).query_ball_point(fit.points, 3.0 * radius)
    row = np.repeat(np.arange(len(near)), [len(some) for some in near])
    away = observations[np.concatenate([*near, []]).astype(np.int64)] - fit.points[row]
    height = dots(away, fit.normals[row])
    inside = dots(away, away) - height**2 < radius[row] ** 2
    return row[inside], height[inside]


def _first_width(cloud: WeightedCloud) -> float:
    """The narrowest bandwidth at which neighbourhoods are flat.

    Near a second sheet λ_3/λ_2 falls and rises again without being small; then the bandwidth of its minimum is taken.
    """
    sample = cloud.sample(FIRST_SAMPLE)
    width = 0.1 * cloud.size / np.sqrt(cloud.n_points)
    lowest, lowest_at = tuning.TROUGH_FLATNESS, 0.0
    while True:
        fit = cloud.fit(sample, width, rounds=tuning.RIDGE_STEPS)
        effective, ratio = _flatness(fit)
        if effective >= tuning.LEAST_NEIGHBOURS and ratio < tuning.SHEET_FLATNESS:
            return float(width)
        if effective >= tuning.TROUGH_NEIGHBOURS and ratio < lowest:
            lowest, lowest_at = ratio, width
        if lowest_at > 0.0 and ratio > tuning.TROUGH_RISE * lowest:
            return float(lowest_at)
        width *= tuning.BANDWIDTH_GROWTH
        if width > _WIDEST * cloud.size:
            raise ValueError(_not_a_surface(fit))


def at_window(cloud: WeightedCloud, window: float, factor: float) -> Pilot:
    """Noise and spacing estimated with a given ``window``, which is ``factor`` times the bandwidth of the result."""
    fit = cloud.fit(cloud.sample(SAMPLE), window, rounds=tuning.RIDGE_STEPS)
    effective = np.median(fit.n_effective)
    if effective < 4.0:
        raise ValueError(
            f"bandwidth must reach a few neighbours; with {window:.3g} a typical point has {effective:.1f}. "
            "Pass a larger one, or 'auto'."
        )
    if not np.median(fit.eigenvalues[:, 2]) < tuning.NO_PLANE * np.median(fit.eigenvalues[:, 1]):
        raise ValueError(f"{_not_a_surface(fit)} The bandwidth was {window:.3g}.")
    seen = estimate(fit, window)
    return Pilot(seen.noise, seen.spacing, window / factor)


def estimate(fit: LocalFit, width: float) -> Pilot:
    """Noise, spacing and bandwidth from points projected to the ridge at one bandwidth ``width``."""
    seen = fit.mass > 0.0
    third = np.clip(fit.eigenvalues[seen, 2] - curvature_variance(fit)[seen], 0.0, 0.9 * width**2)
    noise = float(np.sqrt(np.median(third * width**2 / (width**2 - third))))
    density = float(np.median(fit.mass[seen])) * np.sqrt(1.0 + (noise / width) ** 2) / (2.0 * np.pi * width**2)
    spacing = float(density**-0.5)
    return Pilot(noise, spacing, bandwidth_of(noise, spacing))


def curvature_variance(fit: LocalFit) -> FloatArray:
    """Variance of a curved surface normal to its tangent plane: ½ Σ_ij II_ij² λ_i λ_j for a Gaussian window."""
    first, second = fit.eigenvalues[:, 0], fit.eigenvalues[:, 1]
    form = fit.second_form**2
    variance: FloatArray = 0.5 * (form[:, 0] * first**2 + 2.0 * form[:, 1] * first * second + form[:, 2] * second**2)
    # Isolated outliers have no second form.
    return np.nan_to_num(variance, nan=0.0)


def _flatness(fit: LocalFit) -> tuple[float, float]:
    """Typical number of effective neighbours, and λ_3/λ_2; infinite where λ_2 is that of a curve."""
    effective = fit.n_effective
    if not effective.any():
        return 0.0, np.inf
    first, second, third = np.median(fit.eigenvalues[effective > 0.0], axis=0)
    return float(np.median(effective)), float(third / second) if second > tuning.SHEET_FLATNESS * first else np.inf


def _not_a_surface(fit: LocalFit) -> str:
    first, second, third = np.median(fit.eigenvalues, axis=0) / max(float(np.median(fit.eigenvalues[:, 0])), 1e-300)
    shape = "a curve" if second < tuning.SHEET_FLATNESS else "a solid body, or noise as large as the object"
    return (
        f"points must lie around a surface; they resemble {shape}: the variances of a typical neighbourhood are as "
        f"{first:.0f} : {second:.2g} : {third:.2g} (a surface has 1 : 1 : 0). Pass the points of a surface, or a "
        "bandwidth at which they resemble one."
    )
