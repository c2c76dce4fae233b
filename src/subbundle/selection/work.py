"""How many places of a cloud can be looked at, where quadrics of high rank are expensive."""

from __future__ import annotations

from subbundle.cloud import Cloud
from subbundle.local.regression import n_features

# Multiplications for the quadrics of one step: half a second, and a ladder of bandwidths takes about twenty such steps.
_WORK = 3e9


def affordable_fits(cloud: Cloud, rank: int) -> int:
    """Places at which quadrics can be fitted again and again within seconds; one at least.

    The normal equations of q = 1 + k + k (k + 1)/2 unknowns take n q² multiplications and their factor q³/6. That
    bounds what a statistic is averaged over from rank 12 or so on.
    """
    size = n_features(rank)
    return int(max(_WORK / (size**2 * (min(cloud.n_points, 8 * size) + size / 6.0)), 1.0))
