"""Projecting points onto the ridge: closed forms on circles and spheres, and statuses elsewhere."""

import re

import numpy as np
import pytest
from scipy.optimize import brentq

from subbundle import PrincipalSubbundle, Status, carry_to_ridge

BANDWIDTH = 0.3


def on_circle(angles, radii):
    return np.column_stack([radii * np.cos(angles), radii * np.sin(angles)])


@pytest.fixture(scope="module")
def thick_circle():
    """Nine concentric circles, each uniform, with weights 1 to 5 to 1: a symmetric band about the unit circle."""
    angles = 2.0 * np.pi * np.arange(240) / 240
    radii = 1.0 + 0.03 * np.repeat(np.arange(-4, 5), [1, 2, 3, 4, 5, 4, 3, 2, 1])
    return np.vstack([on_circle(angles, radius) for radius in radii]), radii


@pytest.fixture(scope="module")
def sphere():
    """Equal rings on bands of equal area: the uniform unit sphere, symmetric about the third axis."""
    heights = (np.arange(300) + 0.5) / 150.0 - 1.0
    angles = 2.0 * np.pi * np.arange(48) / 48
    rings = [np.column_stack([on_circle(angles, np.sqrt(1.0 - z * z)), np.full(48, z)]) for z in heights]
    return np.vstack(rings)


def circle_moments(radii, at, kernel="gaussian"):
    """Mean along the ray and tangential second moment seen from radius ``at``, by the integral over each circle."""
    angles = 2.0 * np.pi * np.arange(4096) / 4096
    squared = radii[:, None] ** 2 + at**2 - 2.0 * radii[:, None] * at * np.cos(angles)
    t = squared / BANDWIDTH**2
    weights = np.exp(-0.5 * t) if kernel == "gaussian" else np.maximum(1.0 - t / 15.0, 0.0) ** 6
    weights /= weights.sum()
    return (weights * radii[:, None] * np.cos(angles)).sum(), (weights * (radii[:, None] * np.sin(angles)) ** 2).sum()


@pytest.mark.parametrize("kernel", ["gaussian", "compact"])
def test_the_ridge_of_a_thick_circle_has_the_radius_of_its_own_mean(thick_circle, kernel):
    data, radii = thick_circle
    bundle = PrincipalSubbundle(data, 1, BANDWIDTH, kernel=kernel)
    # By symmetry the subspace is tangential, so the ridge is where the mean is the point itself.
    radius = brentq(lambda r: circle_moments(radii, r, kernel)[0] - r, 0.5, 1.2, xtol=1e-14)
    assert 0.9 < radius < 0.98  # the curvature bias, about a²/2
    angles = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, size=12)
    carried = carry_to_ridge(bundle, on_circle(angles, np.linspace(0.85, 1.1, 12)), order=1, tol=1e-10)
    np.testing.assert_array_equal(carried.status, Status.OK)
    # 240 angles replace the integral to 1e-16 for the Gaussian, 1e-9 for the compact kernel; the Gaussian's tail and
    # the last step are left.
    np.testing.assert_allclose(np.linalg.norm(carried.points, axis=1), radius, atol=1e-8)
    np.testing.assert_allclose(np.arctan2(*carried.points.T[::-1]) % (2.0 * np.pi), angles, atol=1e-7)


def intercept(weights, tangential, normal):
    """Height at 0 of the parabola through weighted points: an independent least squares."""
    features = np.column_stack([np.ones(tangential.size), tangential, tangential**2]) * np.sqrt(weights)[:, None]
    return np.linalg.lstsq(features, normal * np.sqrt(weights), rcond=None)[0][0]


def test_the_ridge_of_second_order_is_corrected_for_curvature(thick_circle):
    data, radii = thick_circle
    bundle = PrincipalSubbundle(data, 1, BANDWIDTH, kernel="gaussian")
    angles = 2.0 * np.pi * np.arange(1024) / 1024
    rings = np.vstack([on_circle(angles, radius) for radius in radii])

    def height(r):
        weights = np.exp(-0.5 * ((rings[:, 0] - r) ** 2 + rings[:, 1] ** 2) / BANDWIDTH**2)
        return intercept(weights, rings[:, 1], rings[:, 0] - r)

    radius = brentq(height, 0.8, 1.2, xtol=1e-14)
    carried = carry_to_ridge(bundle, on_circle(np.array([0.3, 2.0, 4.0]), np.array([0.9, 1.0, 1.1])), tol=1e-10)
    np.testing.assert_array_equal(carried.status, Status.OK)
    # The fit is penalised towards flatness with the weight of a tenth of an observation among some 700.
    np.testing.assert_allclose(np.linalg.norm(carried.points, axis=1), radius, atol=1e-5)
    plain = brentq(lambda r: circle_moments(radii, r)[0] - r, 0.5, 1.2)
    middle = np.sqrt((radii**2).mean())
    assert abs(radius - middle) < 0.1 * abs(plain - middle)


