"""What a bundle need not write: one with the members of `Subbundle` alone goes through everything above bundles/."""

import numpy as np
import pytest

import subbundle as sb
from subbundle.bundles.analytic import SphereTangent
from subbundle.bundles.base import completed
from subbundle.flow import integrate

NORTH, EAST = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])


class Minimal:
    """The tangent spaces of spheres, with no more members than the protocol requires."""

    ambient_dim, rank, length_scale, is_costly = 3, 2, 1.0, False

    def frame(self, points):
        return SphereTangent(2).frame(points)

    def field(self, points, covectors):
        return SphereTangent(2).field(points, covectors)


class OnUnitSphere(Minimal):
    """The same, which keeps its geodesics on the sphere of radius 1."""

    n_jobs = 1

    def project(self, points, covectors):
        normal = points / np.linalg.norm(points, axis=1, keepdims=True)
        return normal, covectors - np.sum(normal * covectors, axis=1, keepdims=True) * normal


def test_defaults():
    bundle = completed(Minimal())
    assert bundle.n_jobs is None
    assert bundle.learned is None
    points, covectors = np.ones((2, 4, 3))
    assert bundle.project(points, covectors)[0] is points
    assert completed(None).n_jobs is None


@pytest.mark.parametrize("space", [None, sb.spaces.Sphere(2)], ids=["flat", "sphere"])
def test_bundles_of_data_have_their_own(space):
    points = sb.datasets.sphere(300, seed=0).points
    bundle = (
        sb.PrincipalSubbundle(points, 2, 0.5, n_jobs=2)
        if space is None
        else sb.RiemannianSubbundle(points, 1, 0.5, space=space, n_jobs=2)
    )
    assert completed(bundle).learned is bundle
    assert completed(bundle).n_jobs == 2
    np.testing.assert_allclose(bundle.rows, points, atol=1e-15)


def test_a_minimal_bundle_gives_the_same_bits():
    minimal, known = Minimal(), SphereTangent(2)
    for call in (
        lambda bundle: sb.geodesic(bundle, NORTH, [1.0, 0.5], length=1.0).points,
        lambda bundle: sb.log(bundle, NORTH, EAST).covectors,
        lambda bundle: sb.distance(bundle, NORTH, EAST),
        lambda bundle: sb.pairwise_distance(bundle, np.eye(3)),
        lambda bundle: sb.geodesic_between(bundle, NORTH, EAST).points,
        lambda bundle: sb.submanifold(bundle, NORTH, radius=0.5, step=0.1).points,
        lambda bundle: sb.Chart(bundle, NORTH, 0.5).inverse_transform([0.1, 0.2]),
        lambda bundle: sb.Atlas(bundle, [NORTH, EAST], 0.5).project(NORTH).points,
    ):
        np.testing.assert_array_equal(call(minimal), call(known))
    with pytest.raises(TypeError, match="learned from data"):
        sb.connected_components(minimal)
    with pytest.raises(ValueError, match="needs data to cover"):
        sb.Atlas(minimal)


def test_a_projection_is_used_at_the_start_and_at_every_step():
    off = integrate(OnUnitSphere(), 1.3 * NORTH[None], EAST[None], np.linspace(0.0, 3.0, 7), tol=1e-3)
    # The start is moved to the sphere, and all of the great circle has unit length to rounding, whatever the tolerance.
    np.testing.assert_allclose(np.linalg.norm(off.points[0], axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(np.sum(off.points * off.covectors, axis=2), 0.0, atol=1e-15)
    exact = np.column_stack([np.sin(off.times), 0 * off.times, np.cos(off.times)])
    np.testing.assert_allclose(off.points[0], exact, atol=5e-3)
