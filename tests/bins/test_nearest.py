"""Nearest neighbours by bins, against all distances."""

import numpy as np
import pytest

from subbundle.bins import Bins


def by_all_distances(points, places, k):
    """Distances and rows of the k nearest, ties by row."""
    squares = np.sum((points[None] - places[:, None]) ** 2, axis=2)
    rows = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return np.sqrt(np.take_along_axis(squares, rows, axis=1)), rows


@pytest.mark.parametrize("spacing", [0.02, 0.1, 0.4, 5.0])
@pytest.mark.parametrize("k", [1, 3, 16])
def test_neighbours_are_the_nearest_whatever_the_bins(k, spacing):
    rng = np.random.default_rng(0)
    sphere = rng.normal(size=(400, 3))
    points = sphere / np.linalg.norm(sphere, axis=1, keepdims=True)
    # On the surface, inside, outside, and so far away that a tree must help.
    places = np.concatenate([points[:50], 0.3 * points[:20], 1.2 * points[:50], 40.0 * points[:5]])
    distances, rows = Bins(points, spacing).query(places, k)
    expected, nearest = by_all_distances(points, places, k)
    assert np.array_equal(rows, nearest)
    # Sums of three squares, rounded in whatever order.
    assert np.allclose(distances, expected, rtol=1e-14, atol=1e-15)


def test_of_equal_distances_the_lower_row_comes_first():
    grid = np.stack(np.meshgrid(*(np.arange(6.0),) * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    shuffled = np.random.default_rng(1).permutation(len(grid))
    points, places = grid[shuffled], grid[:40] + 0.5
    for spacing in (0.5, 1.0, 2.0):
        assert np.array_equal(Bins(points, spacing).query(places, 8)[1], by_all_distances(points, places, 8)[1])


def test_points_far_apart_have_wider_bins_and_all_of_them_are_found():
    points = np.concatenate([np.random.default_rng(2).uniform(size=(100, 3)), [[1e5, -1e5, 1e5]]])
    bins = Bins(points, 1e-3)
    assert np.array_equal(bins.query(points, len(points))[1][:, 0], np.arange(len(points)))
    assert np.array_equal(bins.query(points[-1:] + 1.0, 101)[1], by_all_distances(points, points[-1:] + 1.0, 101)[1])


def test_points_of_one_plane_or_line():
    line = np.linspace(0.0, 1.0, 50)[:, None] * [1.0, 0.0, 0.0]
    assert np.array_equal(Bins(line, 0.02).query(line + [0.0, 0.001, 0.0])[1][:, 0], np.arange(50))
