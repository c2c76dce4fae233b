"""Distances against known geodesics, connected components, and paths between points."""

import warnings

import numpy as np
import pytest

import subbundle as sb
from subbundle.bundles import SphereTangent


def sphere_points(n, seed=0):
    points = np.random.default_rng(seed).normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def two_spheres():
    """Two unit spheres, four radii apart, without noise."""
    return sb.PrincipalSubbundle(np.vstack([sphere_points(3000, 1), sphere_points(1500, 2) + [6.0, 0, 0]]), 2, 0.2)


def test_exact_bundle():
    x, y = sphere_points(6, 5), sphere_points(6, 6)
    exact = np.arccos(np.sum(x * y, axis=1))
    # log stops at 1e-5 of the length scale.
    np.testing.assert_allclose(sb.distance(SphereTangent(2), x, y), exact, atol=1e-4)


def test_symmetric_to_the_bit(two_spheres):
    x, y = sphere_points(4, 7), sphere_points(4, 8)
    assert (sb.distance(two_spheres, x, y) == sb.distance(two_spheres, y, x)).all()


def test_connected_components_are_infinitely_far(two_spheres):
    here, there = np.array([0, 0, 1.0]), np.array([6.0, 0, 1.0])
    assert sb.distance(two_spheres, here, there) == np.inf
    components = sb.connected_components(two_spheres)
    assert components.n_components == 2
    assert (components.labels == np.repeat([0, 1], [3000, 1500])).all()
    assert components.label(np.array([[3.0, 0, 0]])).tolist() == [-1]


def test_the_gap_that_can_be_crossed_is_the_documented_one():
    rng = np.random.default_rng(0)
    strip = rng.uniform([0, 0], [2, 1], (4000, 2)) @ np.eye(2, 3)
    for gap, expected in ((0.3, 1), (0.5, 2)):
        # Joined below 3.9 bandwidths, here 0.39; boxes of one bandwidth blur that by their size.
        bundle = sb.PrincipalSubbundle(np.vstack([strip, strip + [2 + gap, 0, 0]]), 2, 0.1)
        assert sb.connected_components(bundle).n_components == expected


def test_pairwise_against_great_circles_and_single_logs(two_spheres):
    points = np.vstack([sphere_points(5, 3), sphere_points(2, 4) + [6.0, 0, 0]])
    matrix = sb.pairwise_distance(two_spheres, points)
    assert (matrix == matrix.T).all()
    assert (np.diag(matrix) == 0).all()
    assert np.isinf(matrix[:5, 5:]).all()
    exact = np.arccos(np.clip(points[:5] @ points[:5].T, -1, 1))
    # 2 %: half for the bandwidth (a²/4), half for placing targets between rays 1.5 bandwidths apart.
    np.testing.assert_allclose(matrix[:5, :5], exact, atol=0.02 * np.pi)
    i, j = np.triu_indices(5, 1)
    np.testing.assert_allclose(matrix[i, j], sb.distance(two_spheres, points[i], points[j]), atol=0.02)


def test_pairwise_on_a_curve():
    angle = np.linspace(0, 1.5 * np.pi, 800)
    arc = np.column_stack([np.cos(angle), np.sin(angle)])
    bundle = sb.PrincipalSubbundle(arc, 1, 0.05)
    some = arc[[50, 200, 500, 740]]
    exact = np.abs(np.subtract.outer(angle[[50, 200, 500, 740]], angle[[50, 200, 500, 740]]))
    np.testing.assert_allclose(sb.pairwise_distance(bundle, some), exact, rtol=5e-3)


def test_pairwise_with_others_is_not_symmetrised(two_spheres):
    matrix = sb.pairwise_distance(two_spheres, sphere_points(2, 3), sphere_points(3, 4))
    assert matrix.shape == (2, 3)


def test_path_between(two_spheres):
    x, y = np.array([0, 0, 1.0]), np.array([1.0, 0, 0])
    path = sb.geodesic_between(two_spheres, x, y, n_points=21)
    assert path.points.shape == (21, 3)
    assert (path.points[0] == x).all()
    assert np.linalg.norm(path.points[-1] - y) < 0.02
    # The great circle from x to y lies in the plane of both.
    assert np.abs(path.points[:, 1]).max() < 0.05
    steps = np.linalg.norm(np.diff(path.points, axis=0), axis=1)
    # Equal times are equal lengths; chords of the twentieth part of a quarter circle are 3e-4 shorter than it.
    np.testing.assert_allclose(steps.sum(), path.lengths, rtol=1e-3)


def test_distances_of_points_off_the_ridge_include_their_offsets(two_spheres):
    lengths = sb.distance(two_spheres, [0, 0, 1.0], [[0, 0, 0.45], [0, 0.05, 1.0], [0, 0, 1.3]])
    # Straight across, and along an arc from offset 0 to offset 0.00125; the ridge lies a²/4 inside at most.
    np.testing.assert_allclose(lengths, [0.55, np.arctan(0.05), 0.3], atol=0.01)


def test_two_points_off_the_data_are_nan_with_a_warning(two_spheres):
    with pytest.warns(sb.SubbundleWarning, match="distances are NaN: a point lies off the data"):
        lengths = sb.distance(two_spheres, [[0, 0, 3.0]], [[0, 0, 3.5]])
    assert np.isnan(lengths).all()


def test_messages_of_errors(two_spheres):
    with pytest.raises(ValueError, match="as many rows as each other"):
        sb.distance(two_spheres, sphere_points(2), sphere_points(3))
    with pytest.raises(ValueError, match="must have 3 coordinates"):
        sb.pairwise_distance(two_spheres, np.zeros((3, 2)))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_an_entry_depends_on_its_two_points_only(rank):
    rng = np.random.default_rng(3)
    # A closed curve, a sheet and a solid block, each in one dimension more than it has.
    t = rng.uniform(0.0, 2.0 * np.pi, 600)
    box = rng.uniform(0.0, 1.0, (600, rank + 1)) * np.r_[3.0, np.ones(rank - 1), 0.02]
    cloud = np.column_stack([2.0 * np.cos(t), np.sin(t)]) if rank == 1 else box
    bundle = sb.PrincipalSubbundle(cloud, rank, 0.15 if rank == 1 else 0.25)
    points = sb.carry_to_ridge(bundle, cloud[:7]).points
    with warnings.catch_warnings():
        # A target may be missed, but then in all calls alike.
        warnings.simplefilter("ignore", sb.SubbundleWarning)
        whole = sb.pairwise_distance(bundle, points)
        assert (whole == whole.T)[np.isfinite(whole)].all()
        for some in ([0, 1], [6, 2, 4], [5, 3, 1, 0]):
            np.testing.assert_array_equal(sb.pairwise_distance(bundle, points[some]), whole[np.ix_(some, some)])
        ways = sb.pairwise_distance(bundle, points[:3], points)
        np.testing.assert_array_equal(sb.pairwise_distance(bundle, points[1:2], points[2:6]), ways[1:2, 2:6])
        # The two methods differ by the placing of targets between rays: 2 % of the distance, and 2 % of a bandwidth.
        np.testing.assert_allclose(sb.pairwise_distance(bundle, points, points[:3]), ways.T, rtol=0.02, atol=0.005)


def test_without_data_too_an_entry_depends_on_its_two_points_only():
    points = sphere_points(4, 9)
    whole = sb.pairwise_distance(SphereTangent(2), points)
    np.testing.assert_allclose(whole, np.arccos(np.clip(points @ points.T, -1, 1)), atol=0.01)
    np.testing.assert_array_equal(sb.pairwise_distance(SphereTangent(2), points[:2]), whole[:2, :2])