def test_the_ridges_of_a_sphere_are_where_the_langevin_function_puts_them(sphere):
    # Seen from radius r the heights z are exponential with κ = r/a² on [−1, 1]: their mean is coth κ − 1/κ. By symmetry
    # the quadric is c + q (x² + y²) = c + q (1 − z²).
    bundle = PrincipalSubbundle(sphere, 2, BANDWIDTH, kernel="gaussian")
    z = np.linspace(-1.0, 1.0, 20001)

    def height(r):
        weights = np.exp(r * (z - 1.0) / BANDWIDTH**2)
        features = np.column_stack([np.ones(z.size), 1.0 - z**2]) * np.sqrt(weights)[:, None]
        return np.linalg.lstsq(features, (z - r) * np.sqrt(weights), rcond=None)[0][0]

    first = brentq(lambda r: 1.0 / np.tanh(r / BANDWIDTH**2) - BANDWIDTH**2 / r - r, 0.3, 1.2)
    second = brentq(height, 0.8, 1.2)
    poles = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -0.95]])
    for order, radius in ((1, first), (2, second)):
        carried = carry_to_ridge(bundle, poles, order=order)
        np.testing.assert_array_equal(carried.status, Status.OK)
        # Bands instead of the integral: their width squared, (1/150)² / 12 over a².
        np.testing.assert_allclose(np.linalg.norm(carried.points, axis=1), radius, atol=1e-4)
        np.testing.assert_allclose(carried.points[:, :2], 0.0, atol=1e-9)
        np.testing.assert_allclose(carried.shifts, np.abs(radius - np.array([1.0, 0.95])), atol=1e-4)
    assert abs(second - 1.0) < 0.2 * abs(first - 1.0)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dim", [2, 3, 20])
def test_points_on_the_ridge_stay_there_and_satisfy_its_equation(wavy_cloud, dim, order):
    data = wavy_cloud(dim, 400, seed=dim)
    bundle = PrincipalSubbundle(data, min(2, dim - 1), 0.6)
    start = data[np.linalg.norm(data, axis=1).argsort()[:6]]
    carried = carry_to_ridge(bundle, start, order=order)
    np.testing.assert_array_equal(carried.status, Status.OK)
    assert (carried.offsets <= 1e-6 * 0.6).all()
    np.testing.assert_allclose(carried.shifts, np.linalg.norm(carried.points - start, axis=1), rtol=1e-12)
    again = carry_to_ridge(bundle, carried.points, order=order)
    np.testing.assert_array_equal(again.status, Status.OK)
    # Steps shrink geometrically, so what follows the last one is no longer than a few of it.
    assert (again.shifts <= 5e-6 * 0.6).all()
    if order == 1:
        frame = bundle.frame(carried.points)
        shift = frame.mean - carried.points
        across = shift - np.einsum("bdk,bk->bd", frame.vectors, np.einsum("bdk,bd->bk", frame.vectors, shift))
        assert np.abs(across).max() <= 1e-6 * 0.6


def test_noise_is_removed():
    rng = np.random.default_rng(3)
    noisy = on_circle(rng.uniform(0.0, 2.0 * np.pi, size=3000), 1.0 + 0.05 * rng.normal(size=3000))
    bundle = PrincipalSubbundle(noisy, 1, 0.15)
    carried = carry_to_ridge(bundle, noisy[:300])
    assert np.count_nonzero(carried.status == Status.OK) >= 298
    ok = carried.status == Status.OK
    before, after = (np.abs(np.linalg.norm(rows, axis=1) - 1.0)[ok] for rows in (noisy[:300], carried.points))
    # About 3000 · 0.15 √(2π) / 2π = 180 observations are averaged: noise of 0.05/√180 = 0.004 is left.
    assert after.mean() < 0.006 < 0.03 < before.mean()


