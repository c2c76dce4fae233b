"""The sphere experiment at small size, and its measurements on a bundle whose geodesics are known."""

from __future__ import annotations

import numpy as np
import pytest

from subbundle import geodesic
from subbundle.bundles.analytic import SphereTangent
from subbundle.experiments import sphere
from subbundle.geodesics.start import directions


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


def test_methods_on_great_circles():
    # SphereTangent's force is exact, so the drift is the integrator's alone.
    drift, halved = (
        {result.method: result for result in sphere.compare_methods(SphereTangent(2), n_steps=n, n_geodesics=3)}
        for n in (150, 300)
    )
    for method in ("euler", "semi_implicit_euler"):
        # Order 1: half the step, half the drift, up to the next order.
        assert drift[method].drift / halved[method].drift == pytest.approx(2.0, abs=0.5)
    assert drift["rk4"].drift / halved["rk4"].drift > 2**3.5
    # The paper's finding: in its explicit form the semi-implicit method keeps H worse than plain Euler.
    assert drift["semi_implicit_euler"].drift > drift["euler"].drift
    # Implicit midpoint keeps the quadratic invariants of great circles, up to the tolerance of its inner iteration.
    assert drift["implicit_midpoint"].drift < 1e-9
    assert drift["euler"].evaluations == 151


def test_drift_of_an_exact_great_circle_is_rounding():
    bundle = SphereTangent(2)
    fan = geodesic(bundle, sphere.BASE_POINT, directions(2, 3), length=1.0, n_points=5)
    angle = fan.times[None, :, None]
    start, velocity = fan.points[:, :1], fan.covectors[:, :1]
    exact = type(fan)(
        points=np.cos(angle) * start + np.sin(angle) * velocity,
        covectors=np.cos(angle) * velocity - np.sin(angle) * start,
        times=fan.times,
        status=fan.status,
        reached=fan.reached,
        lengths=fan.lengths,
        n_evaluations=fan.n_evaluations,
        end_points=fan.end_points,
        end_covectors=fan.end_covectors,
    )
    assert sphere.hamiltonian_drift(bundle, exact).max() < 1e-14


def test_command_prints_both_tables_and_draws(tmp_path, capsys, monkeypatch):
    small = sphere.measure
    monkeypatch.setattr(sphere, "measure", lambda noise, **kw: small(noise, n_geodesics=6, n_points=20, **kw))
    compare = sphere.compare_methods
    monkeypatch.setattr(sphere, "compare_methods", lambda bundle: compare(bundle, n_steps=20, n_geodesics=3))
    (path,) = sphere.run(seed=1, out=tmp_path, n_seeds=2)
    output = capsys.readouterr().out
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "0.9992 ± 0.0014" in output
    assert "1.0299 ± 0.0162" in output
    assert "Over 2 clouds" in output
    for method in ("euler", "semi_implicit_euler", "implicit_midpoint", "rk4", "dopri5"):
        assert f"\n{method} " in output
