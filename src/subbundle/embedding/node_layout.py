"""Nodes of one connected component laid out in R^k, with trust in charts and in graph distances as each deserves.

1  neighbour graphs of several sizes, averaged by how well their layouts predict the rows (`skeleton`)
2  a chart at every node: directions from its frame, bent by as much curvature as there is evidence of, lengths of arcs
3  charts laid out as rigid pieces, from the layout of 1; what remains of their contradictions, relative to their size,
   is the residual r. Where the shape closes up it is cut, if the rows are then predicted far better
4  charts and graph distances together, the latter with the weight (r/.2)⁴: charts that agree need no path lengths,
   which zigzag and are wrong around holes; charts that contradict each other (curved, thin data) need them
5  if charts contradict each other and the result predicts the rows worse than the distances alone, these alone count
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from subbundle._types import FloatArray
from subbundle.atlas.tuning import EVEN_CONTRADICTION
from subbundle.charts.quadratic_chart import normal_coordinates
from subbundle.embedding import tuning
from subbundle.embedding.closing import crossing_edges, unrolled, without
from subbundle.embedding.curves import CURVE_STEPS, Tour, curve_through
from subbundle.embedding.quality import prediction_error
from subbundle.embedding.rigid_layout import ChartMembers, RigidCharts, compact_clusters, joint_layout
from subbundle.embedding.skeleton import Skeleton, Stress, ladder, landmark_scaling, skeleton, skeleton_of
from subbundle.graph.neighbor_graph import graph_of
from subbundle.graph.neighborhoods import Neighborhoods, nearest_rows, neighborhoods
from subbundle.local.neighbor_fits import LocalPolynomials, curved_fits, fit_size


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """Nodes with their charts and coordinates.

    Attributes
    ----------
    positions : [n, k]
    fits : LocalPolynomials
        Frames and second fundamental forms at the nodes.
    members : ChartMembers
        Which nodes each chart holds, with their normal coordinates.
    links : csr_array [n, n]
        The graph, cut where the shape was cut.
    joined : csr_array [n, n]
        The graph as it is along the shape, nothing cut.
    residual : float
        Contradiction between the charts, relative to their size.
    tie : float
        Weight of the graph distances relative to that of the charts; infinite where these alone count.
    path_tie : float
        The same for distances along the shape: how far paths over the graph are reliable rather than straightened in
        the charts. It goes by how badly charts predict their neighbours, whatever the shape's own curvature.
    n_neighbors : int
    cut : float
        Fraction of the edges that were cut.
    error : float
        How badly the positions predict the rows.
    """

    positions: FloatArray
    fits: LocalPolynomials
    members: ChartMembers
    links: csr_array
    joined: csr_array
    residual: float
    tie: float
    path_tie: float
    n_neighbors: int
    cut: float
    error: float


def lay_out_nodes(
    points: FloatArray, weights: FloatArray, rank: int, *, averaged: bool, metric: str, n_neighbors: int | None
) -> NodeLayout:
    """Lay out ``points`` [n, D] with ``weights`` [n] in local fits; ``averaged`` if they are fits to many rows;
    ``n_neighbors`` None to compare sizes."""
    tour = curve_through(points, strict=False)
    if tour is not None:
        return _along_curve(points, weights, rank, tour)
    most = min(max(max(ladder(rank, len(points))), fit_size(rank), n_neighbors or 0), len(points) - 1)
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
    # Charts that will not agree need not settle: distances decide with them, and only the residual is asked for.
    wanted = np.inf if metric == "rigid" else EVEN_CONTRADICTION
    members, charts, positions, residual = _loose(found, fits, start, wanted)
    if residual > EVEN_CONTRADICTION:
        crossing = crossing_edges(found)
        if crossing.any():
            edges = without(found.edges, crossing)
            opened = skeleton_of(points, edges, graph_of(points, edges).joined())
            # Unrolled, an open shape lies flat already, where distances alone may leave a strip twisted; a crooked one
            # falls apart.
            flat = unrolled(opened)
            error = prediction_error(points, flat)
            if min(error, opened.error) <= tuning.CUT_GAIN * found.error:
                start = flat if error <= opened.error else opened.positions
                found, cut = opened, float(np.mean(crossing[found.edges.along]))
                members, charts, positions, residual = _loose(found, fits, start, wanted)
    positions, tie, error = _tied(points, found, charts, start, positions, residual, metric)
    size = found.edges.neighbors.shape[1]
    zigzag = _weight_of_distances(misfit)
    return NodeLayout(positions, fits, members, found.lengths, joined, residual, tie, zigzag, size, cut, error)


def _weight_of_distances(contradiction: float) -> float:
    """Weight of graph distances beside charts that contradict each other by so much, relative to their size."""
    return float((contradiction / tuning.EVEN_RESIDUAL) ** tuning.RESIDUAL_POWER)


# Charts that agree are laid out with the weight that distances have where contradictions begin: it holds what no chart
# holds, and nothing jumps.
_LOOSE = _weight_of_distances(EVEN_CONTRADICTION)


def _loose(
    found: Skeleton, fits: LocalPolynomials, start: FloatArray, wanted: float
) -> tuple[ChartMembers, RigidCharts, FloatArray, float]:
    """Charts and their layout as rigid pieces from ``start`` [n, k], hardly tied to distances, with the residual.

    The last rounds are left out where the residual would not come down to ``wanted``.
    """
    members = chart_members(found.edges, fits.forms)
    charts = RigidCharts(members, len(start))
    if charts.rank > tuning.MOST_RIGID and np.isfinite(wanted):
        return members, charts, start, 0.0
    clusters = compact_clusters(found.lengths, charts.rank)
    goal = wanted**2 * charts.size
    positions = joint_layout(start, charts, found.stress, clusters, tie=_LOOSE, scale=1.0, goal=goal)
    residual = float(np.sqrt(charts.at(positions)[0] / max(charts.size, 1e-300)))
    return members, charts, positions, residual


def _tied(
    points: FloatArray, found: Skeleton, charts: RigidCharts, start: FloatArray, positions: FloatArray,
    residual: float, metric: str,
) -> tuple[FloatArray, float, float]:  # fmt: skip
    """Positions with the weight that the distances deserve, that weight, and the error of prediction.

    Where distances are to count the way begins at ``start`` [n, k] again and not at the ``positions`` [n, k] of the
    charts alone: what their contradictions have twisted there the distances would not turn back.
    """
    if metric == "stress":
        plain = Stress(found.stress.landmarks, found.stress.distances, power=0.0)
        positions = plain.minimised(found.positions)
        return positions, float("inf"), prediction_error(points, positions)
    tie, contradict = _LOOSE, metric == "auto" and residual > EVEN_CONTRADICTION
    if contradict:
        tie = _weight_of_distances(residual)
        scale = min(found.stress.scale_of(positions), 1.0)
        clusters = compact_clusters(found.lengths, charts.rank)
        positions = joint_layout(scale * start, charts, found.stress, clusters, tie=tie, scale=scale)
    error = prediction_error(points, positions)
    # Where charts agree both predict the rows alike, and rounding would decide.
    if contradict and error > found.error:
        return found.positions, float("inf"), found.error
    return positions, tie, error


def chart_members(edges: Neighborhoods, forms: FloatArray) -> ChartMembers:
    """Charts at all nodes: themselves and the neighbours along the shape.

    Coordinates have the direction of a geodesic and the length of the arc. The standard error of a member grows with
    its distance and with the sine that its edge makes with the frames.
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
    """Nodes along a curve: lengths along it, opened at the longest edge where one dimension has to hold it."""
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
        1.0 / count if cut else 0.0, prediction_error(points, positions),
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

    They are held to the rigid turn of the chart, which counts like one member more: there are directions that no member
    shows.
    """
    members, rank = layout.members, layout.positions.shape[1]
    charts = RigidCharts(members, len(layout.positions))
    charts.at(layout.positions)
    of = members.charts
    moved = layout.positions[members.rows] - layout.positions[of]
    own, cross = (np.zeros((len(layout.positions), rank, rank)) for _ in range(2))
    weighted = members.weights[:, None] * members.coordinates
    np.add.at(own, of, np.einsum("mi,mj->mij", weighted, members.coordinates))
    np.add.at(cross, of, np.einsum("mi,mj->mij", weighted, moved))
    one = np.trace(own, axis1=1, axis2=2) / (rank * np.diff(members.starts))
    held = (one + 1e-300)[:, None, None] * np.eye(rank)
    maps = np.asarray(np.linalg.solve(own + held, cross + held @ charts.turns))
    off = moved - np.einsum("mi,mij->mj", members.coordinates, maps[of])
    lost, total = (float(np.sum(members.weights[:, None] * x**2)) for x in (off, moved))
    return maps, float(np.sqrt(lost / max(total, 1e-300)))
