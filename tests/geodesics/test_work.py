"""What a search and a geodesic may cost where every evaluation of the field takes hundreds of logs on a manifold."""

from dataclasses import replace

import numpy as np
import pytest

import subbundle as sb
from subbundle.bundles import Constant, SphereTangent
from subbundle.bundles.base import Subbundle
from subbundle.flow.integrate import most_steps, shared_steps
from subbundle.geodesics._minimise import bfgs, levenberg
from subbundle.geodesics.shooting import Shots, shoot
from subbundle.spaces import SO, SPD, Euclidean, Hyperbolic, Kendall, Product, Sphere


class Slow(Constant):
    """Parallel planes, as if their field were by differences."""

    is_costly = True


def on(space):
    return sb.RiemannianSubbundle(space.random_point(30, np.random.default_rng(1)), 1, 0.7, space=space)


# Every bundle that there is, and whether its force is a central difference: where a space has constant curvature, and
# in R^d, it is in closed form.
BUNDLES = {
    "Heisenberg": (sb.bundles.Heisenberg, False),
    "SphereTangent": (lambda: SphereTangent(2), False),
    "Constant": (lambda: Constant(np.eye(3)[:, :2]), False),
    "R^3": (lambda: sb.PrincipalSubbundle(np.random.default_rng(1).normal(size=(60, 3)), 1, 0.7), False),
    "Euclidean": (lambda: on(Euclidean(2)), False),
    "Sphere": (lambda: on(Sphere(2)), False),
    "Hyperbolic": (lambda: on(Hyperbolic(2)), False),
    "SO": (lambda: on(SO(3)), True),
    "SPD": (lambda: on(SPD(2)), True),
    "Kendall": (lambda: on(Kendall(4, 2)), True),
    "Product": (lambda: on(Product(Sphere(2), Euclidean(1))), True),
}


@pytest.mark.parametrize("name", BUNDLES)
def test_only_fields_by_differences_are_costly(name):
    make, costly = BUNDLES[name]
    bundle = make()
    assert isinstance(bundle, Subbundle)
    assert bundle.is_costly is costly


def test_a_bundle_that_lacks_an_attribute_gets_a_message():
    class Silent:
        ambient_dim, rank, length_scale = 3, 2, 1.0
        frame, field = SphereTangent(2).frame, SphereTangent(2).field

    with pytest.raises(TypeError, match=r"bundle must be a subbundle.*which has no is_costly\.$"):
        sb.geodesic(Silent(), [0, 0, 1.0], [1.0, 0.0], length=1.0)


def test_a_geodesic_ends_after_a_thousand_steps_unless_given_otherwise():
    # Steps are at most two length scales long: 4000 of these take more than 1000 and fewer than 10000.
    bundle = Slow(np.eye(3)[:, :2])
    options = {"length": 4000.0 * bundle.length_scale, "n_points": 2}
    ended = sb.geodesic(bundle, [0, 0, 1.0], [1.0, 0.0], **options)
    assert ended.status == sb.Status.TOO_MANY_STEPS
    assert ended.n_evaluations <= 2 + 8 * 1000  # one more after each step, where a manifold projects it
    assert sb.geodesic(bundle, [0, 0, 1.0], [1.0, 0.0], max_steps=10_000, **options).status == sb.Status.OK


class Rough(Slow):
    """The same with a force that changes sign within a millionth of the length scale: no step is long enough."""

    def field(self, points, covectors):
        found = super().field(points, covectors)
        return replace(found, force=found.force + 1e3 * np.sign(np.sin(1e6 * points)))


def test_a_geodesic_ends_after_twenty_steps_a_length_scale_whatever_its_neighbours_are():
    bundle = Rough(np.eye(3)[:, :2])
    run = sb.flow.integrate(bundle, np.zeros((2, 3)), np.eye(3)[:2] * [[1.0], [7.0]], np.array([4.0]))
    assert (run.status == sb.Status.TOO_MANY_STEPS).all()
    # Seven stages a step, the first of them kept; rows are as long as they are fast.
    assert (run.n_evaluations <= 2 + 7 * 20 * np.array([4.0, 28.0])).all()
    alone = sb.flow.integrate(bundle, np.zeros((1, 3)), np.eye(3)[:1], np.array([4.0]))
    np.testing.assert_array_equal(alone.end_points[0], run.end_points[0])
    # A finer tolerance takes more steps, 10^(1/5) for each digit, and may.
    assert most_steps(bundle, 4.0, 1e-11) == 10 * most_steps(bundle, 4.0) == 800


def test_a_trial_of_a_search_ends_after_twenty_steps_a_length_scale():
    frame = np.eye(3)[None, :2]
    shots = shoot(Rough(np.eye(3)[:, :2]), np.zeros((1, 3)), frame, np.array([[3.0, 0.0]]), 1e-4, radial=True)
    assert shots.status[0] == sb.Status.TOO_MANY_STEPS
    assert shots.evaluations[0] <= 2 + 7 * 20 * 3.1  # a trial beside it is a little longer


def test_a_submanifold_has_fewer_geodesics_and_a_bound_for_all_of_them():
    bundle = Rough(np.eye(3)[:, :2])
    found = sb.submanifold(bundle, [0, 0, 1.0], 1000.0, step=100.0)
    assert found.n_geodesics == 25
    assert (found.status == sb.Status.TOO_MANY_STEPS).all()
    assert found.geodesics.n_evaluations.sum() <= 25 * 2 + 7 * 2500
    assert shared_steps(bundle, 1000.0, 25) == 100
    assert shared_steps(bundle, 1000.0, 2) == 1250
    assert shared_steps(bundle, 1000.0, 1000) == 40
    assert shared_steps(Constant(np.eye(3)[:, :2]), 1000.0, 1000) == 50_000
    # Rows that were not reached have a status and no point.
    assert not found.valid[1:].any()
    assert sb.submanifold(bundle, [0, 0, 1.0], 1.0, step=0.5, n_geodesics=80, max_steps=3).n_geodesics == 80


@pytest.mark.parametrize("search", [levenberg, bfgs])
def test_a_search_ends_after_its_evaluations(search):
    fired = []

    def shoot_rows(rows, unknowns):
        """Geodesics of 100 evaluations whose ends rise and fall too fast for any search to converge."""
        fired.append(len(rows))
        n = len(rows)
        ends = np.column_stack([1e3 + unknowns[:, 0] + np.sin(1e3 * unknowns[:, 0]), np.zeros(n)])
        slopes = np.column_stack([1.0 + np.zeros(n), np.zeros(n)])[:, :, None]
        return Shots(ends, slopes, np.ones(n), np.zeros(n, np.int8), ends.copy(), np.full(n, 100))

    found = search(
        shoot_rows,
        np.array([[0.3]]),
        speeds=1,
        penalty=0.0,
        scale=1.0,
        tol=1e-12,
        max_iterations=500,
        most=np.array([700]),
    )
    # Eight of them exceed 700; BFGS follows one more at the end, and none of no rows at the beginning.
    assert sum(fired) <= 9
    assert found.spent[0] in range(701, 900) or sum(fired) < 8
    assert found.status[0] == sb.Status.NOT_CONVERGED
