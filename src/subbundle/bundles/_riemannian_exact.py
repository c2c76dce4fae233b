"""The bundle on spaces of constant curvature κ = 1, 0, −1 (spheres, R^d, hyperbolic spaces): in closed form.

Points come with orthonormal bases of their tangent spaces; results of kernels are coordinates in these. The formulas
are in `_riemannian_geometry`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._compiled import kernel
from subbundle._parallel import run_rows
from subbundle._types import FloatArray, Status, StatusArray
from subbundle.bundles._riemannian_differences import Local
from subbundle.bundles._riemannian_geometry import (
    moment_gradient,
    product,
    pull_back_from_mean,
    scratch_for,
    transport_to_mean,
    weigh,
)
from subbundle.bundles._riemannian_sums import mean_log, second_moment
from subbundle.bundles.hamiltonian import velocity_and_matrix
from subbundle.local.moments import eigh
from subbundle.local.moments import log_mass as log_mass_of
from subbundle.local.settings import ALL, LOCAL, RECENTRED, Settings, gap_status, mass_status
from subbundle.spaces import Euclidean, Hyperbolic, Sphere
from subbundle.spaces.base import Space
from subbundle.spaces.rows import exp_rows, orthonormal_bases

_CUT = int(Status.NOT_FINITE)


def curvature_of(space: Space) -> int | None:
    """κ of a space of constant curvature, None for the others."""
    known = {Sphere: 1, Euclidean: 0, Hyperbolic: -1}
    return next((value for kind, value in known.items() if isinstance(space, kind)), None)


class Exact:
    """Frames and fields of observations [N, D + 1] on a space of constant curvature; methods as in
    `Differences`."""

    def __init__(self, space: Space, curvature: int, observations: FloatArray, n_jobs: int) -> None:
        self._space = space
        self._curvature = curvature
        self._observations = np.ascontiguousarray(observations.T)
        self._n_jobs = n_jobs

    def frame(self, settings: Settings, points: FloatArray, apart: float = -1.0) -> Local:
        """Subspaces at points of N [batch, D]; see `Differences.frame`."""
        bases = orthonormal_bases(self._space, points)
        batch, dim = len(points), self._space.dim
        values, vectors, mean = np.empty((batch, dim)), np.empty((batch, dim, dim)), np.empty((batch, dim))
        (log_mass, effective), status = np.empty((2, batch)), np.empty(batch, np.int8)
        arrays = points, bases.vectors, values, vectors, mean, log_mass, effective, status
        self._run(frame_batch, (*_numbers(settings), apart), *arrays)
        top = np.ascontiguousarray(np.swapaxes(vectors, 1, 2)[:, : settings.rank])
        step = np.einsum("ba,bad->bd", mean, bases.vectors)
        return Local(
            values=values,
            vectors=np.einsum("bka,bad->bkd", top, bases.vectors),
            duals=np.einsum("bka,bad->bkd", top, bases.covectors),
            mean=exp_rows(self._space, points, step),
            log_mass=log_mass,
            effective=effective,
            status=status,
        )

    def field(
        self, settings: Settings, points: FloatArray, covectors: FloatArray
    ) -> tuple[FloatArray, FloatArray, StatusArray]:
        """Velocity [batch, D], force [batch, D] and status [batch] at points of N and ``covectors`` [batch, D]."""
        bases = orthonormal_bases(self._space, points)
        velocity, gradient = np.empty((2, len(points), self._space.dim))
        status = np.empty(len(points), np.int8)
        self._run(field_batch, _numbers(settings), points, bases.vectors, covectors, velocity, gradient, status)
        return (
            np.einsum("ba,bad->bd", velocity, bases.vectors),
            -np.einsum("ba,bad->bd", gradient, bases.covectors),
            status,
        )

    def _run(self, kernel: Any, numbers: Any, *arrays: Any) -> None:
        def work(start: int, stop: int) -> None:
            rows = (array[start:stop] for array in arrays)
            kernel(self._observations, self._curvature, numbers, *rows)

        run_rows(work, len(arrays[0]), self._n_jobs, calls_blas=False)


def _numbers(settings: Settings) -> tuple[float, int, int, float, float]:
    return settings.bandwidth, settings.centering, settings.rank, settings.log_floor, settings.min_gap


@kernel
def field_batch(observations, curvature, settings, points, bases, covectors, velocity, gradient, status):
    """Velocity and gradient of H.

    Parameters
    ----------
    observations : [D + 1, N]
        Their weights in the last row.
    settings : (bandwidth, centering, rank, log_floor, min_gap)
    points, covectors : [batch, D]
    bases : [batch, dim, D]
        Orthonormal bases of the tangent spaces.
    velocity, gradient : [batch, dim]
        Results, in these bases: P η and dH; NaN where ``status`` [batch] is not 0.
    """
    bandwidth, centering, rank, log_floor, min_gap = settings
    dim, ambient = bases.shape[1:]
    near, far = scratch_for(observations, dim), scratch_for(observations, dim)
    sigma, vectors, matrix = np.empty((dim, dim)), np.empty((dim, dim)), np.empty((dim, dim))
    values, mean, covector = np.empty(dim), np.empty(dim), np.empty(dim)
    centre, transported = np.empty(ambient), np.empty((dim, ambient))
    scale = 1.0 / (bandwidth * bandwidth)
    for b in range(points.shape[0]):
        for a in range(dim):
            velocity[b, a] = np.nan
            gradient[b, a] = np.nan
        count, nearest, lost = weigh(observations, curvature, points[b], bases[b], bandwidth, -1.0, near)
        mass, _ = mean_log(near[1], near[2], count, mean)
        status[b] = mass_status(log_mass_of(mass, nearest), log_floor)
        if status[b] != 0:
            continue
        there, n_there = near, count
        if centering == RECENTRED:
            transport_to_mean(points[b], bases[b], mean, curvature, centre, transported)
            n_there, _, lost_there = weigh(observations, curvature, centre, transported, bandwidth, -1.0, far)
            there, lost = far, lost or lost_there
        mass_there = second_moment(there[1], there[2], n_there, mean, centering == LOCAL, sigma)
        eigh(sigma, ALL, values, vectors)
        status[b] = _status(values, rank, min_gap, lost)
        if status[b] != 0:
            continue
        for a in range(dim):
            covector[a] = product(bases[b, a], covectors[b])
        velocity_and_matrix(values, vectors, covector, rank, velocity[b], matrix)
        moment_gradient(there, n_there, mass_there, scale, mean, centering == LOCAL, matrix, gradient[b])
        if centering == RECENTRED:
            pull_back_from_mean(near, count, mass, scale, mean, curvature, covector, velocity[b], gradient[b])
        # The frame turns with the tangent plane as p moves in R^D.
        normal = curvature * product(points[b], covectors[b])
        for a in range(dim):
            gradient[b, a] -= normal * velocity[b, a]


@kernel
def frame_batch(observations, curvature, settings, points, bases, values, vectors, mean, log_mass, effective, status):
    """Write eigenvalues [batch, dim], eigenvectors [batch, dim, dim] (columns), μ [batch, dim], log kernel masses and
    effective numbers of neighbours (Σφ)²/Σφ². The last of ``settings`` is ``apart``, as in `weigh`."""
    bandwidth, centering, rank, log_floor, min_gap, apart = settings
    dim, ambient = bases.shape[1:]
    scratch = scratch_for(observations, dim)
    sigma = np.empty((dim, dim))
    centre, transported = np.empty(ambient), np.empty((dim, ambient))
    for b in range(points.shape[0]):
        count, nearest, lost = weigh(observations, curvature, points[b], bases[b], bandwidth, apart, scratch)
        mass, squares = mean_log(scratch[1], scratch[2], count, mean[b])
        log_mass[b] = log_mass_of(mass, nearest)
        effective[b] = mass * mass / squares if squares > 0.0 else 0.0
        if centering == RECENTRED:
            transport_to_mean(points[b], bases[b], mean[b], curvature, centre, transported)
            count, _, lost_there = weigh(observations, curvature, centre, transported, bandwidth, -1.0, scratch)
            lost = lost or lost_there
        second_moment(scratch[1], scratch[2], count, mean[b], centering == LOCAL, sigma)
        eigh(sigma, ALL, values[b], vectors[b])
        status[b] = mass_status(log_mass[b], log_floor)
        if status[b] == 0:
            status[b] = _status(values[b], rank, min_gap, lost)


@kernel
def _status(values, rank, min_gap, lost):
    """In full rank the subspace is the tangent space, whatever the eigenvalues."""
    if lost:
        return _CUT
    return gap_status(values, rank, min_gap) if rank < values.size else 0
