import numpy as np
import pytest

from subbundle import datasets
from subbundle.selection import choose_rank
from subbundle.selection._growth import growth


def turned(points, dim, noise, seed=0):
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.standard_normal((dim, points.shape[1])))[0]
    return points @ frame.T + noise * rng.standard_normal((len(points), dim))


CLOUDS = {
    "spiral arm": (datasets.curve_in_plane(800, noise=0.03).points, 1),
    "torus": (datasets.torus(1500, noise=0.03).points, 2),
    "S in R^30": (turned(datasets.s_surface(1500).points, 30, 0.03), 2),
    "3-sphere": (datasets.sphere(2000, 3, noise=0.02).points, 3),
    "4-cube in R^6": (turned(np.random.default_rng(0).uniform(-1.0, 1.0, (2000, 4)), 6, 0.02), 4),
}


@pytest.mark.parametrize(("points", "k"), CLOUDS.values(), ids=list(CLOUDS))
def test_the_dimension_of_known_shapes(points, k):
    choice = choose_rank(points)
    assert choice.rank == k
    assert choice.confidence > 0.7
    assert choice.per_point.shape == (len(points),)
    # Borders and points of largest curvature may be counted differently.
    assert np.mean(choice.per_point == k) > 0.8


def test_outliers_do_not_matter():
    stray = np.random.default_rng(0).uniform(-1.5, 1.5, (80, 3))
    assert choose_rank(np.concatenate([datasets.torus(1500, noise=0.02).points, stray])).rank == 2


def test_points_of_two_dimensions_are_distinguished():
    line = np.column_stack([np.linspace(3.0, 9.0, 1000), np.zeros(1000), np.zeros(1000)])
    points = np.concatenate([line, datasets.sphere(2000, seed=1).points])
    points += 0.01 * np.random.default_rng(0).standard_normal(points.shape)
    found = choose_rank(points).per_point
    # Away from the ends of the line, where the nearest points are all of one kind.
    assert np.mean(found[100:1000] == 1) > 0.9
    assert np.mean(found[1000:] == 2) > 0.9


def test_scaling_shifting_shuffling_and_copies_do_not_matter():
    points = datasets.torus(900, noise=0.03).points
    choice = choose_rank(points)
    order = np.random.default_rng(0).permutation(len(points))
    shuffled = choose_rank(points[order])
    assert shuffled.scale == choice.scale
    np.testing.assert_array_equal(shuffled.per_point, choice.per_point[order])
    # Rounding of the shifted coordinates moves distances by 1e-13.
    assert choose_rank(8.0 * points + 3.0).scale == pytest.approx(8.0 * choice.scale, rel=1e-8)
    assert choose_rank(np.repeat(points, 3, axis=0)).rank == choice.rank


def test_noise_has_the_dimension_of_the_space_and_no_confidence():
    choice = choose_rank(np.random.default_rng(0).standard_normal((1500, 3)))
    assert (choice.rank, choice.confidence) == (3, 0.0)
    assert (choice.per_point == 3).all()
    assert choose_rank(np.random.default_rng(0).standard_normal((1500, 3)), max_rank=2).rank <= 2


def test_too_few_points_are_an_error():
    with pytest.raises(
        ValueError, match="at least 30 observations to count directions .*; got 20. Pass the rank instead"
    ):
        choose_rank(np.random.default_rng(0).standard_normal((20, 3)))


def test_curved_shapes_of_many_dimensions_by_the_growth_of_neighbourhoods():
    # At 2000 observations neighbourhoods with enough neighbours for covariances are wider than curvature allows.
    for points, k in ((datasets.sphere(2000, 5, noise=0.02).points, 5), (product_of_circles(2000, 4), 4)):
        choice = choose_rank(points)
        assert choice.rank == k
        assert np.mean(choice.per_point == k) > 0.8


def product_of_circles(n, k):
    angles = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, (n, k))
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


@pytest.mark.parametrize("k", [2, 4, 6])
def test_neighbourhoods_grow_with_the_power_of_the_dimension(k):
    # A Gaussian has no border; the density changes little within ten of 4000 neighbours.
    points = np.random.default_rng(0).standard_normal((4000, k))
    found = growth(points, 0.0)
    # Standard error k/√(9 n), and neighbourhoods overlap.
    assert found.dimension == pytest.approx(k, abs=0.15)
    assert found.bound >= k
    assert np.mean(found.local == k) > 0.5


def test_noise_in_many_dimensions_is_no_shape():
    for dim, n in ((5, 100), (8, 500), (12, 1000)):
        for points in (
            np.random.default_rng(1).standard_normal((n, dim)),
            np.random.default_rng(1).uniform(size=(n, dim)),
        ):
            choice = choose_rank(points)
            assert (choice.rank, choice.confidence, choice.method) == (dim, 0.0, "none")
