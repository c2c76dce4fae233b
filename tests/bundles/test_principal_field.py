"""Velocity and force of the principal subbundle against differences of a Hamiltonian computed with NumPy alone."""

from itertools import product

import numpy as np
import pytest

from subbundle import PrincipalSubbundle, Status
from subbundle.bundles._evaluator import Evaluator
from subbundle.cloud import Cloud
from subbundle.kernels import CODES, reach_of
from subbundle.local.settings import CENTERINGS, Settings, constant_widths

CHOICES = list(product(CENTERINGS, ("gaussian", "compact")))
# What the library promises. It holds the tail of the Gaussian beyond its reach and the error of the differences.
PROMISED = 1e-6


def open_points(bundle, points, count):
    """The first ``count`` points with a gap of at least a tenth, where differences are accurate."""
    frame = bundle.frame(points)
    good = np.flatnonzero((frame.status == Status.OK) & (frame.gap > 0.1))[:count]
    assert good.size == count
    return points[good]


def assert_field(bundle, expected, points, covectors, directions=None):
    """Compare with the reference, all coordinates or only those along some ``directions`` [m, dim]."""
    field = bundle.field(points, covectors)
    np.testing.assert_array_equal(field.status, Status.OK)
    for point, covector, velocity, force in zip(points, covectors, field.velocity, field.force, strict=True):
        gap = 1.0 - np.divide(*expected.eigen(point)[0][[expected.rank, expected.rank - 1]])
        np.testing.assert_allclose(velocity, expected.projector(point) @ covector, atol=3e-7 / gap)
        size = np.linalg.norm(force)
        if directions is None:
            assert np.linalg.norm(force - expected.force(point, covector, 0.005)) <= PROMISED * size
            continue
        h = 0.005 * expected.bandwidth
        for direction in np.vstack([force / size, directions]):
            steps = h * np.array([1.0, -1.0, 0.5, -0.5])
            energy = [expected.hamiltonian(point + step * direction, covector) for step in steps]
            coarse, fine = (energy[0] - energy[1]) / (2.0 * h), (energy[2] - energy[3]) / h
            assert abs(force @ direction + (4.0 * fine - coarse) / 3.0) <= PROMISED * size


@pytest.mark.parametrize(("centering", "kernel"), CHOICES)
@pytest.mark.parametrize(("dim", "rank"), [(2, 1), (3, 1), (3, 2), (5, 2), (5, 3), (16, 2), (17, 2), (20, 1), (20, 4)])
def test_force_is_minus_the_gradient(reference, wavy_cloud, dim, rank, centering, kernel):
    data = wavy_cloud(dim, 401, seed=10 + dim)
    bundle = PrincipalSubbundle(data, rank, 0.6, centering=centering, kernel=kernel)
    rng = np.random.default_rng(dim)
    middle = data[np.linalg.norm(data, axis=1).argsort()[:60]]
    points = open_points(bundle, middle + 0.02 * rng.normal(size=middle.shape), 2)
    expected = reference(data, rank, 0.6, centering, kernel)
    assert_field(bundle, expected, points, rng.normal(size=points.shape))


@pytest.mark.parametrize(("centering", "kernel"), CHOICES)
def test_force_in_a_hundred_dimensions(reference, wavy_cloud, centering, kernel):
    data = wavy_cloud(100, 240, seed=20)
    bundle = PrincipalSubbundle(data, 2, 0.6, centering=centering, kernel=kernel)
    rng = np.random.default_rng(5)
    points = open_points(bundle, data[:40], 1)
    expected = reference(data, 2, 0.6, centering, kernel)
    assert_field(bundle, expected, points, rng.normal(size=points.shape), rng.normal(size=(2, 100)) / 10.0)


def test_force_in_a_thousand_dimensions_with_sixty_observations(reference, wavy_cloud):
    data = wavy_cloud(1000, 60)
    rng = np.random.default_rng(6)
    bundle = PrincipalSubbundle(data, 2, 0.8, centering="recentred")
    points = open_points(bundle, data + 0.005 * rng.normal(size=data.shape), 1)
    expected = reference(data, 2, 0.8, "recentred", "gaussian")
    assert_field(bundle, expected, points, rng.normal(size=points.shape), rng.normal(size=(3, 1000)) / 30.0)


def test_force_in_a_thousand_dimensions_that_the_data_fills(reference, wavy_cloud):
    data = wavy_cloud(1000, 1010)
    cloud, rng = Cloud(data), np.random.default_rng(7)
    widths = constant_widths(0.8, 0.0, 1000)
    settings = Settings(2, widths, CODES["compact"], reach_of("compact", 2, 1000), CENTERINGS["local"], -np.inf, 1e-3)
    expected, point, covector = reference(data, 2, 0.8, "local", "compact"), data[:1], rng.normal(size=(1, 1000))
    velocity, force, status = Evaluator(cloud, 1).field(settings, point - cloud.centre, covector)
    assert status[0] == Status.OK
    np.testing.assert_allclose(velocity[0], expected.projector(point[0]) @ covector[0], atol=1e-9)
    size, h = np.linalg.norm(force), 0.002 * 0.8
    ahead, behind = (expected.hamiltonian(point[0] + step * force[0] / size, covector[0]) for step in (h, -h))
    # Differences of second order: the Hamiltonian varies on the length a, which leaves (h/a)² = 4e-6.
    assert (behind - ahead) / (2.0 * h) == pytest.approx(size, rel=1e-4)


