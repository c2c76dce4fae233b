"""Each space against formulas that do not use its code. Tolerances are rounding, 1e-16, times sizes up to 1e3."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from subbundle.spaces import SO, SPD, Euclidean, Hyperbolic, Product, Sphere


def plane_rotation(n, i, j, angle):
    rotation = np.eye(n)
    rotation[i, i] = rotation[j, j] = np.cos(angle)
    rotation[i, j], rotation[j, i] = -np.sin(angle), np.sin(angle)
    return rotation


def test_euclidean_geometry_is_linear(rng):
    space = Euclidean(3)
    x, y, v = rng.standard_normal((3, 5, 3))
    assert_allclose(space.exp(v, x), x + v)
    assert_allclose(space.log(y, x), y - x)
    assert_allclose(space.parallel_transport(v, x, y), v)
    assert_allclose(space.dist(x, y), np.linalg.norm(x - y, axis=1))


@pytest.mark.parametrize("angle", [1e-12, 1e-3, 1.0, 3.0, np.pi - 1e-3])
def test_great_circles(angle):
    space = Sphere(3)
    x, u = np.array([0.0, 0.6, 0.8, 0.0]), np.array([0.0, -0.8, 0.6, 0.0])
    y = np.cos(angle) * x + np.sin(angle) * u
    assert_allclose(space.exp(angle * u, x), y, atol=1e-15)
    # y is rounded at 1e-16, which turns the direction by 1e-16/sin(angle).
    assert_allclose(space.log(y, x), angle * u, atol=2e-15 / min(1.0, np.sin(angle)) * angle + 1e-16)
    assert_allclose(space.dist(x, y), angle, atol=1e-15)
    assert_allclose(space.parallel_transport(u, x, y), np.cos(angle) * u - np.sin(angle) * x, atol=1e-12)
    across = np.array([1.0, 0.0, 0.0, 2.0])
    assert_allclose(space.parallel_transport(across, x, y), across, atol=1e-15)


def test_transport_around_an_octant_turns_by_its_area():
    corners = np.eye(3)
    w = np.array([0.0, 1.0, 0.0])
    for start, end in ((0, 1), (1, 2), (2, 0)):
        w = Sphere(2).parallel_transport(w, corners[start], corners[end])
    # The octant has area π/2, so the vector comes back turned by a right angle, counter-clockwise from outside.
    assert_allclose(w, [0.0, 0.0, 1.0], atol=1e-15)


def test_hyperbolic_distance_in_the_poincare_disc(rng):
    u, v = 0.9 * rng.uniform(-0.7, 0.7, (2, 50, 2))
    distance = np.arccosh(1 + 2 * ((u - v) ** 2).sum(1) / ((1 - (u**2).sum(1)) * (1 - (v**2).sum(1))))

    def lift(p):
        square = (p**2).sum(1, keepdims=True)
        return np.concatenate([(1 + square) / (1 - square), 2 * p / (1 - square)], axis=1)

    assert_allclose(Hyperbolic(2).dist(lift(u), lift(v)), distance, rtol=1e-12)


def test_hyperbolic_geodesics_are_hyperbolas():
    space = Hyperbolic(2)
    origin = np.array([1.0, 0.0, 0.0])
    for length in (1e-8, 0.5, 5.0):
        end = np.array([np.cosh(length), 0.0, np.sinh(length)])
        assert_allclose(space.exp(np.array([0.0, 0.0, length]), origin), end, rtol=1e-15)
        assert_allclose(space.log(end, origin), [0.0, 0.0, length], rtol=1e-14)
        velocity = np.array([np.sinh(length), 0.0, np.cosh(length)])
        assert_allclose(space.parallel_transport(np.array([0.0, 0.0, 1.0]), origin, end), velocity, rtol=1e-14)
        across = np.array([0.0, 1.0, 0.0])
        assert_allclose(space.parallel_transport(across, origin, end), across, atol=1e-15)


def test_transport_around_a_hyperbolic_triangle_turns_by_its_area(rng):
    space = Hyperbolic(2)
    a, b, c = space.random_point(3, rng)

    def angle(at, one, two):
        v, w = space.log(one, at), space.log(two, at)
        return np.arccos(space.inner_product(v, w, at) / (space.dist(at, one) * space.dist(at, two)))

    area = np.pi - angle(a, b, c) - angle(b, c, a) - angle(c, a, b)
    v = space.log(b, a)
    w = v
    for start, end in ((a, b), (b, c), (c, a)):
        w = space.parallel_transport(w, start, end)
    assert_allclose(space.inner_product(v, w, a) / space.inner_product(v, v, a), np.cos(area), atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_spd_through_matrix_functions_of_scipy(n, rng):
    space = SPD(n)
    x, y = space.random_point(2, rng)
    root = scipy.linalg.sqrtm(x).real
    inverse = np.linalg.inv(root)
    middle = inverse @ y @ inverse
    log = root @ scipy.linalg.logm(middle).real @ root
    assert_allclose(space.log(y, x), log, rtol=1e-11, atol=1e-11)
    for time in (0.3, 1.0, 2.0):
        power = root @ scipy.linalg.fractional_matrix_power(middle, time).real @ root
        assert_allclose(space.exp(time * log, x), power, rtol=1e-10, atol=1e-11)
    generalised = scipy.linalg.eigh(y, x, eigvals_only=True)
    assert_allclose(space.dist(x, y), np.linalg.norm(np.log(generalised)), rtol=1e-12)
    v, w = (m + m.T for m in rng.standard_normal((2, n, n)))
    solved = np.linalg.solve(x, v) @ np.linalg.solve(x, w)
    assert_allclose(space.inner_product(v, w, x), np.trace(solved), rtol=1e-11)
    carrier = scipy.linalg.sqrtm(y @ np.linalg.inv(x)).real
    assert_allclose(space.parallel_transport(v, x, y), carrier @ v @ carrier.T, rtol=1e-10, atol=1e-10)


def test_spd_metric_is_affine_invariant(rng):
    space = SPD(3)
    x, y = space.random_point(2, rng)
    g = rng.standard_normal((3, 3)) + 2.0 * np.eye(3)
    assert_allclose(space.dist(g @ x @ g.T, g @ y @ g.T), space.dist(x, y), rtol=1e-12)
    assert_allclose(space.dist(np.linalg.inv(x), np.linalg.inv(y)), space.dist(x, y), rtol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_rotations_through_matrix_functions_of_scipy(n, rng):
    space = SO(n)
    x = space.random_point(1, rng)[0]
    skew = rng.standard_normal((n, n))
    skew = 0.4 * (skew - skew.T)
    y = x @ scipy.linalg.expm(skew)
    assert_allclose(space.exp(x @ skew, x), y, atol=1e-13)
    relative = scipy.linalg.logm(x.T @ y).real
    assert_allclose(space.log(y, x), x @ relative, atol=1e-12)
    assert_allclose(space.dist(x, y), np.linalg.norm(relative) / np.sqrt(2.0), rtol=1e-12)
    v = space.to_tangent(rng.standard_normal((n, n)), x)
    half = scipy.linalg.expm(0.5 * relative)
    assert_allclose(space.parallel_transport(v, x, y), y @ half.T @ (x.T @ v) @ half, atol=1e-12)


def test_distance_of_rotations_is_the_angle():
    assert_allclose(SO(3).dist(np.eye(3), plane_rotation(3, 0, 2, 1.25)), 1.25, rtol=1e-15)
    both = plane_rotation(4, 0, 1, 3.0) @ plane_rotation(4, 2, 3, 0.5)
    assert_allclose(SO(4).dist(np.eye(4), both), np.hypot(3.0, 0.5), rtol=1e-14)


@pytest.mark.parametrize("angles", [(1.0, 1.0), (1.0, np.pi - 1.0), (2.0, -2.0), (0.0, 0.7)])
def test_planes_with_equal_angles_or_sines(angles):
    """Equal angles, or equal sines, leave the planes of the skew part undetermined, but not the log."""
    turn = SO(4).random_point(1, np.random.default_rng(5))[0]
    rotation = turn @ plane_rotation(4, 0, 1, angles[0]) @ plane_rotation(4, 2, 3, angles[1]) @ turn.T
    log = np.zeros((4, 4))
    log[1, 0], log[3, 2] = angles
    log = turn @ (log - log.T) @ turn.T
    assert_allclose(SO(4).log(rotation, np.eye(4)), log, atol=1e-14)


def test_rotations_of_the_plane_are_a_circle():
    x, y = (plane_rotation(2, 0, 1, angle) for angle in (0.3, 2.8))
    assert_allclose(SO(2).dist(x, y), Sphere(1).dist(x[0], y[0]), rtol=1e-14)


def test_product_adds_squares(rng):
    sphere, spd = Sphere(2), SPD(2)
    space = Product(sphere, spd)
    (a, b), (p, q) = sphere.random_point(2, rng), spd.random_point(2, rng)
    x, y = space.join(a, p), space.join(b, q)
    assert space.dim == 5
    assert space.shape == (7,)
    assert_allclose(space.dist(x, y) ** 2, sphere.dist(a, b) ** 2 + spd.dist(p, q) ** 2, rtol=1e-14)
    first, second = space.split(space.log(y, x))
    assert_allclose(first, sphere.log(b, a))
    assert_allclose(second, spd.log(q, p))


def test_rotations_are_sampled_evenly(rng):
    sample = SO(3).random_point(4000, rng)
    # The mean of a Haar rotation is 0; entries have variance 1/3, so the mean of 4000 is within 4 · 0.0092.
    assert np.abs(sample.mean(axis=0)).max() < 0.037
