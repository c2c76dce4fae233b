"""Shapes: invariances, planar shapes as complex projective space, triangles as a sphere, transport as an equation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.linalg import solve_sylvester

from subbundle.spaces import SO, Kendall, Sphere


def as_complex(shape):
    return shape[..., 0] + 1j * shape[..., 1]


def hopf(triangle):
    """The point of the unit sphere that stands for a triangle: Kendall(3, 2) is a sphere of radius 1/2."""
    z = as_complex(triangle)
    first = (z[..., 0] - z[..., 1]) / np.sqrt(2.0)
    second = (z[..., 0] + z[..., 1] - 2.0 * z[..., 2]) / np.sqrt(6.0)
    cross = 2.0 * first * np.conj(second)
    return np.stack([cross.real, cross.imag, np.abs(first) ** 2 - np.abs(second) ** 2], axis=-1)


@pytest.mark.parametrize(("landmarks", "dim", "expected"), [(3, 2, 2), (5, 2, 6), (4, 3, 5), (6, 4, 13), (3, 3, 2)])
def test_dimension(landmarks, dim, expected):
    assert Kendall(landmarks, dim).dim == expected
    assert Kendall(landmarks=landmarks, dim=dim).shape == (landmarks, dim)


@pytest.mark.parametrize(("landmarks", "dim"), [(5, 2), (5, 3), (6, 4)])
def test_only_the_shape_counts(landmarks, dim, rng):
    space = Kendall(landmarks, dim)
    x, y = space.random_point(2, rng)
    r, q = SO(dim).random_point(2, rng)
    moved = space.projection(7.0 * y @ r + rng.standard_normal(dim))
    assert_allclose(space.dist(x, moved), space.dist(x, y), rtol=1e-13)
    assert_allclose(space.log(moved, x), space.log(y, x), atol=1e-13)
    assert_allclose(space.log(y, x @ q), space.log(y, x) @ q, atol=1e-13)
    w = space.to_tangent(rng.standard_normal(space.shape), x)
    carried = space.parallel_transport(w, x, y)
    assert_allclose(space.parallel_transport(w @ q, x @ q, y @ r), carried @ r, atol=1e-12)
    assert_allclose(space.align(y @ r, x), space.align(y, x), atol=1e-13)


def test_planar_distance_is_that_of_complex_projective_space(rng):
    space = Kendall(6, 2)
    x, y = space.random_point(50, rng), space.random_point(50, rng)
    product = np.abs(np.sum(np.conj(as_complex(x)) * as_complex(y), axis=-1))
    assert_allclose(space.dist(x, y), np.arccos(product), rtol=1e-12)


def test_a_reflection_is_another_shape():
    space = Kendall(3, 2)
    triangle = space.projection(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]))
    assert space.dist(triangle, triangle * np.array([1.0, -1.0])) > 0.1


def test_triangles_are_a_sphere_of_radius_one_half(rng):
    space = Kendall(3, 2)
    x, y = space.random_point(40, rng), space.random_point(40, rng)
    assert_allclose(space.dist(x, y), 0.5 * Sphere(2).dist(hopf(x), hopf(y)), rtol=1e-12)


def test_transport_around_triangles_turns_by_four_times_the_area(rng):
    """Curvature 4: the holonomy is the solid angle of the three images on the unit sphere."""
    space = Kendall(3, 2)
    a, b, c = space.random_point(3, rng)
    p, q, r = hopf(np.stack([a, b, c]))
    solid = 2.0 * np.arctan2(np.linalg.det([p, q, r]), 1.0 + p @ q + q @ r + r @ p)
    v = space.log(b, a)
    w = v
    for start, end in ((a, b), (b, c), (c, a)):
        w = space.parallel_transport(w, start, end)
    cosine = space.inner_product(v, w, a) / space.inner_product(v, v, a)
    assert_allclose(cosine, np.cos(solid), atol=1e-13)


@pytest.mark.parametrize(("landmarks", "dim"), [(4, 2), (4, 3), (7, 3), (6, 4)])
@pytest.mark.parametrize("length", [0.05, None])
def test_transport_solves_its_equation(landmarks, dim, length, rng):
    """SciPy's integrator with a Sylvester solver at every step, along the whole log or a short segment of it."""
    space = Kendall(landmarks, dim)
    x, end = space.random_point(2, rng)
    v = space.log(end, x)
    if length is not None:
        v *= length / np.linalg.norm(v)
        end = space.exp(v, x)
    w = space.to_tangent(rng.standard_normal(space.shape), x)
    angle = np.linalg.norm(v)

    def derivative(time, state):
        field = state.reshape(space.shape)
        point = np.cos(angle * time) * x + np.sin(angle * time) / angle * v
        speed = np.cos(angle * time) * v - angle * np.sin(angle * time) * x
        product = speed.T @ field
        generator = solve_sylvester(point.T @ point, point.T @ point, product.T - product)
        return (point @ generator - np.sum(speed * field) * point).ravel()

    solution = solve_ivp(derivative, (0.0, 1.0), w.ravel(), method="DOP853", rtol=1e-13, atol=1e-14)
    aligned = solution.y[:, -1].reshape(space.shape)
    moved = space.parallel_transport(w, x, space.align(end, x))
    # The integrator's own error is some ten times its tolerance.
    assert_allclose(moved, aligned, atol=1e-11)


