"""From a table of observations to an atlas laid out in R^k: what `AtlasEmbedding` does when it fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle._validation import as_choice, as_integer
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.cloud import Cloud
from subbundle.embedding.atlas_distance import AtlasDistance
from subbundle.embedding.developed_atlas import DevelopedAtlas
from subbundle.embedding.development import (
    CONTRADICTION,
    Development,
    ThinDataError,
    develop,
    develop_neighbours,
)
from subbundle.embedding.layout import by_size, develop_at, lay_out
from subbundle.embedding.stress import stress_positions, stretched_maps
from subbundle.estimators._atlas_size import chart_size
from subbundle.estimators._prepare import _components, _lifted
from subbundle.local.quadrics import QuadricFitter
from subbundle.selection.components import Components

# Up to so many features nothing is left out: where no direction is noise alone, the floor of the noise cannot be seen.
_FEW = 8
# From so many components on those are dropped that hold the last of the variance.
_MANY, _NEGLIGIBLE = 16, 1e-3
# Sizes of neighbourhoods that are compared, in units of k + 2.
_NEIGHBOURHOODS = (2, 3, 5, 8)
# Bandwidths tried on few points, relative to the one of their density.
_WIDER = (1.0, 1.2, 1.4)
# How far a cut must lower the residual of the alignment. Stress can lay out curved shapes in one piece; it needs a cut
# only where there is a loop.
_MENDED = {"rigid": 1.0, "stress": 0.3}
# Differences for the directions of the coordinates at a base point, in spacings.
_DIFFERENCE = 1e-2


@dataclass(frozen=True, slots=True)
class Learned:
    """An atlas in the kept components of the data.

    Attributes
    ----------
    components : Components
        The way there and back.
    atlas : DevelopedAtlas
    development : Development
    bandwidth : float
        a; NaN for charts made of neighbours.
    n_neighbors : int
        Points per chart; 0 for charts made with a bandwidth.
    reason : str
        Why charts have the size they have.
    """

    components: Components
    atlas: DevelopedAtlas
    development: Development
    bandwidth: float
    n_neighbors: int
    reason: str


def learn(
    points: FloatArray, rank: int, *, bandwidth: Any, charts: str, n_neighbors: Any, closed: str, metric: str,
    reduce_dim: Any, n_jobs: int | None,
) -> Learned:  # fmt: skip
    """Learn an atlas of dimension ``rank`` from ``points`` [N, d]; see `AtlasEmbedding` for the settings."""
    # Rows in the order of a search tree, so that nothing depends on the order they came in.
    points = points[Cloud(points).order]
    few = reduce_dim == "auto" and points.shape[1] <= _FEW
    components = _components(points, rank, None if few else reduce_dim)
    components = _lifted(_telling(components, points, rank, reduce_dim), rank)
    fitter = QuadricFitter(components.enter(points), rank, n_jobs=n_jobs)
    size = chart_size(fitter, bandwidth, charts, n_jobs)
    width, reason = size.bandwidth, size.reason
    mended = _MENDED[metric]
    if np.isnan(width):
        found, count = _of_neighbours(fitter, n_neighbors, closed, mended, n_jobs)
    elif not size.guess:
        found, count = develop(fitter, width, closed=closed, mended=mended, n_jobs=n_jobs), 0
    else:
        found, width, count = _of_few(fitter, width, n_neighbors, closed, mended, n_jobs)
        reason = reason if not count else f"{reason}, at which charts contradict each other, or there are none"
    return Learned(components, _atlas(found, metric, n_jobs), found, width, count, reason)


def _telling(components: Components, points: FloatArray, rank: int, reduce_dim: Any) -> Components:
    """With ``reduce_dim="auto"`` in many dimensions, the components that hold all but a thousandth of the variance.

    Images without noise have hundreds of components; what the last of them hold moves distances by a thousandth.
    """
    count = components.axes.shape[1]
    if reduce_dim != "auto" or count <= _MANY:
        return components
    inside = points @ components.axes
    variance = inside.var(axis=0)
    left = np.cumsum(variance[::-1])[::-1] - variance
    kept = max(int(np.count_nonzero(left > _NEGLIGIBLE * variance.sum())) + 1, rank + 1)
    return Components(components.mean, np.ascontiguousarray(components.axes[:, :kept]), components.noise)


def _of_few(
    fitter: QuadricFitter, width: float, n_neighbors: Any, closed: str, mended: float, n_jobs: int | None
) -> tuple[Development, float, int]:
    """Charts on few points, their bandwidth, and neighbours per chart (0 where the bandwidth counts).

    Few points can leave gaps that are no gaps of the shape: a somewhat larger bandwidth is taken where it joins parts
    without contradiction. Where charts contradict each other at all of these, neighbours take their place.
    """
    tried = []
    for factor in _WIDER:
        try:
            tried.append((develop(fitter, factor * width, closed=closed, mended=mended, n_jobs=n_jobs), factor))
        except ThinDataError:
            continue
        if int(tried[-1][0].labels.max()) == 0 and tried[-1][0].alignment.residual <= CONTRADICTION:
            break
    sound = [one for one in tried if one[0].alignment.residual <= CONTRADICTION]
    if sound:
        found, factor = min(sound, key=lambda one: int(one[0].labels.max()))
        return found, factor * width, 0
    flat, count = _of_neighbours(fitter, n_neighbors, closed, mended, n_jobs)
    bent = min(tried, key=lambda one: one[0].alignment.residual, default=None)
    if bent is not None and bent[0].alignment.residual <= flat.alignment.residual:
        return bent[0], bent[1] * width, 0
    return flat, float("nan"), count


def _of_neighbours(
    fitter: QuadricFitter, n_neighbors: Any, closed: str, mended: float, n_jobs: int | None
) -> tuple[Development, int]:
    """Charts of nearest neighbours, and how many: of a few numbers the one whose charts fit each other best."""
    rank = fitter.rank
    distinct = np.unique(fitter.observations, axis=0)
    if isinstance(n_neighbors, str):
        as_choice(n_neighbors, "n_neighbors", ("auto",))
        counts = [(2 * rank + 4) * step // 2 for step in _NEIGHBOURHOODS]
    else:
        counts = [as_integer(n_neighbors, "n_neighbors", low=rank + 2, why="or 'auto'")]
    counts = sorted({min(count, len(distinct)) for count in counts})
    found = [develop_neighbours(distinct, rank, count, closed=closed, mended=mended, n_jobs=n_jobs) for count in counts]
    best = int(np.argmin([one.alignment.residual for one in found]))
    return found[best], counts[best]


def _atlas(found: Development, metric: str, n_jobs: int | None) -> DevelopedAtlas:
    """Charts laid out by the alignment, or by stress, parts side by side."""
    charts, aligned = found.charts, found.alignment
    mass: FloatArray = np.full(len(charts.bases), 1e-300)
    mass += np.bincount(charts.charts, weights=charts.weights, minlength=len(charts.bases))
    labels = by_size(found.labels, mass)
    # Points lie up to two spacings beyond the bases on either side.
    gap = 5.0 * float(charts.spacings.max())
    maps, shifts = lay_out(aligned.maps, aligned.shifts, labels, mass, least_gap=gap)
    plain = DevelopedAtlas(charts, found.links, maps, shifts, np.zeros(len(labels)), labels, n_jobs=n_jobs)
    distance = AtlasDistance(plain, found.links.pairs, n_jobs=n_jobs)
    graph = distance.graph
    if metric == "stress":
        shifts = stress_positions(distance, charts.bases, shifts, labels)
    stretched = stretched_maps(graph.forward, graph.backward, graph.pairs, shifts, maps)
    stretches = np.abs(np.log(np.maximum(np.linalg.svd(stretched, compute_uv=False), 1e-300))).max(axis=1)
    if metric == "stress":
        maps, shifts = lay_out(stretched, shifts, labels, mass, least_gap=gap)
    return DevelopedAtlas(charts, found.links, maps, shifts, stretches, labels, n_jobs=n_jobs)


def developed_at(
    atlas: DevelopedAtlas, base: FloatArray, bundle: PrincipalSubbundle
) -> tuple[DevelopedAtlas, FloatArray]:
    """``atlas`` moved so that the point of it nearest to ``base`` [D] has coordinates zero, and coordinates run along
    the frame of ``bundle`` there; and that point."""
    here = atlas.place(base[None])
    frame = bundle.frame(here.feet).vectors[0]
    width = _DIFFERENCE * float(np.median(atlas.spacings))
    ahead, behind = (atlas.place(here.feet + sign * width * frame.T).coordinates for sign in (1.0, -1.0))
    maps, shifts = develop_at(atlas.maps, atlas.shifts, here.coordinates[0], (ahead - behind) / (2.0 * width))
    moved = DevelopedAtlas.from_arrays(atlas.to_arrays() | {"maps": maps, "shifts": shifts}, n_jobs=atlas.n_jobs)
    return moved, here.feet[0]