def test_one_point_in_one_point_out(thick_circle):
    bundle = PrincipalSubbundle(thick_circle[0], 1, BANDWIDTH)
    batch = carry_to_ridge(bundle, [[1.05, 0.0], [0.0, 0.9]])
    single = carry_to_ridge(bundle, [1.05, 0.0])
    np.testing.assert_array_equal(single.points, batch.points[0])
    assert single.points.shape == (2,)
    assert single.shifts == batch.shifts[0]
    assert single.offsets == batch.offsets[0]
    assert single.status is Status.OK
    assert carry_to_ridge(bundle, np.empty((0, 2))).points.shape == (0, 2)


@pytest.mark.parametrize("order", [1, 2])
def test_rows_do_not_depend_on_each_other(wavy_cloud, order):
    data = wavy_cloud(4, 300, seed=1)
    bundle = PrincipalSubbundle(data, 2, 0.6)
    points = np.vstack([data[:5], np.full((1, 4), 50.0)])
    together = carry_to_ridge(bundle, points, order=order)
    backwards = carry_to_ridge(bundle, points[::-1], order=order)
    np.testing.assert_array_equal(backwards.points[::-1], together.points)
    for i in range(6):
        np.testing.assert_array_equal(carry_to_ridge(bundle, points[i], order=order).points, together.points[i])


@pytest.mark.parametrize("kernel", ["gaussian", "compact"])
@pytest.mark.parametrize("order", [1, 2])
def test_far_points_stay_where_they_are_and_have_a_status(thick_circle, kernel, order):
    bundle = PrincipalSubbundle(thick_circle[0], 1, BANDWIDTH, kernel=kernel)
    points = np.array([[1.0, 0.0], [9.0, 9.0], [1e7, 0.0], [1e200, 1e200], [0.0, 0.0]])
    carried = carry_to_ridge(bundle, points, order=order)
    assert carried.status[0] == Status.OK
    np.testing.assert_array_equal(carried.status[1:], Status.LEFT_SUPPORT)
    np.testing.assert_array_equal(carried.points[1:], points[1:])
    np.testing.assert_array_equal(carried.shifts[1:], 0.0)
    assert carry_to_ridge(bundle, points[1], order=order).status is Status.LEFT_SUPPORT


@pytest.mark.parametrize("order", [1, 2])
def test_a_closed_gap_and_too_few_steps_have_a_status(thick_circle, order):
    bundle = PrincipalSubbundle(thick_circle[0], 1, 0.8)  # wide enough to reach the whole circle from its centre
    carried = carry_to_ridge(bundle, [[0.0, 0.0], [1.1, 0.0]], order=order, max_steps=1)
    assert carried.status[0] == Status.GAP_CLOSED
    assert carried.status[1] == Status.NOT_CONVERGED
    assert carried.offsets[1] > 1e-6 * 0.8


@pytest.mark.parametrize(
    ("points", "options", "error", "message"),
    [
        ([[1.0, 2.0, 3.0]], {}, ValueError, "points must have 2 coordinates per point; got shape (1, 3)"),
        (3.0, {}, ValueError, "points must be at least 1-D; got shape ()"),
        (np.zeros((2, 2, 2)), {}, ValueError, "points must be one point or a 2-D array of points; got shape (2, 2, 2)"),
        ([[np.nan, 0.0]], {}, ValueError, "points must be finite; 1 entries are NaN or infinite, first in row 0"),
        ([[1.0, 0.0]], {"tol": 0.0}, ValueError, "tol must be positive and finite; got 0.0"),
        ([[1.0, 0.0]], {"max_steps": 0}, ValueError, "max_steps must be an integer in 1..10000; got 0"),
        ([[1.0, 0.0]], {"order": 3}, ValueError, "order must be an integer in 1..2; got 3"),
        ([[1.0, 0.0]], {"order": "2"}, TypeError, "order must be an integer in 1..2; got '2'"),
    ],
)
def test_bad_input(thick_circle, points, options, error, message):
    bundle = PrincipalSubbundle(thick_circle[0], 1, BANDWIDTH)
    with pytest.raises(error, match=re.escape(message)):
        carry_to_ridge(bundle, points, **options)
