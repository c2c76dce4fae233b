"""Projecting onto the ridge: closed forms on spheres, cylinders and tori, noise, outliers, many dimensions."""

import re
from dataclasses import fields

import numpy as np
import pytest

import subbundle as sb
from subbundle import PrincipalSubbundle, Status, ridge_project


def spiral_sphere(n):
    """A spiral of equal area: uniform and even, without noise."""
    height = 1.0 - (2.0 * np.arange(n) + 1.0) / n
    angle = np.pi * (1.0 + np.sqrt(5.0)) * np.arange(n)
    return np.column_stack([np.sqrt(1.0 - height**2) * np.cos(angle), np.sqrt(1.0 - height**2) * np.sin(angle), height])


def cylinder(n_around, n_along, radius=1.0):
    """An even grid on a cylinder about the third axis, of length 4."""
    angle = 2.0 * np.pi * np.arange(n_around) / n_around
    height = np.linspace(-2.0, 2.0, n_along)
    angle, height = (grid.ravel() for grid in np.meshgrid(angle, height))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])


def torus_points(u, v, major=1.0, minor=0.4):
    ring = major + minor * np.cos(v)
    return np.column_stack([ring * np.cos(u), ring * np.sin(u), minor * np.sin(v)])


def torus_offset(points, major=1.0, minor=0.4):
    return np.hypot(np.hypot(points[:, 0], points[:, 1]) - major, points[:, 2]) - minor


@pytest.fixture(scope="module")
def noisy_sphere():
    data = spiral_sphere(6000)
    return data + 0.03 * np.random.default_rng(0).normal(size=data.shape)


@pytest.mark.parametrize("shape", ["sphere", "torus"])
def test_the_bias_is_of_second_order_in_the_bandwidth_and_of_fourth_when_corrected(shape):
    if shape == "sphere":
        data, widths = spiral_sphere(20000), np.array([0.15, 0.2, 0.3])
        queries, offset = data[::997], lambda points: np.linalg.norm(points, axis=1) - 1.0
    else:
        u, v = (grid.ravel() for grid in np.meshgrid(np.arange(260) / 260, np.arange(104) / 104))
        data, widths = torus_points(2 * np.pi * u, 2 * np.pi * v), np.array([0.08, 0.11, 0.15])
        queries, offset = data[::1501], torus_offset
    slopes = {}
    for order in (1, 2):
        errors = []
        for width in widths:
            bundle = PrincipalSubbundle(data, 2, width)
            ridge = ridge_project(bundle, queries, order=order, tol=1e-7, max_steps=60, reach=7.0)
            np.testing.assert_array_equal(ridge.status, Status.OK)
            errors.append(np.abs(offset(ridge.points)).mean())
        slopes[order] = np.polyfit(np.log(widths), np.log(errors), 1)[0]
    # Next terms of the expansion curve the line a little over a factor of two in the bandwidth.
    assert slopes[1] == pytest.approx(2.0, abs=0.3)
    assert slopes[2] == pytest.approx(4.0, abs=0.6)


def test_principal_curvatures_of_a_cylinder():
    bundle = PrincipalSubbundle(cylinder(240, 160), 2, 0.12)
    angle = np.linspace(0.0, 6.0, 7)
    on = np.column_stack([np.cos(angle), np.sin(angle), 0.3 * np.sin(angle)])
    ridge = ridge_project(bundle, on, tol=1e-6)
    np.testing.assert_array_equal(ridge.status, Status.OK)
    # Fourth derivatives of the profile change the curvature by about a²: 1.4 %.
    np.testing.assert_allclose(np.sort(np.abs(ridge.principal_curvatures), axis=1), [[0.0, 1.0]] * 7, atol=0.03)
    np.testing.assert_allclose(ridge.curvature, 1.0, atol=0.03)
    inward = -on * [1.0, 1.0, 0.0]
    np.testing.assert_allclose(ridge.mean_curvature, 0.5 * inward, atol=0.02)
    np.testing.assert_allclose(np.abs(np.einsum("nd,nd->n", ridge.normals[:, :, 0], inward)), 1.0, atol=1e-6)
    np.testing.assert_allclose(np.einsum("ndk,nde->nke", ridge.tangents, ridge.normals), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.einsum("nabd,ndk->nabk", ridge.second_form, ridge.tangents), 0.0, atol=1e-12)


