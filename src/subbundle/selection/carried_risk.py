"""The bandwidth of least estimated risk for any way of carrying points into the middle of a cloud.

For fits that give points and nothing else: differences between the halves are taken whole, and the bias is of the
fourth order as on the second-order ridge.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from subbundle._types import FloatArray
from subbundle.cloud import Cloud
from subbundle.selection._ladder import WIDEST, first_rung, split
from subbundle.selection._split_risk import Climb, Rung, points_apart
from subbundle.selection.bandwidth import LEAST_POINTS, BandwidthChoice, by_neighbours, of_least_risk

Carry = Callable[[Cloud, int, float, FloatArray, int | None], FloatArray]

_QUERIES = 400


def choose_by_carrying(cloud: Cloud, rank: int, carry: Carry, *, n_jobs: int | None = None) -> BandwidthChoice:
    """Choose a bandwidth for ``carry(half, rank, bandwidth, queries, n_jobs)``, which returns where the queries [q, d]
    come to rest on the cloud ``half``, NaN for those that do not.

    Small and shapeless clouds get the distance to a few neighbours, as in `choose_bandwidth`.
    """
    if cloud.n_points < LEAST_POINTS:
        return by_neighbours(cloud, rank)
    queries, first, second = split(cloud, _QUERIES)

    def fit(halves: list[Cloud], bandwidth: float) -> Rung:
        return Rung([carry(half, rank, bandwidth, queries, n_jobs) for half in halves])

    climb = Climb(fit, points_apart, order=4, growth=4.0)
    start = first_rung(queries, first, rank)
    risks = climb.up((first, second), cloud.n_points, start, max(WIDEST * cloud.size, start))
    choice = of_least_risk(risks.ladder, risks.total)
    return by_neighbours(cloud, rank) if np.isnan(choice.bandwidth) else choice
