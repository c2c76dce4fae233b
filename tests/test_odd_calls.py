"""Odd calls: any input gives a result or a refusal. A short run of `python -m benchmarks fuzz`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import subbundle as sb

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks._fuzz_rows import ALLOWED
from benchmarks._fuzz_worker import outcome

# Subjects that take milliseconds; the others are left to the long run.
QUICK = (
    "PrincipalSubbundle", "geodesic", "exp", "geodesic_between", "submanifold", "connected_components", "spaces",
    "spaces, made", "ridge_project, carry_to_ridge", "Cloud, LocalBandwidth, datasets, integrate",
)  # fmt: skip


@pytest.mark.parametrize("subject", QUICK)
def test_a_result_or_a_refusal(subject):
    for number in range(6):
        ending, message = outcome(subject, 0, number)
        assert ending in ALLOWED, message


@pytest.fixture(scope="module")
def sphere():
    points = np.random.default_rng(0).normal(size=(300, 3))
    return sb.PrincipalSubbundle(points / np.linalg.norm(points, axis=1, keepdims=True), 2, 0.5)


@pytest.mark.parametrize("far", [1e3, 1e9])
def test_a_chart_beside_a_far_outlier(far):
    t, u = np.random.default_rng(1).uniform(0.0, 1.0, (2, 100))
    points = np.column_stack([t, u, 0.02 * np.sin(7.0 * t)])
    points[50] = far
    chart = sb.Chart(sb.PrincipalSubbundle(points, 2, 0.3), points[0])
    assert 0.0 < chart.radius < 4.0
    np.testing.assert_allclose(chart.inverse_transform(np.zeros((1, 2)))[0], chart.base_point, atol=1e-9)


def test_no_rows_give_no_rows(sphere):
    none, point = np.empty((0, 3)), np.array([0.0, 0.0, 1.0])
    assert sb.exp(sphere, none, none).shape == (0, 3)
    assert sb.log(sphere, point, none, search="full").covectors.shape == (0, 3)
    assert sb.log(sphere, point, none, method="bfgs").points.shape == (0, 3)
    assert sb.distance(sphere, point, none).shape == (0,)
    assert sb.pairwise_distance(sphere, none).shape == (0, 0)
    assert sb.pairwise_distance(sphere, none, point[None]).shape == (0, 1)
    assert sb.connected_components(sphere).label(none).shape == (0,)


def test_what_is_no_bundle_is_refused_with_a_message(sphere):
    for call in (
        lambda: sb.exp(None, [0.0], [0.0]),
        lambda: sb.log("sphere", [0.0], [0.0]),
        lambda: sb.pairwise_distance(sb.PrincipalSubbundle, np.zeros((2, 3))),
        lambda: sb.Chart(3, [0.0, 0.0]),
    ):
        with pytest.raises(TypeError, match="bundle must be a subbundle"):
            call()
    with pytest.raises(TypeError, match="learned from data"):
        sb.connected_components(sb.bundles.SphereTangent(2))


def test_results_too_large_are_refused_before_they_are_made(sphere):
    point = np.array([0.0, 0.0, 1.0])
    with pytest.raises(MemoryError, match="smaller n_points"):
        sb.geodesic(sphere, point, [1.0, 0.0], length=1.0, n_points=10**30)
    with pytest.raises(MemoryError, match="larger step"):
        sb.submanifold(sphere, point, 1.0, step=1e-9)
    with pytest.raises(ValueError, match="at most 651 here, 651 length scales"):
        sb.Chart(sb.bundles.SphereTangent(2), point, radius=1e9)


@pytest.mark.parametrize("walk", [sb.carry_to_ridge, sb.ridge_project])
def test_more_steps_than_any_iteration_takes_are_refused(sphere, walk):
    with pytest.raises(ValueError, match=r"max_steps must be an integer in 1\.\.10000; got 1000000000"):
        walk(sphere, np.array([[0.0, 0.0, 1.0]]), max_steps=10**9)


def test_ragged_rows_on_a_manifold_are_refused_with_a_message():
    model = sb.GeodesicDistance(2, space=sb.spaces.Sphere(2))
    with pytest.raises(ValueError, match="X must be an array; got rows of unequal length"):
        model.fit([[1.0, 0.0, 0.0], [1.0]])


def test_points_out_of_reach_belong_to_no_component(sphere):
    assert sb.connected_components(sphere).label(np.array([[1e200, 0.0, 0.0]])).tolist() == [-1]


def test_the_librarys_errors_are_value_errors():
    assert issubclass(sb.SubbundleError, ValueError)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(6))
def test_a_handful_of_rows_on_a_line(seed):
    # One cluster, one coordinate: what translates everything has no energy, up to rounding of either sign.
    rows = np.random.default_rng(seed).standard_normal((8, 2))
    assert sb.AtlasEmbedding(1).fit(rows).embedding_.shape == (8, 1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_rows", [2, 3])
def test_fewer_rows_than_have_neighbours_are_diagnosed(n_rows):
    rows = np.random.default_rng(0).standard_normal((n_rows, 3))
    assert sb.diagnose(rows, 1, 1.0).n_points == n_rows
