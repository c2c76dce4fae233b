import numpy as np

from subbundle.cloud import Cloud
from subbundle.selection.base_point import central_points


def test_it_is_the_within_sample_frechet_mean():
    points = np.random.default_rng(0).standard_normal((300, 4)) ** 3
    distances = np.linalg.norm(points[:, None] - points[None], axis=2).mean(axis=1)
    found = central_points(Cloud(points), 5)
    # Up to 1000 observations all are judges, and the definition itself is computed.
    np.testing.assert_allclose(found, points[np.argsort(distances)[:5]], atol=1e-12)


def test_it_does_not_depend_on_the_order_of_the_rows():
    points = np.random.default_rng(1).standard_normal((2500, 3))
    shuffled = np.random.default_rng(2).permutation(points)
    np.testing.assert_array_equal(central_points(Cloud(points)), central_points(Cloud(shuffled)))
