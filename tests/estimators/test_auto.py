"""Estimators choose parameters that are not given, and show the choices."""

from types import SimpleNamespace

import numpy as np
import pytest

import subbundle as sb
from subbundle import datasets


@pytest.fixture(scope="module")
def points():
    return datasets.s_surface(700, noise=0.02, seed=0).points


def test_the_chart_shows_what_it_chose(points):
    model = sb.PrincipalSubmanifold("auto", base_point="auto", radius="auto").fit(points)
    assert model.n_components_ == 2
    assert model.embedding_.shape == (700, 2)
    assert 0.05 < model.bandwidth_ < 0.6
    assert model.radius_ == model.chart_.radius
    along = sb.PrincipalSubmanifold(2, bandwidth=model.bandwidth_, base_point="learned").fit(points)
    # The centre of the S is where its two arcs join: (0, 1, 0), up to some spacings of 0.16.
    assert np.linalg.norm(along.base_point_ - [0.0, 1.0, 0.0]) < 0.8


def test_atlas_and_distance_show_what_they_chose(points, tmp_path):
    atlas = sb.AtlasEmbedding("auto").fit(points)
    assert atlas.n_components_ == 2
    assert atlas.embedding_.shape == (700, 2)
    metric = sb.GeodesicDistance("auto", method="atlas").fit(points)
    assert metric.rank_ == 2
    assert sb.load(sb.save(metric, tmp_path / "metric.npz")).rank_ == 2
    assert sb.load(sb.save(atlas, tmp_path / "atlas.npz")).n_components_ == 2


def test_on_a_known_manifold():
    angle = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, 300)
    ring = np.column_stack([np.cos(angle), np.sin(angle), 0.3 + 0.05 * np.random.default_rng(1).standard_normal(300)])
    rows = ring / np.linalg.norm(ring, axis=1, keepdims=True)
    assert sb.GeodesicDistance("auto", space=sb.spaces.Sphere(2), bandwidth=0.3).fit(rows).rank_ == 1


def test_uncertain_ranks_are_reported_and_strings_checked(points):
    noise = np.random.default_rng(0).standard_normal((300, 3))
    with pytest.warns(sb.SubbundleWarning, match="rank='auto' chose 2, which only 0% of the sampled points support"):
        assert sb.GeodesicDistance("auto", bandwidth=1.0).fit(noise).rank_ == 2
    for make in (sb.PrincipalSubmanifold, sb.AtlasEmbedding):
        with pytest.raises(ValueError, match="n_components must be a positive integer or 'auto'; got 'two'"):
            make("two").fit(points)
    with pytest.raises(ValueError, match="rank must be a positive integer or 'auto'; got 'two'"):
        sb.GeodesicDistance("two").fit(points)
    with pytest.raises(ValueError, match="at least 30 observations .* Pass the rank instead"):
        sb.PrincipalSubmanifold("auto").fit(points[:20])
    with pytest.raises(ValueError, match="base_point must be one of 'frechet', 'learned', 'auto'; got 'middle'"):
        sb.PrincipalSubmanifold(2, bandwidth=0.3, base_point="middle").fit(points)


def test_a_shape_has_one_coordinate_at_least(points, monkeypatch):
    monkeypatch.setattr(
        "subbundle.estimators._learn.choose_rank", lambda X, max_rank: SimpleNamespace(rank=0, confidence=0.0)
    )
    with pytest.warns(sb.SubbundleWarning, match="chose 1, which only 0% of the sampled points support"):
        assert sb.GeodesicDistance("auto", bandwidth=0.3).fit(points).rank_ == 1
