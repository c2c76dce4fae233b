"""Charts of bundles in closed form, where normal coordinates are known."""

import numpy as np
import pytest

from subbundle import Status, SubbundleWarning
from subbundle.bundles.analytic import Constant, Heisenberg, SphereTangent
from subbundle.charts.chart import Chart

POLE = np.array([0.0, 0.0, 1.0])
# The interpolant has three nodes per length scale: (1/3)⁴/384 = 3e-5 per unit of the fourth derivative.
INTERPOLATION = 1e-4


class HalfSphere(SphereTangent):
    """Tangent planes of spheres where x < 0.5, as if the data ended there."""

    def field(self, points, covectors):
        field = super().field(points, covectors)
        field.status[points[:, 0] >= 0.5] = Status.LEFT_SUPPORT
        return field


@pytest.fixture(scope="module")
def sphere():
    return Chart(SphereTangent(2), POLE, max_radius=5.0)


@pytest.fixture(scope="module")
def half():
    return Chart(HalfSphere(2), POLE, 2.0, n_geodesics=256)


def polar(coordinates):
    """exp at the north pole of the unit sphere, in the frame of the x and y axes."""
    r = np.linalg.norm(coordinates, axis=1)
    return np.column_stack([np.sinc(r / np.pi)[:, None] * coordinates, np.cos(r)])


def disc(n, radius, rank=2, seed=0):
    rng = np.random.default_rng(seed)
    unit = rng.standard_normal((n, rank))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    return radius * rng.uniform(0, 1, (n, 1)) ** (1 / rank) * unit


def test_sphere_has_polar_coordinates(sphere):
    np.testing.assert_array_equal(sphere.frame, np.eye(3)[:, :2])
    v = disc(500, 2.7)
    np.testing.assert_allclose(sphere.inverse_transform(v), polar(v), atol=INTERPOLATION)
    # Near the antipode the coordinates stretch: an error grows by r/sin r < 7.
    np.testing.assert_allclose(sphere.transform(polar(v)), v, atol=7 * INTERPOLATION)


def test_stated_error_is_that_of_the_interpolant(sphere):
    v = disc(2000, sphere.radius)
    v = v[sphere.inside(v)]
    errors = np.linalg.norm(sphere.inverse_transform(v) - polar(v), axis=1)
    # 99 % of the checked positions lie within it; these are others, so allow a factor.
    assert np.quantile(errors, 0.95) <= 1.5 * sphere.interpolation_error
    assert sphere.interpolation_error <= 1e-3  # the default tolerance, times the length scale 1


def test_exp_folds_before_the_antipode(sphere):
    # The geodesics are cut where sin r / r = 0.1, that is r = 2.852; nodes are 0.33 apart.
    assert sphere.injectivity_radius == pytest.approx(2.852, abs=0.05)
    assert sphere.radius == pytest.approx(2.852, abs=0.05)
    assert sphere.endings == {"met its neighbours (fold)": len(sphere.extents)}
    south = sphere.locate(-POLE)
    assert south.status == Status.LEFT_SUPPORT
    assert np.isnan(south.coordinates).all()


def test_jacobian_is_the_derivative(sphere):
    v, eps = disc(50, 2.5), 1e-6
    steps = [sphere.inverse_transform(v + eps * e) - sphere.inverse_transform(v - eps * e) for e in np.eye(2)]
    # Central differences: truncation eps², rounding 1e-16/eps.
    np.testing.assert_allclose(sphere.jacobian(v), np.stack(steps, axis=2) / (2 * eps), atol=1e-8)
    np.testing.assert_allclose(sphere.jacobian([0.0, 0.0]), sphere.frame, atol=INTERPOLATION)


@pytest.mark.parametrize("radius", [1e-9, 1e-3, 0.1, 1.0, 2.8])
def test_transform_inverts_inverse_transform(sphere, radius):
    v = np.vstack([disc(300, radius), [[0.0, 0.0], [radius, 0.0], [0.0, -radius]]])
    # Both are the same interpolant, inverted to rounding.
    np.testing.assert_allclose(sphere.transform(sphere.inverse_transform(v)), v, atol=1e-10)


def test_points_off_the_sphere_are_projected(sphere):
    v = disc(200, 2.0)
    away = np.random.default_rng(1).uniform(0.7, 1.6, (200, 1))
    located = sphere.locate(away * polar(v))
    np.testing.assert_allclose(located.coordinates, v, atol=4 * INTERPOLATION)
    np.testing.assert_allclose(located.points, polar(v), atol=2 * INTERPOLATION)
    np.testing.assert_allclose(located.residuals, np.abs(away[:, 0] - 1), atol=INTERPOLATION)
    # The projection is a point of the chart itself, to rounding.
    np.testing.assert_allclose(sphere.inverse_transform(located.coordinates), located.points, atol=1e-12)