def test_principal_curvatures_of_a_torus_along_the_tube():
    u, v = (grid.ravel() for grid in np.meshgrid(np.arange(300) / 300, np.arange(120) / 120))
    bundle = PrincipalSubbundle(torus_points(2 * np.pi * u, 2 * np.pi * v), 2, 0.06)
    v = np.linspace(0.0, 2.0 * np.pi, 9)
    ridge = ridge_project(bundle, torus_points(np.full(9, 0.7), v), tol=1e-6)
    truth = np.column_stack([np.full(9, 1.0 / 0.4), np.cos(v) / (1.0 + 0.4 * np.cos(v))])
    found = ridge.principal_curvatures
    found = np.where(np.abs(found[:, :1]) > np.abs(found[:, 1:]), found, found[:, ::-1])
    found *= np.sign(found[:, :1])
    # The arc's height κx²/2 + κ³x⁴/8 has, as a parabola over a Gaussian, the curvature κ (1 + 1.5 (aκ)²): 3.4 % more.
    np.testing.assert_allclose(found, truth, atol=0.1)


@pytest.mark.parametrize("dim", [3, 5, 20])
def test_curves_and_codimension(dim):
    # A unit circle turned into R^dim: II(t, t) points to its centre.
    rng = np.random.default_rng(dim)
    basis = np.linalg.qr(rng.normal(size=(dim, dim)))[0][:, :2]
    angle = 2.0 * np.pi * np.arange(900) / 900
    circle = np.column_stack([np.cos(angle), np.sin(angle)]) @ basis.T
    data = np.vstack([circle, circle + 1e-3 * rng.normal(size=circle.shape)])
    ridge = ridge_project(PrincipalSubbundle(data, 1, 0.1), circle[::100], tol=1e-5)
    np.testing.assert_array_equal(ridge.status, Status.OK)
    np.testing.assert_allclose(ridge.second_form[:, 0, 0], -circle[::100], atol=0.03)
    np.testing.assert_allclose(ridge.curvature, 1.0, atol=0.03)
    assert ridge.normals.shape == (9, dim, dim - 1)
    with pytest.raises(ValueError, match=rf"need a hypersurface.*rank is 1 in R\^{dim}. Use second_form"):
        ridge.principal_curvatures  # noqa: B018


@pytest.mark.parametrize("order", [1, 2])
def test_the_noise_is_estimated(noisy_sphere, order):
    ridge = ridge_project(PrincipalSubbundle(noisy_sphere, 2, 0.12), noisy_sphere[::20], order=order)
    assert (ridge.status == Status.OK).mean() > 0.99
    # Some 80 neighbours each, so single estimates scatter by 8 %; their median by 1 %.
    assert np.median(ridge.noise) == pytest.approx(0.03, rel=0.05)
    assert np.sqrt(np.mean(ridge.outlier_scores**2)) == pytest.approx(1.0, abs=0.1)
    truth = np.abs(np.linalg.norm(ridge.points, axis=1) - 1.0)
    # The mean of 80 observations is off by 0.03/√80 = 0.0034, that of order 1 by another a² (κ₁ + κ₂)/2 = 0.014.
    assert truth.mean() < (0.02 if order == 1 else 0.007)


def test_planted_outliers_have_the_largest_scores(noisy_sphere):
    rng = np.random.default_rng(1)
    planted = rng.uniform(-1.3, 1.3, size=(300, 3))
    planted = planted[np.abs(np.linalg.norm(planted, axis=1) - 1.0) > 0.15][:100]
    cloud = np.vstack([planted, noisy_sphere])
    scores = ridge_project(PrincipalSubbundle(cloud, 2, 0.12), cloud).outlier_scores
    # They are further than five noise levels from the surface, which happens to observations once in a million. Two or
    # three close together may resemble a sheet.
    assert np.mean(scores[:100] > 3.5) >= 0.97
    assert np.mean(scores[100:] > 3.5) < 0.01


