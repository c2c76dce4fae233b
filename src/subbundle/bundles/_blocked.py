"""Evaluator for up to `BLOCK_DIM` dimensions: calls the compiled kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from subbundle._parallel import run_rows
from subbundle._types import FloatArray, StatusArray
from subbundle.bundles.hamiltonian import field_batch
from subbundle.cloud import Cloud
from subbundle.local.deviations import EFFECTIVE, LOG_MASS
from subbundle.local.model import local_pca
from subbundle.local.settings import LOCAL, Settings, absolute


class Blocked:
    """Frame, field and mass at points in the cloud's centred coordinates."""

    def __init__(self, cloud: Cloud, n_jobs: int) -> None:
        self._cloud, self._n_jobs = cloud, n_jobs

    def field(
        self, settings: Settings, points: FloatArray, covectors: FloatArray
    ) -> tuple[FloatArray, FloatArray, StatusArray]:
        """Velocity, force [batch, d] and status [batch]."""
        velocity, force = np.full((2, *points.shape), np.nan)
        status = np.empty(len(points), np.int8)
        cases, tree, numbers = settings.cases(points.shape[1]), self._cloud.tree, settings.numbers

        def work(i: int, j: int) -> None:
            field_batch(tree, numbers, cases, points[i:j], covectors[i:j], velocity[i:j], force[i:j], status[i:j])

        run_rows(work, len(points), self._n_jobs, calls_blas=False)
        return velocity, force, status

    def frame(
        self, settings: Settings, points: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, StatusArray]:
        """Eigenvalues [batch, d], eigenvectors [batch, d, d], means [batch, d], relative log masses [batch], status."""
        out = local_pca(self._cloud, points, settings, np.empty(0), -1.0, self._n_jobs)
        return out.values, out.basis, out.means, out.numbers[:, LOG_MASS], out.status

    def mass(self, settings: Settings, points: FloatArray, apart: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Local means [batch, d], log masses [batch] and effective numbers of neighbours [batch]."""
        settings = replace(settings, widths=absolute(settings.widths), centering=LOCAL)
        out = local_pca(self._cloud, points, settings, np.empty(0), apart, self._n_jobs)
        return out.means, out.numbers[:, LOG_MASS], np.nan_to_num(out.numbers[:, EFFECTIVE])
