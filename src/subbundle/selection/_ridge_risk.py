"""Estimated error of the second-order ridge at every bandwidth of a ladder.

Observations are carried onto the ridge of each part of the data; compared is where they come to rest, normal to the
ridge of the first of two. The bias of the second-order ridge is of order a⁴; see `_split_risk`.

With too few neighbours, or a kernel narrower than the noise, points stay near where they start. All parts then agree on
a place that is wrong, and such rungs are left out.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import Ridge, ridge_project
from subbundle.cloud import Cloud
from subbundle.selection._ladder import RATIO, WIDEST, first_rung, parts
from subbundle.selection._split_risk import Climb, Risks, Rung

_QUERIES = 400
_STEPS, _TOL = 6, 1e-2
# Effective neighbours in a part per coefficient of the quadric, below which points stay where they start; and how many
# of a part small clouds can give at most.
_PER_COEFFICIENT, _MOST_OF_PART = 1.5, 0.2
# Effective neighbours beyond which half of the part will do.
_PLENTY = 400.0
# Bandwidth over the noise, at least. The best bandwidths were seen between 1.8 and 19.
_OVER_NOISE = 1.3
_KNOWN = 0.9


def ridge_risks(cloud: Cloud, rank: int, n_jobs: int | None) -> Risks:
    """Bandwidths up to a fifth of the size of the cloud, and their risks."""
    queries, those = parts(cloud, _QUERIES)
    fit = partial(_fit, queries, rank, n_jobs)
    climb = Climb(fit, _normal_product, order=4, growth=4.0, plenty=_PLENTY)
    widest = WIDEST * cloud.size
    return climb.up(those, cloud.n_points, _start(fit, queries, those, rank, widest), widest)


def _start(fit: partial[Rung | None], queries: FloatArray, those: list[FloatArray], rank: int, widest: float) -> float:
    """The first bandwidth, of those that double the neighbours at most, with enough of them in a part."""
    coefficients = 1 + rank + rank * (rank + 1) // 2
    wanted = min(_PER_COEFFICIENT * coefficients, _MOST_OF_PART * len(those[0]))
    clouds, width = [Cloud(part) for part in those], first_rung(queries, those[0], rank)
    while width <= widest:
        rung = fit(clouds, width)
        neighbours = 0.0 if rung is None else rung.neighbours
        if neighbours >= wanted:
            break
        # Neighbours grow with the k-th power of the bandwidth, or faster.
        width *= max(RATIO, (0.5 * wanted / neighbours) ** (1.0 / rank) if neighbours else 1.0)
    return width


def _fit(queries: FloatArray, rank: int, n_jobs: int | None, those: list[Cloud], bandwidth: float) -> Rung | None:
    """Where the queries [q, d] come to rest on the ridge of each part, NaN for those that have none.

    None on a rung where a part refuses, for want of neighbours or directions, or has no ridge for most.
    """
    found = []
    for part in those:
        try:
            bundle = PrincipalSubbundle(part, rank, bandwidth, min_density=1e-9, n_jobs=n_jobs)
        except ValueError:
            return None
        ridge = ridge_project(bundle, queries, tol=_TOL, max_steps=_STEPS)
        lost = (ridge.status != Status.OK) & (ridge.status != Status.NOT_CONVERGED)
        if lost.mean() > 1.0 - _KNOWN:
            return None
        ridge.points[lost] = np.nan
        found.append(ridge)
    sound = bool(np.nanmedian(found[0].noise) <= bandwidth / _OVER_NOISE)
    return Rung(found, float(np.nanmedian(found[0].neighbours)), sound)


def _normal_product(a: Ridge, a_before: Ridge, b: Ridge, b_before: Ridge) -> FloatArray:
    """The inner product of the parts, normal to the ridge ``a``, of two differences of points."""
    x, y = a.points - a_before.points, b.points - b_before.points
    along = np.einsum("qdk,qd->qk", a.tangents, x) * np.einsum("qdk,qd->qk", a.tangents, y)
    return np.asarray(np.sum(x * y, axis=1) - np.sum(along, axis=1))
