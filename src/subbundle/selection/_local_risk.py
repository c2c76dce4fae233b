"""Estimated error at every query and bandwidth of a ladder, from two disjoint halves of the data.

The ladder is one of fields, a_j(p) = a_0(p) 2^(j/4) over a pilot a_0, so that on each rung all parts of a cloud have
about as many neighbours, however their densities differ. What is compared is that of `_ridge_risk` and
`_tangent_risk`, kept query by query: squared differences between the halves, and products across halves of what a
change of bandwidth moves. A query says nothing on rungs where it has too few neighbours, or noise as wide as the
kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, Status
from subbundle.bundles.local_bandwidth import LocalBandwidth
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.cloud import Cloud
from subbundle.selection._ladder import RATIO, WIDEST

LAGS = (2, 3, 4)
# Order of the bias in the bandwidth.
ORDERS = {"ridge": 4, "tangents": 2}
_STEPS, _TOL = 6, 1e-2
_PER_COEFFICIENT, _MOST_OF_HALF = 3.0, 0.2
_PLENTY = 400.0
_OVER_NOISE = 1.3
_MOST_RUNGS = 24
# Part of the queries that must say something for the ladder to begin.
_FEW = 0.1


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung of the ladder.

    Attributes
    ----------
    factor : float
        a_j / a_0.
    variance : [q]
        Squared difference of the halves, scaled to all of the data; NaN for queries that say nothing.
    squared_bias : [q, lags]
        Estimates of the squared bias, one per lag.
    """

    factor: float
    variance: FloatArray
    squared_bias: FloatArray


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a half says at the queries: points [q, d] on its ridge or bases [q, d, k], and which queries say something
    [q]; the tangents there; effective neighbours."""

    value: FloatArray
    known: NDArray[np.bool_]
    tangents: FloatArray
    neighbours: float


def climb(
    halves: tuple[FloatArray, FloatArray],
    cloud: Cloud,
    queries: FloatArray,
    pilot: LocalBandwidth,
    rank: int,
    purpose: str,
    risen: Callable[[Rung], bool],
    n_jobs: int | None,
) -> list[Rung]:
    """Rungs from the pilot upwards until ``risen``, or until bandwidths are a fifth of the cloud."""
    count = len(halves[0])
    clouds = [Cloud(half) for half in halves]
    look = _on_ridge if purpose == "ridge" else _on_subspaces
    seen: list[tuple[Estimate, Estimate]] = []
    rungs: list[Rung] = []
    factor = 1.0
    while factor * float(np.median(pilot.values)) <= WIDEST * cloud.size and len(rungs) < _MOST_RUNGS:
        width = pilot.scaled(factor)
        try:
            parts = [PrincipalSubbundle(half, rank, width, min_density=1e-9, n_jobs=n_jobs) for half in clouds]
        except ValueError:
            if seen:
                break
            factor *= RATIO
            continue
        pair = look(parts[0], queries), look(parts[1], queries)
        if not seen and np.mean(pair[0].known & pair[1].known) < _FEW:
            factor *= RATIO**2
            continue
        seen.append(pair)
        rungs.append(_compare(seen, factor, 0.5 * count / cloud.n_points, purpose))
        if risen(rungs[-1]):
            break
        if seen[-1][0].neighbours > _PLENTY:
            count //= 2
            clouds = [Cloud(half[:count]) for half in halves]
        factor *= RATIO
    return rungs


def _on_ridge(bundle: PrincipalSubbundle, queries: FloatArray) -> Estimate:
    """Where the queries come to rest on the second-order ridge."""
    ridge = ridge_project(bundle, queries, tol=_TOL, max_steps=_STEPS)
    known = (ridge.status == Status.OK) | (ridge.status == Status.NOT_CONVERGED)
    coefficients = 1 + bundle.rank + bundle.rank * (bundle.rank + 1) // 2
    wanted = min(_PER_COEFFICIENT * coefficients, _MOST_OF_HALF * bundle.cloud.n_points)
    with np.errstate(invalid="ignore"):
        known &= (ridge.neighbours >= wanted) & (ridge.noise <= bundle.bandwidth_at(queries) / _OVER_NOISE)
    neighbours = float(np.nanmedian(ridge.neighbours)) if np.isfinite(ridge.neighbours).any() else 0.0
    return Estimate(ridge.points, known, ridge.tangents, neighbours)


def _on_subspaces(bundle: PrincipalSubbundle, queries: FloatArray) -> Estimate:
    """The subspaces at the queries, which are points in the middle of the cloud."""
    frame = bundle.frame(queries)
    return Estimate(frame.vectors, frame.status == Status.OK, frame.vectors, 2.0 * bundle.typical_mass)


def _compare(seen: list[tuple[Estimate, Estimate]], factor: float, share: float, purpose: str) -> Rung:
    a, b = seen[-1]
    known = a.known & b.known
    squares = _ridge_products if purpose == "ridge" else _subspace_products
    order = ORDERS[purpose]
    variance = np.where(known, share * squares(a, None, b, None), np.nan)
    bias = np.full((len(known), len(LAGS)), np.nan)
    for place, lag in enumerate(LAGS):
        if len(seen) > lag:
            before_a, before_b = seen[-1 - lag]
            told = known & before_a.known & before_b.known
            moved = squares(a, before_a, b, before_b) / (1.0 - RATIO ** (-order * lag)) ** 2
            bias[:, place] = np.where(told, moved, np.nan)
    return Rung(factor, variance, bias)


def _ridge_products(a: Estimate, before_a: Estimate | None, b: Estimate, before_b: Estimate | None) -> FloatArray:
    """|n(c_A − c_B)|² [q], or n(c_A − c_A′)·n(c_B − c_B′) where rungs before are given; n the part normal at A."""
    first = a.value - (b if before_a is None else before_a).value
    second = first if before_b is None else b.value - before_b.value
    along = np.einsum("qdk,qd->qk", a.tangents, first)
    return np.asarray(np.sum(second * (first - np.einsum("qdk,qk->qd", a.tangents, along)), axis=1))


def _subspace_products(a: Estimate, before_a: Estimate | None, b: Estimate, before_b: Estimate | None) -> FloatArray:
    """½|P_A − P_B|² [q], or ½⟨P_A − P_A′, P_B − P_B′⟩."""
    agree = _trace(a.value, b.value)
    if before_a is None or before_b is None:
        return np.asarray(a.value.shape[2] - agree)
    moved = agree - _trace(a.value, before_b.value) - _trace(before_a.value, b.value)
    return np.asarray(0.5 * (moved + _trace(before_a.value, before_b.value)))


def _trace(a: FloatArray, b: FloatArray) -> FloatArray:
    """tr PQ [q]."""
    return np.asarray(np.sum(np.einsum("qdi,qdj->qij", a, b) ** 2, axis=(1, 2)))