def test_the_normals_are_better_than_those_of_the_bundle_near_a_border():
    # A quarter of a cylinder: at its straight border the bundle is tilted, by curvature times the offset of the mean.
    points = cylinder(400, 200)
    bundle = PrincipalSubbundle(points[(points[:, 0] > 0.0) & (points[:, 1] > 0.0)], 2, 0.15)
    border = np.column_stack([np.cos([0.02, 0.05]), np.sin([0.02, 0.05]), np.zeros(2)])
    ridge = ridge_project(bundle, border, tol=1e-6)
    normal = border * [1.0, 1.0, 0.0]
    lean = np.linalg.norm(np.einsum("ndk,nd->nk", ridge.tangents, normal), axis=1)
    plain = np.linalg.norm(np.einsum("ndk,nd->nk", bundle.frame(border).vectors, normal), axis=1)
    assert (lean < 0.2 * plain).all()
    np.testing.assert_allclose(np.hypot(ridge.points[:, 0], ridge.points[:, 1]), 1.0, atol=2e-3)


def test_a_short_reach_changes_little(noisy_sphere):
    bundle = PrincipalSubbundle(noisy_sphere, 2, 0.12)
    whole, cut = (ridge_project(bundle, noisy_sphere[:200], reach=reach, tol=1e-4) for reach in (7.0, None))
    both = (whole.status == Status.OK) & (cut.status == Status.OK)
    assert both.mean() > 0.97
    # Two thousandths of the mass, at the largest lever arm.
    assert np.median(np.linalg.norm(whole.points - cut.points, axis=1)[both]) < 0.005 * 0.12
    np.testing.assert_allclose(cut.density[both], whole.density[both], rtol=0.02)


@pytest.fixture(scope="module")
def sheet_in_many_dimensions():
    """A bent sheet in R^60 whose noise is longer than the bandwidth: their own weight dominates at observations."""
    rng = np.random.default_rng(5)
    u, v = rng.uniform(-1.0, 1.0, size=(2, 1500))
    basis = np.linalg.qr(rng.normal(size=(60, 3)))[0]
    clean = np.column_stack([u, v, 0.3 * u**2]) @ basis.T
    return clean, clean + 0.04 * rng.normal(size=clean.shape), basis


@pytest.mark.parametrize("continuation", ["auto", [1.6, 1.25]])
def test_observations_in_many_dimensions_move(sheet_in_many_dimensions, continuation):
    clean, noisy, basis = sheet_in_many_dimensions
    bundle = PrincipalSubbundle(noisy, 2, 0.16)
    some = noisy[np.abs(clean @ basis[:, 0]) < 0.7][:30]
    held = ridge_project(bundle, some, continuation=None)
    moved = ridge_project(bundle, some, continuation=continuation)
    outside = [np.linalg.norm(rows - rows @ basis @ basis.T, axis=1) for rows in (some, held.points, moved.points)]
    # The noise has 57 normal directions outside the space of the sheet, 0.04 √57 = 0.30; the average of 80 leaves
    # a ninth of it.
    assert np.median(outside[0]) == pytest.approx(0.30, abs=0.02)
    assert np.median(outside[1]) > 0.2
    assert np.median(outside[2]) < 0.06
    assert np.median(moved.noise) == pytest.approx(0.04, rel=0.1)


@pytest.mark.parametrize("dim", [3, 5, 20])
@pytest.mark.parametrize("order", [1, 2])
def test_rows_batches_and_threads_do_not_matter(wavy_cloud, dim, order):
    data = wavy_cloud(dim, 300, seed=dim)
    points = np.vstack([data[:20], np.full((1, dim), 50.0)])
    one = ridge_project(PrincipalSubbundle(data, 2, 0.6, n_jobs=1), points, order=order)
    two = ridge_project(PrincipalSubbundle(data[::-1], 2, 0.6, n_jobs=2), points[::-1], order=order)
    alone = [ridge_project(PrincipalSubbundle(data, 2, 0.6), point, order=order) for point in points]
    for field in fields(one):
        together = getattr(one, field.name)
        np.testing.assert_array_equal(getattr(two, field.name)[::-1], together, err_msg=field.name)
        parts = np.concatenate([getattr(single, field.name) for single in alone])
        np.testing.assert_array_equal(parts, together, err_msg=field.name)


