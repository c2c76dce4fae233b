"""Distances on noisy clouds against exact ones: flat sheets rolled up, spheres, and geodesics of a torus."""

import warnings

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

import subbundle as sb
from subbundle.geodesics.arcs import arcs_between
from subbundle.geodesics.distance import graph_distances

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


def seen_between(bundle, *ends):
    """Arcs without landmarks: all are judged by fits."""
    nowhere = cKDTree(np.full((1, bundle.ambient_dim), 1e6)), np.zeros((1, bundle.ambient_dim, bundle.rank))
    return arcs_between(bundle, nowhere, *ends)


def strips(gap):
    """Two flat strips of spacing 0.1 in the plane z = 0, ``gap`` apart."""
    grid = np.stack(np.meshgrid(np.arange(-2.0, 0.01, 0.1), np.arange(-1.0, 1.01, 0.1)), axis=-1).reshape(-1, 2)
    left = np.column_stack([grid, np.zeros(len(grid))])
    return np.concatenate([left, left * [-1.0, 1.0, 1.0] + [gap, 0.0, 0.0]])


@pytest.mark.parametrize("gap", [0.3, 1.2])
def test_arcs_lead_over_gaps_that_keep_a_fifth_of_the_density(gap):
    # 2 Φ(−g/2a) is 0.56 for the first gap and 0.02 for the second; within a sheet every arc is its chord.
    bundle = sb.PrincipalSubbundle(strips(gap), 2, 0.25)
    flat = np.eye(3)[:, :2][None]
    x, across, along = np.array([[-0.5, 0.0, 0.0], [gap + 0.5, 0.0, 0.0], [-0.5, 0.9, 0.0]])[:, None]
    np.testing.assert_allclose(seen_between(bundle, x, flat, along, flat), 0.9, rtol=1e-6)
    np.testing.assert_allclose(
        seen_between(bundle, x, flat, across, flat), gap + 1.0 if gap < 1.0 else np.inf, rtol=1e-6
    )


@pytest.mark.parametrize("turn", [0.4, 1.2, 1.8, 3.0])
def test_arcs_of_a_circle_are_angles_up_to_a_right_one(turn):
    angles = np.linspace(0.0, 2.0 * np.pi, 400, endpoint=False)
    bundle = sb.PrincipalSubbundle(np.column_stack([np.cos(angles), np.sin(angles)]), 1, 0.1)
    x, y = (np.array([[np.cos(angle), np.sin(angle)]]) for angle in (0.0, turn))
    frames = [np.array([[[-np.sin(angle)], [np.cos(angle)]]]) for angle in (0.0, turn)]
    found = seen_between(bundle, x, frames[0], y, frames[1])
    np.testing.assert_allclose(found, turn if turn < 0.5 * np.pi else np.inf, rtol=1e-9)
    np.testing.assert_array_equal(seen_between(bundle, y, frames[1], x, frames[0]), found)


def test_arcs_do_not_change_sheets():
    # Layers a unit apart, four bandwidths; the chord from one to the other leads through nothing.
    sheet = strips(0.0)
    bundle = sb.PrincipalSubbundle(np.concatenate([sheet, sheet + [0.0, 0.0, 1.0]]), 2, 0.25)
    flat = np.eye(3)[:, :2][None]
    found = seen_between(bundle, np.zeros((1, 3)), flat, np.array([[1.5, 0.0, 1.0]]), flat)
    np.testing.assert_array_equal(found, np.inf)
