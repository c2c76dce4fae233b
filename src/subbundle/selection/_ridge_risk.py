"""Estimated error of the second-order ridge at every bandwidth of a ladder.

Observations left out of both halves are carried onto the ridge of each; compared are the parts normal to the ridge of
A of where they come to rest. The bias of the second-order ridge is of order a⁴; see `_split_risk`.

With too few neighbours, or a kernel narrower than the noise, points stay near where they start. Both halves then agree
on a place that is wrong, and such rungs are left out.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.cloud import Cloud
from subbundle.manifolds.ridge_project import Ridge, ridge_project
from subbundle.selection._ladder import RATIO, WIDEST, first_rung, split
from subbundle.selection._split_risk import Climb, Risks, Rung

_QUERIES = 400
_STEPS, _TOL = 6, 1e-2
# Effective neighbours in a half per coefficient of the quadric, below which points stay where they start; and the part
# of a half that small clouds can give at most.
_PER_COEFFICIENT, _MOST_OF_HALF = 1.5, 0.2
# Effective neighbours beyond which a part of the half will do.
_PLENTY = 400.0
# Bandwidth over the noise, at least. The best bandwidths were seen between 1.8 and 19.
_OVER_NOISE = 1.3
_KNOWN = 0.9


def ridge_risks(cloud: Cloud, rank: int, n_jobs: int | None) -> Risks:
    """Bandwidths up to a fifth of the size of the cloud, and their risks."""
    queries, *halves = split(cloud, _QUERIES)
    fit = partial(_fit, queries, rank, n_jobs)
    climb = Climb(fit, _normal_product, order=4, growth=4.0, plenty=_PLENTY)
    widest = WIDEST * cloud.size
    return climb.up((halves[0], halves[1]), cloud.n_points, _start(fit, queries, halves, rank, widest), widest)


def _start(fit: partial[Rung | None], queries: FloatArray, halves: list[FloatArray], rank: int, widest: float) -> float:
    """The first bandwidth, of those that double the neighbours at most, with enough of them in a half."""
    coefficients = 1 + rank + rank * (rank + 1) // 2
    wanted = min(_PER_COEFFICIENT * coefficients, _MOST_OF_HALF * len(halves[0]))
    clouds, width = [Cloud(half) for half in halves], first_rung(queries, halves[0], rank)
    while width <= widest:
        rung = fit(clouds, width)
        neighbours = 0.0 if rung is None else rung.neighbours
        if neighbours >= wanted:
            break
        # Neighbours grow with the k-th power of the bandwidth, or faster.
        width *= max(RATIO, (0.5 * wanted / neighbours) ** (1.0 / rank) if neighbours else 1.0)
    return width


def _fit(queries: FloatArray, rank: int, n_jobs: int | None, halves: list[Cloud], bandwidth: float) -> Rung | None:
    """Where the queries [q, d] come to rest on the ridge of each half, NaN for those that have none.

    None on a rung where a half refuses, for want of neighbours or directions, or has no ridge for most.
    """
    found = []
    for half in halves:
        try:
            bundle = PrincipalSubbundle(half, rank, bandwidth, min_density=1e-9, n_jobs=n_jobs)
        except ValueError:
            return None
        ridge = ridge_project(bundle, queries, tol=_TOL, max_steps=_STEPS)
        lost = (ridge.status != Status.OK) & (ridge.status != Status.NOT_CONVERGED)
        if lost.mean() > 1.0 - _KNOWN:
            return None
        ridge.points[lost] = np.nan
        found.append(ridge)
    sound = bool(np.nanmedian(found[0].noise) <= bandwidth / _OVER_NOISE)
    return Rung(found[0], found[1], float(np.nanmedian(found[0].neighbours)), sound)


def _normal_product(a: Ridge, a_before: Ridge, b: Ridge, b_before: Ridge) -> FloatArray:
    """The inner product of the parts, normal to the ridge ``a``, of two differences of points."""
    x, y = a.points - a_before.points, b.points - b_before.points
    along = np.einsum("qdk,qd->qk", a.tangents, x) * np.einsum("qdk,qd->qk", a.tangents, y)
    return np.asarray(np.sum(x * y, axis=1) - np.sum(along, axis=1))
