"""The paper's rule: the bandwidth at which λ_k and λ_{k+1} are most clearly apart, on average over the cloud.

Apart is meant relative to λ_k: the mean of (λ_k − λ_{k+1})/λ_k over points in the middle of the cloud. With smooth
surfaces and little noise it falls slowly from a wide maximum, so that it picks larger bandwidths than the error would.
"""

from __future__ import annotations

import numpy as np

from subbundle._numbers import ROUNDING
from subbundle._types import FloatArray, Status
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.cloud import Cloud
from subbundle.selection._ladder import first_width, split
from subbundle.selection._tuning import PLACES, PLENTY, RATIO, WIDEST


def mean_gaps(cloud: Cloud, rank: int, n_jobs: int | None) -> tuple[FloatArray, FloatArray]:
    """Bandwidths [m] from few neighbours up to a fifth of the size of the cloud, and the mean gap [m] at each.

    NaN where the bundle refuses, for want of neighbours or of directions.
    """
    queries, half, other = split(cloud, PLACES)
    width, widest = first_width(queries, np.concatenate([half, other]), rank), WIDEST * cloud.size
    # Two or three observations have no neighbours to take a width from.
    width = width if width > ROUNDING * widest else widest
    rungs = max(int(np.log(widest / width) / np.log(RATIO)) + 1, 1)
    ladder: FloatArray = np.array([width * RATIO**rung for rung in range(rungs)], np.float64)
    gaps: FloatArray = np.full(rungs, np.nan, np.float64)
    for rung, bandwidth in enumerate(ladder):
        try:
            bundle = PrincipalSubbundle(cloud, rank, float(bandwidth), min_density=0.0, n_jobs=n_jobs)
        except ValueError:
            continue
        frame = bundle.frame(bundle.landmarks(PLACES))
        seen = (frame.status == Status.OK) | (frame.status == Status.GAP_CLOSED)
        if not seen.any():
            continue
        gaps[rung] = frame.gap[seen].mean()
        if np.median(frame.density) > PLENTY:
            cloud = Cloud(cloud.at(cloud.sample(cloud.n_points // 2)))
    return ladder, gaps
