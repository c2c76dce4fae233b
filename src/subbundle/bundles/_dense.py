"""The Hamiltonian field above `BLOCK_DIM` dimensions: rows for BLAS, leading eigenpairs instead of full decompositions.

Cost of one field with n neighbours: the weighted second moment, n d² by BLAS when n ≥ d, or nothing when n < d,
where it is only ever applied as ZᵀZ; a few products with it; and two passes over the neighbours. It grows with min(d,
n) and k.

With the rows z_n = √w_n y_n of Z the force is two products with Z as well: w_n q_n = Σ_i c_i (z_n·e_i)(z_n·u_i), and
Σ ψ_n q_n y_n / s = Zᵀ r with r_n = (ψ_n/φ_n) w_n q_n / √w_n.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.cloud import Cloud
from subbundle.local.leading import TOLERANCE, leading, partners
from subbundle.local.neighbours import Neighbours, RowSearch
from subbundle.local.rows import contract, first_moment, pull_back
from subbundle.local.settings import LOCAL, NONE, RECENTRED, Settings, gap_status, mass_status, width_at


class DenseField:
    """The field at points in the cloud's centred coordinates."""

    def __init__(self, cloud: Cloud, settings: Settings) -> None:
        self._settings, self._search = settings, RowSearch(cloud, settings.kernel, settings.reach)
        # Any fixed block in general position serves; the same one for every point keeps results reproducible.
        self._start = np.random.default_rng(0).standard_normal((min(settings.rank + 3, cloud.dim), cloud.dim))

    def at(self, p: FloatArray, covector: FloatArray, velocity: FloatArray, force: FloatArray) -> int:
        """Write velocity and force [d] at ``p``; return the status, and leave both as they are where it is not OK."""
        settings, slope = self._settings, np.empty_like(p)
        width, typical = width_at(settings.widths, p, slope)
        near = self._search.around(p, width)
        status: int = mass_status(near.log_mass, typical + settings.log_share)
        if status != Status.OK:
            return status
        centre, about = self._search.centred(near, settings.centering)
        if about.mass == 0.0:
            return int(Status.LEFT_SUPPORT)
        whole = about.factor(centre)
        matrix, factored = about.second_moment(centre, whole)
        rank = settings.rank
        values, vectors = leading(matrix, factored, self._start, rank, TOLERANCE)
        status = gap_status(values, rank, settings.min_gap)
        if status != Status.OK:
            return status
        components = covector @ vectors
        velocity[:] = vectors @ components
        frame = (components, vectors, partners(matrix, factored, values, vectors, covector))
        force[:] = self._force(slope, near, centre, about, frame, whole)
        return int(Status.OK)

    def _force(
        self,
        slope: FloatArray,
        near: Neighbours,
        centre: FloatArray,
        about: Neighbours,
        frame: tuple[FloatArray, FloatArray, FloatArray],
        whole: FloatArray | None,
    ) -> FloatArray:
        """−∂H/∂p, with A never formed. ``slope`` is ∇a, ``frame`` holds c, e_i and u_i."""
        settings, p, width = self._settings, near.point, near.width
        components, vectors, turned = frame
        total, third = _contracted(centre, about, whole, frame, about.slopes)
        area = width**2
        by_width = 0.0
        if settings.widths[2].size:
            far = about.squared(centre if settings.centering == RECENTRED else p) - about.nearest
            by_width = _contracted(centre, about, whole, frame, about.slopes * far)[0] / (area * width)
        third /= area
        if settings.centering == LOCAL:
            return -third - near.shift * (total / area) - by_width * slope
        # 2 A δ for δ = mean − centre, from the moving centre.
        along, across = about.shift @ vectors, about.shift @ turned
        third -= vectors @ (components * across) + turned @ (components * along)
        if settings.centering == NONE:
            return -third - by_width * slope
        gradient = np.empty_like(p)
        pull_back(near.rows, near.places, near.slopes, p, near.mean, third, gradient)
        scale = float(area * near.mass)
        if settings.widths[2].size:
            mean_slope = np.empty_like(p)
            first_moment(near.rows, near.places, near.slopes * (near.squared(p) - near.nearest), centre, mean_slope)
            by_width += float(third @ mean_slope) / (scale * width)
        return gradient / -scale - by_width * slope


def _contracted(
    centre: FloatArray,
    about: Neighbours,
    whole: FloatArray | None,
    frame: tuple[FloatArray, FloatArray, FloatArray],
    psi: FloatArray,
) -> tuple[float, FloatArray]:
    """Σ ψ_n q_n / s and Σ ψ_n q_n y_n / s for factors ψ_n [n]."""
    components, vectors, turned = frame
    total, third = 0.0, np.zeros_like(centre)
    sides = np.concatenate([vectors, turned], axis=1)
    for rows, z in about.tiles(centre) if whole is None else [(slice(None), whole)]:
        total += contract(z, sides, components, about.weights[rows], psi[rows], about.mass, third)
    return total, third