def test_constant_bundle_has_affine_coordinates():
    vectors = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 2)))[0]
    base = np.arange(5.0)
    chart = Chart(Constant(vectors), base, 2.0)
    v = disc(200, 2.0)
    # Straight lines are exact along r; between 64 directions u(θ) is a cubic: (2π/64)⁴/384 r.
    np.testing.assert_allclose(chart.inverse_transform(v), base + v @ chart.frame.T, atol=1e-6)
    x = base + v @ chart.frame.T + 0.5 * np.linalg.svd(vectors)[0][:, 3]
    np.testing.assert_allclose(chart.transform(x), v, atol=1e-6)
    np.testing.assert_allclose(chart.locate(x, outside="nearest").residuals, 0.5, atol=1e-6)
    assert chart.injectivity_radius == np.inf
    assert chart.radius == pytest.approx(2.0, rel=1e-12)


def test_heisenberg_chart_is_the_horizontal_plane():
    chart = Chart(Heisenberg(), np.zeros(3), 2.0)
    v = disc(50, 2.0)
    np.testing.assert_allclose(chart.inverse_transform(v), np.column_stack([v, np.zeros(50)]), atol=1e-5)


def test_rank_one_is_arc_length_both_ways():
    chart = Chart(SphereTangent(1), [0.0, 1.0], max_radius=10.0)
    # The two sides meet at the antipode, which a slack of one node does not let them pass undetected.
    np.testing.assert_allclose(chart.extents, np.pi, atol=0.02)
    v = np.linspace(-3, 3, 101)[:, None]
    sign = np.sign(chart.frame[0, 0])
    circle = np.column_stack([sign * np.sin(v[:, 0]), np.cos(v[:, 0])])
    np.testing.assert_allclose(chart.inverse_transform(v), circle, atol=INTERPOLATION)
    np.testing.assert_allclose(chart.transform(1.2 * circle), v, atol=INTERPOLATION)
    np.testing.assert_allclose(chart.jacobian(v)[:, :, 0], sign * circle[:, [1, 0]] * [1, -1], atol=1e-3)


@pytest.mark.parametrize("rank", [3, 4])
def test_higher_ranks_by_scattered_directions(rank):
    chart = Chart(SphereTangent(rank), np.eye(rank + 1)[-1], max_radius=5.0)
    np.testing.assert_array_equal(chart.frame, np.eye(rank + 1)[:, :rank])
    v = disc(500, 2.6, rank=rank)
    errors = np.linalg.norm(chart.inverse_transform(v) - polar(v), axis=1)
    assert np.quantile(errors, 0.95) <= 1.5 * chart.interpolation_error
    assert chart.interpolation_error <= 1e-2  # the default tolerance, times the length scale 1
    # Its own inverse to rounding, and the projection of points off the sphere to the interpolant's error.
    np.testing.assert_allclose(chart.transform(chart.inverse_transform(v)), v, atol=1e-10)
    located = chart.locate(1.1 * polar(v))
    np.testing.assert_allclose(located.residuals, 0.1, atol=2 * chart.interpolation_error)
    # Coordinates stretch by r/sin r < 6.
    np.testing.assert_allclose(located.coordinates, v, atol=12 * chart.interpolation_error)
    assert 2.5 < chart.injectivity_radius < np.pi
    south = -np.eye(rank + 1)[-1]
    assert chart.locate(south).status == Status.LEFT_SUPPORT
    assert chart.inside(chart.transform(south, outside="nearest"))


def test_rank_three_by_searches():
    chart = Chart(SphereTangent(3), [0.0, 0.0, 0.0, 1.0], max_radius=5.0, tol=1e-6, n_geodesics=100)
    v = disc(12, 2.3, rank=3)
    # No interpolation: the geodesics' own tolerance, 1e-6 a step, in both directions.
    np.testing.assert_allclose(chart.inverse_transform(v), polar(v), atol=1e-5)
    np.testing.assert_allclose(chart.transform(chart.inverse_transform(v)), v, atol=1e-6)
    located = chart.locate(1.1 * polar(v))
    np.testing.assert_allclose(located.residuals, 0.1, atol=1e-5)
    np.testing.assert_allclose(located.coordinates, v, atol=1e-4)
    np.testing.assert_array_equal(located.status, Status.OK)
    eps = 1e-4
    for i, e in enumerate(np.eye(3)):
        slope = (polar(v + eps * e) - polar(v - eps * e)) / (2 * eps)
        np.testing.assert_allclose(chart.jacobian(v)[:, :, i], slope, atol=1e-4)
    assert chart.interpolation_error == 0.0
    assert chart.locate([0.0, 0.0, 0.0, -1.0]).status == Status.LEFT_SUPPORT
    assert np.isfinite(chart.transform([0.0, 0.0, 0.0, -1.0], outside="nearest")).all()


