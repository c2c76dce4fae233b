"""Distances interpolated between the fans of landmarks, against distances in closed form."""

import numpy as np
import pytest

import subbundle as sb
from subbundle.geodesics._landmarks import Fans, interpolated, landmark_distances


@pytest.fixture(scope="module")
def sphere():
    """A bundle on 800 points of the unit sphere, and 60 points of its ridge."""
    bundle = sb.PrincipalSubbundle(sb.datasets.sphere(800, seed=0).points, 2, 0.3)
    return bundle, sb.ridge_project(bundle, sb.datasets.sphere(60, seed=1).points).points


def great_circles(x, y):
    unit_x, unit_y = (p / np.linalg.norm(p, axis=1, keepdims=True) for p in (x, y))
    return np.linalg.norm(x, axis=1).mean() * np.arccos(np.clip(unit_x @ unit_y.T, -1.0, 1.0))


def test_great_circles_from_40_landmarks(sphere):
    bundle, points = sphere
    found, through = landmark_distances(bundle, points, None, 1e-4, count=40)
    exact = great_circles(points, points)
    far = exact > 0.3
    errors = np.abs(found - exact)[far] / exact[far]
    # 40 landmarks are 0.6 apart, neighbours |v| = 0.4 away: |v|³ f‴/12 is 0.5 % of f = 1, and of either sign.
    assert np.median(errors) < 0.006
    assert np.quantile(errors, 0.95) < 0.03
    # Near the antipode, where geodesics of all directions meet, the smallest answer is above by part of |v|.
    assert errors.max() < 0.08
    np.testing.assert_array_equal(found, found.T)
    # A detour is no shorter than the distance, up to the error of a single fan.
    assert np.all(through[far] > 0.98 * exact[far])


def test_entries_do_not_depend_on_the_other_points(sphere):
    bundle, points = sphere
    whole, _ = landmark_distances(bundle, points[:6], points, 1e-4, count=12)
    some, _ = landmark_distances(bundle, points[2:4], points[5:9], 1e-4, count=12)
    np.testing.assert_array_equal(some, whole[2:4, 5:9])


class Plane:
    """The plane as a bundle, as far as `interpolated` asks."""

    def frame(self, points):
        class Found:
            vectors = np.broadcast_to(np.eye(2), (len(points), 2, 2))

        return Found


def fans(landmarks, points):
    offsets = points[None] - landmarks[:, None]
    lengths = np.linalg.norm(offsets, axis=2)
    return Fans(landmarks, lengths, offsets / lengths[..., None], offsets / lengths[..., None])


def test_the_error_is_of_third_order_in_the_plane():
    rng = np.random.default_rng(0)
    targets = rng.uniform(3.0, 5.0, (50, 2))
    errors = []
    for spacing in (0.4, 0.2):
        grid = spacing * np.stack(np.meshgrid(np.arange(-4, 5), np.arange(-4, 5)), axis=-1).reshape(-1, 2)
        points = np.random.default_rng(1).uniform(-0.1, 0.1, (40, 2)) * spacing / 0.4
        found = interpolated(Plane(), points, fans(grid, points), fans(grid, targets))
        errors.append(np.abs(found - np.linalg.norm(points[:, None] - targets[None], axis=2)).max())
    # Third order halves to an eighth; at symmetric places of a grid the third order cancels and less remains.
    assert errors[0] < 1e-3
    assert errors[1] < errors[0] / 6


def test_close_points_are_exact_in_the_plane():
    grid = 0.3 * np.stack(np.meshgrid(np.arange(-3, 4), np.arange(-3, 4)), axis=-1).reshape(-1, 2) + 0.01
    points = np.random.default_rng(2).uniform(-0.3, 0.3, (30, 2))
    found = interpolated(Plane(), points, fans(grid, points), fans(grid, points))
    exact = np.linalg.norm(points[:, None] - points[None], axis=2)
    near = (exact < 0.2) & (exact > 0)
    # The law of cosines holds in the plane.
    np.testing.assert_allclose(found[near], exact[near], rtol=1e-9, atol=1e-9)
