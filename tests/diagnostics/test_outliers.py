"""Outliers from the distribution of all distances: clean clouds have none, planted ones are found."""

import numpy as np
import pytest
from scipy.stats import f

import subbundle as sb
from subbundle.diagnostics.outliers import _freedom, outlying

SPREAD = {
    "one width": lambda rng, n: np.ones(n),
    "Student's, 3 degrees": lambda rng, n: np.sqrt(3.0 / rng.chisquare(3, n)),
    "two widths, 1 : 9": lambda rng, n: np.where(rng.random(n) < 0.5, 1.0, 9.0),
}


def distances(rng, n, normals, widths):
    return np.linalg.norm(rng.normal(size=(n, normals)), axis=1) * SPREAD[widths](rng, n)


@pytest.mark.parametrize("widths", SPREAD)
@pytest.mark.parametrize("normals", [1, 4, 14])
def test_clean_distances_have_no_outliers(normals, widths):
    found = [
        outlying(distances(np.random.default_rng(seed), 1000, normals, widths), normals, 0)[0] for seed in range(12)
    ]
    assert max(found) < 0.01


@pytest.mark.parametrize("normals", [1, 4, 14])
@pytest.mark.parametrize("share", [0.01, 0.03, 0.1])
def test_planted_outliers_are_found(normals, share):
    rng = np.random.default_rng(0)
    clean = distances(rng, 1000, normals, "one width")
    count = round(1000 * share / (1.0 - share))
    far = rng.uniform(30.0, 60.0, count) * np.sqrt(normals)
    fraction, least = outlying(np.concatenate([clean, far]), normals, 0)
    assert fraction == pytest.approx(share, abs=0.003)
    assert clean.max() * 0.8 < least <= far.min()


def test_observations_without_a_ridge_are_outliers():
    clean = distances(np.random.default_rng(0), 500, 2, "one width")
    fraction, least = outlying(clean, 2, 20)
    assert fraction == pytest.approx(20 / 520, abs=5e-3)
    assert least == np.inf or fraction > 20 / 520
    # All on the ridge itself: rounding has no law.
    assert outlying(np.zeros(10), 2, 0) == (0.0, np.inf)


@pytest.mark.parametrize("freedom", [0.7, 3.0, 40.0])
def test_the_degrees_of_freedom_are_those_of_the_quartiles(freedom):
    middle, upper = f.ppf([0.5, 0.75], 5, freedom)
    assert _freedom(5, np.log(upper / middle)) == pytest.approx(freedom, rel=1e-6)


def test_images_of_a_turning_and_tilting_ball_have_no_outliers():
    """A smooth surface in R^256 with no noise: where it bends most the ridge is farther from it."""
    rng = np.random.default_rng(0)
    turn, tilt = rng.uniform(0.0, 2.0 * np.pi, (300, 1)), rng.uniform(-0.6, 0.6, (300, 1))
    x, y = (side.ravel() for side in np.meshgrid(*[np.linspace(-1.2, 1.2, 16)] * 2))
    radius = np.hypot(x, y)
    z = np.sqrt(np.clip(1.0 - radius**2, 0.0, None))
    y, back = np.cos(tilt) * y + np.sin(tilt) * z, np.cos(tilt) * z - np.sin(tilt) * y
    x, back = np.cos(turn) * x + np.sin(turn) * back, np.cos(turn) * back - np.sin(turn) * x
    bumps = 1.0 + 0.3 * np.sin(3.0 * x) * np.cos(4.0 * y) + 0.2 * np.sin(5.0 * back)
    images = bumps * (0.4 + 0.6 * z) / (1.0 + np.exp((radius - 1.0) / 0.06))
    report = sb.diagnose(images, 2)
    assert report.outliers < 0.01
    assert not any("far from the ridge" in text for text in report.warnings)
    strange = rng.permuted(images[:15], axis=1)
    mixed = sb.diagnose(np.concatenate([images, strange]), 2, report.bandwidth)
    assert any("far from the ridge" in text for text in mixed.warnings)


def test_corners_of_a_noisy_shape_have_no_outliers():
    """A cube of three dimensions, bent in R^50: from its corners projections move inward along it."""
    rng = np.random.default_rng(0)
    inside = rng.uniform(-1.0, 1.0, (400, 3))
    bent = np.sin(inside @ rng.normal(size=(3, 50)) + rng.uniform(0.0, 6.0, 50))
    assert sb.diagnose(bent + 0.1 * rng.normal(size=bent.shape), 3).outliers < 0.01
