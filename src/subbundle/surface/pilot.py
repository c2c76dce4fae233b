"""Pilot estimates of noise, density and bandwidth.

A few hundred observations are projected to the ridge at increasing bandwidths until λ_3 is well below λ_2, as around a
surface. There, with λ_3 = σ² a²/(a² + σ²) for noise σ around a plane and kernel mass 2π a² ρ / √(1 + σ²/a²) for
density ρ,

    σ² = λ_3 a² / (a² − λ_3),      ρ = Σw √(1 + σ²/a²) / (2π a²),      spacing ρ^(−1/2).

On thin tubes λ_3 also contains curvature, so σ is estimated once more from the residuals of robust quadrics, and the
lower value is taken. The bandwidth must exceed the noise, or neighbours are not neighbours on the surface, and the
spacing, or there are none: a = max(1.8 σ, 1.5 spacing).

Where a window holds both sides of a thin wall (`walls`), noise and density are those of each of them. The pilot is the
median over all places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from subbundle._types import FloatArray
from subbundle.surface import tuning
from subbundle.surface.local import FIRST_SAMPLE, SAMPLE, LocalFit, WeightedCloud, curvature_variance
from subbundle.surface.walls import noise_of_sheets

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
    """Noise σ, spacing of the observations on the surface, and the bandwidth that follows (all lengths)."""

    noise: float
    spacing: float
    bandwidth: float

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
    near = estimate(cloud, sample, width)
    # More neighbours give better estimates; in fewer both sides of a wall would no longer have one ridge.
    wider = max(tuning.SECOND_LOOK * near.bandwidth, width)
    return _with_quadrics(cloud, sample, estimate(cloud, sample, wider))


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


def _first_width(cloud: WeightedCloud) -> float:
    """The narrowest bandwidth at which neighbourhoods are flat."""
    sample = cloud.sample(FIRST_SAMPLE)
    width = 0.1 * cloud.size / np.sqrt(cloud.n_points)
    while True:
        fit = cloud.fit(sample, width, rounds=tuning.RIDGE_STEPS)
        effective, ratio = _flatness(fit)
        if effective >= tuning.LEAST_NEIGHBOURS and ratio < tuning.SHEET_FLATNESS:
            return float(width)
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
    seen = estimate(cloud, cloud.sample(SAMPLE), window)
    return Pilot(seen.noise, seen.spacing, window / factor)


def estimate(cloud: WeightedCloud, points: FloatArray, width: float) -> Pilot:
    """Noise, spacing and bandwidth from ``points`` [n, 3] projected to the ridge at one bandwidth ``width``."""
    fit = cloud.fit(points, width, rounds=tuning.RIDGE_STEPS)
    fit = fit.take(np.flatnonzero((fit.mass > 0.0) & np.isfinite(fit.points).all(axis=1)))
    third = np.clip(fit.eigenvalues[:, 2] - curvature_variance(fit), 0.0, 0.9 * width**2)
    noise = np.sqrt(third * width**2 / (width**2 - third))
    sigma, two = noise_of_sheets(cloud, fit, float(np.median(noise)))
    density = fit.mass * np.sqrt(1.0 + (noise / width) ** 2) / (2.0 * np.pi * width**2) / np.where(two, 2.0, 1.0)
    found, spacing = float(np.median(np.where(two, sigma, noise))), float(np.median(density) ** -0.5)
    return Pilot(found, spacing, bandwidth_of(found, spacing))


def _flatness(fit: LocalFit) -> tuple[float, float]:
    """Typical number of effective neighbours, and λ_3/λ_2 without the variance of curvature; infinite for a curve."""
    effective = fit.n_effective
    if not effective.any():
        return 0.0, np.inf
    first, second = np.median(fit.eigenvalues[effective > 0.0, :2], axis=0)
    third = np.median((fit.eigenvalues[:, 2] - curvature_variance(fit))[effective > 0.0])
    return float(np.median(effective)), float(third / second) if second > tuning.SHEET_FLATNESS * first else np.inf


def _not_a_surface(fit: LocalFit) -> str:
    first, second, third = np.median(fit.eigenvalues, axis=0) / max(float(np.median(fit.eigenvalues[:, 0])), 1e-300)
    shape = "a curve" if second < tuning.SHEET_FLATNESS else "a solid body, or noise as large as the object"
    return (
        f"points must lie around a surface; they resemble {shape}: the variances of a typical neighbourhood are as "
        f"{first:.0f} : {second:.2g} : {third:.2g} (a surface has 1 : 1 : 0). Pass the points of a surface, or a "
        "bandwidth at which they resemble one."
    )