def test_higher_rank_jacobian_is_the_derivative_of_exp():
    chart = Chart(SphereTangent(3), [0.0, 0.0, 0.0, 1.0], 2.0, n_geodesics=400)
    v, eps = disc(50, 1.9, rank=3), 1e-6
    for i, e in enumerate(np.eye(3)):
        slope = (polar(v + eps * e) - polar(v - eps * e)) / (2 * eps)
        # Slopes of local quadratics over a reach of 0.4 rad: second order, r³ 0.4²/6 at the worst of positions.
        np.testing.assert_allclose(chart.jacobian(v)[:, :, i], slope, atol=0.02)


def test_domain_ends_where_the_data_ends(half):
    assert set(half.endings) == {"left the support of the data", "reached the radius"}
    # Towards +x the sphere ends at x = 0.5, at the angle π/6; the other way at the radius. The flow finds the end of
    # the support to a fraction of its step.
    assert half.extents[0] == pytest.approx(np.pi / 6, abs=0.02)
    assert half.extents[len(half.extents) // 2] == pytest.approx(2.0)
    v = disc(2000, 2.2)
    x, r = polar(v), np.linalg.norm(v, axis=1)
    clearly_in = (x[:, 0] < 0.45) & (r < 1.98) & (np.abs(v[:, 1]) < 1.3)
    clearly_out = (r > 2.02) | ((x[:, 0] > 0.55) & (r < 1.5))
    assert half.inside(v[clearly_in]).all()
    assert not half.inside(v[clearly_out]).any()
    assert np.isnan(half.inverse_transform(v[clearly_out])).all()
    assert np.isnan(half.jacobian(v[clearly_out])).all()
    located = half.locate(x[clearly_out])
    np.testing.assert_array_equal(located.status, Status.LEFT_SUPPORT)
    for values in (located.coordinates, located.points, located.residuals):
        assert np.isnan(values).all()


def test_outside_nearest_gives_the_nearest_border_point(half):
    angle = np.linspace(-0.5, 0.5, 9)
    x = np.column_stack([np.sin(0.9) * np.cos(angle), np.sin(0.9) * np.sin(angle), np.full(9, np.cos(0.9))])
    located = half.locate(x, outside="nearest")
    np.testing.assert_array_equal(located.status, Status.LEFT_SUPPORT)
    assert half.inside(located.coordinates).all()
    # Compare with the nearest of many points on the border.
    theta = np.linspace(0, 2 * np.pi, 40000)
    rho = np.interp(theta, 2 * np.pi / 256 * np.arange(257), np.append(half.extents, half.extents[0]))
    border = polar(rho[:, None] * np.column_stack([np.cos(theta), np.sin(theta)]))
    brute = np.linalg.norm(x[:, None] - border[None], axis=2).min(axis=1)
    np.testing.assert_allclose(located.residuals, brute, atol=INTERPOLATION)
    np.testing.assert_allclose(
        np.linalg.norm(half.inverse_transform(located.coordinates) - x, axis=1), located.residuals, atol=1e-9
    )


def test_points_far_from_the_sheet_are_outside(sphere):
    assert sphere.max_residual == pytest.approx(3.0)  # of the length scale 1; the bundle has no scatter of its own
    far = sphere.locate([0.0, 0.0, 4.5])
    assert far.status == Status.LEFT_SUPPORT
    assert np.isnan(far.points).all()
    kept = sphere.locate([0.0, 0.0, 4.5], outside="nearest")
    assert kept.status == Status.LEFT_SUPPORT
    np.testing.assert_allclose(kept.points, POLE, atol=1e-6)
    assert kept.residuals == pytest.approx(3.5, abs=1e-6)


def test_rows_do_not_depend_on_batch_or_order(sphere, half):
    rng = np.random.default_rng(3)
    space = Chart(SphereTangent(3), [0.0, 0.0, 0.0, 1.0], 1.5, n_geodesics=100)
    # Batches large enough to be cut into chunks for threads.
    for chart, n in ((sphere, 5000), (half, 5000), (space, 300)):
        x, order = rng.uniform(-1.5, 1.5, (n, len(chart.base_point))), rng.permutation(n)
        whole = chart.locate(x, outside="nearest")
        shuffled = chart.locate(x[order], outside="nearest")
        for name in ("coordinates", "points", "residuals", "status"):
            np.testing.assert_array_equal(getattr(whole, name)[order], getattr(shuffled, name))
        for row in range(0, n, n // 10):
            one = chart.locate(x[row], outside="nearest")
            np.testing.assert_array_equal(one.coordinates, whole.coordinates[row])
            assert one.residuals == whole.residuals[row]
            assert one.status == whole.status[row]


def test_single_rows_and_empty_batches(sphere):
    assert sphere.transform(POLE).shape == (2,)
    assert sphere.inverse_transform([0.1, 0.2]).shape == (3,)
    assert sphere.jacobian([0.1, 0.2]).shape == (3, 2)
    assert sphere.inside([0.1, 0.2])
    assert sphere.transform(np.empty((0, 3))).shape == (0, 2)
    assert sphere.inverse_transform(np.empty((0, 2))).shape == (0, 3)
    assert isinstance(sphere.locate(POLE).status, Status)


def test_nan_coordinates_stay_nan(sphere):
    v = np.array([[0.1, 0.2], [np.nan, 0.0], [100.0, 0.0]])
    np.testing.assert_array_equal(sphere.inside(v), [True, False, False])
    np.testing.assert_array_equal(np.isnan(sphere.inverse_transform(v)).all(axis=1), [False, True, True])


def test_more_geodesics_are_more_accurate():
    v = disc(300, 1.5)
    errors = []
    for n in (8, 16, 32):
        chart = Chart(Constant(np.eye(3)[:, :2]), np.zeros(3), 1.6, n_geodesics=n)
        assert len(chart.extents) == n
        errors.append(np.abs(chart.inverse_transform(v)[:, :2] - v).max())
    # Fourth order in the angle: each doubling gains a factor of 16, little less on so coarse a circle.
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_a_tolerance_is_met_or_reported():
    fine = Chart(SphereTangent(2), POLE, 1.0, tol=1e-6)
    assert fine.interpolation_error <= 1e-6
    v = disc(200, 1.0)
    # The geodesics' own tolerance is 1e-6 a step, over a few steps.
    np.testing.assert_allclose(fine.inverse_transform(v), polar(v), atol=1e-5)
    with pytest.warns(SubbundleWarning, match=r"above tol=1e-09.*larger n_geodesics"):
        Chart(SphereTangent(2), POLE, 1.0, tol=1e-9, n_geodesics=8)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"radius": 0.0}, ValueError, r"radius must be positive and finite; got 0\.0.*'auto' extends"),
        ({"radius": -1}, ValueError, "radius must be positive"),
        ({"radius": "all"}, ValueError, r"radius must be 'auto' or a positive number; got 'all'"),
        ({"radius": None}, TypeError, "radius must be a positive number; got None"),
        ({}, ValueError, r"radius='auto' ends at the border of data.*radius=2\.0, or max_radius="),
        ({"max_radius": -2.0}, ValueError, "max_radius must be positive"),
        ({"radius": 1.0, "n_geodesics": 3}, ValueError, "n_geodesics must be an integer >= 8; got 3"),
        ({"radius": 1.0, "tol": 0}, ValueError, "tol must be positive"),
    ],
)
def test_bad_arguments(arguments, error, text):
    with pytest.raises(error, match=text):
        Chart(SphereTangent(2), POLE, **arguments)


def test_bad_base_points_and_points(sphere):
    with pytest.raises(ValueError, match="base_point must have 3 coordinates"):
        Chart(SphereTangent(2), [0.0, 1.0], 1.0)
    with pytest.raises(ValueError, match="base_point must lie where the subspace is defined"):
        Chart(SphereTangent(2), np.zeros(3), 1.0)
    with pytest.raises(ValueError, match=r"n_geodesics must be an integer in 2\.\.2"):
        Chart(SphereTangent(1), [0.0, 1.0], 1.0, n_geodesics=4)
    with pytest.raises(ValueError, match="points must have 3 coordinates per point"):
        sphere.transform(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="points must be finite"):
        sphere.transform([[0.0, np.nan, 1.0]])
    with pytest.raises(ValueError, match="points must be one point or a 2-D array"):
        sphere.locate(np.zeros((2, 2, 3)))
    with pytest.raises(ValueError, match=r"coordinates must have shape \(batch, 2\)"):
        sphere.inverse_transform(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="outside must be one of 'nan', 'nearest'"):
        sphere.transform(POLE, outside="clip")


def test_repr_reports_what_it_covers(sphere):
    assert repr(sphere).startswith("Chart(rank 2 in R^3, radius=2.8")
