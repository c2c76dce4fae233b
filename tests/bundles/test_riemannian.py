"""The bundle of data on a manifold: the manifold's own geodesics, and R^d as a space."""

import numpy as np
import pytest
from scipy.linalg import expm, sqrtm

import subbundle as sb
from subbundle.spaces import SPD, Euclidean, Sphere

CENTERINGS = ("recentred", "local", "none")


def around(space, n, spread, seed=0):
    """``n`` points around one point of ``space``, anisotropic so that the gap is open."""
    rng = np.random.default_rng(seed)
    base = space.random_point(1, rng)[0]
    basis = space.tangent_basis(base)
    scale = spread * np.where(np.arange(space.dim) < max(space.dim // 2, 1), 1.0, 0.3)
    parts = rng.normal(size=(n, space.dim)) * scale
    tangent = np.einsum("ni,i...->n...", parts, basis)
    return base, space.exp(tangent, np.broadcast_to(base, tangent.shape))


def arc_cloud(n=400, noise=0.03, seed=0):
    """Noisy points along a curve on the sphere."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1.0, 1.0, n)
    points = np.column_stack([np.cos(t), np.sin(t), 0.3 * t**2]) + noise * rng.normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.mark.parametrize("centering", CENTERINGS)
def test_great_circles_when_the_rank_is_the_dimension(centering):
    rng = np.random.default_rng(1)
    cloud = rng.normal(size=(600, 3))
    cloud /= np.linalg.norm(cloud, axis=1, keepdims=True)
    bundle = sb.RiemannianSubbundle(cloud, 2, 0.4, space=Sphere(2), centering=centering)
    start, velocity = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    curve = sb.geodesic(bundle, start, velocity, length=2.0, n_points=9, tol=1e-9)
    exact = np.cos(curve.times)[:, None] * start + np.sin(curve.times)[:, None] * velocity
    assert curve.status == sb.Status.OK
    # With rank = dim H is half the squared norm of the tangential part, whatever the data: great circles, to the
    # accuracy of the flow over a few tens of steps.
    np.testing.assert_allclose(curve.points, exact, atol=1e-7)


def test_spd_geodesics_when_the_rank_is_the_dimension():
    space = SPD(2)
    base, cloud = around(space, 200, 0.3)
    bundle = sb.RiemannianSubbundle(cloud, 3, 0.5, space=space)
    direction = np.array([[0.3, 0.1], [0.1, -0.2]])
    covector = space.flat(direction, base).ravel()
    curve = sb.geodesic(bundle, base.ravel(), covector, times=[0.5, 1.0], tol=1e-8)
    root = np.real(sqrtm(base))
    inverse = np.linalg.inv(root)
    for point, t in zip(curve.points, curve.times, strict=True):
        exact = root @ expm(t * inverse @ direction @ inverse) @ root
        # The forces are central differences, exact to 1e-9 of their size, over a few tens of steps.
        np.testing.assert_allclose(point.reshape(2, 2), exact, atol=1e-7)


@pytest.mark.parametrize("centering", CENTERINGS)
def test_euclidean_space_gives_the_principal_subbundle(centering):
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(400, 3)) * [1.0, 0.8, 0.2]
    cloud[:, 2] += 0.2 * cloud[:, 0] ** 2
    flat = sb.PrincipalSubbundle(cloud, 2, 0.6, centering=centering, kernel="gaussian")
    space = sb.RiemannianSubbundle(cloud, 2, 0.6, space=Euclidean(3), centering=centering)
    points, covectors = 0.3 * rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    here, there = flat.frame(points), space.frame(points)
    np.testing.assert_allclose(here.eigenvalues, there.eigenvalues, rtol=1e-8)
    projector = [np.einsum("bik,bjk->bij", frame.vectors, frame.vectors) for frame in (here, there)]
    np.testing.assert_allclose(*projector, atol=1e-8)
    np.testing.assert_allclose(flat.field(points, covectors).force, space.field(points, covectors).force, atol=1e-7)


@pytest.mark.parametrize("centering", CENTERINGS)
def test_the_flow_stays_on_the_sphere(centering):
    cloud = arc_cloud()
    bundle = sb.RiemannianSubbundle(cloud, 1, 0.15, space=Sphere(2), centering=centering)
    curve = sb.geodesic(bundle, cloud[np.argmin(np.abs(cloud[:, 1]))], [[1.0], [-1.0]], length=2.0)
    valid = np.isfinite(curve.points).all(axis=2)
    # Over length 2 at the default tolerance; geodesics may end at the border of the data before that.
    assert np.abs(np.linalg.norm(curve.points[valid], axis=1) - 1.0).max() < 1e-9
