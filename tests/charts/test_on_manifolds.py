"""Ridge, logarithm, distances, submanifolds and charts of data on a manifold, against closed forms.

Three sources of truth: in full rank everything is the manifold's own; around a circle of latitude lengths are those of
the circle; and the diagonal matrices diag(e^x, e^y) are a flat plane inside SPD(2), so a cloud there must give what the
cloud of the (x, y) gives in R².
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import subbundle as sb
from subbundle.bundles.surroundings import _Curved as Curved
from subbundle.bundles.surroundings import _Logs as Logs
from subbundle.spaces import SPD, Hyperbolic, Kendall, Product, Sphere, from_geomstats

LATITUDE = 0.7


def circle(longitude):
    """Points at one latitude."""
    b, c = LATITUDE, np.asarray(longitude)
    return np.stack([np.cos(b) * np.cos(c), np.cos(b) * np.sin(c), np.full_like(c, np.sin(b))], axis=-1)


@pytest.fixture(scope="module")
def parallel():
    return sb.RiemannianSubbundle(circle(np.linspace(-2.0, 2.0, 400)), 1, 0.1, space=Sphere(2))


@pytest.fixture(scope="module")
def ball():
    rng = np.random.default_rng(0)
    points = Sphere(2).projection(rng.normal(size=(600, 3)))
    return sb.RiemannianSubbundle(points, 2, 0.4, space=Sphere(2))


def arc(n=50, seed=0):
    """A noisy parabola in the plane."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, n)
    return np.column_stack([x, 0.4 * x**2]) + 0.03 * rng.normal(size=(n, 2))


def diagonal(plane):
    """diag(e^x, e^y) as rows [n, 4], times 50 and 0.02 to make the entries unlike the distances."""
    plane = np.atleast_2d(plane)
    zero = np.zeros(len(plane))
    return np.column_stack([50.0 * np.exp(plane[:, 0]), zero, zero, 0.02 * np.exp(plane[:, 1])])


def to_plane(rows):
    rows = np.atleast_2d(rows)
    np.testing.assert_allclose(rows[:, 1:3], 0.0, atol=1e-9)
    return np.log(np.column_stack([rows[:, 0] / 50.0, rows[:, 3] / 0.02]))


@pytest.fixture(scope="module")
def twins():
    """The bundle of a cloud in the plane, and that of its diagonal matrices."""
    cloud = arc()
    flat = sb.PrincipalSubbundle(cloud, 1, 0.25, centering="recentred", kernel="gaussian")
    return flat, sb.RiemannianSubbundle(diagonal(cloud), 1, 0.25, space=SPD(2))


@pytest.mark.parametrize("order", [1, 2])
def test_the_ridge_of_diagonal_matrices_is_that_of_the_plane(twins, order):
    flat, curved = twins
    points = np.array([[-0.4, 0.15], [0.0, -0.05], [0.5, 0.05]])
    here, there = (
        sb.carry_to_ridge(bundle, x, order=order) for bundle, x in ((flat, points), (curved, diagonal(points)))
    )
    assert (there.status == sb.Status.OK).all()
    # Both stop at steps of 1e-6 bandwidths; the second fundamental form is a difference with an error of 1e-4 of it.
    np.testing.assert_allclose(to_plane(there.points), here.points, atol=1e-6)
    np.testing.assert_allclose(there.shifts, here.shifts, atol=1e-6)


@pytest.mark.parametrize("order", [1, 2])
def test_the_ridge_around_a_circle_of_latitude(parallel, order):
    start = Sphere(2).projection(circle(np.array([0.0, 0.3])) + [[0.02, 0.0, 0.05], [0.0, 0.0, -0.04]])
    carried = sb.carry_to_ridge(parallel, start, order=order)
    assert (carried.status == sb.Status.OK).all()
    np.testing.assert_allclose(np.linalg.norm(carried.points, axis=1), 1.0, atol=1e-12)
    off = np.abs(np.arcsin(carried.points[:, 2]) - LATITUDE)
    # Order 1 keeps half the (geodesic) curvature tan(b) times a² along the curve; order 2 the next power.
    bias = 0.5 * np.tan(LATITUDE) * 0.1**2
    if order == 1:
        np.testing.assert_allclose(off, bias, rtol=0.1)
    else:
        assert off.max() < 0.1 * bias


