"""Layout of the nodes of one connected component in R^k, from charts and graph distances with estimated weights.

1  neighbour graphs of several sizes, averaged by the prediction errors of their layouts (`skeleton`)
2  a chart at every node: directions from its frame, with cross-validated curvature, and lengths of arcs
3  charts aligned by rigid motions, from the layout of 1; their remaining disagreement, relative to their size, is the
   residual r. A closed manifold is cut, if the rows are then predicted far better
4  charts and graph distances together, the latter with the weight (r/.2)⁴: charts that agree need no path lengths,
   which are biased upwards and wrong around holes; charts that disagree (curved, sparse data) need them
5  if charts disagree and the result predicts the rows worse than the distances alone, these alone are used
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from subbundle._memory import blocks
from subbundle._types import FloatArray
from subbundle.atlas.base import nearest_frame
from subbundle.atlas.tuning import EVEN_CONTRADICTION
from subbundle.charts.quadratic_chart import normal_coordinates
from subbundle.embedding import tuning
from subbundle.embedding.closing import crossing_edges, unrolled, without_crossing
from subbundle.embedding.curves import CURVE_STEPS, Tour, curve_through
from subbundle.embedding.quality import prediction_error
from subbundle.embedding.rigid_layout import (
    ChartMembers,
    RigidCharts,
    compact_clusters,
    conjugate_gradients,
    joint_layout,
)
from subbundle.embedding.skeleton import Skeleton, Stress, graph_sizes, landmark_scaling, skeleton, skeleton_of
from subbundle.graph.neighbor_graph import graph_of
from subbundle.graph.neighborhoods import Neighborhoods, nearest_rows, neighborhoods
from subbundle.local.model import LocalModel
from subbundle.local.neighbor_fits import curved_fits, fit_size


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """Nodes with their charts and coordinates.

    Attributes
    ----------
    positions : [n, k]
    fits : LocalModel
        Frames and second fundamental forms at the nodes.
    members : ChartMembers
        The nodes of each chart, with their normal coordinates.
    links : csr_array [n, n]
        The graph without the edges that were cut.
    joined : csr_array [n, n]
        The graph with all edges along the manifold.
    residual : float
        Disagreement between the charts, relative to their size.
    distance_weight : float
        Weight of the graph distances relative to that of the charts; infinite where these alone are used.
    path_weight : float
        The same for distances along the manifold: weight of the paths over the graph relative to those straightened in
        the charts. It depends on the error with which charts predict their neighbours, not on intrinsic curvature.
    n_neighbors : int
    cut : float
        Fraction of the edges that were cut.
    """

    positions: FloatArray
    fits: LocalModel
    members: ChartMembers
    links: csr_array
    joined: csr_array
    residual: float
    distance_weight: float
    path_weight: float
    n_neighbors: int
    cut: float


def lay_out_nodes(
    points: FloatArray, weights: FloatArray, rank: int, *, averaged: bool, metric: str, n_neighbors: int | None
) -> NodeLayout:
    """Lay out ``points`` [n, D] with ``weights`` [n] in local fits; ``averaged`` if they are fits to many rows; with
    ``n_neighbors`` None sizes are compared."""
    tour = curve_through(points, strict=False)
    if tour is not None:
        return _along_curve(points, weights, rank, tour)
    most = min(max(max(graph_sizes(rank, len(points))), fit_size(rank), n_neighbors or 0), len(points) - 1)
    near = nearest_rows(points, most)
    fits, misfit = curved_fits(points, weights, near, rank)
    if n_neighbors is None:
        found = skeleton(points, near, fits.frames, averaged=averaged)
    else:
        size = min(n_neighbors, most)
        edges = neighborhoods(points, near[:, :size], rank, frame_neighbors=size, frames=fits.frames)
        found = skeleton_of(points, edges, graph_of(points, edges).joined())
    start, joined, cut = found.positions, found.lengths, 0.0
    metric = "stress" if metric == "auto" and rank > tuning.MOST_RIGID else metric
    # Charts that disagree need not converge: distances are used with them, and only the residual is needed.
    tolerance = np.inf if metric == "rigid" else EVEN_CONTRADICTION
    members, charts, positions, residual = _rigid_layout(found, fits, start, tolerance)
    if residual > EVEN_CONTRADICTION:
        crossing = crossing_edges(found)
        if crossing.any():
            edges = without_crossing(found.edges, crossing)
            opened = skeleton_of(points, edges, graph_of(points, edges).joined())
            # Development of an open developable manifold is flat, where distances alone may leave a strip twisted; of
            # another it accumulates errors.
            flat = unrolled(opened)
            error = prediction_error(points, flat)
            if min(error, opened.error) <= tuning.CUT_GAIN * found.error:
                start = flat if error <= opened.error else opened.positions
                found, cut = opened, float(np.mean(crossing[found.edges.along]))
                members, charts, positions, residual = _rigid_layout(found, fits, start, tolerance)
    positions, weight = _weighted_layout(points, found, charts, start, positions, residual, metric)
    size = found.edges.neighbors.shape[1]
    along = _weight_of_distances(misfit)
    return NodeLayout(positions, fits, members, found.lengths, joined, residual, weight, along, size, cut)


def _weight_of_distances(disagreement: float) -> float:
    """Weight of graph distances relative to charts with the given ``disagreement``, relative to their size."""
    return float((disagreement / tuning.EVEN_RESIDUAL) ** tuning.RESIDUAL_POWER)


# Charts that agree are laid out with the weight that distances have at the threshold of disagreement: it determines
# what no chart does, and the weight is continuous.
_LEAST_WEIGHT = _weight_of_distances(EVEN_CONTRADICTION)
# Weight of the moments of linked charts relative to the own ones, far above rounding after the rounds and far below
# what determines an orientation.
_OF_LINKED, _LINKED_ROUNDS = 1e-3, 3


def _rigid_layout(
    found: Skeleton, fits: LocalModel, start: FloatArray, tolerance: float
) -> tuple[ChartMembers, RigidCharts, FloatArray, float]:
    """Charts and their alignment by rigid motions from ``start`` [n, k], with little weight of distances; the residual.

    The last rounds are left out where the residual would not fall to ``tolerance``. Above `MOST_RIGID` dimensions only
    the residual is needed, since distances give the layout; rotations and positions alternate there.
    """
    members = chart_members(found.edges, fits.forms)
    charts = RigidCharts(members, len(start))
    if charts.rank > tuning.MOST_RIGID and np.isfinite(tolerance):
        positions = alternating_layout(start, charts, found.stress)
    else:
        clusters = compact_clusters(found.lengths, charts.rank)
        goal = tolerance**2 * charts.size
        positions = joint_layout(start, charts, found.stress, clusters, weight=_LEAST_WEIGHT, scale=1.0, goal=goal)
    residual = float(np.sqrt(charts.at(positions)[0] / max(charts.size, 1e-300)))
    return members, charts, positions, residual


def alternating_layout(positions: FloatArray, charts: RigidCharts, stress: Stress) -> FloatArray:
    """Positions [n, k] of nearly least E of ``charts`` alone: the best for given rotations, and rotations for these.

    One linear problem with the same matrix for every coordinate and no memory for rotations: where a chart has dozens
    of them, a hundredth of the time of `joint_layout`. In few dimensions chains of charts bend, and it is slower.
    """
    energy, descent = charts.at(positions)
    for _ in range(tuning.LAYOUT_ROUNDS):
        step = conjugate_gradients(charts, stress, 0.0, descent, lambda x: np.asarray(x / charts.degrees[:, None]))
        positions = positions + step
        before, (energy, descent) = energy, charts.at(positions)
        if before - energy <= tuning.LAYOUT_SETTLED * energy:
            break
    return positions


def _weighted_layout(
    points: FloatArray, found: Skeleton, charts: RigidCharts, start: FloatArray, positions: FloatArray,
    residual: float, metric: str,
) -> tuple[FloatArray, float]:  # fmt: skip
    """Positions with the estimated weight of the distances, and that weight.

    With weight, the iteration starts at ``start`` [n, k] again and not at the ``positions`` [n, k] of the charts alone:
    from a layout folded by their disagreement it would not recover.
    """
    if metric == "stress":
        plain = Stress(found.stress.landmarks, found.stress.distances, power=0.0)
        return plain.minimised(found.positions), float("inf")
    # Where charts agree both predict the rows equally well, and rounding would decide.
    if metric != "auto" or residual <= EVEN_CONTRADICTION:
        return positions, _LEAST_WEIGHT
    weight = _weight_of_distances(residual)
    scale = min(found.stress.scale_of(positions), 1.0)
    clusters = compact_clusters(found.lengths, charts.rank)
    positions = joint_layout(scale * start, charts, found.stress, clusters, weight=weight, scale=scale)
    if prediction_error(points, positions) > found.error:
        return found.positions, float("inf")
    return positions, weight


def chart_members(edges: Neighborhoods, forms: FloatArray) -> ChartMembers:
    """Charts at all nodes, of each node and its neighbours along the manifold.

    Coordinates have the direction of a geodesic and the length of the arc. The standard error of a member grows with
    its distance and with the sine of the angle between its edge and the frames.
    """
    count = len(edges.neighbors)
    kept = edges.along
    tau = normal_coordinates(edges.offsets, forms)
    tau = tau * (edges.arcs / np.maximum(np.linalg.norm(tau, axis=2), 1e-300))[:, :, None]
    size = np.maximum(np.median(edges.arcs, axis=1), 1e-300)[:, None]
    weights = np.exp(-0.5 * (edges.arcs / size) ** 2) * np.maximum(1.0 - edges.slant, 1e-3) / size**2
    mask = np.concatenate([np.ones((count, 1), bool), kept], axis=1)
    rows = np.concatenate([np.arange(count)[:, None], edges.neighbors], axis=1)[mask]
    coordinates = np.concatenate([np.zeros((count, 1, tau.shape[2])), tau], axis=1)[mask]
    starts = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
    return ChartMembers(starts, rows, coordinates, np.concatenate([size**-2, weights], axis=1)[mask])


def _along_curve(points: FloatArray, weights: FloatArray, rank: int, tour: Tour) -> NodeLayout:
    """Nodes along a curve, by arc length; in one dimension a closed curve is cut at its longest edge."""
    count = len(points)
    steps = [sign * step for step in range(1, CURVE_STEPS + 1) for sign in (1, -1)]
    near = np.empty((count, len(steps)), np.int64)
    near[tour.order] = np.stack([np.roll(tour.order, -step) for step in steps], axis=1)
    apart = np.linalg.norm(points[near] - points[:, None], axis=2)
    near = np.take_along_axis(near, np.argsort(apart, axis=1, kind="stable"), axis=1)
    fits, _ = curved_fits(points, weights, near, rank)
    edges = neighborhoods(points, near, rank, frame_neighbors=len(steps), frames=fits.frames)
    cut = tour.closed and rank == 1
    closed = Tour(tour.order, tour.lengths, tour.closed and not cut)
    if not closed.closed:
        place = np.empty(count, np.int64)
        place[tour.order] = np.arange(count)
        around = np.abs(place[near] - place[:, None]) > CURVE_STEPS
        edges = replace(edges, across=np.where(around, 1.0, edges.across))
    stress = Stress(np.arange(count), closed.distances())
    positions = stress.minimised(landmark_scaling(stress.landmarks, stress.distances, rank))
    links = [_ring(tour, closes) for closes in (closed.closed, tour.closed)]
    members = chart_members(edges, fits.forms)
    return NodeLayout(
        positions, fits, members, links[0], links[1], 0.0, float("inf"), float("inf"), len(steps),
        1.0 / count if cut else 0.0,
    )  # fmt: skip


def _ring(tour: Tour, closed: bool) -> csr_array:
    """The graph [n, n] of a curve."""
    count = len(tour.order)
    ends = np.stack([tour.order, np.roll(tour.order, -1)])
    last = count if closed else count - 1
    one_way = csr_array((np.maximum(tour.lengths, 1e-300)[:last], tuple(ends[:, :last])), shape=(count, count))
    return csr_array(one_way + one_way.T)


def stretched_maps(layout: NodeLayout) -> tuple[FloatArray, float]:
    """Linear maps A_c [n, k, k] with z_j − z_c ≈ v_cj A_c over the members of chart c, and the relative error of that.

    They are regularised towards an orthogonal map, with the weight of one member: members may not span all directions.
    """
    members, rank = layout.members, layout.positions.shape[1]
    of = members.charts
    moved = layout.positions[members.rows] - layout.positions[of]
    own, cross = (np.zeros((len(layout.positions), rank, rank)) for _ in range(2))
    weighted = members.weights[:, None] * members.coordinates
    np.add.at(own, of, np.einsum("mi,mj->mij", weighted, members.coordinates))
    np.add.at(cross, of, np.einsum("mi,mj->mij", weighted, moved))
    one = np.trace(own, axis1=1, axis2=2) / (rank * np.diff(members.starts))
    held = (one + 1e-300)[:, None, None] * np.eye(rank)
    maps = np.asarray(np.linalg.solve(own + held, cross + held @ _orientations(layout, cross)))
    off = moved - np.einsum("mi,mij->mj", members.coordinates, maps[of])
    lost, total = (float(np.sum(members.weights[:, None] * x**2)) for x in (off, moved))
    return maps, float(np.sqrt(lost / max(total, 1e-300)))


def _orientations(layout: NodeLayout, moments: FloatArray) -> FloatArray:
    """The orthogonal maps [n, k, k] nearest to ``moments`` Σ w v ⊗ z [n, k, k] of the charts.

    Members on a line leave the side of a reflection undetermined, and rounding would choose it: there, the moments of
    linked charts do, carried over by the frames. A few rounds reach past neighbours that lie on the same line.
    """
    frames, links = layout.fits.frames, layout.joined.tocoo()
    here, there = links.coords
    turns = np.empty((len(here), *moments.shape[1:]))
    for some in blocks(len(here), frames.shape[1] * frames.shape[2]):
        turns[some] = frames[here[some]] @ frames[there[some]].transpose(0, 2, 1)
    shares = _OF_LINKED / np.maximum(np.bincount(here, minlength=len(frames)), 1)[:, None, None]
    total = moments
    for _ in range(_LINKED_ROUNDS):
        linked = np.zeros_like(moments)
        np.add.at(linked, here, turns @ total[there])
        total = moments + shares * linked
    return nearest_frame(total)
