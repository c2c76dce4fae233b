"""Evaluator for up to `BLOCK_DIM` dimensions: hands rows to the compiled kernels."""

from __future__ import annotations

import numpy as np

from subbundle._parallel import run_rows
from subbundle._types import FloatArray, StatusArray
from subbundle.bundles import _pointwise
from subbundle.cloud import Cloud
from subbundle.kernels import GAUSSIAN
from subbundle.local.settings import ALL, COMMON, RECENTRED, Cases, Settings


class Blocked:
    """Frame, field and mass at points in the cloud's centred coordinates."""

    def __init__(self, cloud: Cloud, n_jobs: int) -> None:
        self._tree = cloud.tree
        self._n_jobs = n_jobs

    def _cases(self, settings: Settings) -> Cases:
        """What the kernels of `_pointwise` are compiled for."""
        compact = self._tree[0].shape[1] == 3 and settings.kernel != GAUSSIAN
        one_pass = not len(settings.widths[2]) and settings.centering != RECENTRED
        return COMMON if compact and one_pass else ALL

    def field(
        self, settings: Settings, points: FloatArray, covectors: FloatArray
    ) -> tuple[FloatArray, FloatArray, StatusArray]:
        """Velocity, force [batch, d] and status [batch]."""
        velocity, force = np.full_like(points, np.nan), np.full_like(points, np.nan)
        status = np.empty(points.shape[0], np.int8)
        s = settings

        def work(i: int, j: int) -> None:
            _pointwise.field_batch(
                self._tree, s.widths, s.kernel, s.reach, s.centering, self._cases(s), s.rank, s.log_share, s.min_gap,
                points[i:j], covectors[i:j], velocity[i:j], force[i:j], status[i:j],
            )  # fmt: skip

        run_rows(work, points.shape[0], self._n_jobs, calls_blas=False)
        return velocity, force, status

    def frame(
        self, settings: Settings, points: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, StatusArray]:
        """Eigenvalues [batch, d], eigenvectors [batch, d, d], means [batch, d], relative log masses [batch], status."""
        n_rows, dim = points.shape
        values, mean = np.full((n_rows, dim), np.nan), np.full((n_rows, dim), np.nan)
        vectors = np.full((n_rows, dim, dim), np.nan)
        log_mass, status = np.empty(n_rows), np.empty(n_rows, np.int8)
        s = settings

        def work(i: int, j: int) -> None:
            _pointwise.frame_batch(
                self._tree, s.widths, s.kernel, s.reach, s.centering, self._cases(s), s.rank, s.log_share, s.min_gap,
                points[i:j], values[i:j], vectors[i:j], mean[i:j], log_mass[i:j], status[i:j],
            )  # fmt: skip

        run_rows(work, n_rows, self._n_jobs, calls_blas=False)
        return values, vectors, mean, log_mass, status

    def mass(self, settings: Settings, points: FloatArray, apart: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Local means [batch, d], log masses [batch] and effective numbers of neighbours [batch]."""
        mean = np.empty_like(points)
        log_mass, effective = np.empty(points.shape[0]), np.empty(points.shape[0])
        s = settings

        def work(i: int, j: int) -> None:
            _pointwise.mass_batch(
                self._tree, s.widths, s.kernel, s.reach, apart, self._cases(s), points[i:j], mean[i:j],
                log_mass[i:j], effective[i:j],
            )  # fmt: skip

        run_rows(work, points.shape[0], self._n_jobs, calls_blas=False)
        return mean, log_mass, effective