def test_rows_without_a_ridge_have_a_status(noisy_sphere):
    bundle = PrincipalSubbundle(noisy_sphere, 2, 0.12)
    ridge = ridge_project(bundle, [[9.0, 9.0, 9.0], [1e200, 0.0, 0.0], [1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(ridge.status, [Status.LEFT_SUPPORT, Status.LEFT_SUPPORT, Status.OK])
    np.testing.assert_array_equal(ridge.points[:2], [[9.0, 9.0, 9.0], [1e200, 0.0, 0.0]])
    np.testing.assert_array_equal(ridge.shifts[:2], 0.0)
    np.testing.assert_array_equal(ridge.outlier_scores[:2], np.inf)
    assert np.isnan(ridge.noise[:2]).all()
    assert np.isnan(ridge.normals[:2]).all()
    assert np.isnan(ridge.principal_curvatures[:2]).all()
    np.testing.assert_array_equal(ridge.density[:2], 0.0)
    assert ridge_project(bundle, [[1.1, 0.0, 0.0]], max_steps=1, tol=1e-9).status[0] == Status.NOT_CONVERGED
    assert ridge_project(bundle, np.empty((0, 3))).normals.shape == (0, 3, 1)


def test_data_in_a_plane_of_space_and_in_fewer_dimensions_than_its_coordinates():
    rng = np.random.default_rng(2)
    angle = rng.uniform(0.0, 2.0 * np.pi, size=2000)
    plane = np.column_stack([np.cos(angle), np.sin(angle)]) * (1.0 + 0.04 * rng.normal(size=(2000, 1)))
    basis = np.linalg.qr(rng.normal(size=(9, 2)))[0]
    inside = ridge_project(PrincipalSubbundle(plane, 1, 0.15), plane[:50], tol=1e-8)
    turned = ridge_project(PrincipalSubbundle(plane @ basis.T, 1, 0.15), plane[:50] @ basis.T, tol=1e-8)
    # The same computation in rotated coordinates, to rounding and the last step.
    np.testing.assert_allclose(turned.points, inside.points @ basis.T, atol=1e-7)
    np.testing.assert_allclose(turned.noise, inside.noise, rtol=1e-5)
    np.testing.assert_allclose(turned.curvature, inside.curvature, rtol=1e-4, atol=1e-6)


def test_the_ridge_does_not_depend_on_the_centring_of_the_bundle():
    rng = np.random.default_rng(4)
    noisy = spiral_sphere(1500) * (1.0 + 0.02 * rng.normal(size=(1500, 1)))
    first, *others = (
        ridge_project(PrincipalSubbundle(noisy, 2, 0.25, centering=centering), noisy[:12], tol=1e-5)
        for centering in ("local", "recentred", "none")
    )
    np.testing.assert_array_equal(first.status, Status.OK)
    for ridge in others:
        np.testing.assert_array_equal(ridge.points, first.points)
        np.testing.assert_array_equal(ridge.second_form, first.second_form)


@pytest.mark.parametrize("order", [1, 2])
def test_bundles_in_closed_form_have_their_ridge_everywhere(order):
    points = np.array([[0.0, 0.0, 2.0], [0.6, 0.0, 0.8]])
    ridge = ridge_project(sb.bundles.SphereTangent(2), points, order=order)
    np.testing.assert_array_equal(ridge.status, Status.OK)
    np.testing.assert_array_equal(ridge.points, points)
    # II(t_a, t_b) = −δ_ab p/|p|², by differences over 1e-2.
    expected = -np.eye(2)[:, :, None] * (points / np.sum(points**2, axis=1)[:, None])[:, None, None]
    np.testing.assert_allclose(ridge.second_form, expected, atol=1e-3)
    np.testing.assert_array_equal(ridge.noise, 0.0)
    assert np.abs(ridge_project(sb.bundles.Heisenberg(), points).points - points).max() == 0.0


def test_a_bundle_on_a_known_manifold():
    # A noisy circle of latitude at height 0.6 on the sphere has the geodesic curvature 0.6/0.8.
    rng = np.random.default_rng(6)
    angle = 2.0 * np.pi * np.arange(1500) / 1500
    height = 0.6 + 0.02 * rng.normal(size=1500)
    data = np.column_stack([np.sqrt(1 - height**2) * np.cos(angle), np.sqrt(1 - height**2) * np.sin(angle), height])
    bundle = sb.RiemannianSubbundle(data, 1, 0.15, space=sb.spaces.Sphere(2))
    first, second = (ridge_project(bundle, data[::100], order=order, tol=1e-4) for order in (1, 2))
    for ridge in (first, second):
        np.testing.assert_array_equal(ridge.status, Status.OK)
        np.testing.assert_allclose(np.linalg.norm(ridge.points, axis=1), 1.0, atol=1e-12)
    # Bias of order 1: half of a² times the geodesic curvature, in arc length; 0.8 of it in height.
    assert (first.points[:, 2] - 0.6).mean() == pytest.approx(0.5 * 0.15**2 * 0.75 * 0.8, rel=0.3)
    assert abs((second.points[:, 2] - 0.6).mean()) < 0.002
    assert np.median(second.curvature) == pytest.approx(0.75, rel=0.15)
    assert np.median(second.noise) == pytest.approx(0.025, rel=0.15)  # 0.02 in height is 0.025 in arc length


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 3}, "order must be an integer in 1..2; got 3"),
        ({"reach": 0.0}, "reach must be positive and finite; got 0.0"),
        ({"continuation": "slow"}, "continuation must be \"auto\", None or a falling sequence of factors; got 'slow'"),
        ({"continuation": [1.2, 1.6]}, "continuation must be a falling sequence of finite factors of at least 1"),
        ({"continuation": [0.5]}, "such as [1.6, 1.25]; got [0.5]"),
    ],
)
def test_bad_options(noisy_sphere, options, message):
    bundle = PrincipalSubbundle(noisy_sphere, 2, 0.12)
    with pytest.raises(ValueError, match=re.escape(message)):
        ridge_project(bundle, noisy_sphere[:2], **options)
    with pytest.raises(ValueError, match=re.escape("points must be one point or a 2-D array")):
        ridge_project(bundle, np.zeros((2, 2, 3)))


