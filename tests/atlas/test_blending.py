"""Each formula of the blend, by itself."""

import numpy as np
import pytest

from subbundle.atlas import blending


def test_projections_further_than_the_threshold_are_left_out():
    np.testing.assert_array_equal(blending.admitted(np.array([0.0, 0.1, 0.0999, 2.0]), 0.1), [True, False, True, False])


def test_the_rescaling_is_the_distance_over_the_affine_bijection_that_falls():
    radius = 0.7
    distance = np.linspace(0.0, radius, 8)

    def falling(d):  # the affine map with 0 ↦ 1 and r ↦ 0
        return np.interp(d, [0.0, radius], [1.0, 0.0])

    scaled = blending.rescaled(distance, np.full(8, radius))
    np.testing.assert_allclose(scaled[:-1], distance[:-1] / falling(distance[:-1]), rtol=1e-14)
    assert scaled[-1] == np.inf
    assert (np.diff(scaled[:-1]) > 0.0).all()
    assert blending.rescaled(np.array([0.8]), np.array([0.7])) == np.inf


@pytest.mark.parametrize("closest", ["rescaled", "geodesic"])
def test_weights_are_gaussian_in_the_rescaled_distance_from_the_nearest(closest):
    distances, radii, sigma = np.array([0.3, 0.1, 0.6]), np.array([0.5, 1.0, 1.0]), 0.8
    scaled = distances / (1.0 - distances / radii)
    nearest = np.argmin(scaled if closest == "rescaled" else distances)
    expected = np.exp(-((scaled - scaled[nearest]) ** 2) / (2.0 * sigma**2))
    found = blending.weights(np.zeros(3, np.int64), 1, distances, radii, sigma, closest=closest)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    # The paper's letter, 2σ instead of 2σ², is the root of σ.
    printed = np.exp(-((scaled - scaled[nearest]) ** 2) / (2.0 * sigma))
    found = blending.weights(np.zeros(3, np.int64), 1, distances, radii, np.sqrt(sigma), closest=closest)
    np.testing.assert_allclose(found, printed, rtol=1e-14)


def test_the_two_readings_differ_only_for_unequal_radii():
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(50), 4)
    distances = rng.uniform(0.0, 1.0, size=200)
    equal = [blending.weights(rows, 50, distances, np.ones(200), 1.0, closest=name) for name in blending.CLOSEST]
    np.testing.assert_array_equal(equal[0], equal[1])
    # A small chart at its border, and a large one: in the paper's reading the small one still has all the weight.
    at = np.array([0.5 * (1.0 - 1e-9), 0.6])
    small, large = (
        blending.weights(np.zeros(2, np.int64), 1, at, np.array([0.5, 1.0]), 1.0, closest=name)
        for name in ("geodesic", "rescaled")
    )
    np.testing.assert_allclose(small, [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(large, [0.0, 1.0], atol=1e-12)


def test_a_chart_has_no_weight_at_its_border_unless_it_is_alone():
    rows = np.array([0, 0, 1])
    found = blending.weights(rows, 2, np.array([1.0, 0.4, 1.0]), np.ones(3), 1.0)
    np.testing.assert_array_equal(found, [0.0, 1.0, 1.0])


def test_rows_are_independent():
    rng = np.random.default_rng(1)
    rows = np.sort(rng.integers(0, 20, size=100))
    distances, radii = rng.uniform(0.0, 1.0, size=100), rng.uniform(1.0, 2.0, size=100)
    together = blending.weights(rows, 20, distances, radii, 0.5)
    for row in range(20):
        own = rows == row
        alone = blending.weights(np.zeros(own.sum(), np.int64), 1, distances[own], radii[own], 0.5)
        np.testing.assert_array_equal(alone, together[own])


def test_an_unknown_reading_is_refused():
    with pytest.raises(ValueError, match="closest must be one of 'rescaled', 'geodesic'; got 'nearest'"):
        blending.weights(np.zeros(1, np.int64), 1, np.ones(1), np.ones(1), 1.0, closest="nearest")
