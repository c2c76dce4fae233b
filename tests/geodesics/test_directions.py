"""Directions spread evenly over spheres of any dimension."""

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.stats import kstest

from subbundle.geodesics import directions
from subbundle.geodesics.start import default_count


def nearest_distance(points):
    return cKDTree(points).query(points, k=2)[0][:, 1]


def test_one_dimension_has_two():
    np.testing.assert_array_equal(directions(1, 2), [[1.0], [-1.0]])
    with pytest.raises(ValueError, match=r"n must be an integer in 2..2 \(in one dimension the unit vectors are"):
        directions(1, 3)


def test_the_plane_has_equal_angles_from_zero():
    angles = np.unwrap(np.arctan2(*directions(2, 7).T[::-1]))
    np.testing.assert_allclose(angles, 2 * np.pi * np.arange(7) / 7, atol=1e-14)


@pytest.mark.parametrize("rank", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("n", [64, 1000])
def test_moments_are_those_of_the_sphere(rank, n):
    v = directions(rank, n)
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), 1.0, atol=1e-14)
    # Independent samples have moments off by 1/√n; even ones must be several times better. The factor grows with rank.
    slack = 0.5 * rank / np.sqrt(n) / (4.0 if n == 1000 else 1.0)
    assert np.abs(v.mean(axis=0)).max() < slack
    assert np.abs(v.T @ v / n - np.eye(rank) / rank).max() < slack


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_no_two_are_close(rank):
    n = 2000
    v = directions(rank, n)
    g = np.random.default_rng(0).normal(size=(n, rank))
    random = nearest_distance(g / np.linalg.norm(g, axis=1, keepdims=True))
    even = nearest_distance(v)
    # The closest of n random points are n^(-2/(k-1)) apart, of even ones n^(-1/(k-1)): a factor 45, 13, 7 for n = 2000.
    assert even.min() > 0.4 * n ** (1 / (rank - 1)) * random.min()
    assert np.median(even) > 1.2 * np.median(random)
    assert even.min() > 0.4 * np.median(even)


@pytest.mark.parametrize("rank", [3, 4, 6, 8])
def test_projections_have_the_distribution_of_the_sphere(rank):
    # (1 + v·w)/2 is Beta((k−1)/2, (k−1)/2) for uniform v and any unit w. Independent samples have a mean Kolmogorov
    # distance of 0.87/√n; even ones must do clearly better on average over w.
    n = 4000
    v = directions(rank, n)
    w = np.random.default_rng(1).normal(size=(20, rank))
    projections = (1 + v @ (w / np.linalg.norm(w, axis=1, keepdims=True)).T) / 2
    distances = [kstest(column, "beta", args=((rank - 1) / 2, (rank - 1) / 2)).statistic for column in projections.T]
    assert np.mean(distances) < 0.65 / np.sqrt(n)


def test_same_each_time_and_checked():
    np.testing.assert_array_equal(directions(4, 50), directions(4, 50))
    assert directions(5, 1).shape == (1, 5)
    with pytest.raises(ValueError, match="rank must be an integer >= 1; got 0"):
        directions(0, 5)
    with pytest.raises(TypeError, match=r"n must be an integer >= 1; got 2\.5"):
        directions(3, 2.5)


def test_directions_double_up_to_rank_five_and_then_grow_as_a_quadratic_function_has_coefficients():
    assert [default_count(k) for k in range(1, 6)] == [2, 100, 200, 400, 800]
    assert [default_count(k) for k in (6, 28)] == [64 * 21, 64 * 406]
