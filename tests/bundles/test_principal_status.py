"""Statuses: why a row has no value, row by row, and never a NaN without a reason."""

from itertools import product

import numpy as np
import pytest

from subbundle import PrincipalSubbundle, Status
from subbundle.local.settings import CENTERINGS

CHOICES = list(product(CENTERINGS, ("gaussian", "compact")))
DIMS = [2, 3, 5, 17, 40]


def assert_no_silent_nan(bundle, points, covectors):
    """Rows that are OK are finite; field rows that are not OK are NaN throughout; frame and field agree."""
    frame, field = bundle.frame(points), bundle.field(points, covectors)
    ok = frame.status == Status.OK
    for array in (frame.vectors, frame.eigenvalues, frame.mean):
        assert np.isfinite(array[ok]).all()
    assert np.isfinite(frame.density).all()
    assert np.isfinite(frame.gap).all()
    assert ((frame.gap >= 0.0) & (frame.gap <= 1.0)).all()
    good = field.status == Status.OK
    assert np.isfinite(field.velocity[good]).all()
    assert np.isfinite(field.force[good]).all()
    assert np.isnan(field.velocity[~good]).all()
    assert np.isnan(field.force[~good]).all()
    np.testing.assert_array_equal(field.status, frame.status)


@pytest.mark.parametrize(("centering", "kernel"), CHOICES)
@pytest.mark.parametrize("dim", DIMS)
def test_points_at_every_distance_have_a_status(wavy_cloud, dim, centering, kernel):
    data = wavy_cloud(dim, 200, seed=dim)
    bundle = PrincipalSubbundle(data, 1, 0.7, centering=centering, kernel=kernel)
    ray = np.random.default_rng(0).normal(size=dim)
    ray /= np.abs(ray).max()
    distances = np.r_[0.0, np.geomspace(0.01, 1e9, 40), 1e12, 1e13, 1e100, 1e155, 1e200, 1e308]
    points = data[0] + distances[:, None] * ray
    assert_no_silent_nan(bundle, points, np.ones_like(points))
    status = bundle.frame(points).status
    assert status[0] != Status.LEFT_SUPPORT
    np.testing.assert_array_equal(status[distances > 20.0], Status.LEFT_SUPPORT)


@pytest.mark.parametrize(("centering", "kernel"), CHOICES)
@pytest.mark.parametrize(("dim", "n"), [(9, 150), (60, 30)])
def test_points_at_every_distance_from_a_flat_cloud_have_a_status(wavy_cloud, dim, n, centering, kernel):
    data = wavy_cloud(5, n, seed=dim) @ np.random.default_rng(1).normal(size=(5, dim)) / np.sqrt(5.0)
    bundle = PrincipalSubbundle(
        data, 1, 0.25 * np.linalg.norm(np.ptp(data, axis=0)), centering=centering, kernel=kernel
    )
    distances = np.r_[0.0, np.geomspace(0.01, 1e9, 20), 1e12, 1e13, 1e100, 1e155, 1e200, 1e308]
    points = data[0] + distances[:, None] * np.resize([1.0, -1.0, 0.3], dim)
    assert_no_silent_nan(bundle, points, np.ones_like(points))
    np.testing.assert_array_equal(bundle.frame(points).status[distances > 100.0], Status.LEFT_SUPPORT)


@pytest.mark.parametrize("dim", [3, 5])
def test_every_corner_of_a_far_box_is_off_the_support(wavy_cloud, dim):
    # 201 observations leave empty places in the last leaf; no query may have them in reach.
    bundle = PrincipalSubbundle(wavy_cloud(dim, 201, seed=1), 1, 0.7)
    corners = np.array(list(product((-1.0, 1.0), repeat=dim)))
    for size in np.geomspace(1e2, 1e15, 27):
        np.testing.assert_array_equal(bundle.frame(size * corners).status, Status.LEFT_SUPPORT)


