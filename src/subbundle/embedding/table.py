"""Layout of a whole table in R^k: from rows in their principal components to an atlas that maps new ones.

1  estimate of the noise that local fits remove                                   (`noise`)
2  nodes: the distinct rows, or as many of them as the neighbourhoods of 1 need, replaced by the fits of 1, if any
3  connected components, by gaps much longer than the spacing                     (`subbundle.graph`)
4  layout of each, from charts with curvature                                     (`node_layout`)
5  components side by side, and the charts with their layout as one atlas         (`laid_out_atlas`)

What 1 attributes to noise may be dimensions beyond k, or structure finer than all neighbourhoods. Where charts disagree
the fits of largest gain, those of least risk and the unchanged rows are laid out, and what predicts the rows best is
used; or principal components, where there is evidence that they are better. Two figures of each row are compared: its
neighbourhood kept (trustworthiness and continuity), and its squared distance from what coordinates map back to when the
row was left out of the fit. The mean difference in each, over its standard error, is a t statistic; as normal scores
z₁, z₂ they are combined to (z₁ + z₂)/√2 (Stouffer), which must exceed one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import block_diag, csr_array

from subbundle._numbers import SINGULAR
from subbundle._types import FloatArray, IntArray, evenly
from subbundle.atlas.atlas_distance import AtlasDistance
from subbundle.atlas.linked_atlas import LinkedAtlas
from subbundle.charts.quadratic_chart import QuadraticCharts
from subbundle.embedding.components import onto_principal_components, principal_motion
from subbundle.embedding.curves import curve_through
from subbundle.embedding.jackknife import normal_score
from subbundle.embedding.laid_out_atlas import LaidOutAtlas
from subbundle.embedding.node_layout import NodeLayout, lay_out_nodes, stretched_maps
from subbundle.embedding.noise import NO_DENOISING, Denoising, denoise, denoising_within, evidence_of_noise, linear
from subbundle.embedding.quality import ROWS, kept_by_row, prediction_error
from subbundle.embedding.rigid_layout import ChartMembers
from subbundle.embedding.tuning import CHART_REACH, MOST_NODES, NODES_PER_FIT
from subbundle.graph.neighbor_graph import graph_of
from subbundle.graph.neighborhoods import frame_size, nearest_rows, neighborhoods
from subbundle.local.frames import leading_directions
from subbundle.local.model import partial_model
from subbundle.selection.tuning import FOLDS, PLACES

# Gap between two components, as a fraction of the width of the largest.
_GAP = 0.15


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A table laid out.

    Attributes
    ----------
    atlas : LaidOutAtlas
    denoising : Denoising
    residual : float
        Disagreement between the charts, relative to their size, over all components.
    distance_weight : float
        Weight of graph distances relative to charts, that of the largest component.
    path_weight : float
        The same for paths along the manifold.
    n_neighbors : int
        Of the charts of the largest component.
    cut : float
        Fraction of the edges that were cut because the manifold is closed.
    """

    atlas: LaidOutAtlas
    denoising: Denoising
    residual: float
    distance_weight: float
    path_weight: float
    n_neighbors: int
    cut: float

    def coordinates(self, rows: FloatArray) -> FloatArray:
        """Coordinates [n, k] of ``rows`` [n, D]."""
        return self.atlas.locate(rows).coordinates


def lay_out_table(
    rows: FloatArray, weights: FloatArray, rank: int, *, metric: str, n_neighbors: int | None,
    bandwidth: float | str | None, n_jobs: int | None,
) -> TableLayout:  # fmt: skip
    """Lay out distinct ``rows`` [n, D] with ``weights`` [n], in an order that does not depend on that of the input."""
    hows = _denoising(rows, weights, rank, bandwidth)

    def laid_out(how: Denoising, which: IntArray | slice = slice(None)) -> TableLayout:
        return _laid_out_by(how, rows[which], weights[which], rank, metric, n_neighbors, n_jobs)

    layout = laid_out(hows[0])
    # Layouts along a curve have no residual.
    if layout.path_weight > 1.0 and layout.residual > 0.0:
        # Compared at the same rows: nodes of fits are fewer, and among fewer the nearest predict less.
        some = rows[evenly(len(rows), ROWS)]
        curved = [layout, *map(laid_out, hows[1:])]
        layout = min(curved, key=lambda one: prediction_error(some, one.coordinates(some)))
        if isinstance(bandwidth, str):
            flat, how = laid_out(linear(len(rows))), layout.denoising
            kept = [kept_by_row(some, one.coordinates(some)).sum(axis=0) for one in (flat, layout)]
            score = normal_score(kept[0] - kept[1])
            # The second figure takes some more layouts: only where three standard errors of it could decide.
            if abs(score - np.sqrt(2.0)) < 3.0:
                score += normal_score(held_out_differences(rows, weights, rank, lambda left: laid_out(how, left)))
            if score > np.sqrt(2.0):
                layout = flat
    return layout


