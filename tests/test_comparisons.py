"""Means, tangent PCA, principal geodesics and flows against closed forms and against each other."""

from __future__ import annotations

import numpy as np
import pytest

import subbundle as sb
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.comparisons import (
    central_observation,
    curves_through,
    distances_to_curve,
    frechet_mean,
    principal_curve,
    principal_flow,
    principal_geodesic,
    ridge_point,
    tangent_pca,
)
from subbundle.spaces import SPD, Euclidean, Hyperbolic, Kendall, Product, Sphere

NORTH = np.array([0.0, 0.0, 1.0])
SPACES = [Euclidean(3), Sphere(3), Hyperbolic(2), SPD(2), Kendall(4, 2), Product(Sphere(2), SPD(2))]


def parallel(latitude, n=200, span=np.pi):
    """Points on a circle of latitude of S²: a curve that no geodesic follows."""
    angle = np.linspace(-0.5 * span, 0.5 * span, n)
    return np.column_stack(
        [np.cos(latitude) * np.cos(angle), np.cos(latitude) * np.sin(angle), np.full(n, np.sin(latitude))]
    )


def sample(space, n=25, spread=0.3, seed=0):
    rng = np.random.default_rng(seed)
    base = space.random_point(1, rng)[0]
    scale = spread * rng.standard_normal((n, *(1,) * len(space.shape)))
    vectors = space.to_tangent(rng.standard_normal((n, *space.shape)), base)
    length = np.sqrt(space.inner_product(vectors, vectors, base)).reshape(scale.shape)
    return space.exp(scale * vectors / length, base)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_at_the_frechet_mean_the_logs_balance(space):
    points = sample(space)
    mean = frechet_mean(points, space=space)
    logs = space.log(points, mean)
    # The iteration ends when the step is 1e-11 of the spread, or when rounding hides any gain of a shorter one.
    step = logs.mean(axis=0)
    assert np.sqrt(space.inner_product(step, step, mean)) < 1e-7
    assert space.violation(mean) < 1e-12
    others = space.exp(0.01 * logs[:5], mean)
    here, there = (np.sum(space.dist(points, at) ** 2) for at in (mean, others[0]))
    assert here < there


def test_the_mean_of_a_ring_around_the_pole_is_the_pole():
    ring = parallel(1.2, 12, 2.0 * np.pi * 11 / 12)
    np.testing.assert_allclose(frechet_mean(ring, space=Sphere(2)), NORTH, atol=1e-9)


def test_the_central_observation_minimises_the_squared_distances():
    space = SPD(2)
    points = sample(space)
    totals = [sum(space.dist(a, b) ** 2 for b in points) for a in points]
    assert central_observation(points, space=space) == int(np.argmin(totals))


def test_a_mean_that_does_not_converge_raises():
    with pytest.raises(ValueError, match="did not converge in 1 steps"):
        frechet_mean(parallel(1.2, 7), space=Sphere(2), max_iterations=1)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_tangent_pca_is_the_singular_value_decomposition_of_the_logs(space):
    points = sample(space)
    found = tangent_pca(points, space=space)
    mean = found.base_point
    gram = [[space.inner_product(a, b, mean) for b in found.components] for a in found.components]
    np.testing.assert_allclose(gram, np.eye(space.dim), atol=1e-10)
    for scores, component in zip(found.scores.T, found.components, strict=True):
        products = space.inner_product(space.log(points, mean), component, mean)
        np.testing.assert_allclose(scores, products, atol=1e-12)
    np.testing.assert_allclose(found.variances, np.mean(found.scores**2, axis=0), atol=1e-15)
    assert (np.diff(found.variances) <= 0.0).all()
    # Scores of different components do not go together, and all of them give the observations back.
    moment = found.scores.T @ found.scores
    np.testing.assert_allclose(moment, np.diag(np.diag(moment)), atol=1e-12)
    distances = space.dist(found.inverse_transform(found.scores), points)
    np.testing.assert_allclose(distances, 0.0, atol=1e-7)


def test_in_euclidean_space_tangent_pca_is_pca():
    points = np.random.default_rng(0).standard_normal((40, 3)) * [3.0, 1.0, 0.2]
    found = tangent_pca(points, space=Euclidean(3), n_components=2)
    values = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) ** 2 / 40
    np.testing.assert_allclose(found.variances, values[:2], rtol=1e-10)
    assert found.components.shape == (2, 3)


