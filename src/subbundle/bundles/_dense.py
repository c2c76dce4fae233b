"""Evaluator above `BLOCK_DIM` dimensions: rows for BLAS, leading eigenpairs instead of full decompositions.

Cost of one field with n neighbours: the weighted second moment, n d² by BLAS when n ≥ d, or nothing when n < d,
where it is only ever applied as ZᵀZ; a few products with it; and two passes over the neighbours. It grows with min(d,
n) and k.

With the rows z_n = √w_n y_n of Z the force is two products with Z as well: w_n q_n = Σ_i c_i (z_n·e_i)(z_n·u_i), and
Σ ψ_n q_n y_n / s = Zᵀ r with r_n = (ψ_n/φ_n) w_n q_n / √w_n.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from subbundle._parallel import run_rows
from subbundle._types import FloatArray, IntArray, Status, StatusArray
from subbundle.cloud import Cloud
from subbundle.cloud.build import GROUP
from subbundle.local.leading import TOLERANCE, decompose, leading, partners
from subbundle.local.rows import contract, fill_tile, first_moment, pull_back, weigh_rows
from subbundle.local.settings import LOCAL, NONE, RECENTRED, Settings, gap_status, mass_status, width_at, widths_batch
from subbundle.local.shifts import local_means

# Numbers of Z in memory at a time, 32 MB; up to there Z is computed once for the second moment and the force.
_TILE = 2**22


@dataclass(slots=True)
class _Neighbours:
    """Neighbours of one point: rows of the cloud, φ_n, ψ_n, Σφ_n, log of the absolute mass, m − p, and the squared
    distance that the weights are relative to."""

    places: IntArray
    phi: FloatArray
    psi: FloatArray
    mass: float
    log_mass: float
    shift: FloatArray
    nearest: float


class Dense:
    """Frame, field and mass at points in the cloud's centred coordinates."""

    def __init__(self, cloud: Cloud, rank: int, n_jobs: int) -> None:
        self._rows, self._boxes, self._corners, self._n_jobs = cloud.rows, cloud.boxes, cloud.corners, n_jobs
        width = min(rank + 3, cloud.dim)
        # Any fixed block in general position serves; the same one for every point keeps results reproducible.
        self._start = np.random.default_rng(0).standard_normal((width, cloud.dim))

    def field(
        self, settings: Settings, points: FloatArray, covectors: FloatArray
    ) -> tuple[FloatArray, FloatArray, StatusArray]:
        """Velocity, force [batch, d] and status [batch]."""
        velocity, force = np.full_like(points, np.nan), np.full_like(points, np.nan)
        status = np.empty(points.shape[0], np.int8)

        def work(start: int, stop: int) -> None:
            with np.errstate(over="ignore", invalid="ignore"):  # the caller checks for overflow
                for b in range(start, stop):
                    status[b] = self._field_at(settings, points[b], covectors[b], velocity[b], force[b])

        run_rows(work, points.shape[0], self._n_jobs)
        return velocity, force, status

    def frame(
        self, settings: Settings, points: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, StatusArray]:
        """Eigenvalues [batch, d], eigenvectors [batch, d, k], means [batch, d], relative log masses [batch], status."""
        n_rows, dim = points.shape
        values, mean = np.full((n_rows, dim), np.nan), np.full((n_rows, dim), np.nan)
        vectors = np.full((n_rows, dim, settings.rank), np.nan)
        log_mass, status = np.empty(n_rows), np.empty(n_rows, np.int8)

        def work(start: int, stop: int) -> None:
            for b in range(start, stop):
                width, typical = width_at(settings.widths, points[b], np.empty(dim))
                near = self._neighbours(settings, width, points[b], -1.0)
                log_mass[b] = near.log_mass - typical
                status[b] = mass_status(near.log_mass, typical + settings.log_share)
                if near.mass == 0.0:
                    continue
                mean[b] = points[b] + near.shift
                centre, about = self._centre(settings, width, points[b], near)
                values[b], all_vectors = decompose(*self._second_moment(centre, about, self._whole(centre, about)))
                width = min(settings.rank, all_vectors.shape[1])
                vectors[b, :, :width] = all_vectors[:, :width]
                if status[b] == Status.OK:
                    status[b] = gap_status(values[b], settings.rank, settings.min_gap)

        run_rows(work, n_rows, self._n_jobs)
        return values, vectors, mean, log_mass, status

    def mass(self, settings: Settings, points: FloatArray, apart: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Local means [batch, d], log masses [batch] and effective numbers of neighbours [batch]."""
        mean, width = np.full_like(points, np.nan), np.empty(len(points))
        log_mass, effective = np.empty(len(points)), np.empty(len(points))
        widths_batch(settings.widths, points, width, np.empty_like(points), np.empty(len(points)))

        def work(start: int, stop: int) -> None:
            for i in range(start, stop, GROUP):
                j = min(i + GROUP, stop)
                local_means(
                    self._rows, self._corners, points[i:j], width[i:j], settings.kernel, settings.reach, apart,
                    mean[i:j], log_mass[i:j], effective[i:j],
                )  # fmt: skip

        run_rows(work, len(points), self._n_jobs, calls_blas=False)
        return mean, log_mass, effective

    def _field_at(
        self, settings: Settings, p: FloatArray, covector: FloatArray, velocity: FloatArray, force: FloatArray
    ) -> int:
        slope = np.empty_like(p)
        width, typical = width_at(settings.widths, p, slope)
        near = self._neighbours(settings, width, p, -1.0)
        status: int = mass_status(near.log_mass, typical + settings.log_share)
        if status != Status.OK:
            return status
        centre, about = self._centre(settings, width, p, near)
        whole = self._whole(centre, about)
        matrix, factored = self._second_moment(centre, about, whole)
        rank = settings.rank
        values, vectors = leading(matrix, factored, self._start, rank, TOLERANCE)
        status = gap_status(values, rank, settings.min_gap)
        if status != Status.OK:
            return status
        components = covector @ vectors
        velocity[:] = vectors @ components
        frame = (components, vectors, partners(matrix, factored, values, vectors, covector))
        force[:] = self._force(settings, p, (width, slope), near, centre, about, frame, whole)
        return int(Status.OK)

    def _force(
        self,
        settings: Settings,
        p: FloatArray,
        here: tuple[float, FloatArray],
        near: _Neighbours,
        centre: FloatArray,
        about: _Neighbours,
        frame: tuple[FloatArray, FloatArray, FloatArray],
        whole: FloatArray | None,
    ) -> FloatArray:
        """−∂H/∂p, with A never formed. ``here`` holds a(p) and ∇a, ``frame`` c, e_i and u_i."""
        width, slope = here
        components, vectors, turned = frame
        total, third = self._contracted(centre, about, whole, frame, about.psi)
        area = width**2
        by_width = 0.0
        if settings.widths[2].size:
            far = self._squared(about, centre if settings.centering == RECENTRED else p) - about.nearest
            by_width = self._contracted(centre, about, whole, frame, about.psi * far)[0] / (area * width)
        third /= area
        if settings.centering == LOCAL:
            return -third - near.shift * (total / area) - by_width * slope
        # 2 A δ for δ = mean − centre, from the moving centre.
        along, across = about.shift @ vectors, about.shift @ turned
        third -= vectors @ (components * across) + turned @ (components * along)
        if settings.centering == NONE:
            return -third - by_width * slope
        gradient = np.empty_like(p)
        pull_back(self._rows, near.places, near.psi, p, p + near.shift, third, gradient)
        scale = float(area * near.mass)
        if settings.widths[2].size:
            mean_slope = np.empty_like(p)
            first_moment(
                self._rows, near.places, near.psi * (self._squared(near, p) - near.nearest), centre, mean_slope
            )
            by_width += float(third @ mean_slope) / (scale * width)
        return gradient / -scale - by_width * slope

    def _contracted(
        self,
        centre: FloatArray,
        about: _Neighbours,
        whole: FloatArray | None,
        frame: tuple[FloatArray, FloatArray, FloatArray],
        psi: FloatArray,
    ) -> tuple[float, FloatArray]:
        """Σ ψ_n q_n / s and Σ ψ_n q_n y_n / s for factors ψ_n [n]."""
        components, vectors, turned = frame
        total, third = 0.0, np.zeros_like(centre)
        sides = np.concatenate([vectors, turned], axis=1)
        for rows, z in self._tiles(centre, about) if whole is None else [(slice(None), whole)]:
            total += contract(z, sides, components, about.phi[rows], psi[rows], about.mass, third)
        return total, third

    def _squared(self, near: _Neighbours, p: FloatArray) -> FloatArray:
        """|x_n − p|² [n], for the derivative of the weights by the bandwidth."""
        offsets = self._rows[near.places] - p
        return np.asarray(np.einsum("nd,nd->n", offsets, offsets))

    def _neighbours(self, settings: Settings, width: float, p: FloatArray, apart: float) -> _Neighbours:
        n_points = self._rows.shape[0]
        places, phi, psi = np.empty(n_points, np.int64), np.empty(n_points), np.empty(n_points)
        count, nearest = weigh_rows(
            self._rows, self._boxes, p, width, settings.kernel, settings.reach, apart, places, phi, psi
        )
        shift = np.empty_like(p)
        mass = first_moment(self._rows, places[:count], phi[:count], p, shift) if count else 0.0
        if mass == 0.0:
            return _Neighbours(places[:0], phi[:0], psi[:0], 0.0, -np.inf, shift, 0.0)
        shift /= mass
        log_mass = float(np.log(mass) - 0.5 * nearest)
        return _Neighbours(places[:count], phi[:count], psi[:count], mass, log_mass, shift, nearest * width**2)

    def _centre(
        self, settings: Settings, width: float, p: FloatArray, near: _Neighbours
    ) -> tuple[FloatArray, _Neighbours]:
        """The point that y_n is measured from, and the neighbours whose weights enter Σ."""
        if settings.centering == NONE:
            return p, near
        mean = p + near.shift
        return mean, self._neighbours(settings, width, mean, -1.0) if settings.centering == RECENTRED else near

    def _tiles(self, centre: FloatArray, about: _Neighbours) -> Iterator[tuple[slice, FloatArray]]:
        """The rows of Z, a tile at a time."""
        n, dim = about.places.size, centre.size
        height = max(_TILE // dim, 1)
        tile = np.empty((min(height, n), dim))
        for start in range(0, n, height):
            rows = slice(start, min(start + height, n))
            part = tile[: rows.stop - start]
            fill_tile(self._rows, about.places[rows], about.phi[rows] / about.mass, centre, part)
            yield rows, part

    def _whole(self, centre: FloatArray, about: _Neighbours) -> FloatArray | None:
        """Z [n, d] where it fits in memory, and always when there are fewer neighbours than d; else None."""
        n, dim = about.places.size, centre.size
        if n >= dim and n > _TILE // dim:
            return None
        whole = np.empty((n, dim))
        fill_tile(self._rows, about.places, about.phi / about.mass, centre, whole)
        return whole

    def _second_moment(
        self, centre: FloatArray, about: _Neighbours, whole: FloatArray | None
    ) -> tuple[FloatArray, bool]:
        """Σ as a matrix [d, d] and False, or its factor Z [n, d] and True when there are fewer neighbours than d."""
        if whole is not None:
            return (whole, True) if len(whole) < centre.size else (whole.T @ whole, False)
        sigma = np.zeros((centre.size, centre.size))
        for _, part in self._tiles(centre, about):
            sigma += part.T @ part
        return sigma, False
