"""A chart as arrays, and back."""

import pickle

import numpy as np
import pytest

from subbundle.bundles.analytic import SphereTangent
from subbundle.charts.chart import Chart


@pytest.fixture(scope="module")
def chart():
    return Chart(SphereTangent(2), [0.0, 0.0, 1.0], 1.5)


def same(first, second):
    x = np.random.default_rng(0).uniform(-1.2, 1.2, (400, 3))
    a, b = first.locate(x, outside="nearest"), second.locate(x, outside="nearest")
    for name in ("coordinates", "points", "residuals", "status"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    v = np.random.default_rng(1).uniform(-1.5, 1.5, (400, 2))
    np.testing.assert_array_equal(first.inverse_transform(v), second.inverse_transform(v))
    np.testing.assert_array_equal(first.jacobian(v), second.jacobian(v))
    for name in ("radius", "injectivity_radius", "interpolation_error", "max_residual", "endings"):
        assert getattr(first, name) == getattr(second, name)


def test_a_saved_chart_computes_the_same_bits_without_its_bundle(chart, tmp_path):
    np.savez(tmp_path / "chart.npz", **chart.to_arrays())
    with np.load(tmp_path / "chart.npz", allow_pickle=False) as arrays:
        again = Chart.from_arrays(arrays)
    same(chart, again)


def test_pickle_keeps_the_bits(chart):
    chart.transform([[0.0, 0.0, 1.0]])
    same(chart, pickle.loads(pickle.dumps(chart)))


def test_rank_one_without_its_bundle():
    chart = Chart(SphereTangent(1), [0.0, 1.0], 1.0)
    again = Chart.from_arrays(chart.to_arrays())
    v = np.linspace(-1, 1, 7)[:, None]
    np.testing.assert_array_equal(chart.inverse_transform(v), again.inverse_transform(v))


def test_rank_three_without_its_bundle():
    chart = Chart(SphereTangent(3), [0.0, 0.0, 0.0, 1.0], 1.0, n_geodesics=40)
    again = Chart.from_arrays(chart.to_arrays())
    v = np.array([[0.1, 0.2, -0.3], [0.5, 0.0, 0.4]])
    np.testing.assert_array_equal(chart.inverse_transform(v), again.inverse_transform(v))
    x = chart.inverse_transform(v)
    np.testing.assert_array_equal(chart.transform(x), again.transform(x))


def test_searches_need_the_bundle():
    bundle = SphereTangent(3)
    chart = Chart(bundle, [0.0, 0.0, 0.0, 1.0], 1.0, n_geodesics=40, tol=1e-6)
    arrays = chart.to_arrays()
    with pytest.raises(ValueError, match=r"rank 3 with a tolerance follows geodesics.*needs its bundle.*from_arrays\("):
        Chart.from_arrays(arrays)
    again = Chart.from_arrays(arrays, bundle)
    x = chart.inverse_transform([[0.1, 0.2, -0.3], [0.5, 0.0, 0.4]])
    np.testing.assert_array_equal(chart.transform(x), again.transform(x))


def test_what_is_not_a_chart_is_refused(chart):
    arrays = chart.to_arrays()
    with pytest.raises(ValueError, match=r"must come from Chart.to_arrays\(\); base_point.* missing"):
        Chart.from_arrays({})
    with pytest.raises(ValueError, match=r"arrays\['extents'\] must fit the others.*damaged"):
        Chart.from_arrays(arrays | {"extents": arrays["extents"][:-1]})
    with pytest.raises(ValueError, match=r"arrays\['frame'\] must hold numbers along 2 axes.*damaged"):
        Chart.from_arrays(arrays | {"frame": arrays["frame"][0]})
    with pytest.raises(ValueError, match=r"arrays\['step'\] must hold numbers along 0 axes"):
        Chart.from_arrays(arrays | {"step": np.array("0.1")})
