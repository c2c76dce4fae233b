"""What `distance` and `log` do where their first way fails, on a circle without noise, where all lengths are angles."""

import numpy as np
import pytest

import subbundle as sb
from subbundle.bundles.analytic import SphereTangent
from subbundle.geodesics.distance import graph_distances
from subbundle.geodesics.on_ridge import on_ridge
from subbundle.geodesics.paths import PathGraph
from subbundle.geodesics.shortest import near_data


def at(angles, radius=1.0):
    angles = np.atleast_1d(angles)
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


@pytest.fixture
def circle():
    """600 points of the unit circle. Its graph is cached with it, so every test has its own."""
    return sb.PrincipalSubbundle(at(np.linspace(0.0, 2.0 * np.pi, 600, endpoint=False)), 1, 0.15)


def test_a_target_off_the_ridge_has_the_path_to_its_projection(circle):
    angle, off = np.array([0.7, 1.5, -2.0]), 0.1
    found = sb.log(circle, at(0.0)[0], at(angle, 1.0 + off))
    # The geodesic ends on the circle, two thirds of a bandwidth from the target, more than `log` accepts.
    np.testing.assert_array_equal(found.status, sb.Status.STRAIGHTENED)
    # The bandwidth moves the ridge by its fourth order, 0.15⁴; the offset counts across the path.
    np.testing.assert_allclose(found.lengths, np.hypot(angle, off), rtol=2e-3)
    np.testing.assert_allclose(found.points, at(angle), atol=2e-3)
    np.testing.assert_allclose(found.residuals, off, atol=2e-3)
    np.testing.assert_allclose(np.abs(found.coordinates[:, 0]), found.lengths)
    np.testing.assert_allclose(np.sign(found.covectors[:, 1]), np.sign(angle))
    np.testing.assert_allclose(sb.distance(circle, at(0.0)[0], at(angle, 1.0 + off)), found.lengths, rtol=1e-3)


def test_a_geodesic_that_keeps_its_offset_is_longer_and_still_found(circle):
    """Curves of a subbundle of rank 1 are circles around the centre: at radius 1.15 they are 15 % longer."""
    angle, radius = 1.2, 1.15
    found = sb.log(circle, at(0.0, radius)[0], at(angle, radius)[0])
    assert found.status == sb.Status.OK
    np.testing.assert_allclose(found.lengths, radius * angle, rtol=1e-3)
    # The distance is that of the projections: both ends have the same offset, up to its turn.
    turned = np.linalg.norm(at(angle, 0.15) - at(0.0, 0.15))
    length = sb.distance(circle, at(0.0, radius)[0], at(angle, radius)[0])
    np.testing.assert_allclose(length, np.hypot(angle, turned), rtol=2e-3)


def test_a_point_of_the_support_without_a_projection_has_the_nearest_landmark():
    bundle = sb.PrincipalSubbundle(at(np.linspace(0.0, 2.0 * np.pi, 600, endpoint=False)), 1, 0.3)
    centre = np.zeros((1, 2))
    # All directions are alike at the centre, which is within 3.9 bandwidths of the circle.
    assert sb.ridge_project(bundle, centre).status[0] not in (sb.Status.OK, sb.Status.NOT_CONVERGED)
    found = near_data(bundle, centre)
    projections = found.points
    assert found.placed.all()
    np.testing.assert_allclose(np.linalg.norm(projections), 1.0, atol=0.3**4)
    y = at(np.arctan2(*projections[0, ::-1]) + 1.0)
    # An angle of 1 along the circle, and across it the offset of the centre, of length 1.
    np.testing.assert_allclose(sb.distance(bundle, centre, y), np.sqrt(2.0), rtol=0.01)


def test_points_at_a_sparse_border_are_projected_across_the_sheet_and_not_along_it():
    # Points of the sheet itself. Wider bandwidths would move some at its border by up to 2.3 bandwidths along it; what
    # is left is the bias of a quadric over windows of a third of the radius of curvature.
    sheet = sb.datasets.s_surface(250, seed=3).points
    found = on_ridge(sb.PrincipalSubbundle(sheet, 2, 0.35), sheet)
    assert found.placed.all()
    assert np.linalg.norm(found.points - sheet, axis=1).max() < 0.35**2
    # Orthonormal frames, tangent to the sheet: its normal has no second component, a bandwidth's turn makes 0.35.
    np.testing.assert_allclose(
        np.swapaxes(found.frames, 1, 2) @ found.frames, np.tile(np.eye(2), (250, 1, 1)), atol=1e-9
    )
    assert np.linalg.norm(found.frames[:, 1], axis=1).min() > np.cos(0.35)


def test_points_off_the_data_belong_to_no_component(circle):
    off = np.array([[0.0, 40.0], [40.0, 0.0]])
    np.testing.assert_array_equal(sb.distance(circle, at([0.0, 1.0]), off), np.inf)
    with pytest.warns(sb.SubbundleWarning, match="2 of 2 distances are NaN"):
        assert np.isnan(sb.distance(circle, off[::-1], off)).all()


def test_entries_that_the_graph_does_not_reach_are_paths_of_their_own(circle, monkeypatch):
    angles = np.array([0.0, 0.9, 1.7, 2.4])
    exact = np.abs(angles[:, None] - angles)
    np.testing.assert_allclose(graph_distances(circle, at(angles), None, 1e-6), exact, rtol=0.01)
    searched = PathGraph.lengths

    def none(graph, near, legs):
        lengths, before = searched(graph, near, legs)
        return np.full_like(lengths, np.inf), np.full_like(before, -1)

    # Without routes a path is the chord, straightened on the circle: these angles span less than half of it.
    monkeypatch.setattr(PathGraph, "lengths", none)
    np.testing.assert_allclose(graph_distances(circle, at(angles), None, 1e-6), exact, rtol=0.005, atol=1e-12)


def test_in_closed_form_a_target_that_no_geodesic_reaches_has_no_distance():
    pole = np.array([0.0, 0.0, 1.0])
    targets = np.array([[1.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 1.5, 0.0]])
    # The spheres of radius 1 and 3 are 2 apart, more than the length scale; that of radius 1.5 is half a one away.
    with pytest.warns(sb.SubbundleWarning, match="1 of 3 distances are NaN"):
        lengths = sb.distance(SphereTangent(2), pole, targets)
    np.testing.assert_array_equal(np.isnan(lengths), [False, True, False])
    np.testing.assert_allclose(lengths[[0, 2]], 0.5 * np.pi, rtol=1e-4)
    with pytest.warns(sb.SubbundleWarning, match="NaN"):
        assert np.isnan(sb.distance(SphereTangent(2), np.zeros(3), pole))
