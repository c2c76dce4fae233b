"""The paper's experiments on charts and logarithms, made small."""

import numpy as np
import pytest

from subbundle import Status
from subbundle.experiments import log_illustration, r50, s_surface


class TestSSurface:
    def test_the_truth_is_an_isometry(self):
        # Short chords of the surface are as long as those of its unrolling, to the square of their length.
        angle, across = np.linspace(-4.0, 4.0, 9), np.linspace(0.0, 1.0, 9)
        step = 1e-4
        chord = np.linalg.norm(s_surface.s_surface(angle + step, across) - s_surface.s_surface(angle, across), axis=1)
        along = s_surface.arc_length(angle + step) - s_surface.arc_length(angle)
        np.testing.assert_allclose(chord, along, rtol=1e-3)

    def test_clean_points_fill_the_unit_cube(self):
        sheet = s_surface.sample(0, n=2000, dim=5)
        np.testing.assert_allclose(sheet.clean[:, :3].min(axis=0), 0.0, atol=0.01)
        np.testing.assert_allclose(sheet.clean[:, :3].max(axis=0), 1.0, atol=0.01)
        # Noise in every coordinate: a relative error of 1/√(2·10000).
        assert np.std(sheet.points - sheet.clean) == pytest.approx(0.025, rel=0.05)

    def test_a_rigid_motion_is_found_and_a_scale_on_request(self):
        truth = np.random.default_rng(0).standard_normal((50, 2))
        turned = 2.0 * truth @ np.array([[0.6, -0.8], [0.8, 0.6]]) + [3.0, 1.0]
        np.testing.assert_allclose(s_surface.moved_onto(turned, truth, scaled=True), truth, atol=1e-12)
        half = s_surface.moved_onto(turned, truth) - truth
        np.testing.assert_allclose(half, truth - truth.mean(axis=0), atol=1e-12)

    def test_a_small_cloud_is_unrolled(self):
        result = s_surface.measure(0, n=1200, dim=8)
        # Noise along the sheet gives 0.035; the S is 3.6 long, and four times the noise is allowed to 1200 points.
        assert result.error < 0.14
        assert result.coverage > 0.9
        report = s_surface.report([result])
        assert f"{result.error:.4f}" in report
        assert "(0.47, 0.47, 0.49)" in report


class TestR50:
    def test_the_design_is_that_of_the_paper(self):
        points, (p, q) = r50.sample(0), r50.ends()
        assert points.shape == (10000, 50)
        # p and q lie on the sphere, ¾π apart.
        assert np.arccos(p @ q) == pytest.approx(0.75 * np.pi, abs=1e-12)
        assert np.std(points[:, 5:]) == pytest.approx(0.01, rel=0.01)
        # |x|² = 1 on the sphere, and the noise of five coordinates adds 5 σ².
        assert np.mean(np.sum(points[:, :5] ** 2, axis=1)) == pytest.approx(1.0005, abs=5e-4)

    def test_a_small_cloud_gives_the_distance(self):
        result = r50.measure(3, n=3000, dim=7, bandwidth=0.45)
        assert result.status == Status.OK
        # 3000 points on S⁴ leave a few per cent.
        assert result.error == pytest.approx(0.0, abs=0.08)
        assert result.residual < 0.1
        assert f"{result.error:+.4f}" in r50.report([result, result])


def test_the_logarithm_reaches_its_target_and_the_literal_objective_is_biased(monkeypatch):
    # A search in all covectors ends after a hundred iterations with four times the work, and is not tested here.
    monkeypatch.delitem(log_illustration.VARIANTS, "whole cotangent space")
    found = log_illustration.illustrate(seed=0, n=600)
    names = list(log_illustration.VARIANTS)
    exact, literal = found.logs[names[0]], found.logs[names[-1]]
    # The end lies off the observation by its noise across the surface, 0.05, at most three times that.
    assert float(exact.residuals) < 0.15
    # |exp − y|² + H is least ⅔ of the way on a flat space, and less on the S, which curves towards the target.
    assert float(literal.lengths / exact.lengths) < 0.7
    assert float(literal.residuals) > 1.0
    # Noise of both ends, and that of the bundle over a length of four.
    assert float(exact.lengths) == pytest.approx(found.truth, rel=0.05)
