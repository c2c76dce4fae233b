"""From a table of observations to an atlas laid out in R^k: what `AtlasEmbedding` does when it fits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle._validation import as_choice, as_integer, as_positive
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.cloud import Cloud
from subbundle.estimators._prepare import _components, _lifted
from subbundle.manifolds.atlas_distance import AtlasDistance
from subbundle.manifolds.developed_atlas import DevelopedAtlas
from subbundle.manifolds.development import CONTRADICTION, Development, coefficients, develop, develop_neighbours
from subbundle.manifolds.layout import by_size, develop_at, lay_out
from subbundle.manifolds.quadrics import QuadricFitter
from subbundle.manifolds.stress import stress_positions, stretched_maps
from subbundle.selection.bandwidth import choose_bandwidth
from subbundle.selection.carried_risk import choose_by_carrying
from subbundle.selection.components import Components

# Effective neighbours per coefficient of a quadratic fit: below the first curvature is mostly noise, up to the second
# charts gain from more.
_THIN, _RICH = 1.2, 4.0
# Up to so many features nothing is left out: where no direction is noise alone, the floor of the noise cannot be seen.
_FEW = 8
# From so many components on those are dropped that hold the last of the variance.
_MANY, _NEGLIGIBLE = 16, 1e-3
# Sizes of neighbourhoods that are compared, in units of k + 2.
_NEIGHBOURHOODS = (2, 3, 5, 8)
# Bandwidth relative to that of least risk for the middle of the cloud: curvature, which charts are made of, suffers
# earlier from a large one.
_NARROWER = 0.75
_FEW_POINTS, _LOW_DIM = 500, 16
_WIDER = (1.2, 1.4)
# λ_{k+1}/λ_k above which the neighbours of a point show no shape.
_ROUND = 0.4
_STEPS = 3
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
    width, reason = _size(fitter, bandwidth, charts, n_jobs)
    mended = _MENDED[metric]
    if np.isnan(width):
        found, count = _of_neighbours(fitter, n_neighbors, closed, mended, n_jobs)
    else:
        found, count = develop(fitter, width, closed=closed, mended=mended, n_jobs=n_jobs), 0
        if isinstance(bandwidth, str) and fitter.cloud.n_points <= _FEW_POINTS:
            found, width = _joined(fitter, found, width, closed, mended, n_jobs)
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


def _joined(
    fitter: QuadricFitter, found: Development, width: float, closed: str, mended: float, n_jobs: int | None
) -> tuple[Development, float]:
    """``found``, or charts at a somewhat larger bandwidth where those join the parts without contradiction: few points
    can leave gaps that are no gaps of the shape."""
    for factor in _WIDER:
        if int(found.labels.max()) == 0:
            break
        wider = develop(fitter, factor * width, closed=closed, mended=mended, n_jobs=n_jobs)
        fewer = int(wider.labels.max()) < int(found.labels.max())
        if fewer and wider.alignment.residual <= CONTRADICTION:
            return wider, factor * width
    return found, width


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


def _size(fitter: QuadricFitter, bandwidth: Any, charts: str, n_jobs: int | None) -> tuple[float, str]:
    """The bandwidth, NaN where charts are to be made of neighbours, and the reason."""
    rank = fitter.rank
    if charts == "neighbours":
        return float("nan"), "they were asked for"
    if not isinstance(bandwidth, str):
        return as_positive(bandwidth, "bandwidth", hint="Or pass 'auto'."), "the bandwidth was given"
    as_choice(bandwidth, "bandwidth", ("auto",))
    # A regression on few points needs so wide a bandwidth that the least risk of the plain ridge is the better guide.
    few_points = fitter.cloud.n_points <= _FEW_POINTS and fitter.cloud.dim <= _LOW_DIM
    if few_points:
        choice = choose_bandwidth(fitter.cloud, rank, n_jobs=n_jobs)
    else:
        choice = choose_by_carrying(fitter.cloud, rank, partial(_carried, 1.0), n_jobs=n_jobs)
    few = fitter.cloud.at(fitter.cloud.sample(256)) + fitter.cloud.centre
    fits = fitter.fit(few, choice.bandwidth, steps=2)
    if not few_points and np.median(fits.gaps) > _ROUND:
        # Far below the noise a dense cloud has no middle; points stay where they are, which looks like a small error.
        wider = choose_by_carrying(fitter.cloud, rank, partial(_carried, _ROUND), n_jobs=n_jobs)
        if wider.error < choice.error:
            choice, fits = wider, fitter.fit(few, wider.bandwidth, steps=2)
    effective = float(np.median(fits.effective))
    # The number of neighbours goes with the k-th power of the bandwidth.
    enough = (_RICH * coefficients(rank) / effective) ** (1.0 / rank)
    share = 1.0 if few_points else min(max(_NARROWER, enough), 1.0)
    width, effective = share * choice.bandwidth, share**rank * effective
    needed = _THIN * coefficients(rank)
    seen = f"at bandwidth {width:.3g} a point has {effective:.0f} effective neighbours"
    if charts == "bandwidth" or (choice.method != "neighbour distance" and effective >= needed):
        return width, f"{seen}, and curvature in {rank} dimensions needs {needed:.0f}"
    why = f"{seen}, too few for curvature in {rank} dimensions, which needs {needed:.0f}"
    if choice.method == "neighbour distance":
        why = f"on {fitter.cloud.n_points} observations no bandwidth could be told from another"
    return float("nan"), why


def _carried(
    round_: float, half: Cloud, rank: int, bandwidth: float, queries: FloatArray, n_jobs: int | None
) -> FloatArray:
    """Where ``queries`` [q, D] come to rest on the quadratic fits to ``half``.

    NaN where these have too few points, or where the neighbours are as round as λ_{k+1} > ``round_`` · λ_k.
    """
    fits = QuadricFitter(half, rank, n_jobs=n_jobs).fit(queries, bandwidth, steps=_STEPS)
    lost = (fits.status != 0) | (fits.effective < rank + 2) | (fits.gaps > round_)
    return np.where(lost[:, None], np.nan, fits.points)


def _atlas(found: Development, metric: str, n_jobs: int | None) -> DevelopedAtlas:
    """Charts laid out by the alignment, or by stress, parts side by side."""
    charts, aligned = found.charts, found.alignment
    counted = np.bincount(charts.charts, weights=charts.weights, minlength=len(charts.bases))
    mass: FloatArray = np.asarray(counted, dtype=np.float64) + 1e-300
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
