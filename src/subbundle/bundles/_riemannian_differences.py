"""Evaluator for any space: frames from its log, exp and transport; the force by central differences of H.

    dH[W] = ( H(exp_x(εW), η) − H(exp_x(−εW), η) ) / 2ε,        force = −Σ_W dH[W] W,

over a Euclidean-orthonormal basis W of the tangent space and, for a quotient, of the directions along the orbit. The
2 (dim + m) points of the differences have the same observations in reach, so all their logs are one broadcast call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from subbundle._numbers import DIFFERENCE, SINGULAR
from subbundle._parallel import run_rows
from subbundle._types import BoolArray, FloatArray, Status, StatusArray
from subbundle.bundles._riemannian_sums import tangent_moments
from subbundle.kernels import gaussian_reach
from subbundle.local.logs import GROUP_SIZE
from subbundle.local.settings import LOCAL, RECENTRED, Settings
from subbundle.spaces.base import Space
from subbundle.spaces.linalg import eigh
from subbundle.spaces.rows import (
    dist_rows,
    exp_rows,
    flattened,
    log_rows,
    orthonormal_bases,
    shaped,
    tangent_rows,
    transport_rows,
    vertical_rows,
)


@dataclass(frozen=True, slots=True)
class Local:
    """Subspaces and kernel masses at a batch of points, as flat arrays.

    Attributes
    ----------
    values : [batch, dim N]
        Eigenvalues of the second moment, descending.
    vectors, duals : [batch, rank, D]
        The frame f_i, orthonormal for h, and h f_i.
    mean : [batch, D]
        m(p) = exp_p(Σ w_n log_p x_n).
    log_mass, effective : [batch]
        log Σ φ_n at the point, and the effective number of neighbours (Σ φ_n)²/Σ φ_n².
    status : [batch]
    """

    values: FloatArray
    vectors: FloatArray
    duals: FloatArray
    mean: FloatArray
    log_mass: FloatArray
    effective: FloatArray
    status: StatusArray


@dataclass(frozen=True, slots=True)
class _InReach:
    """Observations [n, D + 1] that may have a weight at some points, and at the means of these points."""

    here: FloatArray
    at_mean: FloatArray


class Differences:
    """Frames and fields of observations [N, D + 1], weights last, on a space known only through its protocol."""

    def __init__(self, space: Space, observations: FloatArray, n_jobs: int) -> None:
        self._space = space
        self._observations = observations
        self._n_jobs = n_jobs

    def frame(self, settings: Settings, points: FloatArray, apart: float = -1.0) -> Local:
        """Subspaces at points of N [batch, D]; observations with distance²/a² up to ``apart`` have no weight there."""
        found: dict[int, Local] = {}
        whole = _InReach(self._observations, self._observations)

        def work(start: int, stop: int) -> None:
            found[start] = self._local(settings, points[start:stop], whole, apart)

        run_rows(work, len(points), self._n_jobs)
        return _concatenate([found[start] for start in sorted(found)])

    def field(
        self, settings: Settings, points: FloatArray, covectors: FloatArray
    ) -> tuple[FloatArray, FloatArray, StatusArray]:
        """Velocity [batch, D], force [batch, D] and status [batch] at points of N and ``covectors`` [batch, D]."""
        velocity, force = np.full((2, *points.shape), np.nan)
        status = np.empty(len(points), np.int8)
        size = max(1, GROUP_SIZE // ((1 + 2 * self._space.dim) * self._observations.size))

        def work(start: int, stop: int) -> None:
            for first in range(start, stop, size):
                rows = slice(first, min(first + size, stop))
                x, near = points[rows], self._in_reach(settings, points[rows])
                here = self._local(settings, x, near)
                status[rows] = here.status
                good = np.flatnonzero(here.status == Status.OK)
                if good.size:
                    which = np.arange(rows.start, rows.stop)[good]
                    speeds = np.einsum("bkd,bd->bk", here.vectors[good], covectors[which])
                    velocity[which] = np.einsum("bkd,bk->bd", here.vectors[good], speeds)
                    force[which] = -self._gradient(settings, x[good], covectors[which], near)

        run_rows(work, len(points), self._n_jobs)
        status[(status == Status.OK) & ~np.isfinite(force).all(axis=1)] = Status.NOT_FINITE
        return velocity, force, status

    def _in_reach(self, settings: Settings, points: FloatArray) -> _InReach:
        """Observations in reach of at least one of ``points``; others, without weight, would change no bit.

        If the mean is ρ away and the nearest observation d, an observation in reach of the mean is by the triangle
        inequality at most √((d + ρ)² + reach a²) + ρ away.
        """
        distance = dist_rows(self._space, points[:, None], self._observations[None, :, :-1])
        nearest = distance.min(axis=1)
        reach = settings.bandwidth * np.sqrt(gaussian_reach(self._space.dim))
        margin = 10.0 * DIFFERENCE * settings.bandwidth
        here = self._observations[(distance <= (np.hypot(nearest, reach) + margin)[:, None]).any(axis=0)]
        if settings.centering != RECENTRED:
            return _InReach(here, here)
        covectors = orthonormal_bases(self._space, points).covectors
        mean = _moments(settings, self._logs(points, here), here, covectors)[0]
        rho = np.sqrt(np.einsum("ba,ba->b", mean, mean)) + margin
        limit = np.hypot(nearest + rho, reach) + rho
        return _InReach(here, self._observations[(distance <= limit[:, None]).any(axis=0)])

    def _local(self, settings: Settings, points: FloatArray, near: _InReach, apart: float = -1.0) -> Local:
        """Subspaces at points of N, in chunks that bound the memory for the logs."""
        widest = max(len(near.here), len(near.at_mean), 1) * self._space.ambient_dim
        size = max(1, GROUP_SIZE // widest)
        chunks = (points[first : first + size] for first in range(0, len(points), size))
        return _concatenate([self._chunk(settings, chunk, near, apart) for chunk in chunks])

    def _chunk(self, settings: Settings, points: FloatArray, near: _InReach, apart: float) -> Local:
        space, centre = self._space, points
        bases = orthonormal_bases(space, points)
        logs = self._logs(points, near.here)
        first, second, log_mass, effective = _moments(settings, logs, near.here, bases.covectors, apart)
        cut = self._cut(settings, points, near.here, logs)
        mean = exp_rows(space, points, np.einsum("ba,bad->bd", first, bases.vectors))
        if settings.centering == RECENTRED:
            centre, bases = mean, orthonormal_bases(space, mean)
            logs = self._logs(centre, near.at_mean)
            _, second, _, _ = _moments(settings, logs, near.at_mean, bases.covectors)
            cut |= self._cut(settings, centre, near.at_mean, logs)
        values, eigenvectors = eigh(second)
        values, eigenvectors = np.maximum(values[:, ::-1], 0.0), eigenvectors[:, :, ::-1]
        top = np.ascontiguousarray(np.swapaxes(eigenvectors, 1, 2)[:, : settings.rank])
        vectors = np.einsum("bka,bad->bkd", top, bases.vectors)
        if settings.centering == RECENTRED:
            vectors = transport_rows(space, vectors, centre[:, None], points[:, None])
        duals = flattened(space, space.flat(shaped(space, vectors), shaped(space, points)[:, None]))
        cut |= ~np.isfinite(duals).all(axis=(1, 2))
        return Local(values, vectors, duals, mean, log_mass, effective, _statuses(settings, values, log_mass, cut))

    def _gradient(self, settings: Settings, points: FloatArray, covectors: FloatArray, near: _InReach) -> FloatArray:
        """Σ dH[W] W, [batch, D]."""
        space = self._space
        horizontal, vertical = tangent_rows(space, points), vertical_rows(space, points)
        x = shaped(space, points)[:, None]
        size = space.inner_product(shaped(space, horizontal), shaped(space, horizontal), x)
        length = np.concatenate([np.sqrt(size), np.ones(vertical.shape[:2])], axis=1)
        directions = np.concatenate([horizontal, vertical], axis=1)
        spacing = DIFFERENCE * settings.bandwidth / length
        steps = spacing[:, :, None] * directions
        both = np.stack([steps, -steps], axis=1)
        neighbours = exp_rows(space, points[:, None, None], both)
        energy = self._energy(settings, neighbours, np.broadcast_to(covectors[:, None, None], both.shape), near)
        slope = (energy[:, 0] - energy[:, 1]) / (2.0 * spacing)
        return np.asarray(np.einsum("bw,bwd->bd", slope, directions))

    def _energy(self, settings: Settings, points: FloatArray, covectors: FloatArray, near: _InReach) -> FloatArray:
        """H [...] at points of N and covectors [..., D]; in full rank no observation is needed for it."""
        flat, forms = points.reshape(-1, points.shape[-1]), covectors.reshape(-1, points.shape[-1])
        if settings.rank == self._space.dim:
            vectors = orthonormal_bases(self._space, flat).vectors
        else:
            vectors = self._local(settings, flat, near).vectors
        speeds = np.einsum("bkd,bd->bk", vectors, forms)
        return np.asarray(0.5 * np.einsum("bk,bk->b", speeds, speeds).reshape(points.shape[:-1]))

    def _logs(self, points: FloatArray, observations: FloatArray) -> FloatArray:
        """log_p(x_n) as [batch, n, D]."""
        return log_rows(self._space, points[:, None], observations[None, :, :-1])

    def _cut(self, settings: Settings, points: FloatArray, observations: FloatArray, logs: FloatArray) -> BoolArray:
        """Whether an observation in reach of each point has no log there."""
        undefined = np.isnan(logs).any(axis=2)
        if not undefined.any():
            return np.zeros(len(points), bool)
        distance = dist_rows(self._space, points[:, None], observations[None, :, :-1])
        reach = settings.bandwidth * np.sqrt(gaussian_reach(self._space.dim))
        limit = np.hypot(distance.min(axis=1), reach)
        return np.asarray((undefined & (distance < limit[:, None])).any(axis=1))


def _moments(
    settings: Settings, logs: FloatArray, observations: FloatArray, covectors: FloatArray, apart: float = -1.0
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Mean log, second moment, log mass and effective neighbours; see `tangent_moments`."""
    rows, dim = covectors.shape[:2]
    mean, second = np.empty((rows, dim)), np.empty((rows, dim, dim))
    log_mass, effective = np.empty((2, rows))
    centred = settings.centering == LOCAL
    own = np.ascontiguousarray(observations[:, -1])
    tangent_moments(logs, own, covectors, settings.bandwidth, apart, centred, mean, second, log_mass, effective)
    return mean, second, log_mass, effective


def _concatenate(parts: Sequence[Local]) -> Local:
    """One record from several."""
    if len(parts) == 1:
        return parts[0]
    return Local(*(np.concatenate([getattr(part, entry.name) for part in parts]) for entry in fields(Local)))


def _statuses(settings: Settings, values: FloatArray, log_mass: FloatArray, cut: BoolArray) -> StatusArray:
    """Status [batch]: off the support, at the cut locus of an observation in reach, or with a closed gap.

    In full rank the subspace is the tangent space, whatever the eigenvalues.
    """
    status = np.zeros(len(values), np.int8)
    rank = settings.rank
    if rank < values.shape[1]:
        gap = values[:, rank - 1] - values[:, rank]
        is_open = (gap > settings.min_gap * values[:, rank - 1]) & (gap > SINGULAR * values[:, 0])
        status[~is_open] = Status.GAP_CLOSED
    status[cut] = Status.NOT_FINITE
    status[~(log_mass > settings.log_floor)] = Status.LEFT_SUPPORT
    return status
