"""What a search and a geodesic may cost where every evaluation of the field takes hundreds of logs on a manifold."""

import numpy as np
import pytest

import subbundle as sb
from subbundle.bundles import Constant, SphereTangent
from subbundle.bundles.base import sparing
from subbundle.geodesics._bfgs import bfgs
from subbundle.geodesics._levenberg import levenberg
from subbundle.geodesics.shooting import Shots
from subbundle.spaces import SO, Sphere


class Slow(Constant):
    """Parallel planes, as if their field were by differences."""

    by_differences = True


def test_only_fields_by_differences_are_spared():
    rng = np.random.default_rng(1)
    spaces = {SO(3): 5, Sphere(2): 50}
    for space, most in spaces.items():
        bundle = sb.RiemannianSubbundle(space.random_point(30, rng), 1, 0.7, space=space)
        assert sparing(bundle, 50) == most
    assert sparing(SphereTangent(2), 50) == 50


def test_a_geodesic_ends_after_a_thousand_steps_unless_told_otherwise():
    # Steps are at most two length scales long: 4000 of these take more than 1000 and fewer than 10000.
    bundle = Slow(np.eye(3)[:, :2])
    options = {"length": 4000.0 * bundle.length_scale, "n_points": 2}
    ended = sb.geodesic(bundle, [0, 0, 1.0], [1.0, 0.0], **options)
    assert ended.status == sb.Status.TOO_MANY_STEPS
    assert ended.n_evaluations <= 2 + 8 * 1000  # one more after each step, where a manifold projects it
    assert sb.geodesic(bundle, [0, 0, 1.0], [1.0, 0.0], max_steps=10_000, **options).status == sb.Status.OK


@pytest.mark.parametrize("search", [levenberg, bfgs])
def test_a_search_ends_after_its_evaluations(search):
    fired = []

    def fire(rows, unknowns):
        """Geodesics of 100 evaluations whose ends rise and fall too fast for any search to come to rest."""
        fired.append(len(rows))
        n = len(rows)
        ends = np.column_stack([1e3 + unknowns[:, 0] + np.sin(1e3 * unknowns[:, 0]), np.zeros(n)])
        slopes = np.column_stack([1.0 + np.zeros(n), np.zeros(n)])[:, :, None]
        return Shots(ends, slopes, np.ones(n), np.zeros(n, np.int8), ends.copy(), np.full(n, 100))

    found = search(
        fire, np.array([[0.3]]), speeds=1, penalty=0.0, scale=1.0, tol=1e-12, max_iterations=500, most=np.array([700])
    )
    # Eight of them exceed 700; BFGS follows one more at the end, and none of no rows at the beginning.
    assert sum(fired) <= 9
    assert found.spent[0] in range(701, 900) or sum(fired) < 8
    assert found.status[0] == sb.Status.NOT_CONVERGED