@pytest.mark.parametrize("repeated", [1, 5])
@pytest.mark.parametrize("dim", [3, 6, 20])
def test_clouds_without_noise_and_with_duplicates(dim, repeated):
    rng = np.random.default_rng(dim)
    basis = np.linalg.qr(rng.normal(size=(dim, 2)))[0]
    data = np.repeat(rng.uniform(-1.0, 1.0, size=(300, 2)) @ basis.T, repeated, axis=0)
    bundle = PrincipalSubbundle(data, 2, 0.25)
    ridge = ridge_project(bundle, data[:40], errors=True)
    np.testing.assert_array_equal(ridge.status, Status.OK)
    assert np.isnan(ridge_project(bundle, data[:40]).position_error).all()
    for field in fields(ridge):
        assert np.isfinite(getattr(ridge, field.name)).all(), field.name
    # Rounding beside coordinates of order one.
    np.testing.assert_allclose(ridge.points, data[:40], atol=1e-12)
    assert ridge.noise.max() < 1e-7
    assert ridge.outlier_scores.max() < 1e-3
    assert ridge.curvature.max() < 1e-6


def test_a_reach_beyond_all_numbers_leaves_nothing_out():
    points = sb.datasets.sphere(300, noise=0.05, seed=0).points
    bundle = PrincipalSubbundle(points, 2, 0.4)
    far, all_of_it = (ridge_project(bundle, points[:5], reach=reach).points for reach in (1e200, 1e3))
    np.testing.assert_array_equal(far, all_of_it)
