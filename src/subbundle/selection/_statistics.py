"""What of the local model bandwidths are compared by: where points come to rest on the ridge, or tangent projectors.

Ridge: observations are projected onto the second-order ridge of each part of the data, and compared normal to the
ridge of the first of two; the bias is of order a⁴. Tangents: points in the middle of the cloud are held fixed, and
projectors compared there by ⟨P, Q⟩ = ½ tr PQ, so that |P − Q|² is the squared sine of the angles between two
subspaces, summed over them; a local PCA is off by an angle of order a², from the third derivatives of the surface and
from changes of density.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, Status
from subbundle.bundles.local_bandwidth import LocalBandwidth
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.cloud import Cloud
from subbundle.selection._ladder import wanted_neighbours
from subbundle.selection._tuning import OVER_NOISE, STEPS, TOL

Width = float | LocalBandwidth


class Estimate(NamedTuple):
    """What a part of the data says at the queries.

    Attributes
    ----------
    value : [q, d] or [q, d, k]
        Points, or orthonormal bases of subspaces; NaN where there is none.
    tangents : [q, d, k] or None
        Directions along which differences of points do not count.
    believed : [q]
        Whether agreement with other parts means anything there.
    neighbours : float
        Of a typical query; NaN where more of them cost nothing.
    """

    value: FloatArray
    tangents: FloatArray | None
    believed: NDArray[np.bool_]
    neighbours: float


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of the local model.

    Attributes
    ----------
    fit : callable
        ``fit(part, width, queries)`` returns an `Estimate`, or None where the part refuses, for want of neighbours or
        of directions.
    product : callable
        ``product(a, a', b, b')`` is ⟨a − a', b − b'⟩ for every query, [q], NaN where it is not known.
    order, growth : float
        p, the bias is of order a^p; and q, its square grows at least as a^q.
    """

    fit: Callable[[Cloud, Width, FloatArray], Estimate | None]
    product: Callable[[Estimate, Estimate, Estimate, Estimate], FloatArray]
    order: int
    growth: float


def ridge_position(rank: int, n_jobs: int | None) -> Statistic:
    """Where observations come to rest on the second-order ridge."""

    def fit(part: Cloud, width: Width, queries: FloatArray) -> Estimate | None:
        bundle = _bundle(part, rank, width, n_jobs)
        if bundle is None:
            return None
        ridge = ridge_project(bundle, queries, tol=TOL, max_steps=STEPS)
        lost = (ridge.status != Status.OK) & (ridge.status != Status.NOT_CONVERGED)
        ridge.points[lost] = np.nan
        if lost.all():
            return None
        with np.errstate(invalid="ignore"):
            believed = ridge.neighbours >= wanted_neighbours(rank, part.n_points)
            believed &= ridge.noise <= bundle.bandwidth_at(queries) / OVER_NOISE
        return Estimate(ridge.points, ridge.tangents, believed, float(np.nanmedian(ridge.neighbours)))

    return Statistic(fit, points_product, order=4, growth=4.0)


def tangent_projector(rank: int, n_jobs: int | None) -> Statistic:
    """The subspaces at fixed points in the middle of the cloud."""

    def fit(part: Cloud, width: Width, queries: FloatArray) -> Estimate | None:
        bundle = _bundle(part, rank, width, n_jobs)
        if bundle is None:
            return None
        frame = bundle.frame(queries)
        known = frame.status == Status.OK
        bases = np.where(known[:, None, None], frame.vectors, np.nan)
        return Estimate(bases, None, np.ones(len(queries), np.bool_), 2.0 * float(np.median(frame.density)))

    return Statistic(fit, projectors_product, order=2, growth=2.0)


def on_the_ridge(cloud: Cloud, rank: int, width: Width, queries: FloatArray, n_jobs: int | None) -> FloatArray:
    """``queries`` [q, d], relative to the cloud's centre, projected onto the ridge of all observations; those without
    one are left out."""
    centred = Cloud(cloud.at(np.arange(cloud.n_points)))
    bundle = PrincipalSubbundle(centred, rank, width, min_density=0.0, n_jobs=n_jobs)
    ridge = ridge_project(bundle, queries, max_steps=8)
    arrived = (ridge.status == Status.OK) | (ridge.status == Status.NOT_CONVERGED)
    return np.ascontiguousarray(ridge.points[arrived])


def points_product(a: Estimate, a_before: Estimate, b: Estimate, b_before: Estimate) -> FloatArray:
    """The inner product of two differences of points, normal to the tangents of ``a`` where it has some."""
    x, y = a.value - a_before.value, b.value - b_before.value
    whole = np.sum(x * y, axis=1)
    if a.tangents is None:
        return np.asarray(whole)
    along = np.einsum("qdk,qd->qk", a.tangents, x) * np.einsum("qdk,qd->qk", a.tangents, y)
    return np.asarray(whole - np.sum(along, axis=1))


def projectors_product(a: Estimate, a_before: Estimate, b: Estimate, b_before: Estimate) -> FloatArray:
    """½ tr (P_a − P_a')(P_b − P_b') of the projectors onto the spans of bases."""
    mixed = _trace(a.value, b_before.value) + _trace(a_before.value, b.value)
    return 0.5 * (_trace(a.value, b.value) - mixed + _trace(a_before.value, b_before.value))


def _trace(a: FloatArray, b: FloatArray) -> FloatArray:
    """tr PQ [q] of the projectors onto the spans of ``a`` and ``b`` [q, d, k]."""
    return np.asarray(np.sum(np.einsum("qdi,qdj->qij", a, b) ** 2, axis=(1, 2)))


def _bundle(part: Cloud, rank: int, width: Width, n_jobs: int | None) -> PrincipalSubbundle | None:
    try:
        return PrincipalSubbundle(part, rank, width, min_density=0.0, n_jobs=n_jobs)
    except ValueError:
        return None
