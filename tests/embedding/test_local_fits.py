"""Local polynomials, evidence of noise, reduction and quality against closed forms and independent computations."""

import numpy as np
import pytest
from sklearn.manifold import trustworthiness

from subbundle import datasets
from subbundle.embedding.curvature import curved_fits, normal_coordinates
from subbundle.embedding.curves import curve_through
from subbundle.embedding.local_polynomials import distance_weights, fit_polynomials, leave_one_out
from subbundle.embedding.noise import denoise, evidence_of_noise
from subbundle.embedding.quality import neighborhoods_kept, quality
from subbundle.embedding.reduction import kept_components
from subbundle.graph.neighborhoods import nearest_rows


def paraboloid(count, rng):
    """Points of z = x² − ½ y² + x y around the origin, the origin first."""
    plane = np.concatenate([np.zeros((1, 2)), rng.uniform(-0.3, 0.3, (count, 2))])
    x, y = plane.T
    return np.column_stack([x, y, x**2 - 0.5 * y**2 + x * y])


def test_a_quadric_is_fitted_exactly():
    points = paraboloid(40, np.random.default_rng(0))
    near = np.argsort(np.linalg.norm(points, axis=1))[None, 1:]
    weights = distance_weights(np.linalg.norm(points[near], axis=2), np.ones(near.shape))
    found = fit_polynomials(points, points[:1], near, weights, 2, 2)
    # The first frame is off by the bend of the neighbourhood, and one tilt takes most of that away.
    np.testing.assert_allclose(found.points[0], 0.0, atol=2e-3)
    normal = np.cross(*found.frames[0])
    assert abs(normal[2]) > 0.999
    bend = np.einsum("qd,d->q", found.forms[0], [0.0, 0.0, 1.0])
    turn = found.frames[0, :, :2]
    expected = turn @ np.array([[2.0, 1.0], [1.0, -1.0]]) @ turn.T
    np.testing.assert_allclose(bend, expected[np.triu_indices(2)], atol=0.05)


def test_leaving_out_by_formula_is_leaving_out():
    rng = np.random.default_rng(1)
    points = paraboloid(14, rng) + 0.02 * rng.standard_normal((15, 3))
    near = np.argsort(np.linalg.norm(points - points[0], axis=1))[None, 1:]
    weights = distance_weights(np.linalg.norm(points[near] - points[0], axis=2), np.ones(near.shape))
    frames = np.eye(3)[None, :2]
    shown = leave_one_out(points, np.repeat(near, 15, axis=0), np.repeat(weights, 15, axis=0),
                          np.repeat(frames, 15, axis=0), np.array([0.1]))[0, 0]  # fmt: skip
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
    # 1e-9 of the trace steadies one of the two.
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


def test_noise_is_found_and_removed_only_where_it_is():
    noisy, clean = datasets.s_surface(1000, noise=0.03, seed=0), datasets.s_surface(300, seed=0)
    how = evidence_of_noise(noisy.points, np.ones(len(noisy.points)), 2)
    # One normal direction. The estimate has some 300 rows behind it.
    assert 0.8 < how.noise / 0.03 < 1.2
    moved = denoise(noisy.points, np.ones(len(noisy.points)), noisy.points, 2, how)
    before, after = (np.sqrt(np.mean(noisy.distance(x) ** 2)) for x in (noisy.points, moved))
    assert after < 0.5 * before
    assert evidence_of_noise(clean.points, np.ones(len(clean.points)), 2).n_neighbors == 0


def test_flat_noise_is_left_out_and_decaying_spectra_are_kept():
    rng = np.random.default_rng(3)
    for count in (150, 400, 1000):
        shape = datasets.s_surface(count, seed=4).points @ np.linalg.qr(rng.standard_normal((200, 3)))[0].T
        assert kept_components(shape + 0.02 * rng.standard_normal((count, 200)), 2, "auto").axes.shape[1] == 3
    decaying = rng.standard_normal((300, 60)) / np.arange(1, 61)
    assert kept_components(decaying, 2, "auto").axes.shape[1] > 50


def test_curves_are_told_from_sheets():
    t = np.linspace(0.0, 2.0 * np.pi, 80, endpoint=False)
    circle = np.column_stack([np.cos(t), np.sin(t)])
    order = np.random.default_rng(4).permutation(80)
    tour = curve_through(circle[order], strict=True)
    assert tour.closed
    steps = np.abs(np.diff(order[tour.order]))
    assert np.all(np.minimum(steps, 80 - steps) == 1)
    np.testing.assert_allclose(tour.distances()[0].max(), 80 * np.sin(np.pi / 80), rtol=0.01)
    uneven = np.sort(np.random.default_rng(5).uniform(0.0, 5.0, 120))
    assert not curve_through(np.column_stack([uneven, np.sin(uneven)]), strict=False).closed
    for sheet in (datasets.s_surface(200, seed=0).points, np.random.default_rng(6).standard_normal((150, 5))):
        assert curve_through(sheet, strict=False) is None


def test_quality_agrees_with_scikit_learn_and_knows_pca():
    rng = np.random.default_rng(7)
    points = rng.standard_normal((200, 5)) * [3.0, 2.0, 1.0, 1.0, 1.0]
    shown = points[:, :2] + 0.1 * rng.standard_normal((200, 2))
    trust, continuity = neighborhoods_kept(points, shown)
    assert trust == pytest.approx(trustworthiness(points, shown, n_neighbors=10), abs=1e-12)
    assert continuity == pytest.approx(trustworthiness(shown, points, n_neighbors=10), abs=1e-12)
    left, values, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    linear = quality(points, left[:, :2] * values[:2])
    assert linear.trustworthiness == linear.pca_trustworthiness
    assert linear.prediction_error == pytest.approx(linear.pca_prediction_error)