def held_out_differences(
    rows: FloatArray, weights: FloatArray, rank: int, laid_out: Callable[[IntArray], TableLayout]
) -> FloatArray:
    """Squared errors [q] of rows mapped to coordinates and back by a curved layout, less those by principal components.

    Both are of the other ``rows`` [n, D] with ``weights`` [n]: at most a fifth is left out at a time.
    """
    some = evenly(len(rows), PLACES)
    folds = -(-FOLDS * len(some) // len(rows))
    differences = np.empty(len(some))
    for held in (slice(fold, None, folds) for fold in range(folds)):
        left, out = np.setdiff1d(np.arange(len(rows)), some[held]), rows[some[held]]
        layout = laid_out(left)
        curved = layout.atlas.evaluate(layout.coordinates(out))
        flat = onto_principal_components(rows[left], weights[left], out, rank)
        differences[held] = np.sum((out - curved) ** 2 - (out - flat) ** 2, axis=1)
    return differences


def _laid_out_by(
    how: Denoising, rows: FloatArray, weights: FloatArray, rank: int, metric: str, n_neighbors: int | None,
    n_jobs: int | None,
) -> TableLayout:  # fmt: skip
    """The layout of ``rows`` [n, D] with ``weights`` [n] after the fits ``how``."""
    n_nodes = min(len(rows), MOST_NODES)
    if how.n_neighbors:
        n_nodes = min(n_nodes, max(-(-NODES_PER_FIT * len(rows) // how.n_neighbors), 4 * NODES_PER_FIT))
    kept = evenly(len(rows), n_nodes)
    nodes = denoise(rows, weights, rows[kept], rank, how)
    if how.is_linear:
        apart = _distinct(nodes)
        kept, nodes = kept[apart], nodes[apart]
    chosen = rows[kept]
    # Fits to many rows have equal weights.
    own = np.ones(len(kept)) if how.n_neighbors else weights[kept]
    labels = _components(nodes, rank)
    found = [
        _laid_out(nodes[labels == label], own[labels == label], rank, how.n_neighbors > 0, metric, n_neighbors)
        for label in range(int(labels.max()) + 1)
    ]
    order = np.argsort(labels, kind="stable")
    return _to_scale(_assembled(chosen[order], nodes[order], found, how, n_jobs))


def _denoising(
    rows: FloatArray, weights: FloatArray, rank: int, bandwidth: float | str | None
) -> tuple[Denoising, ...]:
    """The setting that the evidence supports, followed by alternatives where charts disagree."""
    if bandwidth is None:
        return (NO_DENOISING,)
    if not isinstance(bandwidth, str):
        return (denoising_within(rows, rank, bandwidth),)
    # Rows that lie along a curve without noise are not replaced.
    if curve_through(rows, strict=True) is not None:
        return (NO_DENOISING,)
    return tuple(dict.fromkeys((*evidence_of_noise(rows, weights, rank), NO_DENOISING)))


def _distinct(projections: FloatArray) -> IntArray:
    """Numbers of ``projections`` [n, D] of distinct rows without those that equal an earlier one up to rounding."""
    offsets = projections - projections.mean(axis=0)
    cells = np.round(offsets / (SINGULAR * float(np.abs(offsets).max())))
    return np.sort(np.unique(cells, axis=0, return_index=True)[1])


def _components(nodes: FloatArray, rank: int) -> IntArray:
    size = min(frame_size(rank), len(nodes) - 1)
    if size < 1:
        return np.zeros(len(nodes), np.int64)
    edges = neighborhoods(nodes, nearest_rows(nodes, size), rank, frame_neighbors=size)
    return graph_of(nodes, edges).components


def _laid_out(
    nodes: FloatArray, weights: FloatArray, rank: int, averaged: bool, metric: str, n_neighbors: int | None
) -> NodeLayout:
    if len(nodes) < 2 * rank + 3:
        return _one_chart(nodes, rank)
    return lay_out_nodes(nodes, weights, rank, averaged=averaged, metric=metric, n_neighbors=n_neighbors)


def _one_chart(nodes: FloatArray, rank: int) -> NodeLayout:
    """Few nodes, in one flat chart."""
    count, dim = nodes.shape
    centred = nodes - nodes.mean(axis=0)
    frame = leading_directions(centred[None], rank)
    positions = centred @ frame[0].T
    tangents = np.repeat(frame, count, axis=0).transpose(0, 2, 1)
    fits = partial_model(nodes, tangents, np.zeros((count, rank * (rank + 1) // 2, dim)))
    rows = np.tile(np.arange(count), count)
    own = np.repeat(np.arange(count), count)
    members = ChartMembers(np.arange(count + 1) * count, rows, positions[rows] - positions[own], np.ones(count * count))
    apart = np.linalg.norm(nodes[:, None] - nodes[None], axis=2)
    links = csr_array(apart)
    return NodeLayout(positions, fits, members, links, links, 0.0, 0.0, 0.0, count - 1, 0.0)


def _assembled(
    origins: FloatArray, nodes: FloatArray, found: list[NodeLayout], how: Denoising, n_jobs: int | None
) -> TableLayout:
    """One atlas from the layouts of the components, nodes in their order."""
    radii = [_radii(one) for one in found]
    rotations, shifts = side_by_side([one.positions for one in found], 5.0 * max(float(np.median(r)) for r in radii))
    stretched = [stretched_maps(one) for one in found]
    maps = np.concatenate([one @ turn for (one, _), turn in zip(stretched, rotations, strict=True)])
    places = [one.positions @ turn + shift for one, turn, shift in zip(found, rotations, shifts, strict=True)]
    graphs = [one.links for one in found], [one.joined for one in found]
    links, lengths = (csr_array(block_diag(each, format="csr")) for each in graphs)
    sizes = np.array([len(one.positions) for one in found])
    residual = float(np.sqrt(np.average([one.residual**2 for one in found], weights=sizes)))
    contradiction = float(np.sqrt(np.average([off**2 for _, off in stretched], weights=sizes)))
    frames = np.concatenate([one.fits.frames for one in found]).transpose(0, 2, 1)
    forms = np.concatenate([one.fits.forms for one in found])
    charts = QuadraticCharts(nodes, frames, forms, np.concatenate(radii), n_jobs=n_jobs)
    positions = np.concatenate(places)
    return TableLayout(
        LaidOutAtlas(LinkedAtlas(charts, origins, lengths, contradiction), maps, positions, links), how, residual,
        found[0].distance_weight, found[0].path_weight, found[0].n_neighbors,
        float(np.average([one.cut for one in found], weights=sizes)),
    )  # fmt: skip


def _to_scale(layout: TableLayout) -> TableLayout:
    """``layout``, corrected for the excess length of paths over a graph where it is based on these alone."""
    if np.isfinite(layout.distance_weight):
        return layout
    along = AtlasDistance(layout.atlas.atlas, layout.path_weight)
    atlas = layout.atlas.moved(along.excess() ** -1 * np.eye(layout.atlas.rank), np.zeros(layout.atlas.rank))
    return replace(layout, atlas=atlas)


def _radii(layout: NodeLayout) -> FloatArray:
    """Radius of each chart [n]."""
    lengths = np.linalg.norm(layout.members.coordinates, axis=1)
    far = np.zeros(len(layout.positions))
    np.maximum.at(far, layout.members.charts, lengths)
    typical = float(np.median(far[far > 0.0])) if (far > 0.0).any() else 1.0
    return np.asarray(CHART_REACH * np.maximum(far, typical))


def side_by_side(components: list[FloatArray], least_gap: float) -> tuple[list[FloatArray], list[FloatArray]]:
    """Rotations [k, k] and shifts [k] with z @ rotation + shift laid out for each of ``components`` [n_c, k].

    They follow one another along the first coordinate, at least ``least_gap`` apart.
    """
    rotations, shifts = [], []
    edge, gap = 0.0, 0.0
    for number, positions in enumerate(components):
        rotation, centre = principal_motion(positions)
        shift = -centre @ rotation
        low, high = (bound((positions @ rotation)[:, 0]) + shift[0] for bound in (np.min, np.max))
        if number == 0:
            edge, gap = high, max(_GAP * (high - low), least_gap)
        else:
            shift[0] += edge + gap - low
            edge += gap + high - low
        rotations.append(rotation)
        shifts.append(shift)
    return rotations, shifts
