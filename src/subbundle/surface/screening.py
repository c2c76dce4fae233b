"""A smooth correction that brings an implicit function to zero at the seeds.

Given χ₀ on a grid, seeds x_i and areas A_i (in cells), the function d with

    ∫ |∇d|² + α Σ_i A_i (χ₀ + d)²(x_i)    least

is added to χ₀ (screening, as in screened Poisson reconstruction). d is smooth and solved for on a grid twice as coarse;
the normal equations −Δd + α Σ A_i δ_i δ_iᵀ d = −α Σ A_i χ₀(x_i) δ_i are solved by conjugate gradients,
preconditioned by the same with the seeds spread evenly, which is diagonal in Fourier space: ten to fifteen iterations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from subbundle._types import FloatArray
from subbundle.surface import tuning
from subbundle.surface._grid_kernels import add_refined, interpolate, laplacian, spread

# Residual, relative to the first, at which iterations end: the level is accurate to a hundredth of a cell; and a bound.
_RESIDUAL, _MOST_ROUNDS = 1e-2, 40

Field = NDArray[np.float32]


def screen(chi: Field, places: FloatArray, areas: FloatArray, n_jobs: int) -> None:
    """Add the correction d to ``chi`` [X, Y, Z], for seeds at ``places`` [n, 3] (in cells) with ``areas`` [n]."""
    values = np.empty(len(places))
    interpolate(chi, places, values)
    shape = tuple(int(fft.next_fast_len((n + 1) // 2 + 2, real=True)) for n in chi.shape)
    system = _System(np.ascontiguousarray(0.5 * places), 0.5 * tuning.SCREENING * areas, shape, n_jobs)
    right = np.zeros(shape, np.float32)
    spread(system.places, -system.weights * values, right)
    start = np.full(shape, -np.average(values, weights=areas), np.float32)
    add_refined(chi, _conjugate_gradients(system, right, start))


class _System:
    """The normal equations on the coarse grid and their preconditioner."""

    def __init__(self, places: FloatArray, weights: FloatArray, shape: tuple[int, ...], n_jobs: int) -> None:
        self.places, self.weights, self._shape, self._n_jobs = places, weights, shape, n_jobs
        waves = [fft.fftfreq(n) for n in shape[:2]] + [fft.rfftfreq(shape[2])]
        x, y, z = (2.0 - 2.0 * np.cos(2.0 * np.pi * wave) for wave in waves)
        even = float(weights.sum() / np.prod(shape))
        self._inverse = (1.0 / (x[:, None, None] + y[None, :, None] + z + even)).astype(np.float32)

    def apply(self, field: Field) -> Field:
        out = np.empty_like(field)
        laplacian(field, out)
        at = np.empty(len(self.places))
        interpolate(field, self.places, at)
        spread(self.places, at * self.weights, out)
        return out

    def precondition(self, field: Field) -> Field:
        spectrum = fft.rfftn(field, workers=self._n_jobs)
        spectrum *= self._inverse
        solved: Field = fft.irfftn(spectrum, s=self._shape, workers=self._n_jobs, overwrite_x=True)
        return solved.astype(np.float32, copy=False)


def _conjugate_gradients(system: _System, right: Field, x: Field) -> Field:
    residual = right - system.apply(x)
    towards = system.precondition(residual)
    direction, square = towards.copy(), float(np.vdot(residual, towards))
    target = _RESIDUAL**2 * square
    for _ in range(_MOST_ROUNDS):
        if square <= target:
            break
        image = system.apply(direction)
        step = np.float32(square / float(np.vdot(direction, image)))
        x += step * direction
        residual -= step * image
        towards = system.precondition(residual)
        before, square = square, float(np.vdot(residual, towards))
        direction = towards + np.float32(square / before) * direction
    return x