def test_transport_close_to_singular_shapes(rng):
    """Nearly collinear landmarks in space: paths many times longer than the distance to the singular set."""
    space = Kendall(5, 3)
    x = space.projection(rng.standard_normal((50, 5, 3)) * np.array([1.0, 0.05, 0.005]))
    y = space.random_point(50, rng)
    w = space.to_tangent(rng.standard_normal(x.shape), x)
    moved = space.parallel_transport(w, x, y)
    lengths = [np.sqrt(space.inner_product(v, v, p)) for v, p in ((w, x), (moved, y))]
    # 64 nodes resolve the boundary layer at the start of the path; the worst of 50 is the tail.
    error = np.abs(lengths[1] / lengths[0] - 1.0)
    assert np.median(error) < 1e-13
    assert error.max() < 1e-6


def test_collinear_landmarks_in_space_are_singular():
    space = Kendall(4, 3)
    line = space.projection(np.outer([0.0, 1.0, 2.5, 4.0], [1.0, 2.0, -1.0]))
    other = space.random_point(3, np.random.default_rng(3))
    assert space.belongs(line)
    assert space.at_cut_locus(other, line).all()
    assert np.isnan(space.log(other, line)).all()
    assert np.isnan(space.parallel_transport(np.zeros((4, 3)), line, other)).all()
    assert np.isfinite(space.dist(line, other)).all()


def hamiltonian(space, point, covector):
    """½ |P η|², P the projector on the horizontal parts of M_1 x and M_2 x: a bundle of rank 2 that turns with x.

    ``point`` [..., 4, 3] may leave the pre-shapes a little, so that ambient derivatives exist.
    """
    matrices = np.random.default_rng(1).standard_normal((2, 4, 4))
    unit = space.projection(point)
    frame = space.to_tangent(matrices @ unit[..., None, :, :], unit[..., None, :, :])
    flat = frame.reshape(*point.shape[:-2], 2, 12)
    values = np.einsum("...ai,i->...a", flat, covector.ravel())
    gram = flat @ np.swapaxes(flat, -1, -2)
    coefficients = np.linalg.solve(gram, values[..., None])[..., 0]
    return 0.5 * np.sum(coefficients * values, axis=-1), np.einsum("...a,...aij->...ij", coefficients, frame)


def integrate(space, x, covector, directions):
    """25 steps of the classical fourth-order method; the force by central differences along ``directions(x)``."""
    step, difference = 0.04, 1e-4

    def field(point, eta):
        basis = directions(point)
        ahead, behind = (hamiltonian(space, point + sign * difference * basis, eta)[0] for sign in (1.0, -1.0))
        return hamiltonian(space, point, eta)[1], -np.tensordot((ahead - behind) / (2.0 * difference), basis, axes=1)

    for _ in range(25):
        k1 = field(x, covector)
        k2 = field(x + 0.5 * step * k1[0], covector + 0.5 * step * k1[1])
        k3 = field(x + 0.5 * step * k2[0], covector + 0.5 * step * k2[1])
        k4 = field(x + step * k3[0], covector + step * k3[1])
        x = x + step / 6.0 * (k1[0] + 2.0 * k2[0] + 2.0 * k3[0] + k4[0])
        covector = covector + step / 6.0 * (k1[1] + 2.0 * k2[1] + 2.0 * k3[1] + k4[1])
    return x


def test_flows_on_representatives_need_the_vertical_force(rng):
    """Normal geodesics of a bundle of rank 2: all twelve ambient derivatives against those along the bases."""
    space = Kendall(4, 3)
    x = space.projection(rng.standard_normal((4, 3)))
    covector = space.to_tangent(rng.standard_normal((4, 3)), x)
    truth = integrate(space, x, covector, lambda point: np.eye(12).reshape(12, 4, 3))
    tangent = integrate(space, x, covector, space.tangent_basis)
    both = integrate(
        space, x, covector, lambda point: np.concatenate([space.tangent_basis(point), space.vertical_basis(point)])
    )
    # Differences leave 1e-8, the method 0.04⁴ = 3e-6 with different constants for the momenta.
    assert_allclose(both, truth, atol=1e-5)
    # The missing force acts on the position only through the turning of the horizontal space.
    assert np.abs(tangent - truth).max() > 1e-4