def test_full_rank_gives_the_spheres_own_logarithm_and_distance(ball):
    rng = np.random.default_rng(1)
    space, base = Sphere(2), np.array([0.0, 0.0, 1.0])
    targets = space.projection(rng.normal(size=(6, 3)) + [0.0, 0.0, 0.5])
    found = sb.log(ball, base, targets)
    assert (found.status == sb.Status.OK).all()
    # The tolerance of the search, 1e-6 bandwidths.
    np.testing.assert_allclose(found.covectors, space.log(targets, base), atol=1e-5)
    np.testing.assert_allclose(found.residuals, 0.0, atol=1e-5)
    np.testing.assert_allclose(sb.distance(ball, base, targets), space.dist(targets, base), atol=1e-5)
    path = sb.geodesic_between(ball, base, targets[0], n_points=5)
    expected = space.exp(np.linspace(0, 1, 5)[:, None] * space.log(targets[0], base), base)
    np.testing.assert_allclose(path.points, expected, atol=1e-5)


def test_full_rank_gives_the_matrices_own_logarithm():
    space, rng = SPD(2), np.random.default_rng(2)
    base = np.array([[3.0, 1.0], [1.0, 0.8]])
    basis = Logs(space, base.ravel())
    data = basis.leave(0.4 * rng.normal(size=(80, 3)))
    bundle = sb.RiemannianSubbundle(data, 3, 0.5, space=space, min_density=1e-6)
    targets = basis.leave(0.3 * rng.normal(size=(2, 3)))
    found = sb.log(bundle, base.ravel(), targets, tol=1e-5)
    expected = space.log(targets.reshape(-1, 2, 2), base)
    # The search ends at 1e-5 bandwidths, and the flow has the same tolerance; entries are of size 1.
    np.testing.assert_allclose(found.covectors, space.flat(expected, base).reshape(2, 4), atol=1e-4)
    np.testing.assert_allclose(found.lengths, space.dist(targets.reshape(-1, 2, 2), base), atol=1e-4)


def test_lengths_along_a_circle_of_latitude(parallel):
    longitudes = np.array([-1.2, -0.5, 0.1, 0.9])
    points = circle(longitudes)
    expected = np.cos(LATITUDE) * np.abs(longitudes[:, None] - longitudes)
    matrix = sb.pairwise_distance(parallel, points)
    # The geodesics run where the data has its mean, inside the circle by 4e-3; fans are accurate to 1e-3 bandwidths.
    np.testing.assert_allclose(matrix, expected, atol=5e-3)
    np.testing.assert_allclose(sb.distance(parallel, points[0], points[1:]), matrix[0, 1:], atol=1e-3)


def test_distances_of_diagonal_matrices_are_those_of_the_plane(twins):
    flat, curved = twins
    points = sb.carry_to_ridge(flat, np.array([[-0.5, 0.1], [0.2, 0.0]])).points
    # A target beside the curve: its projection is the nearest in the metric, not in the entries.
    points = np.concatenate([points, [[0.4, 0.15]]])
    expected, found = (sb.pairwise_distance(bundle, x) for bundle, x in ((flat, points), (curved, diagonal(points))))
    # Fans measure off targets to second order, under a local map: a fraction of the bandwidth to the third power.
    np.testing.assert_allclose(found, expected, atol=2e-3)
    here, there = (sb.log(bundle, x[1], x[2], tol=1e-4) for bundle, x in ((flat, points), (curved, diagonal(points))))
    # Geodesics and searches to 1e-4 bandwidths; the objective is flat where a target is projected to.
    np.testing.assert_allclose(there.lengths, here.lengths, atol=1e-3)
    np.testing.assert_allclose(there.residuals, here.residuals, atol=1e-4)


def test_two_caps_are_infinitely_far_apart():
    rng = np.random.default_rng(0)
    caps = [Sphere(2).projection([0.0, 0.0, sign] + 0.1 * rng.normal(size=(150, 3))) for sign in (1.0, -1.0)]
    bundle = sb.RiemannianSubbundle(np.concatenate(caps), 2, 0.08, space=Sphere(2))
    north, east, south = np.array([[0.0, 0.0, 1.0], [0.05, 0.0, 1.0], [0.0, 0.0, -1.0]])
    assert sb.distance(bundle, north, south) == np.inf
    assert sb.distance(bundle, north, Sphere(2).projection(east)) == pytest.approx(np.arctan(0.05), abs=1e-4)
    assert np.isinf(sb.pairwise_distance(bundle, np.stack([north, south]))[0, 1])


