"""What a search, a geodesic and a chart may cost where every evaluation of the field takes hundreds of logs."""

import numpy as np
import pytest

import subbundle as sb
from subbundle.bundles.base import sparing
from subbundle.geodesics.shooting import MOST_EVALUATIONS
from subbundle.spaces import SO, Sphere


class Counted(sb.RiemannianSubbundle):
    """Counts the calls of the field; one call has all rows of a batch."""

    calls = 0

    def field(self, points, covectors):
        self.calls += 1
        return super().field(points, covectors)


@pytest.fixture(scope="module")
def rough():
    """Uniform rotations: the principal directions of noise turn everywhere, and searches do not converge."""
    return SO(3).random_point(30, np.random.default_rng(1))


def test_only_fields_by_differences_are_spared(rough):
    assert sparing(sb.RiemannianSubbundle(rough, 1, 0.7, space=SO(3)), 50) == 5
    assert (
        sparing(
            sb.RiemannianSubbundle(Sphere(2).random_point(30, np.random.default_rng(0)), 1, 0.7, space=Sphere(2)), 50
        )
        == 50
    )
    assert sparing(sb.bundles.SphereTangent(2), 50) == 50


def test_a_geodesic_ends_after_a_thousand_steps_unless_told_otherwise(rough):
    bundle = sb.RiemannianSubbundle(rough, 3, 0.7, space=SO(3))
    base, way = bundle.landmarks(1)[0], np.array([1.0, 0.0, 0.0])
    few = sb.geodesic(bundle, base, way, length=1e5, n_points=2, max_steps=3)
    assert few.status == sb.Status.TOO_MANY_STEPS
    # One evaluation at the start, seven to a step; a geodesic of this length needs far more than 1000 steps.
    ended = sb.flow.integrate(bundle, base[None], few.covectors[:1], np.array([1e5]), tol=1e-9, unit_speed=True)
    assert ended.status[0] == sb.Status.TOO_MANY_STEPS
    assert ended.n_evaluations[0] <= 1 + 7 * 1000


@pytest.mark.parametrize("method", ["lm", "bfgs"])
def test_a_search_ends_after_its_evaluations(rough, method):
    bundle = Counted(rough, 1, 0.5, space=SO(3), n_jobs=1)
    flat = rough.reshape(-1, 9)
    bundle.calls = 0
    sb.log(bundle, flat[0], flat[1], method=method, tol=1e-9, max_iterations=10_000)
    # The shots after which the budget is seen to be spent take up to 400 steps each, in four runs.
    assert bundle.calls <= sparing(bundle, MOST_EVALUATIONS) + 4 * (7 * 400 + 10)
