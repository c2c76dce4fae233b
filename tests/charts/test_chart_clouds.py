"""Charts learned from clouds whose geometry is known."""

import numpy as np
import pytest

from subbundle import Status, datasets
from subbundle.bundles import PrincipalSubbundle
from subbundle.bundles.ridge import carry_to_ridge
from subbundle.charts.chart import Chart
from subbundle.geodesics import geodesic
from subbundle.geodesics.log import log


def chart_of(points, bandwidth, base, rank=2, **options):
    bundle = PrincipalSubbundle(points, rank, bandwidth)
    base = carry_to_ridge(bundle, np.asarray(base, float)).points
    return bundle, Chart(bundle, base, **options)


def rigidly(source, target):
    """``source`` moved onto ``target`` by a rotation or reflection and a shift, without scaling."""
    a, b = source.mean(axis=0), target.mean(axis=0)
    left, _, right = np.linalg.svd((source - a).T @ (target - b))
    return (source - a) @ left @ right + b


def domain_sample(chart, n, seed=0):
    rng = np.random.default_rng(seed)
    v = rng.uniform(-chart.radius, chart.radius, (n, chart.rank))
    return v[chart.inside(v)]


@pytest.fixture(scope="module")
def grid_cylinder():
    """A cylinder of radius 1 and length 5 on a regular grid, so that only its shape is learned."""
    angle, height = np.meshgrid(np.linspace(-np.pi, np.pi, 63, endpoint=False), np.linspace(-2.5, 2.5, 51))
    angle, height = angle.ravel(), height.ravel()
    points = np.column_stack([np.cos(angle), np.sin(angle), height])
    return points, np.column_stack([angle, height]), *chart_of(points, 0.2, [1.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def clean_sphere():
    data = datasets.sphere(1500, seed=0)
    return data, *chart_of(data.points, 0.3, [0.0, 0.0, 1.0], n_geodesics=64)


def test_log_after_exp_on_clean_data(clean_sphere):
    _, _, chart = clean_sphere
    v = domain_sample(chart, 4000)
    located = chart.locate(chart.inverse_transform(v))
    np.testing.assert_array_equal(located.status, Status.OK)
    np.testing.assert_allclose(located.coordinates, v, atol=1e-6)  # the stated accuracy on clean data
    np.testing.assert_allclose(located.residuals, 0.0, atol=1e-9)


def test_interpolant_agrees_with_geodesics_and_searches(clean_sphere):
    _, bundle, chart = clean_sphere
    v = domain_sample(chart, 120, seed=1)
    v = v[np.linalg.norm(v, axis=1) < 2.0]
    truth = geodesic(bundle, chart.base_point, v, times=[1.0]).points[:, 0]
    # Stated for 99 % of the positions of other geodesics, out to the folds; these lie well inside.
    np.testing.assert_allclose(chart.inverse_transform(v), truth, atol=2 * chart.interpolation_error)
    found = log(bundle, chart.base_point, truth[:6], start=v[:6])
    # Coordinates stretch by r/sin r < 2.2 at r = 2.
    np.testing.assert_allclose(chart.transform(truth[:6]), found.coordinates, atol=5 * chart.interpolation_error)


def test_sphere_cloud_is_covered_to_near_the_antipode(clean_sphere):
    data, _, chart = clean_sphere
    assert set(chart.endings) <= {"met its neighbours (fold)", "another geodesic is shorter (cut)"}
    assert 2.0 < chart.injectivity_radius <= np.pi
    angle = np.arccos(np.clip(data.clean[:, 2], -1, 1))
    located = chart.locate(data.points)
    assert (located.status[angle < 2.2] == Status.OK).all()
    near = angle < 1.5
    # Distances are those of the fitted surface, shrunk by the bandwidth's curvature bias, a²/2 = 5 %, and more at the
    # random density of 1500 points.
    np.testing.assert_allclose(np.linalg.norm(located.coordinates[near], axis=1), angle[near], atol=0.15)


def test_cylinder_is_cut_half_way_around(grid_cylinder):
    points, unrolled, _, chart = grid_cylinder
    axis = np.abs(chart.frame[2])
    around = np.flatnonzero(np.abs(chart.directions @ axis) < 0.3)
    radius = np.linalg.norm(chart.base_point[:2])
    # Geodesics are straight lines of the plane, cut where |angle| = π on the fitted cylinder; the lead that a shorter
    # one must have, and the spacing of the nodes, leave a fraction of the bandwidth.
    cut_angle = np.abs(chart.directions @ (1 - axis**2) ** 0.5 * chart.extents)[around] / radius
    np.testing.assert_allclose(cut_angle, np.pi, atol=0.1)
    assert "another geodesic is shorter (cut)" in chart.endings
    assert chart.injectivity_radius == pytest.approx(np.pi * radius, abs=0.1)

    located = chart.locate(points)
    inner = np.abs(unrolled[:, 1]) < 2.3
    assert (located.status[inner] == Status.OK).mean() > 0.98
    good = (located.status == Status.OK) & inner & (np.abs(unrolled[:, 0]) < 3.0)
    moved = rigidly(located.coordinates[good], unrolled[good])
    # Around the axis lengths shrink by a²/2 = 2 % of up to π, which no rigid motion removes.
    np.testing.assert_allclose(moved, unrolled[good], atol=0.1)


def test_near_the_cut_points_keep_their_side(grid_cylinder):
    _, _, _, chart = grid_cylinder
    v = domain_sample(chart, 20000)
    back = chart.transform(chart.inverse_transform(v))
    # One-to-one up to the cut. Its ends, where it meets the border of the data, may hold a point or two.
    assert (np.linalg.norm(back - v, axis=1) < 1e-6).mean() > 0.999


def test_curve_coordinates_are_arc_lengths():
    data = datasets.curve_in_plane(600, seed=0)
    middle = np.argsort(data.coordinates[:, 0])[300]
    _, chart = chart_of(data.points, 0.08, data.points[middle], rank=1)
    assert chart.endings == {"left the support of the data": 2}
    located = chart.locate(data.points)
    np.testing.assert_array_equal(located.status, Status.OK)
    s = located.coordinates[:, 0]
    s = s * np.sign(np.corrcoef(s, data.coordinates[:, 0])[0, 1])
    # Lengths shrink by a²/2r² = 0.3 % of up to 4, around points that scatter little.
    np.testing.assert_allclose(s - s[middle], data.coordinates[:, 0] - data.coordinates[middle, 0], atol=0.03)
    assert chart.extents[0] != pytest.approx(chart.extents[1], abs=0.1)
    v = np.linspace(-chart.extents[1], chart.extents[0], 301)[:, None]
    assert chart.inside(v).all()
    np.testing.assert_allclose(chart.transform(chart.inverse_transform(v)), v, atol=1e-6)


def test_noisy_s_surface_unrolls():
    data = datasets.s_surface(3000, noise=0.025, seed=0)
    middle = np.argmin(np.linalg.norm(data.coordinates - [0.0, 1.0], axis=1))
    _, chart = chart_of(data.points, 0.2, data.points[middle], n_geodesics=256)
    located = chart.locate(data.points)
    good = located.status == Status.OK
    assert good.mean() >= 0.98
    moved = rigidly(located.coordinates[good], data.coordinates[good])
    errors = np.linalg.norm(moved - data.coordinates[good], axis=1)
    assert np.sqrt((errors**2).mean()) <= 0.10  # the stated accuracy of one chart
    # Noise lies 0.025 from the surface; the fitted one within a²/2 = 0.02 of it.
    assert np.median(located.residuals[good]) < 0.03
    assert data.distance(located.points[good]).mean() < 0.03


def test_noisy_folds_cut_few_geodesics_of_the_chart():
    data = datasets.s_surface(3000, noise=0.025, seed=0)
    middle = np.argmin(np.linalg.norm(data.coordinates - [0.0, 1.0], axis=1))
    _, chart = chart_of(data.points, 0.12, data.points[middle], n_geodesics=256)
    assert chart.endings["met its neighbours (fold)"] > 0
    assert chart.injectivity_radius < chart.radius
    assert (chart.extents > 1.0).all()
    assert (chart.locate(data.points).status == Status.OK).mean() > 0.85


def test_border_points_are_reported_and_projected():
    data = datasets.s_surface(2000, seed=2)
    middle = np.argmin(np.linalg.norm(data.coordinates - [0.0, 1.0], axis=1))
    _, chart = chart_of(data.points, 0.25, data.points[middle], radius=1.5, n_geodesics=64)
    t = np.linspace(1.8, 2.2, 5)
    beyond = np.column_stack([np.sin(t), np.ones(5), np.cos(t) - 1.0])
    located = chart.locate(beyond)
    np.testing.assert_array_equal(located.status, Status.LEFT_SUPPORT)
    assert np.isnan(located.coordinates).all()
    nearest = chart.locate(beyond, outside="nearest")
    np.testing.assert_allclose(np.linalg.norm(nearest.coordinates, axis=1), 1.5, atol=1e-6)
    assert chart.radius == pytest.approx(1.5)
    assert (np.diff(nearest.residuals) > 0).all()


def test_the_number_of_threads_changes_no_bit():
    data = datasets.torus(1500, noise=0.01, seed=0)
    arrays = []
    for n_jobs in (1, 2):
        bundle = PrincipalSubbundle(data.points, 2, 0.2, n_jobs=n_jobs)
        chart = Chart(bundle, carry_to_ridge(bundle, data.points[0]).points, 1.0, n_geodesics=32)
        arrays.append(chart.to_arrays() | {"coordinates": chart.transform(data.points)})
    for name, value in arrays[0].items():
        np.testing.assert_array_equal(value, arrays[1][name])


def test_the_message_of_a_base_point_off_the_data():
    data = datasets.torus(1500, seed=0)
    bundle = PrincipalSubbundle(data.points, 2, 0.2)
    with pytest.raises(ValueError, match=r"left the support of the data.*sb.carry_to_ridge"):
        Chart(bundle, [5.0, 5.0, 5.0])


def test_targets_whose_distances_overflow_are_outside(clean_sphere):
    *_, chart = clean_sphere
    assert chart.locate([[1e200, 0.0, 0.0]]).status.tolist() == [Status.LEFT_SUPPORT]
