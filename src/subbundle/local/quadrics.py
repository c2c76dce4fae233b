"""Local quadratic fits to a cloud, many at a time: points carried to the middle of the cloud, with tangent spaces and
second fundamental forms there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray, Status, StatusArray
from subbundle.cloud import Cloud
from subbundle.local.model import fit_local

# Bandwidths here were chosen for weights (1 − t/12)⁶, which see as much as a Gaussian √(6/7) as wide.
GAUSSIAN_WIDTH = 0.9258


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
        model = fit_local(
            self.cloud, points, GAUSSIAN_WIDTH * bandwidth, self.rank, steps=steps, tol=tol / GAUSSIAN_WIDTH,
            without_self=without_self, errors="none", n_jobs=self._jobs,
        )  # fmt: skip
        few = (model.status != Status.OK) & (model.status != Status.NOT_CONVERGED)
        codimension = max(self.cloud.dim - self.rank, 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            gaps = model.eigenvalues[:, self.rank] / model.eigenvalues[:, self.rank - 1]
        return Quadrics(
            points=np.where(few[:, None], points, model.points),
            frames=np.where(few[:, None, None], 0.0, model.tangents),
            forms=np.where(few[:, None, None], 0.0, model.forms),
            gaps=np.where(few, 1.0, gaps),
            effective=np.where(few, 0.0, model.n_effective),
            noise=np.where(few, 0.0, model.residual / codimension),
            status=np.where(few, Status.LEFT_SUPPORT, Status.OK).astype(np.int8),
        )
