"""From a cloud to an atlas laid out in R^k.

1  the observations are carried onto the ridge of their local quadratic fits at bandwidth a, then twice onto that of
   the points that arrived, at b = ¾ a
2  bases are spread over the points where k directions stand out (λ_{k+1} ≤ gap · λ_k): charts of radius 3b there
3  charts are aligned by the points they share; where they contradict each other, a smaller gap is tried (points
   between two sheets join what does not belong together), or the manifold closes up and is cut
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray, SubbundleError
from subbundle.embedding.alignment import Alignment, align
from subbundle.embedding.chart_graph import ChartGraph
from subbundle.embedding.chart_links import Links, link_charts, one_component_each
from subbundle.embedding.cuts import crossing, regions, split_members
from subbundle.embedding.quadratic_charts import SmallCharts, bandwidth_charts, cover, neighbour_charts
from subbundle.local.quadrics import QuadricFitter

# Bandwidth of the charts relative to that of the ridge, chart radius in chart bandwidths, rounds of smoothing.
_NARROWER, _RADIUS, _SMOOTHINGS = 0.75, 3.0, 2
_GAP, _HALVINGS = 0.2, 3
# Part of the points that the first gap keeps, and that a smaller one must keep.
_NEARLY_ALL, _WIDE = 0.98, 0.9
# A cut of charts made of neighbours is kept if it brings their residual below this part of what it was.
_MENDED = 0.6
# Spacing of the bases in chart bandwidths, by rank: in more dimensions a ball holds more bases.
_SPACING = {1: 1.0, 2: 1.0, 3: 1.25}
# Residual of the alignment, in chart radii, above which charts contradict each other.
CONTRADICTION = 0.03
# Ridge steps shorter than this part of the bandwidth end the iteration.
_NEAR_ENOUGH, _STEPS = 5e-3, 6
# Effective neighbours, per coefficient of a quadratic fit, that the denoised cloud keeps; more change nothing.
_ENOUGH = 12.0
# From so many dimensions on an observation stands alone on its own noise and is left out of its own first fit.
_ALONE_DIM = 8


class ThinDataError(SubbundleError):
    """No chart has enough points at this bandwidth."""


@dataclass(frozen=True, slots=True)
class Development:
    """Aligned charts.

    Attributes
    ----------
    points : [n, D]
        What the charts were made from: the denoised cloud, or the points themselves.
    charts, links, alignment
    joined : [P, 2]
        Pairs of charts that share points, those across a cut included.
    labels : [M]
        Connected part, or region, of each chart.
    cut : float
        Part of the links between charts that were cut because the manifold closes up; 0 where it does not.
    """

    points: FloatArray
    charts: SmallCharts
    links: Links
    alignment: Alignment
    joined: IntArray
    labels: IntArray
    cut: float


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
    return np.asarray(carried.points[carried.status == 0])


def develop(fitter: QuadricFitter, bandwidth: float, *, closed: str, mended: float, n_jobs: int | None) -> Development:
    """Charts of the size of the ``bandwidth``, aligned; ``closed`` and ``mended`` as in `opened`."""
    rank, narrow = fitter.rank, _NARROWER * bandwidth
    points = denoised(fitter, bandwidth)
    if len(points) < 2 * rank + 2:
        raise _too_thin(bandwidth, rank)
    for _ in range(_SMOOTHINGS):
        smoother = QuadricFitter(points, rank, n_jobs=n_jobs)
        points = smoother.fit(smoother.observations, narrow, steps=3, tol=_NEAR_ENOUGH).points
    smoother = QuadricFitter(points, rank, n_jobs=n_jobs)
    gaps = smoother.fit(smoother.observations, narrow, steps=1).gaps
    best: Development | None = None
    # On real data k directions may stand out less clearly everywhere: at first nearly all points are taken.
    first = max(_GAP, float(np.quantile(gaps, _NEARLY_ALL)))
    for gap in (first, *(_GAP / 2**halving for halving in range(_HALVINGS + 1))):
        wanted = gaps <= gap
        # Points between sheets are few. Where more would go, the gap is not what is wrong.
        if best is not None and np.count_nonzero(wanted) < _WIDE * len(gaps):
            break
        found = _charted(smoother, narrow, wanted, n_jobs)
        if found is None:
            break
        if best is None or found.alignment.residual < 0.5 * best.alignment.residual:
            best = found
        if best.alignment.residual <= CONTRADICTION:
            break
    if best is None:
        raise _too_thin(bandwidth, rank)
    return opened(best, closed, mended)


def develop_neighbours(
    points: FloatArray, rank: int, n_neighbors: int, *, closed: str, mended: float, n_jobs: int | None
) -> Development:
    """Flat charts of ``n_neighbors`` points at every one of ``points`` [n, D], aligned."""
    # Flat charts of a bent and noisy cloud always contradict each other somewhat; a cut has to mend that.
    return opened(
        _linked(points, neighbour_charts(points, rank, n_neighbors), rank + 1, n_jobs), closed, min(mended, _MENDED)
    )


def opened(found: Development, closed: str, mended: float) -> Development:
    """``found``, cut open where its charts contradict each other because the manifold closes up.

    ``closed`` is ``"cut"`` (along the points furthest from a central chart), ``"regions"`` (shared out into cells that
    do not close up) or ``"raise"``. A cut counts only if it brings the residual of the alignment below ``mended`` times
    what it was: strong curvature alone can look like closing up, and is not mended by a cut.
    """
    if found.alignment.residual <= CONTRADICTION:
        return found
    graph = ChartGraph(found.charts.bases, found.charts.frames, found.charts.forms, found.links.pairs)
    crossed = crossing(graph, found.links, found.labels)
    if not crossed.any():
        return found
    if closed == "regions":
        cell = regions(graph, found.links, found.labels)
        crossed = cell[found.links.pairs[:, 0]] != cell[found.links.pairs[:, 1]]
    links = found.links.only(~crossed)
    labels = links.components()
    charts = split_members(found.charts, links)
    aligned = align(charts, links, labels)
    if aligned.residual >= mended * found.alignment.residual:
        return found
    if closed == "raise":
        raise ValueError(
            "the data must lie on a manifold that can be laid out in one piece; unrolled from its centre it comes back "
            "beside itself, as a cylinder, sphere, torus or Möbius strip does. Write closed='cut' to cut it open, or "
            "closed='regions' for several pieces."
        )
    return Development(found.points, charts, links, aligned, found.joined, labels, float(np.mean(crossed)))


def _charted(
    smoother: QuadricFitter, narrow: float, wanted: NDArray[np.bool_], n_jobs: int | None
) -> Development | None:
    """Charts on the ``wanted`` points, aligned; None where there are none."""
    rank = smoother.rank
    spacing = narrow * _SPACING.get(rank, 1.5)
    rows = cover(smoother, spacing, wanted)
    if rows.size == 0:
        return None
    quadrics = smoother.fit(smoother.observations[rows], narrow, steps=2)
    charts = bandwidth_charts(smoother, quadrics, narrow, _RADIUS * narrow, spacing, n_jobs=n_jobs)
    return _linked(smoother.observations, charts, 2 * rank + 2, n_jobs) if len(charts.bases) else None


def _linked(points: FloatArray, charts: SmallCharts, least: int, n_jobs: int | None) -> Development:
    links = link_charts(charts, least=least, n_jobs=n_jobs)
    labels = links.components()
    charts = one_component_each(charts, labels)
    return Development(points, charts, links, align(charts, links, labels), links.pairs, labels, 0.0)


def _too_thin(bandwidth: float, rank: int) -> ThinDataError:
    return ThinDataError(
        f"charts must have at least {2 * rank + 2} points with {rank} directions that stand out; at bandwidth "
        f"{bandwidth:.3g} none has. Pass a smaller bandwidth if sheets lie closer together than that, a larger one or "
        "charts='neighbours' if the data is thin, or another n_components."
    )
