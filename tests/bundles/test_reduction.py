"""Data that spans less than its space is worked on in the space it spans, and nothing is lost."""

from itertools import product

import numpy as np
import pytest

from subbundle import PrincipalSubbundle, Status
from subbundle.bundles._reduction import reduce_cloud
from subbundle.cloud import Cloud
from subbundle.local.settings import CENTERINGS

CHOICES = list(product(CENTERINGS, ("gaussian", "compact")))


def flat_cloud(dim, span, n, wavy_cloud, seed=0):
    """A wavy cloud of affine rank ``span`` in R^dim, away from the origin."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(dim, span)))[0]
    return wavy_cloud(span, n, seed) @ basis.T + rng.normal(size=dim), basis


@pytest.mark.parametrize(
    ("dim", "span", "n", "working"),
    [
        (2, 2, 50, 3),
        (3, 2, 50, 3),
        (3, 3, 50, 3),
        (4, 2, 50, 4),
        (5, 2, 50, 4),
        (6, 4, 50, 6),
        (30, 5, 99, 7),
        (30, 28, 99, 30),
        (30, 27, 99, 29),
        (40, 39, 20, 21),
        (300, 20, 25, 22),
    ],
)
def test_the_working_space_is_the_span_and_two_more(wavy_cloud, dim, span, n, working):
    cloud, coordinates = reduce_cloud(Cloud(flat_cloud(dim, span, n, wavy_cloud)[0]))
    assert cloud.dim == working
    assert coordinates.span == (dim if working >= dim else min(span, n - 1))


@pytest.mark.parametrize(("dim", "span"), [(2, 2), (3, 3), (6, 2), (30, 5), (30, 20)])
def test_entering_and_leaving_is_the_identity_and_keeps_inner_products(wavy_cloud, dim, span):
    data, basis = flat_cloud(dim, span, 80, wavy_cloud)
    whole = Cloud(data)
    cloud, coordinates = reduce_cloud(whole)
    same = data if cloud is whole else data[whole.order]  # the working cloud is made of rows in leaf order
    rng = np.random.default_rng(1)
    inside = data[:5]
    points = np.vstack([inside, inside + rng.normal(size=(5, dim)), data[:2]])
    covectors = np.vstack([rng.normal(size=(5, span)) @ basis.T, rng.normal(size=(5, dim)), np.zeros((2, dim))])
    working, pressed, directions = coordinates.enter(points, covectors)
    rounding = 1e-13 * np.abs(points).max()
    np.testing.assert_allclose(coordinates.leave(working, directions) + coordinates.centre, points, atol=rounding)
    np.testing.assert_allclose(coordinates.leave(pressed, directions), covectors, atol=rounding)
    rows = cloud.at(np.arange(cloud.n_points))
    for p, eta, q, xi in zip(points, covectors, working, pressed, strict=True):
        for x, y in zip(same[cloud.order], rows, strict=True):
            assert np.linalg.norm(y - q) == pytest.approx(np.linalg.norm(x - p), abs=10 * rounding)
            assert (y - q) @ xi == pytest.approx((x - p) @ eta, abs=10 * rounding)


@pytest.mark.parametrize(("centering", "kernel"), CHOICES)
@pytest.mark.parametrize(("dim", "span", "rank"), [(4, 1, 1), (7, 3, 2), (9, 6, 2), (30, 6, 2), (60, 25, 2)])
def test_frame_and_field_off_the_span_are_those_of_the_definition(
    reference, wavy_cloud, dim, span, rank, centering, kernel
):
    rng = np.random.default_rng(dim)
    if span == 1:
        data = np.outer(rng.uniform(-1.0, 1.0, size=80), rng.normal(size=dim)) + rng.normal(size=dim)
    else:
        data = flat_cloud(dim, span, 150, wavy_cloud, seed=dim)[0]
    bundle = PrincipalSubbundle(data, rank, 0.7, centering=centering, kernel=kernel)
    expected = reference(data, rank, 0.7, centering, kernel)
    middle = data[np.linalg.norm(data - data.mean(axis=0), axis=1).argsort()[:2]]
    off = rng.normal(size=(2, dim))
    off *= 0.3 / np.linalg.norm(off, axis=1)[:, None]
    points, covectors = np.vstack([middle, middle + off]), rng.normal(size=(4, dim))
    frame, field = bundle.frame(points), bundle.field(points, covectors)
    np.testing.assert_array_equal(frame.status, Status.OK)
    for i, (point, covector) in enumerate(zip(points, covectors, strict=True)):
        # The tail of the Gaussian; rounding is far below.
        np.testing.assert_allclose(frame.mean[i], expected.mean(point), atol=1e-8)
        np.testing.assert_allclose(frame.eigenvalues[i], expected.eigen(point)[0], atol=1e-8)
        np.testing.assert_allclose(frame.vectors[i] @ frame.vectors[i].T, expected.projector(point), atol=1e-6)
        np.testing.assert_allclose(field.velocity[i], expected.projector(point) @ covector, atol=1e-6)
        size = np.linalg.norm(field.force[i])
        h = 0.005 * 0.7
        along = field.force[i] / size if size > 1e-9 else np.eye(dim)[0]
        for direction in np.vstack([along, rng.normal(size=(2, dim)) / np.sqrt(dim)]):
            energy = [expected.hamiltonian(point + s * h * direction, covector) for s in (1.0, -1.0, 0.5, -0.5)]
            slope = (8.0 * (energy[2] - energy[3]) - (energy[0] - energy[1])) / (6.0 * h)
            assert abs(field.force[i] @ direction + slope) <= 1e-6 * (size + np.linalg.norm(covector) ** 2)


def test_a_sample_that_misses_a_direction_does_not_decide():
    # All but one of the observations lie on a line: a sample spans the line only, the span is a plane.
    data = np.zeros((5000, 6))
    data[:, 0] = np.linspace(0.0, 1.0, 5000)
    for odd in (0, 1234, 4999):
        moved = data.copy()
        moved[odd, 3] = 0.5
        cloud, coordinates = reduce_cloud(Cloud(moved))
        assert coordinates.span == 2
        assert cloud.dim == 4


def test_duplicates_of_one_point_do_not_hide_the_span():
    data = np.zeros((1000, 8))
    data[-3:, :3] = np.eye(3)
    assert reduce_cloud(Cloud(data))[1].span == 3


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_the_span_does_not_depend_on_the_unit(wavy_cloud, size):
    data = flat_cloud(20, 4, 60, wavy_cloud)[0] * size
    assert reduce_cloud(Cloud(data))[1].span == 4


def test_small_variation_is_kept():
    # A millionth of the extent is data, not rounding.
    rng = np.random.default_rng(0)
    data = np.column_stack([rng.normal(size=(100, 3)), 1e-6 * rng.normal(size=100), np.zeros((100, 4))])
    assert reduce_cloud(Cloud(data))[1].span == 4


def test_no_points_enter_and_leave_as_no_points(wavy_cloud):
    data = flat_cloud(10, 3, 60, wavy_cloud)[0]
    bundle = PrincipalSubbundle(data, 2, 0.8)
    assert bundle.frame(np.empty((0, 10))).vectors.shape == (0, 10, 2)
    assert bundle.field(np.empty((0, 10)), np.empty((0, 10))).force.shape == (0, 10)
