"""The bandwidth of least estimated risk for any way of carrying points into the middle of a cloud.

For fits that give points and nothing else: differences between the halves are taken whole, and the bias is of the
fourth order as on the second-order ridge.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from subbundle._types import FloatArray
from subbundle.cloud import Cloud
from subbundle.selection._ladder import first_width, n_queries, split
from subbundle.selection._risk import compare
from subbundle.selection._statistics import Estimate, Statistic, Width, points_product
from subbundle.selection._tuning import LEAST_POINTS, WIDEST
from subbundle.selection.bandwidth import BandwidthChoice, by_neighbours, of_least_risk

Carry = Callable[[Cloud, int, float, FloatArray, int | None], FloatArray]


def choose_by_carrying(cloud: Cloud, rank: int, carry: Carry, *, n_jobs: int | None = None) -> BandwidthChoice:
    """Choose a bandwidth for ``carry(half, rank, bandwidth, queries, n_jobs)``, which returns where the queries [q, d]
    come to rest on the cloud ``half``, NaN for those that do not.

    Small and shapeless clouds get the distance to a few neighbours, as in `choose_bandwidth`.
    """
    if cloud.n_points < LEAST_POINTS:
        return by_neighbours(cloud, rank)
    queries, *halves = split(cloud, n_queries(cloud.dim - rank))

    def fit(half: Cloud, width: Width, where: FloatArray) -> Estimate:
        assert isinstance(width, float)
        value = carry(half, rank, width, where, n_jobs)
        return Estimate(value, None, np.ones(len(where), np.bool_), float("nan"))

    start = first_width(queries, halves[0], rank)
    statistic = Statistic(fit, points_product, order=4, growth=4.0)
    risks = compare(statistic, halves, cloud.n_points, queries, start, max(WIDEST * cloud.size, start))
    choice = of_least_risk(start * risks.factors, risks.total.sum(axis=1))
    return by_neighbours(cloud, rank) if np.isnan(choice.bandwidth) else choice
