"""The laws of a subbundle, for every built-in space and centring."""

from __future__ import annotations

import numpy as np
import pytest
from manifold_clouds import BANDWIDTH, EXACT, GENERAL, cloud, inside, steering

import subbundle.testing as laws
from subbundle.bundles.ridge_project import ridge_project
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.flow import ORDERS
from subbundle.spaces import Euclidean, Sphere
from subbundle.spaces.base import Space

CENTERINGS = ("recentred", "local", "none")
# Centrings go the same general way on all spaces: each meets the first space and two others, each space at least one.
PAIRS = [(GENERAL[0], centering) for centering in CENTERINGS]
PAIRS += [(space, CENTERINGS[i % 3]) for i, space in enumerate(GENERAL[1:])]


def make(space: Space, centering: str, n: int = 60, n_jobs: int | None = None) -> RiemannianSubbundle:
    return RiemannianSubbundle(cloud(space, n), 1, BANDWIDTH, space=space, centering=centering, n_jobs=n_jobs)


@pytest.mark.parametrize("centering", CENTERINGS)
@pytest.mark.parametrize("space", EXACT, ids=repr)
def test_closed_forms_obey_all_laws(space, centering):
    bundle, points = make(space, centering), inside(space, 2)
    euclidean = isinstance(space, (Euclidean, Sphere))
    # The kernel is cut at 1e-10, which is the accuracy that can be asked of the order of convergence.
    covectors = steering(bundle, points)
    laws.check_subbundle(bundle, points, covectors, euclidean=euclidean, length=0.3, floor=1e-9)


@pytest.mark.parametrize(("space", "centering"), PAIRS, ids=repr)
def test_differences_obey_the_laws(space, centering):
    bundle, points = make(space, centering, n=16), inside(space, 2)
    covectors = steering(bundle, points)
    laws.check_force_is_gradient(bundle, points, covectors)
    laws.check_batch_invariance(bundle, points, covectors, length=0.1)
    laws.check_hamiltonian_conserved(bundle, points, covectors, length=0.1)
    laws.check_time_homogeneity(bundle, points, covectors, length=0.1, tol=1e-6)
    laws.check_unit_speed_length(bundle, points, covectors, length=0.1)
    laws.check_horizontality(bundle, points, covectors, length=0.1)


@pytest.mark.parametrize(("space", "method"), [(GENERAL[0], "rk4"), (GENERAL[1], "implicit_midpoint")], ids=repr)
def test_differences_keep_the_order_of_a_method(space, method):
    bundle, points = make(space, "local", n=24), inside(space, 1)
    # Differences of H are accurate to 1e-9.
    slope = laws.check_convergence_order(
        bundle, points, steering(bundle, points), method=method, length=1.0, floor=5e-9
    )
    assert slope == pytest.approx(ORDERS[method], abs=0.3)


@pytest.mark.parametrize("space", [EXACT[1], GENERAL[0]], ids=repr)
def test_threads_do_not_matter(space):
    points = inside(space, 5)
    covectors = np.random.default_rng(0).standard_normal(points.shape)
    # Enough observations that rows are shared out.
    laws.check_n_jobs_invariance(
        lambda n_jobs: make(space, "recentred", n=24 if space in GENERAL else 2600, n_jobs=n_jobs),
        points,
        covectors,
        n_jobs=(1, 3),
        length=0.05,
    )


def test_the_order_of_the_observations_does_not_matter():
    space = GENERAL[0]
    data = cloud(space, 40)
    points = inside(space, 3)
    covectors = np.random.default_rng(0).standard_normal(points.shape)
    mixed = data[np.random.default_rng(0).permutation(40)]
    first, second = (
        RiemannianSubbundle(rows, 1, BANDWIDTH, space=space).field(points, covectors) for rows in (data, mixed)
    )
    assert first.velocity.tobytes() == second.velocity.tobytes()
    assert first.force.tobytes() == second.force.tobytes()


def test_large_and_small_chunks_give_the_same_bits(monkeypatch):
    from subbundle.bundles import _riemannian_differences as differences
    from subbundle.local import manifold

    space = GENERAL[2]
    points = inside(space, 4)
    covectors = np.random.default_rng(0).standard_normal(points.shape)
    bundle = make(space, "recentred", n=24)
    whole, ridge = bundle.field(points, covectors), ridge_project(bundle, points, errors=True)
    for module in (differences, manifold):
        monkeypatch.setattr(module, "GROUP_SIZE", 500)
    pieces, again = bundle.field(points, covectors), ridge_project(bundle, points, errors=True)
    assert whole.force.tobytes() == pieces.force.tobytes()
    for name in ("points", "tangents", "second_form", "position_error"):
        assert getattr(ridge, name).tobytes() == getattr(again, name).tobytes()
