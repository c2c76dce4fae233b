"""Tiny distances, far points and the cut locus, against exact rational or 60-digit arithmetic on the same floats."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from subbundle.spaces import SO, SPD, Hyperbolic, Kendall, Product, Sphere


def exact_length(difference):
    """Norm of a difference of close floats (exact itself) from exact squares."""
    return float(sum(Fraction(float(d)) ** 2 for d in difference.ravel())) ** 0.5


def norm(space, vector, base):
    return np.sqrt(space.inner_product(vector, vector, base))


@pytest.mark.parametrize("scale", [1e-4, 1e-9, 1e-13])
def test_tiny_distances_on_the_sphere(scale, rng):
    space = Sphere(4)
    x = space.random_point(1, rng)[0]
    y = space.exp(scale * space.tangent_basis(x)[1], x)
    chord = exact_length(y - x)
    angle = chord * (1.0 + chord**2 / 24.0)
    # x and y are off the sphere by 1e-16, which enters as its square over scale², and the next term of arcsin.
    assert_allclose(space.dist(x, y), angle, rtol=2e-15 + scale**4 + 1e-32 / scale**2)
    assert_allclose(norm(space, space.log(y, x), x), angle, rtol=2e-15 + scale**4 + 1e-31 / scale**2)


@pytest.mark.parametrize("scale", [1e-4, 1e-9, 1e-13])
def test_tiny_distances_of_matrices(scale, rng):
    space = SPD(2)
    x = space.random_point(1, rng)[0]
    y = space.exp(scale * space.tangent_basis(x)[1], x)
    (a, b), (c, d) = [[Fraction(float(entry)) for entry in row] for row in x]
    e, f, g, h = (Fraction(float(entry)) for entry in (y - x).ravel())
    determinant = a * d - b * c
    # E = x⁻¹(y − x); Σ log²(1 + μ) = tr E² − tr E³ + 11/12 tr E⁴ − …
    m = [[(d * e - b * g) / determinant, (d * f - b * h) / determinant],
         [(a * g - c * e) / determinant, (a * h - c * f) / determinant]]  # fmt: skip
    trace, det = m[0][0] + m[1][1], m[0][0] * m[1][1] - m[0][1] * m[1][0]
    powers = [Fraction(2), trace]
    for _ in range(3):
        powers.append(trace * powers[-1] - det * powers[-2])
    square = powers[2] - powers[3] + Fraction(11, 12) * powers[4]
    # The condition of x, about 10, multiplies rounding; the next term of the series is of third order.
    distance = float(square) ** 0.5
    assert_allclose(space.dist(x, y), distance, rtol=1e-14 + 10 * scale**3)
    assert_allclose(norm(space, space.log(y, x), x), distance, rtol=1e-14 + 10 * scale**3)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("scale", [1e-4, 1e-9])
def test_tiny_rotations(n, scale, rng):
    space = SO(n)
    x = space.random_point(1, rng)[0]
    y = space.exp(scale * space.tangent_basis(x)[-1], x)
    # |R − I| = 2√2 sin(θ/2) for one plane; both matrices are off SO(n) by 1e-15, so the chord by 1e-30/scale².
    chord = exact_length(y - x) / np.sqrt(2.0)
    angle = chord * (1.0 + chord**2 / 24.0)
    assert_allclose(space.dist(x, y), angle, rtol=1e-14 + 1e-29 / scale**2)
    assert_allclose(norm(space, space.log(y, x), x), angle, rtol=1e-14 + 1e-29 / scale**2)


@pytest.mark.parametrize("radius", [0.0, 0.1, 1.0, 5.0, 12.0])
@pytest.mark.parametrize("separation", [1e-9, 1e-3, 1.0, 8.0])
def test_hyperbolic_distances_near_and_far(radius, separation, rng):
    """60 digits of arcosh(x_0 y_0 − x̄·ȳ) with the exact times √(1 + |x̄|²), for points up to e^12 away."""
    space = Hyperbolic(3)
    centre = rng.standard_normal(3)
    centre *= np.sinh(radius) / np.linalg.norm(centre)
    x = space.projection(np.concatenate([[0.0], centre]))
    basis = space.tangent_basis(x)
    vectors = np.concatenate([basis, -basis, space.to_tangent(rng.standard_normal((6, 4)), x)])
    vectors *= separation / norm(space, vectors, x)[:, None]
    for y in space.exp(vectors, x):
        with localcontext() as context:
            context.prec = 60
            xs, ys = ([Decimal(float(entry)) for entry in p[1:]] for p in (x, y))
            times = [(1 + sum(entry * entry for entry in p)).sqrt() for p in (xs, ys)]
            cosh = times[0] * times[1] - sum(p * q for p, q in zip(xs, ys, strict=True))
            exact = float((cosh + (cosh * cosh - 1).sqrt()).ln())
        # Coordinates rounded at 1e-16 turn the direction by as much, which moves a point at radius r by e^r · 1e-16.
        tolerance = 2e-15 + 1e-15 * np.exp(radius)
        assert_allclose(space.dist(x, y), exact, rtol=tolerance)
        assert_allclose(space.dist(y, x), exact, rtol=tolerance)
        # The log is stored by coordinates up to e^r, so that its norm carries their rounding.
        assert_allclose(norm(space, space.log(y, x), x), exact, rtol=1e-14 * np.exp(radius))


def test_hyperbolic_points_on_opposite_sides():
    space = Hyperbolic(2)
    x, y = (space.projection(np.array([0.0, sign * np.sinh(14.0), 0.0])) for sign in (1.0, -1.0))
    assert_allclose(space.dist(x, y), 28.0, rtol=1e-15)
    assert_allclose(space.dist(x, np.array([1.0, 0.0, 0.0])), 14.0, rtol=1e-15)


def test_matrices_of_very_different_size():
    """A small multiple of the base point must not cancel in the subtraction of the identity."""
    x = np.array([[2.0, 1.0], [1.0, 3.0]])
    for exponent in (-40.0, -3.0, 1e-9, 3.0, 40.0):
        y = np.exp(exponent) * x
        assert_allclose(SPD(2).dist(x, y), np.sqrt(2.0) * abs(np.log(y[0, 0] / x[0, 0])), rtol=1e-14)
        assert_allclose(SPD(2).exp(exponent * x, x), y, rtol=1e-14 * max(1.0, abs(exponent)))


def test_spd_exp_of_long_vectors_stays_positive(rng):
    space = SPD(3)
    x = space.random_point(8, rng)
    v = space.to_tangent(rng.standard_normal(x.shape), x)
    v *= (12.0 / norm(space, v, x))[:, None, None]
    assert space.belongs(space.exp(v, x)).all()


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_the_log_near_the_cut_locus(gap):
    """Unit circle, rotation and shape at ``gap`` before the cut locus: the direction is known to 1e-16/gap."""
    tolerance = 1e-15 / gap
    x, u = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    y = -np.cos(gap) * x + np.sin(gap) * u
    assert_allclose(Sphere(2).log(y, x), (np.pi - gap) * u, rtol=1e-14)
    assert_allclose(Sphere(2).dist(x, y), np.pi - gap, rtol=1e-15)
    for n in (2, 3, 4, 5):
        turn = SO(n).random_point(1, np.random.default_rng(n))[0]
        plane, angle = np.zeros((n, n)), np.pi - gap
        plane[0, 1], plane[1, 0] = -1.0, 1.0
        rotation = np.eye(n) + np.sin(gap) * plane + (1.0 + np.cos(gap)) * plane @ plane
        rotation = turn @ rotation @ turn.T
        assert_allclose(SO(n).log(rotation, np.eye(n)), angle * turn @ plane @ turn.T, atol=20 * tolerance)
        assert_allclose(SO(n).dist(np.eye(n), rotation), angle, rtol=1e-14)
        assert not SO(n).at_cut_locus(rotation, np.eye(n))
    space = Kendall(4, 2)
    base = space.projection(np.array([[1.0, 0.0], [-1.0, 0.0], [0.5, 0.7], [0.0, 0.0]]))
    direction = space.tangent_basis(base)[0]
    point = space.exp((0.5 * np.pi - gap) * direction, base)
    assert_allclose(space.log(point, base), (0.5 * np.pi - gap) * direction, atol=10 * tolerance)


def test_the_cut_locus_is_reported():
    x = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0]])
    antipodes = -x
    sphere = Sphere(2)
    assert_array_equal(sphere.at_cut_locus(antipodes[None], x[:, None]), np.eye(2, dtype=bool))
    assert_array_equal(np.isnan(sphere.log(antipodes[None], x[:, None])).all(axis=-1), np.eye(2, dtype=bool))
    assert np.isnan(sphere.parallel_transport(np.array([0.0, 1.0, 0.0]), x[0], antipodes[0])).all()
    assert_allclose(sphere.dist(x, antipodes), np.pi, rtol=1e-15)
    assert np.isfinite(sphere.log(antipodes[0], x[1])).all()

    for n in (2, 3, 4, 5):
        half_turn = np.diag([-1.0, -1.0, *[1.0] * (n - 2)])
        turned = SO(n).random_point(1, np.random.default_rng(1))[0]
        assert SO(n).at_cut_locus(turned @ half_turn, turned)
        logs = SO(n).log(np.stack([turned @ half_turn, turned]), turned)
        assert np.isnan(logs[0]).all()
        assert_allclose(logs[1], 0.0, atol=1e-15)
        assert_allclose(SO(n).dist(turned, turned @ half_turn), np.pi, rtol=1e-14)
        assert np.isnan(SO(n).parallel_transport(turned, turned, turned @ half_turn)).all()
    assert_allclose(SO(4).dist(np.eye(4), -np.eye(4)), np.pi * np.sqrt(2.0), rtol=1e-15)

    product = Product(sphere, SPD(2))
    points = product.join(np.stack([antipodes[0], x[1]]), np.eye(2))
    base = product.join(x[0], 2.0 * np.eye(2))
    assert_array_equal(product.at_cut_locus(points, base), [True, False])
    assert_array_equal(np.isnan(product.log(points, base)).all(axis=1), [True, False])
