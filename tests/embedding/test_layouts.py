"""Layouts of charts and graph distances against planes, spheres and independent computations."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from rigid_motions import rigid_error
from subbundle import datasets
from subbundle.atlas.tuning import EVEN_CONTRADICTION
from subbundle.embedding.node_layout import alternating_layout, chart_members, lay_out_nodes, stretched_maps
from subbundle.embedding.quality import prediction_error
from subbundle.embedding.rigid_layout import (
    ChartMembers,
    RigidCharts,
    compact_clusters,
    joint_layout,
)
from subbundle.embedding.skeleton import Stress, landmark_scaling
from subbundle.embedding.tuning import MOST_RIGID
from subbundle.graph.neighbor_graph import graph_of
from subbundle.graph.neighborhoods import nearest_rows, neighborhoods


@pytest.fixture(scope="module")
def plane():
    """Points of a plane, charts of eight neighbours rotated at random, and Euclidean distances."""
    rng = np.random.default_rng(0)
    truth = rng.uniform(0.0, 1.0, (150, 2))
    near = nearest_rows(truth, 8)
    rows = np.concatenate([np.arange(150)[:, None], near], axis=1)
    turns = np.linalg.qr(rng.standard_normal((150, 2, 2)))[0]
    coordinates = (truth[rows] - truth[:, None]) @ turns
    members = ChartMembers(np.arange(151) * 9, rows.ravel(), coordinates.reshape(-1, 2), np.ones(150 * 9))
    landmarks = np.arange(0, 150, 3)
    return truth, members, Stress(landmarks, cdist(truth[landmarks], truth))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_landmark_scaling_of_euclidean_distances_is_exact(rank):
    truth = np.random.default_rng(1).standard_normal((80, rank))
    landmarks = np.arange(0, 80, 2)
    found = landmark_scaling(landmarks, cdist(truth[landmarks], truth), rank)
    # Classical scaling and Gower's formula invert Euclidean distances; squares cost half of the digits.
    assert rigid_error(found, truth) < 1e-7


def test_stress_falls_and_its_descent_is_its_gradient(plane):
    truth, _, stress = plane
    start = truth + 0.1 * np.random.default_rng(2).standard_normal(truth.shape)
    values = [stress.value(stress.minimised(start, rounds, 0.0)) for rounds in (0, 1, 2, 5, 60)]
    assert np.all(np.diff(values) < 0.0)
    assert values[-1] < 1e-3 * values[0]
    direction = np.random.default_rng(3).standard_normal(truth.shape)
    step = 1e-6
    slope = (stress.value(start + step * direction) - stress.value(start - step * direction)) / (2.0 * step)
    np.testing.assert_allclose(-2.0 * np.sum(stress.descent(start) * direction), slope, rtol=1e-6)


def test_energy_of_charts_is_zero_on_the_truth_and_its_gradient_is_right(plane):
    truth, members, _ = plane
    charts = RigidCharts(members, 150)
    assert charts.at(truth)[0] < 1e-20
    there = truth + 0.05 * np.random.default_rng(4).standard_normal(truth.shape)
    energy, descent = charts.at(there)
    assert energy > 0.0
    direction = np.random.default_rng(5).standard_normal(truth.shape)
    ahead, behind = (charts.at(there + sign * 1e-6 * direction)[0] for sign in (1.0, -1.0))
    np.testing.assert_allclose(-2.0 * np.sum(descent * direction), (ahead - behind) / 2e-6, rtol=1e-5)


def test_rigid_motions_cost_nothing_and_the_reduced_curvature_is_the_curvature(plane):
    truth, members, _ = plane
    charts = RigidCharts(members, 150)
    charts.at(truth)
    charts.linearise()
    turn = truth @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    scale = charts.degrees.max()
    for motion in (np.ones((150, 2)), turn):
        # Chart motions are regularised by 1e-9 of their Gram matrices.
        np.testing.assert_allclose(charts.product(motion), 0.0, atol=1e-7 * scale)
    basis = csr_array(np.random.default_rng(6).standard_normal((300, 5)))
    columns = [charts.product(column.reshape(150, 2)).ravel() for column in basis.toarray().T]
    np.testing.assert_allclose(charts.reduced(basis), basis.T @ np.column_stack(columns), rtol=1e-8, atol=1e-8)


def test_charts_and_distances_together_recover_the_plane(plane):
    truth, members, stress = plane
    charts = RigidCharts(members, 150)
    clusters = compact_clusters(csr_array(cdist(truth, truth) < 0.15), 2)
    start = truth * [1.0, 0.7] + 0.03 * np.random.default_rng(7).standard_normal(truth.shape)
    found = joint_layout(start, charts, stress, clusters, weight=1e-2, scale=1.0)
    # Both terms vanish on the truth; the rounds end when they gain less than 3e-4 of what is left.
    assert rigid_error(found, truth) < 5e-3


def test_lengths_of_charts_are_arcs():
    points = datasets.sphere(400, seed=0).points
    near = nearest_rows(points, 8)
    frames = np.linalg.svd(np.eye(3) - points[:, :, None] * points[:, None])[2][:, :2]
    edges = neighborhoods(points, near, 2, frame_neighbors=8, frames=frames)
    members = chart_members(edges, np.zeros((400, 3, 3)))
    angles = np.arccos(np.clip(np.sum(points[members.rows] * points[members.charts], axis=1), -1.0, 1.0))
    # With exact frames the arc of an edge on a sphere is exact.
    np.testing.assert_allclose(np.linalg.norm(members.coordinates, axis=1), angles, atol=1e-7)
    assert graph_of(points, edges).n_components == 1


def test_a_layout_folded_by_a_short_cut_predicts_worse():
    data = datasets.s_surface(400, seed=0)
    folded = data.coordinates.copy()
    folded[:, 0] = np.abs(folded[:, 0])
    assert prediction_error(data.points, data.coordinates) < 0.1 * prediction_error(data.points, folded)


def test_metrics_agree_where_a_shape_can_be_flattened():
    data = datasets.s_surface(300, seed=1)
    rigid, free = (
        lay_out_nodes(data.points, np.ones(len(data.points)), 2, averaged=False, metric=metric, n_neighbors=None)
        for metric in ("rigid", "auto")
    )
    assert rigid.residual < 0.01
    np.testing.assert_array_equal(rigid.positions, free.positions)


@pytest.mark.parametrize("rank", [MOST_RIGID, MOST_RIGID + 1])
def test_the_residual_is_that_of_the_charts_whatever_they_are_laid_out_by(rank):
    rng = np.random.default_rng(rank)
    along, radii = rng.uniform(0.0, 1.5, (250, rank)), np.linspace(0.8, 1.3, rank)
    rolled = np.hstack([radii * np.sin(along / radii), radii * np.cos(along / radii)])
    ball = rng.standard_normal((250, rank + 1))
    flat, curved = (
        lay_out_nodes(points, np.ones(250), rank, averaged=False, metric="auto", n_neighbors=None)
        for points in (rolled, ball / np.linalg.norm(ball, axis=1)[:, None])
    )
    # Products of circles can be flattened, up to the third order in the radius of a chart, half of that of the circles;
    # caps of a sphere of nearly π/2, the size of charts of so few points, are stretched by tens of per cent.
    assert flat.residual < EVEN_CONTRADICTION < 0.2 < curved.residual
    assert np.isinf(flat.distance_weight) == (rank > MOST_RIGID)


def test_rotations_and_positions_in_turn_recover_the_plane(plane):
    truth, members, stress = plane
    charts = RigidCharts(members, 150)
    start = truth * [1.0, 0.7] + 0.03 * np.random.default_rng(7).standard_normal(truth.shape)
    energies = [charts.at(start)[0], charts.at(alternating_layout(start, charts, stress))[0]]
    # E vanishes on the truth; the rounds are slow in two dimensions.
    assert energies[1] < 1e-2 * energies[0]


def test_rounding_does_not_reflect_charts_whose_members_lie_on_a_line():
    """Such charts determine their orientation up to a reflection; linked charts with the same layout decide it."""
    for seed in range(3):
        points = np.random.default_rng(seed).standard_normal((90, 5))
        rounded = points + 1e-14 * np.random.default_rng(7).standard_normal(points.shape)
        found = [
            stretched_maps(lay_out_nodes(rows, np.ones(90), 2, averaged=False, metric="stress", n_neighbors=6))[0]
            for rows in (points, rounded)
        ]
        # Layouts differ by rounding times the condition of the solutions, some 1e-10; a reflection by the order of 1.
        assert np.allclose(*found, rtol=0.0, atol=1e-6)
