"""Quadratic charts: the third-order expansion of normal coordinates, alone and in an atlas."""

import numpy as np
import pytest

import subbundle as sb
from subbundle.bundles.analytic import SphereTangent
from subbundle.charts.base import InvertibleChart
from subbundle.charts.quadratic_chart import QuadraticChart


def random_chart(dim, rank, radius=0.3, seed=0):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    form = rng.normal(size=(rank, rank, dim - rank))
    form = 0.5 * (form + form.transpose(1, 0, 2)) @ basis[:, rank:].T
    return QuadraticChart(rng.normal(size=dim), basis[:, :rank], form, radius)


def pole(radius, size=1.0):
    """The chart at the pole of a sphere of radius ``size``."""
    form = np.zeros((2, 2, 3))
    form[0, 0, 2] = form[1, 1, 2] = -1.0 / size
    return QuadraticChart(np.array([0.0, 0.0, size]), np.eye(3)[:, :2], form, radius)


@pytest.mark.parametrize(("dim", "rank"), [(2, 1), (3, 2), (6, 2), (7, 4)])
def test_exp_and_log_are_inverse(dim, rank):
    chart = random_chart(dim, rank)
    v = np.random.default_rng(1).uniform(-0.1, 0.1, size=(20, rank))
    points = chart.inverse_transform(v)
    located = chart.locate(points)
    assert (located.status == sb.Status.OK).all()
    # Newton's method ends when its steps are 1e-10 of τ, and converges quadratically.
    np.testing.assert_allclose(located.coordinates, v, atol=1e-12)
    np.testing.assert_allclose(located.points, points, atol=1e-12)
    np.testing.assert_allclose(located.residuals, 0.0, atol=1e-12)


def test_the_projection_is_the_nearest_point():
    chart = random_chart(5, 2)
    targets = chart.base_point + np.random.default_rng(2).normal(size=(10, 5)) * 0.03
    found = chart.locate(targets)
    for shift in np.random.default_rng(3).normal(size=(30, 2)) * 0.02:
        others = chart.inverse_transform(found.coordinates + shift)
        # Rounding of a distance of 0.1.
        assert (np.linalg.norm(targets - others, axis=1) >= found.residuals - 1e-15).all()


def test_the_jacobian_by_differences():
    chart = random_chart(6, 3)
    v, h = np.random.default_rng(4).uniform(-0.1, 0.1, size=(8, 3)), 1e-5
    ahead, behind = (np.stack([chart.inverse_transform(v + s * h * e) for e in np.eye(3)], axis=2) for s in (1, -1))
    # The differences are off by h² times the third derivative, and by rounding / h.
    np.testing.assert_allclose(chart.jacobian(v), (ahead - behind) / (2 * h), atol=1e-8)


def test_on_a_sphere_the_error_is_of_fourth_order():
    errors = []
    for length in (0.4, 0.2, 0.1):
        angle = np.linspace(0.0, 2.0 * np.pi, 7)
        v = length * np.column_stack([np.cos(angle), np.sin(angle)])
        exact = np.column_stack([np.sin(length) * v / length, np.full(7, np.cos(length))])
        errors.append(np.linalg.norm(pole(0.5).inverse_transform(v) - exact, axis=1).max())
    # v⁴/24 in height; halving the distance divides the error by 2⁴.
    assert errors[0] < 0.4**4 / 8
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 16.0, rtol=0.1)


def test_both_kinds_of_chart_agree_near_the_base_point():
    geodesic = sb.Chart(SphereTangent(2), [0.0, 0.0, 1.0], 0.3)
    assert isinstance(geodesic, InvertibleChart)
    assert isinstance(pole(0.3), InvertibleChart)
    turn = pole(0.3).frame.T @ geodesic.frame
    v = np.array([[0.1, 0.0], [0.0, -0.1], [0.05, 0.07]])
    # The quadratic chart leaves out the fourth order, 0.1⁴/24, the fan is interpolated to 1e-3 of the length scale 1.
    np.testing.assert_allclose(pole(0.3).inverse_transform(v @ turn.T), geodesic.inverse_transform(v), atol=1e-3)


def test_outside_the_domain():
    chart = pole(0.3)
    far = np.array([np.sin(0.5), 0.0, np.cos(0.5)])
    assert chart.locate(far).status == sb.Status.LEFT_SUPPORT
    assert np.isnan(chart.transform(far)).all()
    border = chart.locate(far[None], outside="nearest")
    np.testing.assert_allclose(np.linalg.norm(border.coordinates, axis=1), 0.3)
    assert np.isnan(chart.inverse_transform([0.31, 0.0])).all()
    assert np.isnan(chart.jacobian([[0.31, 0.0]])).all()
    assert not chart.inside([np.nan, 0.0])
    with pytest.raises(ValueError, match="one column per coordinate"):
        chart.inverse_transform([[0.1, 0.2, 0.3]])


def test_arrays_and_back():
    chart = random_chart(5, 2)
    again = QuadraticChart.from_arrays(chart.to_arrays())
    v = np.array([[0.1, -0.05]])
    np.testing.assert_array_equal(chart.inverse_transform(v), again.inverse_transform(v))
    with pytest.raises(ValueError, match="second_form missing"):
        QuadraticChart.from_arrays({k: v for k, v in chart.to_arrays().items() if k != "second_form"})
    with pytest.raises(ValueError, match="radius must be"):
        QuadraticChart.from_arrays({**chart.to_arrays(), "radius": -1.0})
    with pytest.raises(ValueError, match="damaged"):
        QuadraticChart.from_arrays({**chart.to_arrays(), "frame": np.eye(4)})


def test_an_atlas_of_them():
    noisy = sb.datasets.torus(3000, noise=0.02, seed=0)
    atlas = sb.Atlas(sb.PrincipalSubbundle(noisy.points, rank=2, bandwidth=0.14), charts="quadratic")
    assert atlas.coverage > 0.99
    blended = atlas.project(noisy.points)
    known = blended.status == sb.Status.OK
    # The blend is far nearer to the torus than the observations are.
    assert noisy.distance(blended.points[known]).mean() < 0.35 * noisy.distance(noisy.points).mean()
    assert atlas.orientable
    mesh = atlas.mesh()
    assert mesh.euler_characteristic == 0


def test_an_atlas_of_them_needs_a_flat_space():
    points = sb.datasets.sphere(300, seed=0).points
    bundle = sb.RiemannianSubbundle(points, 1, 0.5, space=sb.spaces.Sphere(2))
    with pytest.raises(ValueError, match="charts='geodesic'"):
        sb.Atlas(bundle, points[:2], 0.3, charts="quadratic")
