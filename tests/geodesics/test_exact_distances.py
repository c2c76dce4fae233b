"""Distances on noisy clouds against exact ones: flat sheets rolled up, spheres, and geodesics of a torus."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import subbundle as sb
from subbundle.geodesics.distance import graph_distances
from subbundle.geodesics.straighten import jumps_between

MAJOR, MINOR = 1.0, 0.4


def torus_points(angles):
    u, v = angles.T
    ring = MAJOR + MINOR * np.cos(v)
    return np.column_stack([ring * np.cos(u), ring * np.sin(u), MINOR * np.sin(v)])


def on_torus(angles, others):
    """Exact distances [n, m], by an independent computation: the least energy Σ w² Δu² + r² Δv² of 24 nodes in the
    plane of the angles, by L-BFGS, of the four ways that wind at most once. Steps of a 25th leave 0.1 %.
    """
    from scipy.optimize import minimize

    nodes = 24
    t = np.linspace(0.0, 1.0, nodes + 2)[:, None]

    def length(start, end):
        def energy(inner):
            path = np.vstack([start, inner.reshape(-1, 2), end])
            step = np.diff(path, axis=0)
            middle = 0.5 * (path[1:, 1] + path[:-1, 1])
            ring = MAJOR + MINOR * np.cos(middle)
            slope = -2.0 * ring * MINOR * np.sin(middle) * step[:, 0] ** 2 * 0.5
            along = np.column_stack([2.0 * ring**2 * step[:, 0], 2.0 * MINOR**2 * step[:, 1]])
            gradient = along[:-1] - along[1:]
            gradient[:, 1] += slope[:-1] + slope[1:]
            return np.sum(ring**2 * step[:, 0] ** 2 + MINOR**2 * step[:, 1] ** 2), gradient.ravel()

        straight = (start + t * (end - start))[1:-1]
        found = minimize(energy, straight.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 300})
        # Energy of n equal steps of total length L: L²/n.
        return np.sqrt((nodes + 1) * found.fun)

    def shortest(a, b):
        gap = (b - a + np.pi) % (2.0 * np.pi) - np.pi
        turns = [np.where(np.array(way), gap - np.copysign(2.0 * np.pi, gap), gap) for way in np.ndindex(2, 2)]
        return min(length(a, a + turn) for turn in turns)

    return np.array([[shortest(a, b) for b in others] for a in angles])


@pytest.fixture(scope="module")
def torus():
    """A bundle on a noisy torus, ridge points over known angles, and exact distances from three of them."""
    rng = np.random.default_rng(1)
    angles = rng.uniform(0.0, 2.0 * np.pi, (10, 2))
    bundle = sb.PrincipalSubbundle(sb.datasets.torus(3000, noise=0.03, seed=0).points, 2, 0.15)
    points = sb.ridge_project(bundle, torus_points(angles)).points
    return bundle, points, on_torus(angles[:3], angles[3:])


def test_a_noisy_torus(torus):
    bundle, points, exact = torus
    found = sb.pairwise_distance(bundle, points[:3], points[3:])
    errors = np.abs(found / exact - 1.0)
    # Noise of 3 % with 50 neighbours in the window moves the ridge by 0.03/√50 = 0.4 % of the size; none goes the wrong
    # way around the tube or the hole, which would be 10 % and more.
    assert np.median(errors) < 0.006
    assert errors.max() < 0.05
    # Paths through the graph zigzag by half a per cent.
    graph = graph_distances(bundle, points[:3], points[3:], 1e-4)
    assert np.median(np.abs(graph / exact - 1.0)) < 0.012
    assert np.abs(graph / exact - 1.0).max() < 0.06


def test_all_calls_agree(torus):
    bundle, points, _ = torus
    x, y = points[[0, 1, 2, 3]], points[[4, 5, 6, 7]]
    lengths = sb.distance(bundle, x, y)
    np.testing.assert_array_equal(sb.distance(bundle, y, x), lengths)
    np.testing.assert_allclose(np.diag(sb.pairwise_distance(bundle, x, y)), lengths, rtol=1e-3)  # another tolerance
    found, path = sb.log(bundle, x, y, tol=1e-4), sb.geodesic_between(bundle, x, y, tol=1e-4)
    assert set(found.status) <= {sb.Status.OK, sb.Status.STRAIGHTENED}
    np.testing.assert_array_equal(path.status, found.status)
    # Geodesics of a noisy bundle and paths on its ridge differ by at most what `log` allows.
    np.testing.assert_allclose(found.lengths, lengths, rtol=0.05)
    np.testing.assert_allclose(path.lengths, found.lengths, rtol=1e-3)
    assert np.linalg.norm(path.points[:, -1] - y, axis=1).max() < 0.3 * bundle.length_scale


def test_laws(torus):
    bundle, points, _ = torus
    matrix = sb.pairwise_distance(bundle, points)
    np.testing.assert_array_equal(matrix, matrix.T)
    detours = (matrix[:, :, None] + matrix[None]).min(axis=1)
    # A detour may be shorter by what straightening and arcs leave: 1 %.
    assert np.all(matrix <= 1.01 * detours + 1e-9)
    twice = sb.PrincipalSubbundle(2.0 * bundle.rows, 2, 2.0 * bundle.bandwidth)
    np.testing.assert_allclose(
        sb.distance(twice, 2.0 * points[:3], 2.0 * points[4:7]), 2.0 * matrix[[0, 1, 2], [4, 5, 6]], rtol=2e-3
    )


def test_large_matrices_do_not_depend_on_the_other_points(torus):
    bundle, points, _ = torus
    whole = graph_distances(bundle, points, None, 1e-4)
    np.testing.assert_array_equal(whole, whole.T)
    np.testing.assert_array_equal(graph_distances(bundle, points[2:6], None, 1e-4), whole[2:6, 2:6])
    ways = graph_distances(bundle, points[:5], points[3:], 1e-4)
    np.testing.assert_array_equal(graph_distances(bundle, points[2:4], points[6:9], 1e-4), ways[2:4, 3:6])
    np.testing.assert_allclose(ways, whole[:5, 3:], rtol=1e-12)


def test_a_noisy_s_surface_is_as_long_as_the_sheet():
    data = sb.datasets.s_surface(3000, noise=0.02, seed=0)
    bundle = sb.PrincipalSubbundle(data.points, 2, 0.15)
    rows = np.random.default_rng(0).choice(3000, (2, 12))
    exact = np.linalg.norm(data.coordinates[rows[0]] - data.coordinates[rows[1]], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", sb.SubbundleWarning)
        found = sb.distance(bundle, data.points[rows[0]], data.points[rows[1]])
    # Noise along the sheet moves either end by 0.02, three times that in the worst of 24.
    np.testing.assert_allclose(found, exact, rtol=0.005, atol=0.08)


def test_a_sparse_sheet_has_no_short_cuts_and_its_distances_turn_with_the_cloud():
    sheet = sb.datasets.s_surface(250, seed=0)
    truth = cdist(sheet.coordinates, sheet.coordinates)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    found, turned = (
        sb.pairwise_distance(sb.PrincipalSubbundle(points, 2, 0.35), points)
        for points in (sheet.points, sheet.points @ turn)
    )
    # The end of an arc lies 3.5 bandwidths from the other: across, ratios fall to 0.3. Rows are 0.3 apart, where single
    # arcs of a unit circle are a few hundredths off, and so are paths of a few of them.
    assert (found / np.maximum(truth, 1e-9))[truth > 4.0].min() > 0.85
    assert np.median(np.abs(found / np.maximum(truth, 1e-9) - 1.0)[truth > 4.0]) < 0.015
    np.testing.assert_allclose(turned, found, rtol=1e-9, atol=1e-9)


def test_paths_do_not_change_between_the_turns_of_a_roll():
    # Turns 0.3 to 0.4 apart, a tenth of the way along; noise along the sheet leaves single distances off by 0.03.
    roll = sb.datasets.swiss_roll(2000, noise=0.02, seed=3)
    bundle = sb.PrincipalSubbundle(roll.points, 2, 0.12)
    rows = np.arange(0, 2000, 110)
    truth = cdist(roll.coordinates[rows], roll.coordinates[rows])
    found = sb.pairwise_distance(bundle, roll.points[rows])
    far = truth > 1.0
    assert np.abs(found[far] / truth[far] - 1.0).max() < 0.1


@pytest.mark.parametrize("angle", [0.2, 0.6, 1.0])
def test_a_chord_of_a_circle_stays_on_its_sheet_and_one_between_sheets_does_not(angle):
    # The chord of an arc of 2 α makes the angle α with the tangents at both ends; the other edge does so with two
    # parallel sheets. Up to sin α = 0.3 both count as arcs.
    chord = np.array([np.cos(angle), np.sin(angle), 0.0])
    up = np.array([0.0, 0.0, 1.0])
    ahead = np.array([[np.cos(2.0 * angle), np.sin(2.0 * angle), 0.0], [1.0, 0.0, 0.0]])
    frames = np.stack([np.column_stack([way, up]) for way in ahead])
    jumps = jumps_between(np.zeros(3), np.column_stack([[1.0, 0.0, 0.0], up]), np.stack([chord, chord]), frames)
    assert list(jumps) == [False, np.sin(angle) > 0.3]
