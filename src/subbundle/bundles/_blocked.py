"""Evaluator for up to `BLOCK_DIM` dimensions: hands rows to the compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._parallel import run_rows
from subbundle._types import FloatArray, StatusArray
from subbundle.bundles._pointwise import field_batch, frame_batch, mass_batch
from subbundle.cloud import Cloud
from subbundle.kernels import GAUSSIAN
from subbundle.local.settings import ALL, COMMON, RECENTRED, Settings


class Blocked:
    """Frame, field and mass at points in the cloud's centred coordinates."""

    def __init__(self, cloud: Cloud, n_jobs: int) -> None:
        self._tree, self._n_jobs = cloud.tree, n_jobs

    def field(
        self, settings: Settings, points: FloatArray, covectors: FloatArray
    ) -> tuple[FloatArray, FloatArray, StatusArray]:
        """Velocity, force [batch, d] and status [batch]."""
        velocity, force = np.full((2, *points.shape), np.nan)
        status = np.empty(len(points), np.int8)
        self._run(field_batch, settings, (points, covectors, velocity, force, status))
        return velocity, force, status

    def frame(
        self, settings: Settings, points: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, StatusArray]:
        """Eigenvalues [batch, d], eigenvectors [batch, d, d], means [batch, d], relative log masses [batch], status."""
        values, mean = np.full((2, *points.shape), np.nan)
        vectors = np.full((*points.shape, points.shape[1]), np.nan)
        log_mass, status = np.empty(len(points)), np.empty(len(points), np.int8)
        self._run(frame_batch, settings, (points, values, vectors, mean, log_mass, status))
        return values, vectors, mean, log_mass, status

    def mass(self, settings: Settings, points: FloatArray, apart: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Local means [batch, d], log masses [batch] and effective numbers of neighbours [batch]."""
        mean, (log_mass, effective) = np.empty_like(points), np.empty((2, len(points)))
        self._run(mass_batch, settings, (points, mean, log_mass, effective), apart)
        return mean, log_mass, effective

    def _run(self, kernel: Any, settings: Settings, arrays: tuple[Any, ...], *more: float) -> None:
        compact = self._tree[0].shape[1] == 3 and settings.kernel != GAUSSIAN
        one_pass = not len(settings.widths[2]) and settings.centering != RECENTRED
        cases = COMMON if compact and one_pass else ALL

        def work(i: int, j: int) -> None:
            kernel(self._tree, settings.numbers, cases, *more, *(array[i:j] for array in arrays))

        run_rows(work, len(arrays[0]), self._n_jobs, calls_blas=False)
