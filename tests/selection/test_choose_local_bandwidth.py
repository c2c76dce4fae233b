"""Choosing a bandwidth that depends on the point, against closed forms and against the choice of one bandwidth."""

import numpy as np
import pytest

from subbundle import LocalBandwidth, PrincipalSubbundle, SubbundleWarning, datasets, ridge_project
from subbundle.cloud import Cloud
from subbundle.selection import choose_bandwidth, choose_local_bandwidth
from subbundle.selection.local_bandwidth import field_of, gain, pilot


def cone(n, noise=0.01, seed=0):
    """Radii from 0.1 to 1, as many points at each: curvature and density both fall to a tenth towards the rim."""
    rng = np.random.default_rng(seed)
    radius, angle = rng.uniform(0.1, 1.0, n), rng.uniform(0.0, 2.0 * np.pi, n)
    clean = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 2.0 * radius])
    return clean, clean + noise * rng.standard_normal(clean.shape)


def cone_error(points, clean, bandwidth):
    """Root mean square distance of the ridge to the cone, at points away from its borders and spread by area."""
    rim = np.hypot(clean[:, 0], clean[:, 1])
    rng = np.random.default_rng(1)
    asked = clean[(rim > 0.15) & (rim < 0.9) & (rng.uniform(size=len(clean)) < rim)][:400]
    ridge = ridge_project(PrincipalSubbundle(points, 2, bandwidth, min_density=1e-9), asked).points
    height = (2.0 * np.hypot(ridge[:, 0], ridge[:, 1]) - ridge[:, 2]) / np.sqrt(5.0)
    return float(np.sqrt(np.mean(height**2)))


@pytest.fixture(scope="module")
def found():
    clean, points = cone(4000)
    return clean, points, choose_local_bandwidth(points, 2)


class TestTheChoice:
    def test_it_beats_every_single_bandwidth_where_scales_differ(self, found):
        clean, points, choice = found
        assert choice.method == "split-sample risk"
        assert choice.gain < 0.9
        assert choice.spread > 1.8
        middle = choose_bandwidth(points, 2).bandwidth
        oracle = min(cone_error(points, clean, middle * factor) for factor in 2.0 ** np.arange(-0.75, 1.0, 0.25))
        # With the best bandwidth at each point, found with the truth, it is 0.67.
        assert cone_error(points, clean, choice.bandwidth) < 0.9 * oracle

    def test_the_estimate_of_the_error_is_of_its_size(self, found):
        clean, points, choice = found
        reached = cone_error(points, clean, choice.bandwidth)
        # Averaged over observations, of which there are more near the tip; and it does not use the truth.
        assert 0.4 * reached < choice.error < 2.5 * reached

    def test_the_order_of_rows_and_the_number_of_threads_do_not_matter(self):
        points = cone(1200)[1]
        first = choose_local_bandwidth(points, 2, n_jobs=1)
        shuffled = choose_local_bandwidth(points[np.random.default_rng(5).permutation(len(points))], 2, n_jobs=2)
        np.testing.assert_array_equal(first.bandwidth.values, shuffled.bandwidth.values)
        np.testing.assert_array_equal(first.bandwidth.points, shuffled.bandwidth.points)

    def test_copies_count_once(self):
        points = cone(1200)[1]
        once = choose_local_bandwidth(points, 2)
        again = choose_local_bandwidth(np.concatenate([points, points[:300]]), 2)
        # The cloud is centred twice: rounding, and its effect on the grid.
        np.testing.assert_allclose(again.bandwidth(points[:50]), once.bandwidth(points[:50]), rtol=1e-6)

    def test_one_bandwidth_where_nothing_else_would_gain(self):
        points = datasets.sphere(3000, noise=0.03, seed=0).points
        choice = choose_local_bandwidth(points, 2)
        assert choice.method == "one bandwidth"
        assert choice.spread == 1.0
        assert choice.gain > 0.93
        np.testing.assert_allclose(choice.bandwidth(points[:9]), choose_bandwidth(points, 2).bandwidth, rtol=1e-12)

    def test_small_clouds_get_one_bandwidth(self):
        points = datasets.sphere(500, noise=0.03, seed=0).points
        choice = choose_local_bandwidth(Cloud(points), 2)
        assert (choice.method, choice.spread) == ("one bandwidth", 1.0)
        assert np.isnan(choice.gain)

    def test_pure_noise_gets_an_answer(self):
        noise = np.random.default_rng(0).normal(size=(1500, 3))
        with pytest.warns(SubbundleWarning, match="No shape of dimension 2 stands out") as caught:
            choice = choose_local_bandwidth(noise, 2)
        assert caught[0].filename == __file__
        assert isinstance(choice.bandwidth, LocalBandwidth)
        assert np.isfinite(choice.bandwidth.values).all()

    def test_purpose_must_be_known(self):
        with pytest.raises(ValueError, match="purpose must be one of 'ridge', 'tangents', 'geodesics'; got 'mesh'"):
            choose_local_bandwidth(datasets.sphere(50).points, 2, purpose="mesh")


class TestTheGain:
    def test_gain_of_two_places_with_different_optima(self):
        factors = 2.0 ** (np.arange(17) / 4.0)
        risks = np.stack([np.exp(np.log(factors / best) ** 2) for best in (2.0, 8.0)], axis=1)
        # At its own optimum each has risk 1; at the common one, their geometric mean 4, both have exp(log² 2).
        expected = np.exp(-0.5 * np.log(2.0) ** 2)
        # Linear in logs between points of a parabola: off by (log 2^¼)²/4 of the curvature.
        found = gain(factors, risks, np.ones(2), np.array([2.0, 8.0]), below=-2, above=8)
        assert found == pytest.approx(expected, rel=0.01)


class TestThePilot:
    def test_it_follows_the_spacing(self):
        rng = np.random.default_rng(0)
        along = np.sort(rng.uniform(0.0, 1.0, 4000)) ** 2  # spacing grows with the root of the place
        points = np.column_stack([along, np.zeros((4000, 2))])
        field = pilot(points[::8], points, 1, 60)
        ratio = field(np.array([[0.81, 0.0, 0.0]])) / field(np.array([[0.09, 0.0, 0.0]]))
        assert ratio[0] == pytest.approx(3.0, rel=0.25)  # smoothed over a sixteenth of the points

    def test_fields_are_not_steep(self):
        places = np.linspace(0.0, 1.0, 200)[:, None] * [1.0, 0.0]
        field = field_of(places, np.log(np.where(places[:, 0] < 0.5, 0.01, 1.0)), places[::4])
        assert np.quantile(np.linalg.norm(field.with_gradient(places)[1], axis=1), 0.98) <= 0.5
