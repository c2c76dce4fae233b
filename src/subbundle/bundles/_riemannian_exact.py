"""Evaluator for spheres, R^d and hyperbolic spaces: the compiled closed form of `_riemannian_constant`."""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._parallel import run_rows
from subbundle._types import FloatArray, StatusArray
from subbundle.bundles import _riemannian_constant as kernels
from subbundle.bundles._riemannian_local import Local
from subbundle.local.settings import Settings
from subbundle.spaces import Euclidean, Hyperbolic, Sphere
from subbundle.spaces.base import Space
from subbundle.spaces.rows import flattened, orthonormal_bases, shaped


def curvature_of(space: Space) -> int | None:
    """κ of a space whose closed form is known here, None for the others."""
    known = {Sphere: 1, Euclidean: 0, Hyperbolic: -1}
    return next((value for kind, value in known.items() if isinstance(space, kind)), None)


class Exact:
    """Frames, fields and masses of observations [N, D] on a space of constant curvature; methods as in
    `Differences`."""

    def __init__(self, space: Space, curvature: int, observations: FloatArray, n_jobs: int) -> None:
        self._space = space
        self._curvature = curvature
        self._observations = np.ascontiguousarray(observations.T)
        self._n_jobs = n_jobs

    def frame(self, settings: Settings, points: FloatArray) -> Local:
        """Subspaces at points of N [batch, D]."""
        bases = orthonormal_bases(self._space, points)
        batch, dim = len(points), self._space.dim
        values, vectors, mean = np.empty((batch, dim)), np.empty((batch, dim, dim)), np.empty((batch, dim))
        log_mass, status = np.empty(batch), np.empty(batch, np.int8)
        self._run(
            kernels.frame_batch, _numbers(settings), points, bases.vectors, values, vectors, mean, log_mass, status
        )
        top = np.ascontiguousarray(np.swapaxes(vectors, 1, 2)[:, : settings.rank])
        step = np.einsum("ba,bad->bd", mean, bases.vectors)
        return Local(
            values=values,
            vectors=np.einsum("bka,bad->bkd", top, bases.vectors),
            duals=np.einsum("bka,bad->bkd", top, bases.covectors),
            mean=flattened(self._space, self._space.exp(shaped(self._space, step), shaped(self._space, points))),
            log_mass=log_mass,
            status=status,
        )

    def field(
        self, settings: Settings, points: FloatArray, covectors: FloatArray
    ) -> tuple[FloatArray, FloatArray, StatusArray]:
        """Velocity [batch, D], force [batch, D] and status [batch] at points of N and ``covectors`` [batch, D]."""
        bases = orthonormal_bases(self._space, points)
        velocity, gradient = np.empty((2, len(points), self._space.dim))
        status = np.empty(len(points), np.int8)
        self._run(kernels.field_batch, _numbers(settings), points, bases.vectors, covectors, velocity, gradient, status)
        return (
            np.einsum("ba,bad->bd", velocity, bases.vectors),
            -np.einsum("ba,bad->bd", gradient, bases.covectors),
            status,
        )

    def mass(
        self, settings: Settings, points: FloatArray, apart: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, StatusArray]:
        """m(p), log masses, effective neighbours and status at points of N; see `Differences.mass`."""
        bases = orthonormal_bases(self._space, points)
        mean, (log_mass, effective) = np.empty((len(points), self._space.dim)), np.empty((2, len(points)))
        status = np.empty(len(points), np.int8)
        arrays = (points, bases.vectors, mean, log_mass, effective, status)
        self._run(kernels.mass_batch, settings.bandwidth, *arrays, apart=apart)
        step = np.einsum("ba,bad->bd", mean, bases.vectors)
        return self._space.exp(step, points), log_mass, effective, status

    def _run(self, kernel: Any, numbers: Any, *arrays: Any, apart: float | None = None) -> None:
        extra = () if apart is None else (apart,)

        def work(start: int, stop: int) -> None:
            rows = (array[start:stop] for array in arrays)
            kernel(self._observations, self._curvature, numbers, *extra, *rows)

        run_rows(work, len(arrays[0]), self._n_jobs, calls_blas=False)


def _numbers(settings: Settings) -> tuple[float, int, int, float, float]:
    return settings.bandwidth, settings.centering, settings.rank, settings.log_floor, settings.min_gap