def test_the_principal_geodesic_of_points_on_a_geodesic_is_that_geodesic():
    points = parallel(0.0, 41, 1.6)
    curve = principal_geodesic(points, space=Sphere(2), n_points=101)
    np.testing.assert_allclose(curve.points[:, 2], 0.0, atol=1e-12)
    # From end to end and a tenth more on either side.
    np.testing.assert_allclose(np.ptp(curve.positions), 1.2 * 1.6, rtol=1e-9)
    np.testing.assert_allclose(distances_to_curve(points, curve.points, space=Sphere(2)), 0.0, atol=1e-9)


def test_antipodes_of_the_base_point_have_no_logarithm():
    points = np.concatenate([parallel(0.0, 9, 1.0), -NORTH[None]])
    with pytest.raises(ValueError, match="1 of 10 lie on its cut locus .*first row 9. Leave them out"):
        tangent_pca(points, space=Sphere(2), base_point=NORTH)


@pytest.mark.parametrize("fit", [principal_curve, principal_flow])
def test_a_curve_through_points_on_a_parallel_follows_it(fit):
    points = parallel(0.6)
    curve = fit(points, 0.1, space=Sphere(2), length=3.0, n_points=301)
    middle = np.abs(curve.positions) < 1.0
    # The mean of points within a bandwidth of 0.1 on a circle of radius 0.83 lies 0.1²/2/0.83 inside it.
    np.testing.assert_allclose(np.arcsin(curve.points[middle, 2]), 0.6, atol=0.01)
    # It ends where the data does, with the reason, half a circle of radius cos 0.6 away.
    assert curve.status.tolist() == [sb.Status.LEFT_SUPPORT] * 2
    assert np.ptp(curve.positions) == pytest.approx(np.pi * np.cos(0.6), abs=0.5)
    pieces = Sphere(2).dist(curve.points[1:], curve.points[:-1])
    np.testing.assert_allclose(pieces, 0.01, rtol=1e-3)


def test_the_base_point_of_a_curve():
    rng = np.random.default_rng(0)
    points = Sphere(2).projection(parallel(0.6) + 0.03 * rng.standard_normal((200, 3)))
    given = points[100]
    curve = principal_curve(points, 0.1, space=Sphere(2), base_point=given, length=0.3, n_points=31)
    np.testing.assert_array_equal(curve.base_point, given)
    np.testing.assert_allclose(curve.points[curve.positions == 0.0][0], given, atol=1e-15)
    chosen = principal_curve(points, 0.1, space=Sphere(2), length=0.3, n_points=31).base_point
    # The ridge is that of the logs at the point itself, whatever the centring of the curve's bundle.
    bundle = RiemannianSubbundle(points, 1, 0.1, space=Sphere(2), centering="local")
    frame = bundle.frame(chosen[None])
    shift = Sphere(2).log(frame.mean, chosen)[0]
    along = frame.vectors[0, :, 0]
    # There the local mean lies along the subspace.
    np.testing.assert_allclose(shift - (shift @ along) * along, 0.0, atol=1e-8)


def test_ridge_points_need_data_around_them():
    bundle = RiemannianSubbundle(parallel(0.6), 1, 0.1, space=Sphere(2))
    with pytest.raises(ValueError, match="left the support of the data. Use a point nearer the data"):
        ridge_point(bundle, -NORTH)


def test_curves_need_rank_one():
    bundle = RiemannianSubbundle(sample(SPD(2)), 2, 0.5, space=SPD(2))
    with pytest.raises(ValueError, match="rank 1, to have one geodesic through each point; got rank 2"):
        curves_through(bundle, bundle.observations[:1], length=1.0, n_points=10)


@pytest.mark.parametrize("space", [Euclidean(2), Sphere(2), SPD(2)], ids=repr)
def test_distances_to_a_coarse_curve_are_those_to_a_fine_one(space):
    points = sample(space, 30)
    base = frechet_mean(points, space=space)
    vector = space.to_tangent(np.random.default_rng(4).standard_normal(space.shape), base)
    vector = vector / np.sqrt(space.inner_product(vector, vector, base))

    def geodesic(n):
        t = np.linspace(-1.0, 1.0, n).reshape(-1, *(1,) * len(space.shape))
        return space.exp(t * vector, base)

    coarse = distances_to_curve(points, geodesic(21), space=space)
    fine = np.array([space.dist(geodesic(20001), point).min() for point in points])
    # Projections in the tangent space of the nearest of points 0.1 apart; curvature enters with the third power.
    np.testing.assert_allclose(coarse, fine, atol=1e-4)
