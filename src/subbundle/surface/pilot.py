"""First look at a cloud: how noisy it is, how dense, and what bandwidth suits it.

A few hundred observations are carried to the ridge at growing bandwidths until the cloud looks like a surface around
them: λ_3 well below λ_2. There, with λ_3 = σ² a²/(a² + σ²) for noise σ around a plane and kernel mass
2π a² ρ / √(1 + σ²/a²) for density ρ,

    σ² = λ_3 a² / (a² − λ_3),      ρ = Σw √(1 + σ²/a²) / (2π a²),      spacing ρ^(−1/2).

On thin tubes λ_3 also holds what bends away, so σ is looked at once more in the residuals of robust quadrics; the
lower value counts. The bandwidth must be wider than the noise, or neighbours are not neighbours on the surface, and
wider than the spacing, or there are none: a = max(1.8 σ, 1.5 spacing).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from subbundle._types import FloatArray
from subbundle.surface.local import LocalFit, WeightedCloud

FEW, _MANY = 300, 2000
_GROWTH = 1.25
# Effective neighbours from which on eigenvalues say something, and λ_3/λ_2 at which a surface is seen.
_LEAST_NEIGHBOURS, _FLAT = 16.0, 0.34
# The same where a ratio that rises again shows that there is a second sheet: by how much, and from how many neighbours
# on a ratio can be trusted not to rise by itself.
_MANY_NEIGHBOURS, _ALMOST_FLAT, _RISEN = 30.0, 0.45, 1.15
_WIDEST = 0.15
_NOISE_WIDTHS, SPACINGS = 1.8, 1.5
WIDER, _DOUBTFUL = 1.3, 1.6
# Quadrics: narrowest window and cut in noise levels, how often the cut follows the noise, the weight that six terms
# take from Σ w in a Gaussian window, and the part of the variance that the biweight leaves of Gaussian noise.
NARROW, CUT, _CUTS, FREEDOM = 1.2, 4.0, 3, 1.5
_T = np.linspace(-CUT, CUT, 401)
_W = np.exp(-0.5 * _T**2) * (1.0 - (_T / CUT) ** 2) ** 2
_KEPT = float(np.sum(_W * _T**2) / np.sum(_W))
# λ_2/λ_1 below which the neighbourhoods are those of a curve.
_THIN = 0.25


@dataclass(frozen=True, slots=True)
class Pilot:
    """Noise σ, spacing of the observations on the surface, and the bandwidth that follows (all lengths).

    ``both`` is the bandwidth at which two sides of a wall look like one sheet, where all windows see both (`sheets`).
    """

    noise: float
    spacing: float
    bandwidth: float
    both: float = 0.0

    def of_more_points(self, ratio: float, *, rescale: bool) -> Pilot:
        """The same for a cloud ``ratio`` times as dense; with ``rescale`` the bandwidth follows."""
        spacing = float(self.spacing / np.sqrt(ratio))
        wanted = bandwidth_of(self.noise, spacing) if rescale else self.bandwidth
        return replace(self, spacing=spacing, bandwidth=wanted)


def bandwidth_of(noise: float, spacing: float) -> float:
    """The bandwidth that suits noise and spacing."""
    return max(_NOISE_WIDTHS * noise, SPACINGS * spacing)


def look(cloud: WeightedCloud) -> Pilot:
    """Estimate noise, spacing and bandwidth of ``cloud``, or raise when it does not lie around a surface."""
    width = _first_width(cloud)
    sample = cloud.sample(_MANY)
    near = estimate(cloud.fit(sample, width, rounds=3), width)
    width = WIDER * near.bandwidth
    wide = estimate(cloud.fit(sample, width, rounds=3), width)
    # More neighbours give better numbers, but what looks far noisier from further away is a second sheet.
    doubtful = wide.noise > _DOUBTFUL * max(near.noise, near.spacing / _DOUBTFUL**2)
    return _with_quadrics(cloud, sample, near if doubtful else wide)


def _with_quadrics(cloud: WeightedCloud, sample: FloatArray, seen: Pilot) -> Pilot:
    """``seen`` with the noise that the residuals of robust quadrics tell, where it is lower."""
    noise = seen.noise
    for _ in range(_CUTS):
        width = max(SPACINGS * seen.spacing, NARROW * noise)
        start = cloud.fit(sample, WIDER * width, rounds=3)
        fit = cloud.quadric(start.points, start.normals, width, CUT * noise, rounds=3)
        known = np.isfinite(fit.gain) & (start.mass > 0.0) & (fit.mass > 2.0 * FREEDOM)
        if known.sum() < 0.5 * len(sample):
            return seen
        variances = fit.residual[known] * fit.mass[known] / (fit.mass[known] - FREEDOM)
        noise = min(float(np.sqrt(np.median(variances) / _KEPT)), noise)
    return Pilot(noise, seen.spacing, bandwidth_of(noise, seen.spacing))


def _first_width(cloud: WeightedCloud) -> float:
    """The narrowest bandwidth at which the cloud looks flat.

    Near a second sheet λ_3/λ_2 falls and rises again without ever being small; then its lowest value counts.
    """
    sample = cloud.sample(FEW)
    width = 0.1 * cloud.size / np.sqrt(cloud.n_points)
    lowest, lowest_at = _ALMOST_FLAT, 0.0
    while True:
        fit = cloud.fit(sample, width, rounds=3)
        effective, ratio = _flatness(fit)
        if effective >= _LEAST_NEIGHBOURS and ratio < _FLAT:
            return float(width)
        if effective >= _MANY_NEIGHBOURS and ratio < lowest:
            lowest, lowest_at = ratio, width
        if lowest_at > 0.0 and ratio > _RISEN * lowest:
            return float(lowest_at)
        width *= _GROWTH
        if width > _WIDEST * cloud.size:
            raise ValueError(_why_not(fit))


def look_at(cloud: WeightedCloud, window: float, factor: float) -> Pilot:
    """Noise and spacing seen with a given ``window``, which is ``factor`` times the bandwidth of the result."""
    fit = cloud.fit(cloud.sample(_MANY), window, rounds=3)
    effective = np.median(fit.n_effective)
    if effective < 4.0:
        raise ValueError(
            f"bandwidth must reach a few neighbours; with {window:.3g} a typical point has {effective:.1f}. "
            "Pass a larger one, or 'auto'."
        )
    if not np.median(fit.eigenvalues[:, 2]) < 0.5 * np.median(fit.eigenvalues[:, 1]):
        raise ValueError(f"{_why_not(fit)} The bandwidth was {window:.3g}.")
    seen = estimate(fit, window)
    return Pilot(seen.noise, seen.spacing, window / factor)


def estimate(fit: LocalFit, width: float) -> Pilot:
    """Noise, spacing and bandwidth from points carried to the ridge at one bandwidth ``width``."""
    seen = fit.mass > 0.0
    third = np.clip(fit.eigenvalues[seen, 2] - _bending(fit)[seen], 0.0, 0.9 * width**2)
    noise = float(np.sqrt(np.median(third * width**2 / (width**2 - third))))
    density = float(np.median(fit.mass[seen])) * np.sqrt(1.0 + (noise / width) ** 2) / (2.0 * np.pi * width**2)
    spacing = float(density**-0.5)
    return Pilot(noise, spacing, bandwidth_of(noise, spacing))


def _bending(fit: LocalFit) -> FloatArray:
    """Variance that a curved surface has across its tangent plane: ½ Σ_ij II_ij² λ_i λ_j for a Gaussian window."""
    first, second = fit.eigenvalues[:, 0], fit.eigenvalues[:, 1]
    form = fit.second_form**2
    bending: FloatArray = 0.5 * (form[:, 0] * first**2 + 2.0 * form[:, 1] * first * second + form[:, 2] * second**2)
    # Lone outliers have no second form.
    return np.nan_to_num(bending, nan=0.0)


def _flatness(fit: LocalFit) -> tuple[float, float]:
    """Typical number of effective neighbours, and λ_3/λ_2; infinite where λ_2 is that of a curve."""
    effective = fit.n_effective
    if not effective.any():
        return 0.0, np.inf
    first, second, third = np.median(fit.eigenvalues[effective > 0.0], axis=0)
    return float(np.median(effective)), float(third / second) if second > _THIN * first else np.inf


def _why_not(fit: LocalFit) -> str:
    first, second, third = np.median(fit.eigenvalues, axis=0) / max(float(np.median(fit.eigenvalues[:, 0])), 1e-300)
    shape = "a curve" if second < _THIN else "a solid body, or noise as large as the object"
    return (
        f"points must lie around a surface; they look like {shape}: the variances of a typical neighbourhood are as "
        f"{first:.0f} : {second:.2g} : {third:.2g} (a surface has 1 : 1 : 0). Pass the points of a surface, or a "
        "bandwidth at which they look like one."
    )
