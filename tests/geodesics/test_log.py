"""The logarithm against closed forms: great circles, straight lines, Heisenberg geodesics, and exp itself."""

import numpy as np
import pytest

import subbundle as sb
from subbundle.bundles import Constant, Heisenberg, SphereTangent

NORTH = np.array([0.0, 0.0, 1.0])


def sphere_points(n, seed=0):
    points = np.random.default_rng(seed).normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def cloud_bundle():
    rng = np.random.default_rng(1)
    return sb.PrincipalSubbundle(sphere_points(4000, 1) + 0.005 * rng.normal(size=(4000, 3)), 2, 0.2)


def test_great_circles():
    targets = sphere_points(12, 3)
    targets = targets[targets[:, 2] > -0.95]
    found = sb.log(SphereTangent(2), NORTH, targets)
    assert (found.status == sb.Status.OK).all()
    # The search stops at 1e-6 of the length scale 1; a factor 10 for the geodesics themselves.
    np.testing.assert_allclose(found.lengths, np.arccos(targets[:, 2]), atol=1e-5)
    np.testing.assert_allclose(found.points, targets, atol=1e-5)
    direction = targets - targets[:, 2:] * NORTH
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    np.testing.assert_allclose(found.covectors / found.lengths[:, None], direction, atol=1e-5)


def test_off_the_sphere_the_projection_is_found():
    # Great circles through the base point keep its radius: the nearest point to y is y / |y|.
    found = sb.log(SphereTangent(2), NORTH, 1.3 * sphere_points(5, 4)[[0]])
    np.testing.assert_allclose(found.residuals, 0.3, atol=1e-9)
    np.testing.assert_allclose(found.points, sphere_points(5, 4)[[0]], atol=1e-4)


def test_constant_bundle_projects_orthogonally():
    frame = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 2)))[0]
    target = np.arange(5.0)
    found = sb.log(Constant(frame), np.zeros(5), target)
    np.testing.assert_allclose(found.points, frame @ (frame.T @ target), atol=1e-6)
    np.testing.assert_allclose(found.residuals, np.linalg.norm(target - frame @ (frame.T @ target)), atol=1e-6)


@pytest.mark.parametrize("method", ["lm", "bfgs"])
def test_the_literal_objective_gives_two_thirds_on_a_flat_space(method):
    # |v - y|² + ½|v|² is least at v = ⅔ y.
    target = np.array([3.0, 0.0, 0.0])
    found = sb.log(Constant(np.eye(3)[:, :2]), np.zeros(3), target, penalty=1.0, method=method)
    np.testing.assert_allclose(found.lengths, 2.0, atol=1e-5)


def test_full_search_reaches_what_the_dual_cannot():
    # Every point is joined to the origin in the Heisenberg group, but the dual reaches only the plane z = 0.
    target = np.array([1.0, 0.5, 0.2])
    dual = sb.log(Heisenberg(), np.zeros(3), target)
    full = sb.log(Heisenberg(), np.zeros(3), target, search="full")
    np.testing.assert_allclose(dual.residuals, 0.2, atol=1e-5)
    assert full.residuals < 1e-6
    # exp of the covector is the target again, by an integration of its own.
    np.testing.assert_allclose(sb.exp(Heisenberg(), np.zeros(3), full.covectors), target, atol=1e-5)


@pytest.mark.parametrize("method", ["lm", "bfgs"])
def test_log_after_exp(cloud_bundle, method):
    coordinates = np.array([[0.8, 0.1], [-0.3, 0.9], [1.2, -0.7]])
    targets = sb.exp(cloud_bundle, NORTH, coordinates, tol=1e-8)
    found = sb.log(cloud_bundle, NORTH, targets, method=method, tol=1e-8)
    # tol is relative to the bandwidth 0.2; BFGS stops on its gradient, at about the square root of that.
    np.testing.assert_allclose(found.coordinates, coordinates, atol=1e-6 if method == "lm" else 1e-4)
    assert found.residuals.max() < 1e-4


def test_noisy_sphere_lengths(cloud_bundle):
    targets = sphere_points(8, 9)
    targets = targets[targets[:, 2] > -0.8]
    found = sb.log(cloud_bundle, NORTH, targets, tol=1e-4)
    # 1.5 % of the radius: at bandwidth 0.2 the bias of the ridge is about a²/4 = 1 %.
    np.testing.assert_allclose(found.lengths, np.arccos(targets[:, 2]), atol=0.015 * np.pi)


def test_target_at_the_base_point(cloud_bundle):
    found = sb.log(cloud_bundle, NORTH, NORTH)
    assert found.lengths < 1e-6
    assert found.status == sb.Status.OK


def test_rows_do_not_depend_on_the_batch(cloud_bundle):
    targets = sphere_points(6, 11) * [1, 1, 0.5] + [0, 0, 0.5]
    together = sb.log(cloud_bundle, NORTH, targets, tol=1e-4)
    for i in (0, 4):
        alone = sb.log(cloud_bundle, NORTH, targets[i], tol=1e-4)
        assert (alone.coordinates == together.coordinates[i]).all()


def test_a_path_is_followed_where_the_chord_misleads():
    # Three quarters of a circle: the chord to the far end points the wrong way.
    angle = np.linspace(0, 1.5 * np.pi, 600)
    arc = np.column_stack([np.cos(angle), np.sin(angle)])
    bundle = sb.PrincipalSubbundle(arc, 1, 0.1)
    found = sb.log(bundle, arc[30], arc[-30])
    # The principal curve of a circle of radius 1 at bandwidth a has the length of the circle through the base point.
    np.testing.assert_allclose(found.lengths, angle[-30] - angle[30], rtol=5e-3)


def test_messages_of_errors(cloud_bundle):
    with pytest.raises(ValueError, match="search must be one of 'dual', 'full'"):
        sb.log(cloud_bundle, NORTH, NORTH, search="tangent")
    with pytest.raises(ValueError, match="penalty must be 0 or a positive number"):
        sb.log(cloud_bundle, NORTH, NORTH, penalty=-1)
    with pytest.raises(ValueError, match="base_point must lie where the subspace is defined"):
        sb.log(cloud_bundle, 9 * NORTH, NORTH)
    with pytest.raises(ValueError, match="as many rows as each other"):
        sb.log(cloud_bundle, np.stack([NORTH] * 2), np.stack([NORTH] * 3))
    with pytest.raises(ValueError, match="start must have one row per target"):
        sb.log(cloud_bundle, NORTH, np.stack([NORTH] * 3), start=np.zeros((2, 2)))
