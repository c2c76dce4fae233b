"""The statistics of the subbundle whose risk is compared.

Ridge: observations projected onto the second-order ridge of each subsample, differences normal to the ridge of the
first of two; the bias is of order a⁴. Tangents: at fixed points of the ridge, projectors with ⟨P, Q⟩ = ½ tr PQ, so that
|P − Q|² is the squared sine of the angles between two subspaces, summed over them; the bias of a local PCA is an angle
of order a², from the third derivatives of the surface and from changes of density.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.cloud import Cloud
from subbundle.selection.ladder import required_neighbours
from subbundle.selection.risk import Estimate, Statistic, Width, points_product


def ridge_position(rank: int, n_jobs: int | None) -> Statistic:
    """Projections of observations to the second-order ridge."""

    def fit(subsample: Cloud, width: Width, queries: FloatArray) -> Estimate | None:
        bundle = _bundle(subsample, rank, width, n_jobs)
        if bundle is None:
            return None
        ridge = ridge_project(bundle, queries)
        lost = ~ridge.arrived
        ridge.points[lost] = np.nan
        if lost.all():
            return None
        # At bandwidths narrower than the noise points hardly move, and all subsamples agree on a biased position. The
        # best ones were 1.8 to 19 times as wide.
        with np.errstate(invalid="ignore"):
            reliable = ridge.neighbours >= required_neighbours(rank, subsample.n_points)
            reliable &= ridge.noise <= bundle.bandwidth_at(queries)
        return Estimate(ridge.points, ridge.tangents, reliable, float(np.nanmedian(ridge.neighbours)))

    return Statistic(fit, points_product, order=4, growth=4.0)


def tangent_projector(rank: int, n_jobs: int | None) -> Statistic:
    """The subspaces at fixed points of the ridge."""

    def fit(subsample: Cloud, width: Width, queries: FloatArray) -> Estimate | None:
        bundle = _bundle(subsample, rank, width, n_jobs)
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
    centred = Cloud(cloud.ordered)
    bundle = PrincipalSubbundle(centred, rank, width, min_density=0.0, n_jobs=n_jobs)
    ridge = ridge_project(bundle, queries)
    return np.ascontiguousarray(ridge.points[ridge.arrived])


def projectors_product(a: Estimate, a_before: Estimate, b: Estimate, b_before: Estimate) -> FloatArray:
    """½ tr (P_a − P_a')(P_b − P_b') of the projectors onto the spans of bases."""
    mixed = _trace(a.value, b_before.value) + _trace(a_before.value, b.value)
    return 0.5 * (_trace(a.value, b.value) - mixed + _trace(a_before.value, b_before.value))


def _trace(a: FloatArray, b: FloatArray) -> FloatArray:
    """tr PQ [q] of the projectors onto the spans of ``a`` and ``b`` [q, d, k]."""
    return np.asarray(np.sum(np.einsum("qdi,qdj->qij", a, b) ** 2, axis=(1, 2)))


def _bundle(subsample: Cloud, rank: int, width: Width, n_jobs: int | None) -> PrincipalSubbundle | None:
    try:
        return PrincipalSubbundle(subsample, rank, width, min_density=0.0, n_jobs=n_jobs)
    except ValueError:
        return None
