"""Fits to nearest neighbours and their curvature against closed forms and independent computations."""

import numpy as np
import pytest

from subbundle import Cloud, datasets
from subbundle._types import Status
from subbundle.charts.quadratic_chart import normal_coordinates
from subbundle.graph.neighborhoods import nearest_rows
from subbundle.kernels import tail
from subbundle.local.model import fit_local
from subbundle.local.neighbor_fits import (
    _mean_over,
    curved_fits,
    distance_weights,
    fit_size,
    fit_to_neighbors,
    leave_one_out,
)
from subbundle.local.tuning import LEFT_OUT


def paraboloid(count, rng):
    """Points of z = x² − ½ y² + x y around the origin, the origin first."""
    plane = np.concatenate([np.zeros((1, 2)), rng.uniform(-0.3, 0.3, (count, 2))])
    x, y = plane.T
    return np.column_stack([x, y, x**2 - 0.5 * y**2 + x * y])


def test_a_quadric_is_fitted_exactly():
    points = paraboloid(40, np.random.default_rng(0))
    near = np.argsort(np.linalg.norm(points, axis=1))[None, 1:]
    weights = distance_weights(np.linalg.norm(points[near], axis=2), np.ones(near.shape))
    found = fit_to_neighbors(points, points[:1], near, weights, 2, 2)
    # The first frame is biased by curvature, and one tilt removes most of the bias.
    np.testing.assert_allclose(found.points[0], 0.0, atol=2e-3)
    normal = np.cross(*found.frames[0])
    assert abs(normal[2]) > 0.999
    bend = np.einsum("qd,d->q", found.forms[0], [0.0, 0.0, 1.0])
    turn = found.frames[0, :, :2]
    expected = turn @ np.array([[2.0, 1.0], [1.0, -1.0]]) @ turn.T
    np.testing.assert_allclose(bend, expected[np.triu_indices(2)], atol=0.05)


