"""Frame, field and mass of a principal subbundle: the local model of order 0, and the force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from subbundle._parallel import run_rows
from subbundle._types import FloatArray, StatusArray
from subbundle.bundles._dense import DenseField
from subbundle.bundles.hamiltonian import field_batch
from subbundle.cloud import Cloud
from subbundle.local.deviations import EFFECTIVE, LOG_MASS
from subbundle.local.local_pca import local_pca, mean_shift
from subbundle.local.settings import LOCAL, Settings, absolute


class Evaluator:
    """Frame, field and mass at points in the cloud's centred coordinates."""

    def __init__(self, cloud: Cloud, n_jobs: int) -> None:
        self._cloud, self._n_jobs = cloud, n_jobs

    def field(
        self, settings: Settings, points: FloatArray, covectors: FloatArray
    ) -> tuple[FloatArray, FloatArray, StatusArray]:
        """Velocity, force [batch, d] and status [batch]."""
        velocity, force = np.full((2, *points.shape), np.nan)
        status, cloud = np.empty(len(points), np.int8), self._cloud
        if cloud.rows.size:
            evaluator = DenseField(cloud, settings)

            def work(i: int, j: int) -> None:
                with np.errstate(over="ignore", invalid="ignore"):  # the caller checks for overflow
                    for b in range(i, j):
                        status[b] = evaluator.at(points[b], covectors[b], velocity[b], force[b])

        else:
            cases, tree, numbers = settings.cases(points.shape[1]), cloud.tree, settings.numbers

            def work(i: int, j: int) -> None:
                field_batch(tree, numbers, cases, points[i:j], covectors[i:j], velocity[i:j], force[i:j], status[i:j])

        run_rows(work, len(points), self._n_jobs, calls_blas=bool(cloud.rows.size))
        return velocity, force, status

    def frame(
        self, settings: Settings, points: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, StatusArray]:
        """Eigenvalues [batch, d], eigenvectors [batch, d, k or more], means [batch, d], relative log masses [batch],
        status [batch]."""
        out = local_pca(self._cloud, points, settings, np.empty(0), -1.0, self._n_jobs)
        return out.values, out.basis, out.means, out.numbers[:, LOG_MASS], out.status

    def mass(self, settings: Settings, points: FloatArray, apart: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Local means [batch, d], log masses [batch] and effective numbers of neighbours [batch]."""
        settings = replace(settings, widths=absolute(settings.widths), centering=LOCAL)
        out = mean_shift(self._cloud, points, settings, apart, self._n_jobs)
        return out.means, out.numbers[:, LOG_MASS], np.nan_to_num(out.numbers[:, EFFECTIVE])
