"""Local quadratic fits to a cloud, many at a time: points carried to the middle of the cloud, with tangent spaces and
second fundamental forms there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._parallel import resolve_jobs, run_rows
from subbundle._types import FloatArray, StatusArray
from subbundle.cloud import Cloud
from subbundle.local._quadric_kernels import settle

# Every row costs a search and two passes over its neighbours, tens of microseconds.
_GRAIN = 64


@dataclass(frozen=True, slots=True)
class Quadrics:
    """Graphs of quadratic forms, x(τ) = p + F τ + ½ II(τ, τ), one per row.

    Attributes
    ----------
    points : [B, D]
        p, on the ridge corrected for curvature.
    frames : [B, D, k]
        F, orthonormal columns.
    forms : [B, k(k+1)/2, D]
        II(e_i, e_j) for i ≤ j, in the order (0,0), (0,1), …, (1,1), …
    gaps : [B]
        λ_{k+1} / λ_k: small where the neighbours have k directions.
    effective : [B]
        Effective number of neighbours.
    noise : [B]
        Mean square offset of the neighbours from the graph, per normal direction.
    status : [B]
        0, or LEFT_SUPPORT where too few neighbours were in reach; such rows keep their point.
    """

    points: FloatArray
    frames: FloatArray
    forms: FloatArray
    gaps: FloatArray
    effective: FloatArray
    noise: FloatArray
    status: StatusArray


class QuadricFitter:
    """Fits quadrics to a fixed cloud.

    Parameters
    ----------
    points : [N, D] or Cloud
    rank : int
        k < D.
    n_jobs : int or None
    """

    def __init__(self, points: FloatArray | Cloud, rank: int, *, n_jobs: int | None = None) -> None:
        self.cloud = points if isinstance(points, Cloud) else Cloud(points)
        self.rank = rank
        self._jobs = resolve_jobs(n_jobs)
        self.rows = np.ascontiguousarray(self.cloud.at(np.arange(self.cloud.n_points)))

    @property
    def observations(self) -> FloatArray:
        """The cloud [N, D] in the order of its tree, which does not depend on the order it was given in."""
        return self.rows + self.cloud.centre

    def fit(
        self, points: FloatArray, bandwidth: float, *, steps: int, tol: float = 1e-3, without_self: bool = False
    ) -> Quadrics:
        """Carry ``points`` [B, D] to rest in at most ``steps`` steps, those below ``tol`` bandwidths ending it.

        ``without_self`` leaves observations equal to the starting point out of the first step: in high dimension an
        observation stands alone on its own noise, and would stay there.
        """
        count, dim = points.shape
        k = self.rank
        moved = np.ascontiguousarray(points - self.cloud.centre)
        frames, forms = np.empty((count, dim, k)), np.empty((count, k * (k + 1) // 2, dim))
        gaps, effective, noise = np.empty(count), np.empty(count), np.empty(count)
        status = np.empty(count, np.int8)
        apart = 0.0 if without_self else -1.0

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            settle(
                self.rows, self.cloud.boxes, bandwidth, k, steps, tol, apart, moved[part], frames[part], forms[part],
                gaps[part], effective[part], noise[part], status[part],
            )  # fmt: skip

        run_rows(work, count, self._jobs, grain=_GRAIN, calls_blas=False)
        return Quadrics(moved + self.cloud.centre, frames, forms, gaps, effective, noise, status)