@pytest.mark.parametrize(("centering", "kernel"), CHOICES)
@pytest.mark.parametrize("dim", [2, 3, 4, 17, 20])
def test_the_centre_of_a_symmetric_cloud_has_no_gap(dim, centering, kernel):
    # ± the axes at several radii: the second moment in the centre is a multiple of the identity.
    axes = np.vstack([np.eye(dim), -np.eye(dim)])
    data = np.vstack([radius * axes for radius in (0.8, 0.9, 1.0, 1.1, 1.2)])
    bundle = PrincipalSubbundle(data, 1, 0.8, centering=centering, kernel=kernel, min_density=1e-6)
    frame = bundle.frame(np.zeros((1, dim)))
    assert frame.status[0] == Status.GAP_CLOSED
    assert frame.gap[0] < 1e-12
    assert bundle.field(np.zeros((1, dim)), np.ones((1, dim))).status[0] == Status.GAP_CLOSED
    assert_no_silent_nan(bundle, np.vstack([np.zeros(dim), data[:3]]), np.ones((4, dim)))


def test_the_gap_counts_as_closed_from_the_given_fraction_on():
    # λ_1 : λ_2 = 1 : (1 − g) exactly, by stretching a symmetric cloud that lies in reach of the kernel as a whole.
    axes = np.vstack([np.eye(2), -np.eye(2)])
    data = np.vstack([axes, 0.9 * axes]) * np.sqrt([1.0, 0.98])
    frame = PrincipalSubbundle(data, 1, 2.0).frame(np.zeros((1, 2)))
    assert frame.status[0] == Status.OK
    gap = frame.gap[0]
    for part, status in ((0.99 * gap, Status.OK), (1.01 * gap, Status.GAP_CLOSED)):
        bundle = PrincipalSubbundle(data, 1, 2.0, min_gap=part)
        assert bundle.frame(np.zeros((1, 2))).status[0] == status
        assert bundle.field(np.zeros((1, 2)), np.ones((1, 2))).status[0] == status


@pytest.mark.parametrize("dim", [3, 20])
def test_the_support_ends_at_the_given_density(wavy_cloud, dim):
    data = wavy_cloud(dim, 200, seed=7)
    ray = np.random.default_rng(1).normal(size=dim)
    points = data[0] + np.linspace(0.0, 5.0, 60)[:, None] * ray / np.linalg.norm(ray)
    for least in (0.01, 0.05, 0.5):
        bundle = PrincipalSubbundle(data, 1, 0.7, min_density=least)
        frame = bundle.frame(points)
        np.testing.assert_array_equal(frame.status == Status.LEFT_SUPPORT, frame.density <= least)


@pytest.mark.parametrize(("centering", "kernel"), CHOICES)
@pytest.mark.parametrize("dim", DIMS)
def test_rows_that_are_not_finite_leave_the_others_alone(wavy_cloud, dim, centering, kernel):
    data = wavy_cloud(dim, 150, seed=2)
    bundle = PrincipalSubbundle(data, 1, 0.7, centering=centering, kernel=kernel)
    points, covectors = data[:8].copy(), np.random.default_rng(0).normal(size=(8, dim))
    clean = bundle.field(points, covectors)
    points[1, 0], covectors[3, -1], points[4, 1], covectors[6] = np.nan, np.inf, -np.inf, 1e200
    field = bundle.field(points, covectors)
    bad = np.isin(np.arange(8), [1, 3, 4, 6])
    np.testing.assert_array_equal(field.status[bad], Status.NOT_FINITE)
    assert np.isnan(field.velocity[bad]).all()
    assert np.isnan(field.force[bad]).all()
    for name in ("velocity", "force", "status"):
        np.testing.assert_array_equal(getattr(field, name)[~bad], getattr(clean, name)[~bad])
    every = bundle.field(np.full((2, dim), np.nan), np.ones((2, dim)))
    np.testing.assert_array_equal(every.status, Status.NOT_FINITE)