def symmetric_cloud(dim, equal, seed=0):
    """A cloud that turning any two of its first ``equal`` axes into each other maps to itself."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(25, dim)) * np.r_[np.ones(equal), np.full(dim - equal, 0.3)]
    cycles = [np.roll(np.arange(equal), shift) for shift in range(equal)]
    signs = np.array(list(product((1.0, -1.0), repeat=equal)))
    copies = [np.column_stack([base[:, cycle] * sign, base[:, equal:]]) for cycle in cycles for sign in signs]
    return np.vstack(copies)


@pytest.mark.parametrize(("centering", "kernel"), CHOICES)
@pytest.mark.parametrize(("dim", "equal"), [(3, 2), (5, 3), (18, 2)])
def test_equal_eigenvalues_inside_the_block_do_no_harm(reference, dim, equal, centering, kernel):
    data = symmetric_cloud(dim, equal)
    bandwidth = 1.0 if dim < 10 else 1.8
    bundle = PrincipalSubbundle(data, equal, bandwidth, centering=centering, kernel=kernel)
    point = np.zeros((1, dim))
    point[0, equal:] = 0.05
    values = bundle.frame(point).eigenvalues[0]
    assert np.ptp(values[:equal]) < 1e-14  # equal by symmetry
    covector = np.random.default_rng(1).normal(size=(1, dim))
    expected = reference(data, equal, bandwidth, centering, kernel)
    assert_field(bundle, expected, point, covector)


@pytest.mark.parametrize(("centering", "kernel"), CHOICES)
def test_two_directions_at_a_small_gap_are_still_distinguished(reference, centering, kernel):
    # λ_2 and λ_3 differ by a few per cent: the force is large, and its error stays in proportion.
    data = symmetric_cloud(4, 3) * np.array([1.0, 1.0, 0.99, 1.0])
    bundle = PrincipalSubbundle(data, 2, 1.0, centering=centering, kernel=kernel)
    point = np.array([[0.0, 0.0, 0.0, 0.05]])
    assert 0.002 < bundle.frame(point).gap[0] < 0.05
    covector = np.array([[0.3, -1.0, 0.8, 0.4]])
    force = bundle.field(point, covector).force[0]
    # Differences over a thousandth of the gap, over which the function is linear.
    expected = reference(data, 2, 1.0, centering, kernel).force(point[0], covector[0], 2e-4)
    np.testing.assert_allclose(force, expected, atol=PROMISED * np.linalg.norm(force))


@pytest.mark.parametrize(("dim", "rank"), [(3, 2), (6, 2), (20, 2)])
def test_velocity_is_linear_and_force_quadratic_in_the_covector(wavy_cloud, dim, rank):
    data = wavy_cloud(dim, 300, seed=1)
    bundle = PrincipalSubbundle(data, rank, 0.7)
    points, covectors = data[:4], np.random.default_rng(0).normal(size=(4, dim))
    once = bundle.field(points, covectors)
    for factor in (2.0, -0.5, 1024.0, 2.0**-30):  # powers of two, so that not a bit may differ but by cancellation
        scaled = bundle.field(points, factor * covectors)
        np.testing.assert_allclose(scaled.velocity, factor * once.velocity, rtol=1e-12)
        np.testing.assert_allclose(scaled.force, factor**2 * once.force, rtol=1e-9)
    inside = bundle.field(points, once.velocity)
    # A covector inside the subspace: P is a projector, and q vanishes with the components outside it.
    np.testing.assert_allclose(inside.velocity, once.velocity, atol=1e-12 * np.abs(once.velocity).max())
    assert np.abs(inside.force).max() < 1e-11 * np.abs(once.force).max()


def test_data_on_a_plane_pulls_no_geodesic_off_it():
    rng = np.random.default_rng(3)
    data = np.column_stack([rng.uniform(-1.0, 1.0, size=(800, 2)), np.zeros(800)])
    bundle = PrincipalSubbundle(data, 2, 0.3)
    points = np.column_stack([rng.uniform(-0.5, 0.5, size=(5, 2)), np.zeros(5)])
    field = bundle.field(points, np.column_stack([rng.normal(size=(5, 2)), np.zeros(5)]))
    np.testing.assert_array_equal(field.velocity[:, 2], 0.0)
    np.testing.assert_allclose(field.force, 0.0, atol=1e-15)