def test_a_submanifold_of_full_rank_is_the_exponential(ball):
    base = np.array([0.0, 0.0, 1.0])
    found = sb.submanifold(ball, base, radius=1.0, n_geodesics=8, step=0.25)
    vectors = found.coordinates @ found.frame.T
    np.testing.assert_allclose(found.points, Sphere(2).exp(vectors, base), atol=1e-5)


def test_a_chart_of_full_rank_holds_the_spheres_logarithms(ball):
    space, base = Sphere(2), np.array([0.0, 0.0, 1.0])
    chart = sb.Chart(ball, base, 1.5)
    rng = np.random.default_rng(3)
    points = space.projection(rng.normal(size=(40, 3)) * [1.0, 1.0, 0.3] + [0.0, 0.0, 1.0])
    coordinates = chart.transform(points)
    inside = np.isfinite(coordinates).all(axis=1)
    assert inside.sum() > 30
    error = max(2.0 * chart.interpolation_error, 1e-5)
    np.testing.assert_allclose(coordinates[inside] @ chart.frame.T, space.log(points, base)[inside], atol=5.0 * error)
    back = chart.inverse_transform(coordinates[inside])
    np.testing.assert_allclose(np.linalg.norm(back, axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(back, points[inside], atol=error)


def test_a_chart_along_a_circle_of_latitude(parallel):
    base = sb.carry_to_ridge(parallel, circle(0.0)).points
    chart = sb.Chart(parallel, base)
    longitudes = np.linspace(-1.5, 1.5, 7)
    located = chart.locate(circle(longitudes))
    assert (located.status == sb.Status.OK).all()
    lengths = np.cos(LATITUDE) * longitudes
    lengths *= np.sign(located.coordinates[-1, 0])
    # On the second-order ridge, a few 1e-4 from the circle.
    np.testing.assert_allclose(located.coordinates[:, 0], lengths, atol=2e-3)
    again = sb.Chart.from_arrays(chart.to_arrays(), parallel)
    np.testing.assert_array_equal(again.transform(circle(longitudes)), located.coordinates)
    slopes = chart.jacobian(located.coordinates)[:, :, 0]
    np.testing.assert_allclose(np.linalg.norm(slopes, axis=1), 1.0, atol=5e-3)
    np.testing.assert_allclose(np.einsum("nd,nd->n", slopes, located.points), 0.0, atol=1e-9)


def test_a_chart_of_diagonal_matrices_is_that_of_the_plane(twins):
    flat, curved = twins
    base = sb.carry_to_ridge(flat, [0.0, 0.0]).points
    plane, matrices = sb.Chart(flat, base, 0.5), sb.Chart(curved, diagonal(base)[0], 0.5)
    points = arc(30, seed=5)
    here, there = plane.locate(points), matrices.locate(diagonal(points))
    sign = np.sign(np.nansum(here.coordinates * there.coordinates))
    both = (here.status == sb.Status.OK) & (there.status == sb.Status.OK)
    assert both.sum() > 10
    error = max(plane.interpolation_error + matrices.interpolation_error, 1e-4)
    np.testing.assert_allclose(sign * there.coordinates[both], here.coordinates[both], atol=5.0 * error)
    np.testing.assert_allclose(there.residuals[both], here.residuals[both], atol=5.0 * error)
    np.testing.assert_array_equal(here.status, there.status)
    back = matrices.inverse_transform(there.coordinates[both])
    np.testing.assert_allclose(to_plane(back), plane.inverse_transform(sign * there.coordinates[both]), atol=error)
    # The slope of a geodesic of unit speed has unit length in the metric.
    slope = matrices.jacobian(there.coordinates[both][:3])[:, :, 0].reshape(-1, 2, 2)
    at = back[:3].reshape(-1, 2, 2)
    np.testing.assert_allclose(SPD(2).inner_product(slope, slope, at), 1.0, atol=0.02)


@pytest.mark.parametrize("space", [Hyperbolic(2), SPD(2), Kendall(4, 2)], ids=repr)
def test_local_maps_and_their_inverses(space):
    rng = np.random.default_rng(4)
    base = space.random_point(1, rng)[0].ravel()
    local_map = Logs(space, base)
    images = 0.2 * rng.normal(size=(5, space.dim))
    points = local_map.leave(images)
    np.testing.assert_allclose(local_map.enter(points), images, atol=1e-10)
    np.testing.assert_allclose(Curved(space).distance(base[None], points), np.linalg.norm(images, axis=1), atol=1e-10)
    vectors = rng.normal(size=(5, space.dim))
    # Central differences over 1e-5: truncation 1e-10, rounding 1e-11.
    np.testing.assert_allclose(local_map.push(points, local_map.pull(images, vectors)), vectors, atol=1e-6)


def test_a_chart_needs_the_space_it_was_made_on(twins):
    chart = sb.Chart(twins[1], diagonal(np.array([0.0, 0.0]))[0], 0.3)
    with pytest.raises(ValueError, match="arrays must fit the bundle"):
        sb.Chart.from_arrays(chart.to_arrays())


def test_points_off_the_manifold_are_refused_everywhere(parallel):
    good = circle(np.array([0.0, 0.2]))
    bad = 1.1 * good
    chart = sb.Chart(parallel, good[0], 0.5)
    calls = {
        "base_point": [
            lambda: sb.geodesic(parallel, bad[0], [1.0], length=0.1),
            lambda: sb.log(parallel, bad[0], good[1]),
            lambda: sb.Chart(parallel, bad[0]),
            lambda: sb.submanifold(parallel, bad[0], 0.5, n_geodesics=2, step=0.1),
        ],
        "targets": [lambda: sb.log(parallel, good[0], bad)],
        "points": [
            lambda: sb.carry_to_ridge(parallel, bad),
            lambda: sb.pairwise_distance(parallel, bad),
            lambda: chart.transform(bad),
        ],
        "y": [lambda: sb.distance(parallel, good[0], bad[1])],
    }
    for name, group in calls.items():
        for call in group:
            with pytest.raises(
                ValueError, match=rf"{name} must be unit vectors .* off by 0.1 .*write {name} = space.proj"
            ):
                call()


def test_the_message_for_matrices_as_base_points(twins):
    with pytest.raises(
        ValueError, match=r"must have 4 coordinates per point; got shape \(2, 2\).*np.reshape\(base_poi"
    ):
        sb.geodesic(twins[1], np.eye(2), [1.0], length=0.1)


def test_the_closed_form_and_the_general_method_agree_on_a_sphere():
    """A product of one sphere is that sphere, but is treated in general: differences, logarithms as local map."""
    rng = np.random.default_rng(6)
    points = Sphere(2).projection(circle(rng.uniform(-1.0, 1.0, 40)) + 0.02 * rng.normal(size=(40, 3)))
    one, other = (sb.RiemannianSubbundle(points, 1, 0.25, space=space) for space in (Sphere(2), Product(Sphere(2))))
    base = sb.carry_to_ridge(one, points[0]).points
    # Steps end at 1e-6 bandwidths; forces by differences are accurate to 1e-9 of their size.
    np.testing.assert_allclose(sb.carry_to_ridge(other, points[0]).points, base, atol=1e-7)
    found = [sb.log(bundle, base, points[1], tol=1e-4) for bundle in (one, other)]
    np.testing.assert_allclose(found[0].coordinates, found[1].coordinates, atol=1e-5)
    np.testing.assert_allclose(found[0].residuals, found[1].residuals, atol=1e-6)
    matrices = [sb.pairwise_distance(bundle, points[:3]) for bundle in (one, other)]
    # Placed between nodes to second order, under two local maps of the sphere.
    np.testing.assert_allclose(*matrices, atol=2e-3)
    charts = [sb.Chart(bundle, base, 0.4) for bundle in (one, other)]
    error = sum(chart.interpolation_error for chart in charts)
    np.testing.assert_allclose(*(chart.transform(points, outside="nan") for chart in charts), atol=10.0 * error)


def test_a_geomstats_sphere_is_a_sphere():
    with warnings.catch_warnings():
        # geomstats loads its backend through an import hook of the old kind.
        warnings.simplefilter("ignore")
        hypersphere = pytest.importorskip("geomstats.geometry.hypersphere")
    space = from_geomstats(hypersphere.Hypersphere(2))
    points = circle(np.linspace(-0.5, 0.5, 30))
    theirs, ours = (sb.RiemannianSubbundle(points, 1, 0.2, space=each) for each in (space, Sphere(2)))
    start = Sphere(2).projection(points[15] + [0.0, 0.0, 0.03])
    np.testing.assert_allclose(
        sb.carry_to_ridge(theirs, start).points, sb.carry_to_ridge(ours, start).points, atol=1e-7
    )
