"""The sphere experiment at small size, and its measurements on a bundle whose geodesics are known."""

from __future__ import annotations

import numpy as np
import pytest

from subbundle.experiments import sphere


@pytest.fixture(scope="module")
def clean():
    return sphere.measure(0.0, n_geodesics=12, n_points=40)


def test_clean_geodesics_stay_on_the_sphere(clean):
    # The bars of the experiment: mean within 0.002 of 1, standard deviation up to 0.0025.
    assert abs(clean.mean_norm - 1.0) <= 0.002
    assert clean.sd_norm <= 0.0025
    assert clean.n_reached == 12
    # Great circles meet at the pole; 2000 observations are 0.08 apart, so a quarter of that is kept.
    assert clean.pole_distance < 0.04


def test_noisy_geodesics_stay_closer_than_the_papers():
    results = [sphere.measure(0.1, seed=seed, n_geodesics=8, n_points=30) for seed in range(4)]
    means = [result.mean_norm for result in results]
    # The mean norm of one cloud varies by 0.01 with the noise around the base point, so four average to half of that.
    assert abs(np.mean(means) - 1.0) < 0.01
    assert max(result.sd_norm for result in results) <= 0.0162


def test_measure_agrees_with_its_definition(clean):
    norms = np.linalg.norm(clean.geodesics.points, axis=2)
    assert clean.geodesics.points.shape == (12, 40, 3)
    assert clean.mean_norm == pytest.approx(norms.mean(), rel=1e-14)
    assert clean.sd_norm == pytest.approx(norms.std(), rel=1e-12)


def test_command_prints_the_tables_and_draws(tmp_path, capsys, monkeypatch):
    small = sphere.measure
    monkeypatch.setattr(sphere, "measure", lambda noise, **kw: small(noise, n_geodesics=6, n_points=20, **kw))
    (path,) = sphere.run(seed=1, out=tmp_path, n_seeds=2)
    output = capsys.readouterr().out
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "0.9992 ± 0.0014" in output
    assert "1.0299 ± 0.0162" in output
    assert "Over 2 clouds" in output