def test_given_neighbours_fill_the_record_of_the_local_model():
    rng = np.random.default_rng(2)
    count, dim, noise = 400, 5, 0.03
    points = np.column_stack([rng.uniform(-1.0, 1.0, (count, 2)), noise * rng.standard_normal((count, dim - 2))])
    queries = points[np.abs(points[:, :2]).max(axis=1) < 0.6]
    # All observations with the weights of a Gaussian window, and that window in the cloud.
    squared = np.sum((points - queries[:, None]) ** 2, axis=2) / 0.25**2
    weights = np.where(squared < tail(2, LEFT_OUT), np.exp(-0.5 * squared), 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    near = np.tile(np.arange(count), (len(queries), 1))
    given = fit_to_neighbors(points, queries, near, weights, 2, 2)
    window = fit_local(Cloud(points), queries, 0.25, 2, order=2)
    np.testing.assert_allclose(given.mean, window.mean, atol=1e-12)
    np.testing.assert_allclose(given.eigenvalues[:, :2], window.eigenvalues[:, :2], rtol=1e-9)
    np.testing.assert_allclose(given.n_effective, window.n_effective, rtol=1e-9)
    np.testing.assert_allclose(np.abs(np.einsum("nkd,ndk->nk", given.frames, given.tangents)), 1.0, rtol=1e-12)
    # The window is penalised a little, and its basis tilted after the fit; the first is exact for the free noise.
    assert np.median(given.noise) == pytest.approx(noise, rel=0.05)
    np.testing.assert_allclose(np.median(given.residual / window.residual), 1.0, atol=0.02)
    sine = np.linalg.norm(given.tangents[:, 2:], axis=(1, 2))
    assert np.sqrt(np.mean((sine / given.tangent_error) ** 2)) == pytest.approx(1.0, abs=0.25)
    # The variance of the height is that of the points off the plane, in units of that of an observation.
    off = np.square(given.points[:, 2:]).mean(axis=1)
    assert np.sqrt(np.mean(off) / np.mean(given.height_gain)) == pytest.approx(noise, rel=0.25)
    assert (given.status == Status.OK).all()
    line = fit_to_neighbors(points * [1.0, 0.0, 0.0, 0.0, 0.0], queries[:1], near[:1, :2], np.full((1, 2), 0.5), 2, 1)
    assert line.status[0] == Status.GAP_CLOSED


def test_leaving_out_by_formula_is_leaving_out():
    rng = np.random.default_rng(1)
    points = paraboloid(14, rng) + 0.02 * rng.standard_normal((15, 3))
    near = np.argsort(np.linalg.norm(points - points[0], axis=1))[None, 1:]
    weights = distance_weights(np.linalg.norm(points[near] - points[0], axis=2), np.ones(near.shape))
    frames = np.eye(3)[None, :2]
    shown = leave_one_out(points, points[:1], near, weights, frames, np.array([0.1]), 2)[0, 0]
    offsets = points[near[0]] - points[0]
    scale = np.sqrt(np.sum(weights[0] * np.sum(offsets**2, axis=1)))
    u, v = offsets[:, 0] / scale, offsets[:, 1] / scale
    design = np.column_stack([np.ones(14), u, v, u**2, u * v, v**2])
    total = 0.0
    for i in range(14):
        kept = np.arange(14) != i
        gram = design[kept].T @ (weights[0, kept, None] * design[kept]) + np.diag([0, 0, 0, 0.1, 0.1, 0.1])
        solution = np.linalg.solve(gram, design[kept].T @ (weights[0, kept] * offsets[kept, 2]))
        total += weights[0, i] * (offsets[i, 2] - design[i] @ solution) ** 2
    # 1e-9 of the trace regularises one of the two.
    np.testing.assert_allclose(shown, total / scale**2, rtol=1e-5)


def test_curvature_is_taken_where_there_is_evidence():
    points = datasets.sphere(600, seed=0).points
    found, misfit = curved_fits(points, np.ones(len(points)), nearest_rows(points, 12), 2)
    np.testing.assert_allclose(np.abs(np.einsum("nkd,nd->nk", found.frames, points)), 0.0, atol=0.02)
    inward = np.einsum("nqd,nd->nq", found.forms, points)
    np.testing.assert_allclose(np.median(inward, axis=0), [-1.0, 0.0, -1.0], atol=0.05)
    cloud = np.random.default_rng(2).standard_normal((300, 6))
    flat, poor = curved_fits(cloud, np.ones(len(cloud)), nearest_rows(cloud, 12), 2)
    assert misfit < 0.02 < 0.3 < poor
    # Without a shape the forms are shrunk to a fraction of the inverse spacing.
    assert np.median(np.linalg.norm(flat.forms, axis=2)) < 0.3


def test_directions_on_a_sphere_are_those_of_great_circles():
    tau = np.array([[[0.3, 0.0], [0.1, 0.2]]])
    forms = np.array([[[0.0, 0.0, -1.0], [0.0, 0.0, 0.0], [0.0, 0.0, -1.0]]])
    found = normal_coordinates(tau, forms)
    # A great circle at the angle θ has τ = sin θ: θ = τ + τ³/6 to third order, in the same direction.
    lengths = np.linalg.norm(tau, axis=2, keepdims=True)
    np.testing.assert_allclose(found, tau * (1.0 + lengths**2 / 6.0), rtol=1e-12)


def test_errors_of_large_fits_are_averaged_over_the_nodes_where_they_are_known():
    # Errors are known at the first node of two clusters, and nowhere in the third.
    members = np.repeat(np.arange(9).reshape(3, 3), 3, axis=0)
    errors = np.full((9, 2), np.nan)
    errors[[0, 3]] = [[1.0, 2.0], [4.0, 3.0]]
    means = _mean_over(errors, members)
    np.testing.assert_array_equal(means[[1, 5, 8]], [[1.0, 2.0], [4.0, 3.0], [2.5, 2.5]])
    errors[:] = np.random.default_rng(0).random((9, 2))
    np.testing.assert_allclose(means_of_known(errors, members), _mean_over(errors, members), rtol=1e-15)


def means_of_known(errors, members):
    return np.array([np.mean([errors[j] for j in row], axis=0) for row in members])


def test_a_shape_of_many_dimensions_gets_planes_of_few_neighbours():
    # A quadric of rank 24 has 325 coefficients; a flat shape needs none of them.
    rng = np.random.default_rng(3)
    frame = np.linalg.qr(rng.standard_normal((30, 24)))[0]
    points = rng.standard_normal((200, 24)) @ frame.T
    assert fit_size(24) == 50
    assert fit_size(14) == 240
    found, misfit = curved_fits(points, np.ones(200), nearest_rows(points, 60), 24)
    # Every tangent space is the shape itself.
    np.testing.assert_allclose(found.frames @ frame @ frame.T, found.frames, atol=1e-8)
    assert not found.forms.any()
    assert misfit < 1e-6
