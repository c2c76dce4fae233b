"""The ground truth of other tests: uniform samples, exact distances, faithful unrolling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.stats import kstest

from subbundle import datasets
from subbundle._closest import spiral_directions

GENERATORS = [
    datasets.sphere,
    datasets.torus,
    datasets.s_surface,
    datasets.swiss_roll,
    datasets.curve_in_plane,
    datasets.bumpy_sphere,
]
# With a fixed seed these p-values are fixed too; a wrong density at n = 4000 gives values below 1e-6.
LEAST_P_VALUE = 1e-3


@pytest.mark.parametrize("generate", GENERATORS)
def test_equal_arguments_give_equal_bits_and_seeds_matter(generate):
    first, again, other = (
        generate(50, noise=0.1, seed=4),
        generate(50, noise=0.1, seed=4),
        generate(50, noise=0.1, seed=5),
    )
    assert first.points.tobytes() == again.points.tobytes()
    assert not np.array_equal(first.points, other.points)


@pytest.mark.parametrize("generate", GENERATORS)
def test_without_noise_the_observations_are_the_clean_points(generate):
    data = generate(40, seed=1)
    assert np.array_equal(data.points, data.clean)
    # The clean points are computed with a handful of operations on numbers of size 1.
    assert data.distance(data.clean).max() < 1e-13


@pytest.mark.parametrize("generate", GENERATORS)
def test_noise_has_the_stated_standard_deviation(generate):
    data = generate(4000, noise=0.3, seed=2)
    offsets = (data.points - data.clean).ravel() / 0.3
    assert kstest(offsets, "norm").pvalue > LEAST_P_VALUE


@pytest.mark.parametrize("generate", GENERATORS)
def test_distance_agrees_with_a_dense_sample(generate):
    rng = np.random.default_rng(0)
    dense = generate(200_000, seed=8).clean
    dim = dense.shape[1]
    far = rng.uniform(dense.min(axis=0) - 0.5, dense.max(axis=0) + 0.5, (300, dim))
    near = dense[:300] + 0.02 * rng.standard_normal((300, dim))
    queries = np.concatenate([far, near])
    exact, sampled = generate(5).distance(queries), cKDTree(dense).query(queries)[0]
    # No sample is nearer than the set; 1e-12 for rounding.
    assert (exact <= sampled + 1e-12).all()
    # The nearest sample lies within a gap g of the projection: sampled² <= exact² + 2 g·sampled·(curvature) + g²; the
    # largest gap of 200000 points on an area below 70 is under 0.08, and curvature at most doubles its share.
    assert (sampled**2 - exact**2 <= 2 * 0.08**2 + 4 * 0.08**2 * sampled).all()
    assert np.median(sampled - exact) < 1e-3


def test_distance_to_the_bumpy_sphere_is_stationary():
    # Independent of the Newton iteration: moving x by h along the direction to its projection lowers the distance by h.
    data = datasets.bumpy_sphere(200, noise=0.05, seed=3)
    step = 1e-5
    gradient = np.stack(
        [
            (data.distance(data.points + step * e) - data.distance(data.points - step * e)) / (2 * step)
            for e in np.eye(3)
        ],
        axis=1,
    )
    away = data.distance(data.points) > 10 * step  # the distance has a kink on the surface itself
    # Central differences: step² times the third derivative, which is of order 1/distance² > 1e-8·step^-2.
    lengths = np.linalg.norm(gradient[away], axis=1)
    assert np.median(np.abs(lengths - 1.0)) < 1e-7
    assert np.abs(lengths - 1.0).max() < 1e-2
    feet = data.points - data.distance(data.points)[:, None] * gradient
    assert np.median(data.distance(feet[away])) < 1e-8


def test_sphere_is_uniform_in_any_dimension():
    # Archimedes: on S² every coordinate is uniform on [−1, 1].
    assert kstest(datasets.sphere(4000, seed=1).clean[:, 2], "uniform", (-1, 2)).pvalue > LEAST_P_VALUE
    clean = datasets.sphere(4000, dim=6, seed=1).clean
    assert clean.shape == (4000, 7)
    # E[x xᵀ] = I/7; entries have standard deviation below 1/√4000 · 0.2, four of them give 0.013.
    assert np.abs(clean.T @ clean / 4000 - np.eye(7) / 7).max() < 0.013


def test_torus_is_uniform_by_area():
    clean = datasets.torus(4000, major=1.0, minor=0.6, seed=1).clean
    tube = np.mod(np.arctan2(clean[:, 2], np.hypot(clean[:, 0], clean[:, 1]) - 1.0), 2 * np.pi)
    # Area up to the tube angle v, of 2π·1: (R v + r sin v) / (2π R).
    assert kstest((tube + 0.6 * np.sin(tube)) / (2 * np.pi), "uniform").pvalue > LEAST_P_VALUE
    assert kstest(np.arctan2(clean[:, 1], clean[:, 0]), "uniform", (-np.pi, 2 * np.pi)).pvalue > LEAST_P_VALUE


def test_bumpy_sphere_is_uniform_by_area():
    # Against numerical quadrature: shares of area above planes, from evenly spread directions weighted by the area
    # element, which is checked below against triangle areas.
    clean = datasets.bumpy_sphere(20000, seed=2).clean
    surface = datasets._bumpy_surface()
    directions = spiral_directions(200_000)
    weights = surface.area_density(directions)
    positions = surface.radius(directions)[:, None] * directions
    for normal in np.eye(3):
        expected = np.sum(weights * (positions @ normal > 0.4)) / weights.sum()
        # A binomial share of 20000 has standard deviation at most 0.0036; four of them.
        assert abs(np.mean(clean @ normal > 0.4) - expected) < 0.0145


def test_bumpy_area_element_agrees_with_triangles():
    from scipy.spatial import ConvexHull

    directions = spiral_directions(40_000)
    surface = datasets._bumpy_surface()
    corners = (surface.radius(directions)[:, None] * directions)[ConvexHull(directions).simplices]
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum()
    # Triangles with edges h = 0.02 under-estimate a smooth area by a share of order h² = 4e-4.
    assert area == pytest.approx(4 * np.pi * surface.area_density(directions).mean(), rel=1e-3)


@pytest.mark.parametrize("generate", [datasets.s_surface, datasets.swiss_roll])
def test_unrolled_coordinates_are_an_isometry_and_uniform(generate):
    data = generate(20_000, seed=6)
    assert data.coordinates is not None
    _, neighbours = cKDTree(data.coordinates).query(data.coordinates[:500], k=2)
    there = np.linalg.norm(data.clean[:500] - data.clean[neighbours[:, 1]], axis=1)
    flat = np.linalg.norm(data.coordinates[:500] - data.coordinates[neighbours[:, 1]], axis=1)
    # A chord of a curve with radius R is shorter than its arc s by s³/(24 R²); s < 0.1 here and R > 0.4.
    assert (flat - there).min() > -1e-12
    assert (flat - there).max() < 0.1**3 / (24 * 0.4**2)
    for column in data.coordinates.T:
        low, high = column.min(), column.max()
        assert kstest(column, "uniform", (low, high - low)).pvalue > LEAST_P_VALUE


def test_swiss_roll_length_is_the_closed_form():
    data = datasets.swiss_roll(300, seed=1)
    t = 10 * np.hypot(data.clean[:, 0], data.clean[:, 2])

    def length(t):
        return (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 20

    # Simpson's rule on 4000 intervals of 0.0024: error of order 0.0024⁴.
    assert np.abs(data.coordinates[:, 0] - (length(t) - length(1.5 * np.pi))).max() < 1e-10


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="n must be an integer >= 1; got 0"):
        datasets.sphere(0)
    with pytest.raises(TypeError, match="seed must be an integer"):
        datasets.torus(5, seed=1.5)
    with pytest.raises(ValueError, match=r"noise must be 0 or a positive number; got -1.0"):
        datasets.s_surface(5, noise=-1.0)
    with pytest.raises(TypeError, match=r"noise must be 0 or a positive number; got \[0.1, 0.2\]"):
        datasets.s_surface(5, noise=[0.1, 0.2])
    with pytest.raises(ValueError, match="minor must be below major"):
        datasets.torus(5, major=1.0, minor=1.5)
    with pytest.raises(ValueError, match="points must have 3 coordinates per point"):
        datasets.bumpy_sphere(5).distance(np.zeros((4, 2)))


@pytest.mark.parametrize("generate", [datasets.sphere, datasets.swiss_roll, datasets.curve_in_plane, datasets.head])
def test_more_points_than_memory_holds_are_refused(generate):
    with pytest.raises(MemoryError, match=r"A dataset of so many points would hold .* Pass a smaller n\."):
        generate(10**30)