@pytest.mark.parametrize("dim", [3, 5, 20])
def test_a_force_that_overflows_has_a_status(wavy_cloud, dim):
    # Data in units of 1e-20: the force is of size |η|² · 1e20.
    data = 1e-20 * wavy_cloud(dim, 150, seed=2)
    bundle = PrincipalSubbundle(data, 1, 0.7e-20)
    field = bundle.field(data[:3], np.full((3, dim), 1e150))
    np.testing.assert_array_equal(field.status, Status.NOT_FINITE)
    assert np.isnan(field.velocity).all()


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("centering", CENTERINGS)
def test_no_observation_in_reach_of_the_compact_kernel(wavy_cloud, dim, centering):
    bundle = PrincipalSubbundle(wavy_cloud(dim, 150, seed=2), 1, 0.7, centering=centering, kernel="compact")
    frame = bundle.frame(np.full((1, dim), 50.0))
    assert frame.status[0] == Status.LEFT_SUPPORT
    assert frame.density[0] == 0.0
    assert np.isnan(frame.mean).all()
    assert np.isnan(frame.vectors).all()


@pytest.mark.parametrize("dim", [3, 20])
def test_a_single_observation_in_reach_spans_nothing(dim):
    rng = np.random.default_rng(0)
    data = np.vstack([0.1 * rng.normal(size=(100, dim)), np.full((1, dim), 30.0)])
    bundle = PrincipalSubbundle(data, 1, 1.0, kernel="compact", min_density=1e-6)
    points = np.vstack([data[-1], data[-1] + 0.1])
    frame = bundle.frame(points)
    np.testing.assert_array_equal(frame.status, Status.GAP_CLOSED)
    np.testing.assert_array_equal(bundle.field(points, np.ones_like(points)).status, Status.GAP_CLOSED)


@pytest.mark.parametrize("kernel", ["gaussian", "compact"])
def test_isolated_observations_do_not_set_the_typical_mass(kernel):
    # Half of the observations are isolated; with the compact kernel they have no neighbours.
    rng = np.random.default_rng(1)
    crowd, alone = 0.1 * rng.normal(size=(256, 3)), rng.uniform(5.0, 1000.0, size=(256, 3))
    bundle = PrincipalSubbundle(np.vstack([crowd, alone]), 1, 0.1, kernel=kernel)
    frame = bundle.frame(np.zeros((1, 3)))
    assert frame.status[0] == Status.OK
    assert 0.2 < frame.density[0] < 20.0


def test_between_two_distant_components_there_is_no_support(wavy_cloud):
    part = wavy_cloud(3, 300, seed=5)
    bundle = PrincipalSubbundle(np.vstack([part, part + np.array([100.0, 0.0, 0.0])]), 2, 0.6)
    points = np.vstack([part[0], part[0] + np.array([50.0, 0.0, 0.0]), part[0] + np.array([100.0, 0.0, 0.0])])
    np.testing.assert_array_equal(bundle.frame(points).status, [Status.OK, Status.LEFT_SUPPORT, Status.OK])


@pytest.mark.parametrize("dim", [50, 100])
def test_noise_in_many_dimensions_does_not_put_the_surface_off_the_support(dim):
    # Every observation is isolated by its noise; on the surface itself the density is of order one.
    rng = np.random.default_rng(dim)
    surface = np.zeros((1500, dim))
    surface[:, :2] = rng.uniform(-1.0, 1.0, size=(1500, 2))
    bundle = PrincipalSubbundle(surface + 0.025 * rng.normal(size=surface.shape), 2, 0.15)
    inside = surface[np.abs(surface[:, :2]).max(axis=1) < 0.7][:20]
    frame = bundle.frame(inside)
    np.testing.assert_array_equal(frame.status, Status.OK)
    assert ((frame.density > 0.2) & (frame.density < 5.0)).all()
