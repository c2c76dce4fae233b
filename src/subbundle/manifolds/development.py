"""From a cloud to an atlas laid out in R^k.

    1  the observations are carried onto the ridge of their local quadratic fits at bandwidth a, then twice onto that of
       the points that arrived, at b = ¾ a
    2  bases are spread over the points where k directions stand out (λ_{k+1} < gap · λ_k): charts of radius 3b there
    3  charts are aligned by the points they share; where they contradict each other, gap is halved (points between two
       sheets join what does not belong together), or the manifold closes up and is cut
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.manifolds.alignment import Alignment, align
from subbundle.manifolds.chart_links import Links, link_charts, one_component_each
from subbundle.manifolds.quadrics import QuadricFitter
from subbundle.manifolds.small_charts import SmallCharts, bandwidth_charts, cover, neighbour_charts

# Bandwidth of the charts relative to that of the ridge, chart radius in chart bandwidths, rounds of smoothing.
_NARROWER, _RADIUS, _SMOOTHINGS = 0.75, 3.0, 2
_GAP, _HALVINGS = 0.2, 3
# Residual of the alignment, in chart radii, above which charts contradict each other.
CONTRADICTION = 0.03
# Ridge steps shorter than this part of the bandwidth end the iteration.
_NEAR_ENOUGH, _STEPS = 5e-3, 6
# Effective neighbours, per coefficient of a quadratic fit, that the denoised cloud keeps; more change nothing.
_ENOUGH = 12.0
# From so many dimensions on an observation stands alone on its own noise and is left out of its own first fit.
_ALONE_DIM = 8


@dataclass(frozen=True, slots=True)
class Development:
    """Aligned charts.

    Attributes
    ----------
    charts, links, alignment
    labels : [M]
        Connected part of each chart.
    """

    charts: SmallCharts
    links: Links
    alignment: Alignment
    labels: IntArray


def coefficients(rank: int) -> int:
    """Number of coefficients of a quadratic function of ``rank`` variables."""
    return 1 + rank + rank * (rank + 1) // 2


def denoised(fitter: QuadricFitter, bandwidth: float) -> FloatArray:
    """Points [n, D] in the middle of the cloud of ``fitter``, as many as charts at ``bandwidth`` need."""
    cloud = fitter.cloud
    alone = cloud.dim >= _ALONE_DIM
    few = cloud.at(cloud.sample(256)) + cloud.centre
    typical = float(np.median(fitter.fit(few, bandwidth, steps=2, without_self=alone).effective))
    share = min(1.0, _ENOUGH * coefficients(fitter.rank) / max(typical, 1.0))
    some = cloud.at(cloud.sample(int(np.ceil(share * cloud.n_points)))) + cloud.centre
    carried = fitter.fit(some, bandwidth, steps=_STEPS, tol=_NEAR_ENOUGH, without_self=alone)
    return carried.points[carried.status == 0]


def develop(fitter: QuadricFitter, bandwidth: float, *, n_jobs: int | None) -> Development:
    """Charts of the size of the ``bandwidth``, aligned."""
    rank, narrow = fitter.rank, _NARROWER * bandwidth
    points = denoised(fitter, bandwidth)
    _check_some(points, bandwidth, rank)
    for _ in range(_SMOOTHINGS):
        smoother = QuadricFitter(points, rank, n_jobs=n_jobs)
        points = smoother.fit(smoother.observations, narrow, steps=3, tol=_NEAR_ENOUGH).points
    smoother = QuadricFitter(points, rank, n_jobs=n_jobs)
    gaps = smoother.fit(smoother.observations, narrow, steps=1).gaps
    best: Development | None = None
    for halving in range(_HALVINGS + 1):
        found = _aligned(smoother, narrow, gaps < _GAP / 2**halving, n_jobs)
        if found is None:
            break
        if best is None or found.alignment.residual < best.alignment.residual:
            best = found
        if best.alignment.residual <= CONTRADICTION:
            break
    if best is None:
        _check_some(np.empty((0, rank)), bandwidth, rank)
        raise AssertionError
    return best


def develop_neighbours(points: FloatArray, rank: int, n_neighbors: int, *, n_jobs: int | None) -> Development:
    """Flat charts of ``n_neighbors`` points at every one of ``points`` [n, D], aligned."""
    charts = neighbour_charts(points, rank, n_neighbors)
    return _linked(charts, rank + 1, n_jobs)


def _aligned(smoother: QuadricFitter, narrow: float, wanted: FloatArray, n_jobs: int | None) -> Development | None:
    rank = smoother.rank
    # In more dimensions a ball holds more bases; they may stand further apart.
    spacing = narrow * {1: 1.0, 2: 1.0, 3: 1.25}.get(rank, 1.5)
    rows = cover(smoother, spacing, wanted)
    if rows.size == 0:
        return None
    quadrics = smoother.fit(smoother.observations[rows], narrow, steps=2)
    charts = bandwidth_charts(smoother, quadrics, narrow, _RADIUS * narrow, spacing, n_jobs=n_jobs)
    if len(charts.bases) == 0:
        return None
    return _linked(charts, 2 * rank + 2, n_jobs)


def _linked(charts: SmallCharts, least: int, n_jobs: int | None) -> Development:
    links = link_charts(charts, least=least, n_jobs=n_jobs)
    labels = links.components()
    charts = one_component_each(charts, labels)
    return Development(charts, links, align(charts, links, labels), labels)


def _check_some(points: FloatArray, bandwidth: float, rank: int) -> None:
    if len(points) < 2 * rank + 2:
        raise ValueError(
            f"charts need at least {2 * rank + 2} points close together; at bandwidth {bandwidth:.3g} there are too few "
            "anywhere. Pass a larger bandwidth, more data, or charts='neighbours'."
        )
