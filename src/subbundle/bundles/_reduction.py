"""Lossless change of coordinates into the space that the data spans.

Observations of affine rank r < d (more dimensions than points, images with dead pixels) lie in c + span B, B [d, r]
orthonormal. A query (p, η) has two further directions of its own: o, along the component of p − c outside the
span, of length h, and o′, along the component of η outside the span and orthogonal to o. In the coordinates of R^(r+2)

    p ↦ (Bᵀ(p − c), h, 0)        η ↦ (Bᵀη, o·η, o′·η)

all inner products in the bundle's definition are unchanged, and velocity and force lie in span(B, o, o′): both map back
exactly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from subbundle._numbers import EXACT
from subbundle._parallel import resolve_jobs
from subbundle._types import FloatArray
from subbundle.cloud import Cloud
from subbundle.kernels import GAUSSIAN
from subbundle.local.logs import LEAST_DIM
from subbundle.local.model import LocalModel, iterate
from subbundle.local.rows import rows_times
from subbundle.local.settings import Plan, Settings

# Directions of its own that a query adds to the span of the data.
_OWN = 2


class Coordinates:
    """Maps between the caller's R^d and the working space.

    Parameters
    ----------
    centre : [d]
        Origin of the working space.
    basis : [d, r] or None
        Orthonormal basis of the span of the data; None where the data spans the whole space.
    """

    def __init__(self, centre: FloatArray, basis: FloatArray | None) -> None:
        self.centre, self.basis = centre, basis
        self._transposed = None if basis is None else np.ascontiguousarray(basis.T)
        used = centre.size if basis is None else basis.shape[1] + _OWN
        self.padding = max(LEAST_DIM - used, 0)
        self.span = centre.size if basis is None else basis.shape[1]

    @np.errstate(over="ignore", invalid="ignore")  # a point at 1e308 is just off the support
    def enter(
        self, points: FloatArray, covectors: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Working coordinates of ``points`` and ``covectors`` [batch, d], and the directions (o, o′) [batch, 2, d]."""
        offsets = points - self.centre
        covectors = np.zeros_like(points) if covectors is None else covectors
        if self.basis is None:
            return self._padded(offsets), self._padded(covectors), None
        inside, outside = self._split(offsets)
        height, first = _direction(outside, np.abs(offsets).max(axis=1, initial=0.0))
        spanned, remainder = self._split(covectors)
        along = np.einsum("bd,bd->b", remainder, first)
        side, second = _direction(remainder - along[:, None] * first, np.abs(covectors).max(axis=1, initial=0.0))
        working_points = np.column_stack([inside, height, np.zeros_like(height)])
        working_covectors = np.column_stack([spanned, along, side])
        return self._padded(working_points), self._padded(working_covectors), np.stack([first, second], axis=1)

    def leave(self, vectors: FloatArray, directions: FloatArray | None) -> FloatArray:
        """Vectors [batch, d] of R^d from working components [batch, w]."""
        if self.basis is None or directions is None:
            return np.ascontiguousarray(vectors[:, : self.centre.size])
        own = vectors[:, self.span : self.span + _OWN]
        outside: FloatArray = np.einsum("bi,bid->bd", own, directions)
        inside = rows_times(np.ascontiguousarray(vectors[:, : self.span]), self._transposed)
        return np.asarray(inside + outside)

    def _padded(self, vectors: FloatArray) -> FloatArray:
        if self.padding:
            return np.pad(vectors, ((0, 0), (0, self.padding)))
        # A read-only array is another type to the compiled kernels: compiled again, and rounded differently.
        return np.require(vectors, requirements=["C", "W"])

    def _split(self, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Components in the basis [batch, r], and the remainder [batch, d]."""
        assert self.basis is not None
        inside = rows_times(np.ascontiguousarray(vectors), self.basis)
        return inside, vectors - rows_times(inside, self._transposed)


def _direction(vectors: FloatArray, scale: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lengths and unit vectors; zero for those within rounding of ``scale``."""
    length = np.sqrt(np.einsum("bd,bd->b", vectors, vectors))
    length[length <= EXACT * scale] = 0.0
    return length, np.divide(vectors, length[:, None], out=np.zeros_like(vectors), where=length[:, None] > 0.0)


def reduce_cloud(cloud: Cloud) -> tuple[Cloud, Coordinates]:
    """The cloud in as few dimensions as represent it exactly (and at least three), and the maps between."""
    dim = cloud.dim
    if dim < LEAST_DIM:
        return _working(cloud, cloud.ordered, cloud.centre, None)
    found = _span(cloud) if dim > LEAST_DIM else None
    if found is None:
        return cloud, Coordinates(cloud.centre, None)
    basis, anchor = found
    return _working(cloud, cloud.ordered @ basis, cloud.centre + anchor, basis)


def _working(
    cloud: Cloud, inside: FloatArray, origin: FloatArray, basis: FloatArray | None
) -> tuple[Cloud, Coordinates]:
    """``cloud`` at the rows ``inside`` (leaf order) with zero coordinates added, and the maps into its own centred
    coordinates."""
    coordinates = Coordinates(origin, basis)
    extra = coordinates.padding + (0 if basis is None else _OWN)
    working = Cloud(np.pad(inside, ((0, 0), (0, extra))), cloud.weights.ravel()[: cloud.n_points])
    shift = working.centre[: inside.shape[1]]
    return working, Coordinates(origin + (shift if basis is None else basis @ shift), basis)


def _span(cloud: Cloud) -> tuple[FloatArray, FloatArray] | None:
    """Orthonormal basis [d, r] of the affine span and its point [d] nearest the centre; None if r + 2 ≥ d.

    A sample of 2 d rows often spans the whole space. Otherwise its span is checked against all rows, and all rows are
    used if it misses one.
    """
    everything = np.arange(cloud.n_points)
    for places in (cloud.sample(2 * cloud.dim), everything):
        rows = cloud.at(places)
        rows = rows - rows[0]
        # Values alone take half as long, and most clouds need no vectors.
        singular = np.linalg.svd(rows, compute_uv=False)
        rank = int(np.count_nonzero(singular > EXACT * singular[0]))
        if rank + _OWN >= cloud.dim:
            return None
        basis = np.ascontiguousarray(np.linalg.svd(rows, full_matrices=False)[2][:rank].T)
        first = cloud.at(places[:1])[0]
        relative = cloud.at(everything) - first
        missing = relative - (relative @ basis) @ basis.T
        if np.abs(missing).max() <= EXACT * cloud.size:
            return basis, first - basis @ (basis.T @ first)
    return None


def ridge_in(
    cloud: Cloud, coordinates: Coordinates, settings: Settings, points: FloatArray, plan: Plan, n_jobs: int | None
) -> LocalModel:
    """The local model at the projections of ``points`` [batch, d]; ``cloud`` is in working coordinates."""
    working, _, directions = coordinates.enter(points)
    plan = replace(
        plan,
        kernel=settings.kernel,
        reach=plan.reach if settings.kernel == GAUSSIAN else settings.reach,
        codimension=max(coordinates.span - plan.rank, 1),
        log_share=settings.log_share,
        min_gap=settings.min_gap,
    )
    found = iterate(cloud, working, settings.widths, np.empty(0), plan, resolve_jobs(n_jobs))
    leave, centre = coordinates.leave, coordinates.centre
    return replace(
        found,
        points=leave(found.points, directions) + centre,
        mean=leave(found.mean, directions) + centre,
        tangents=np.stack([leave(found.tangents[:, :, i], directions) for i in range(plan.rank)], axis=2),
        forms=np.stack([leave(found.forms[:, i], directions) for i in range(found.forms.shape[1])], axis=1),
        basis=None,
    )
