"""Estimators with a bandwidth that depends on the point."""

import re

import numpy as np
import pytest

import subbundle as sb


@pytest.fixture(scope="module")
def cone():
    """A cone of slant 2 : 1, radii 0.1 to 1 with as many points at each, a little noise."""
    rng = np.random.default_rng(0)
    radius, angle = rng.uniform(0.1, 1.0, 2500), rng.uniform(0.0, 2.0 * np.pi, 2500)
    clean = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 2.0 * radius])
    return clean + 0.01 * rng.standard_normal(clean.shape)


@pytest.fixture(scope="module")
def metric(cone):
    return sb.GeodesicDistance(2, bandwidth="local").fit(cone)


def test_distances_on_a_cone_are_those_of_the_unrolled_one(metric):
    assert metric.local_bandwidth_.values.max() > 1.5 * metric.local_bandwidth_.values.min()
    assert metric.bundle_.local_bandwidth is not None
    radius = np.array([0.3, 0.5, 0.8])
    start = np.column_stack([radius, 0.0 * radius, 2.0 * radius])
    end = np.column_stack([0.0 * radius, radius, 2.0 * radius])
    # A quarter turn is π/2 · r/(√5 r) of the unrolled sector, whose radius is √5 r.
    truth = 2.0 * np.sqrt(5.0) * radius * np.sin(0.25 * np.pi / np.sqrt(5.0))
    found = np.array([metric(a, b) for a, b in zip(start, end, strict=True)])
    np.testing.assert_allclose(found, truth, rtol=0.03)  # noise of 0.01 over 30 neighbours, on ways of 0.5 to 1.3


def test_saved_and_loaded_it_gives_the_same_bits(metric, cone, tmp_path):
    sb.save(metric, tmp_path / "metric.npz")
    again = sb.load(tmp_path / "metric.npz")
    np.testing.assert_array_equal(again.local_bandwidth_.values, metric.local_bandwidth_.values)
    np.testing.assert_array_equal(again.bundle_.local_bandwidth.values, metric.bundle_.local_bandwidth.values)
    assert again.bandwidth_ == metric.bandwidth_
    assert again(cone[0], cone[1]) == metric(cone[0], cone[1])


def test_where_it_gains_nothing_there_is_one_bandwidth():
    points = sb.datasets.sphere(2000, noise=0.03, seed=0).points
    one, local = (sb.GeodesicDistance(2, bandwidth=width).fit(points) for width in ("auto", "local"))
    assert local.local_bandwidth_ is None
    assert local.bandwidth_ == one.bandwidth_


def test_the_atlas_and_manifolds_have_one_bandwidth_only(cone):
    with pytest.raises(ValueError, match="bandwidth must be one of 'auto'; got 'local'"):
        sb.AtlasEmbedding(2, bandwidth="local").fit(cone)
    points = cone / np.linalg.norm(cone, axis=1, keepdims=True)
    with pytest.raises(ValueError, match="bandwidth must be one of 'auto'; got 'local'"):
        sb.GeodesicDistance(1, bandwidth="local", space=sb.spaces.Sphere(2)).fit(points)


def test_the_command_prints_the_range_of_bandwidths(cone, tmp_path, capsys):
    from subbundle.cli import main

    np.save(tmp_path / "cone.npy", cone)
    main(["denoise", str(tmp_path / "cone.npy"), "-o", str(tmp_path / "clean.csv"), "--bandwidth", "local"])
    assert re.search(r"2500 points in R\^3, .*bandwidth 0\.\d+ \(0\.\d+ to 0\.\d+\)", capsys.readouterr().out)
