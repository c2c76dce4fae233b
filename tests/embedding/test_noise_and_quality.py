"""Evidence of noise, reduction, curves and quality against closed forms and independent computations."""

import warnings

import numpy as np
import pytest
from scipy.stats import norm, ttest_1samp
from sklearn.manifold import trustworthiness

import subbundle as sb
from subbundle import datasets
from subbundle.cloud import Cloud
from subbundle.embedding import table
from subbundle.embedding.components import above_flat_tail
from subbundle.embedding.curves import curve_through
from subbundle.embedding.jackknife import exceeds, normal_score, without_blocks
from subbundle.embedding.noise import (
    NO_DENOISING,
    Denoising,
    _Fits,
    _with_noise,
    denoise,
    evidence_of_noise,
)  # fmt: skip
from subbundle.embedding.quality import neighborhoods_kept, prediction_error, quality
from subbundle.selection.components import principal_components


def test_noise_is_found_and_removed_only_where_it_is():
    noisy, clean = datasets.s_surface(1000, noise=0.03, seed=0), datasets.s_surface(300, seed=0)
    how = evidence_of_noise(noisy.points, np.ones(len(noisy.points)), 2)[0]
    # One normal direction. The estimate is from some 300 rows.
    assert 0.8 < how.noise / 0.03 < 1.2
    moved = denoise(noisy.points, np.ones(len(noisy.points)), noisy.points, 2, how)
    before, after = (np.sqrt(np.mean(noisy.distance(x) ** 2)) for x in (noisy.points, moved))
    assert after < 0.5 * before
    assert [how.n_neighbors for how in evidence_of_noise(clean.points, np.ones(len(clean.points)), 2)] == [0, 0]


@pytest.mark.parametrize("count", [1000, 8000, 20000])
def test_noise_wider_than_the_spacing_is_found_in_tables_of_any_size(count):
    # A unit square with noise of .06: neighbourhoods must grow with the rows to be wider than the noise.
    rng = np.random.default_rng(11)
    rows = np.column_stack([rng.uniform(0.0, 1.0, (count, 2)), 0.06 * rng.standard_normal(count)])
    rows = rows[Cloud(rows).order]
    how, _ = evidence_of_noise(rows, np.ones(count), 2)
    assert how.n_neighbors > count / 10
    # Borders of the square hide some of the noise: fits are tilted there.
    assert 0.6 < how.noise / 0.06 < 1.2


def test_one_outlier_does_not_decide_over_the_quality():
    rng = np.random.default_rng(12)
    rows = rng.uniform(size=(200, 2)) @ rng.standard_normal((2, 6))
    figures = [quality(x, x[:, :2]).prediction_error for x in (rows, np.vstack([rows, 1e3 * np.ones(6)]))]
    assert max(figures) < 1e-3


def test_flat_noise_is_left_out_and_decaying_spectra_are_kept():
    rng = np.random.default_rng(3)
    for count in (150, 400, 1000):
        shape = datasets.s_surface(count, seed=4).points @ np.linalg.qr(rng.standard_normal((200, 3)))[0].T
        assert above_flat_tail(principal_components(shape + 0.02 * rng.standard_normal((count, 200)))) == 3
    decaying = rng.standard_normal((300, 60)) / np.arange(1, 61)
    assert above_flat_tail(principal_components(decaying)) > 50


def test_curves_are_distinguished_from_sheets():
    t = np.linspace(0.0, 2.0 * np.pi, 80, endpoint=False)
    circle = np.column_stack([np.cos(t), np.sin(t)])
    order = np.random.default_rng(4).permutation(80)
    tour = curve_through(circle[order], strict=True)
    assert tour.closed
    steps = np.abs(np.diff(order[tour.order]))
    assert np.all(np.minimum(steps, 80 - steps) == 1)
    np.testing.assert_allclose(tour.distances()[0].max(), 80 * np.sin(np.pi / 80), rtol=0.01)
    uneven = np.sort(np.random.default_rng(5).uniform(0.0, 5.0, 120))
    assert not curve_through(np.column_stack([uneven, np.sin(uneven)]), strict=False).closed
    for sheet in (datasets.s_surface(200, seed=0).points, np.random.default_rng(6).standard_normal((150, 5))):
        assert curve_through(sheet, strict=False) is None


def test_curves_sampled_at_random_are_closed_or_open_as_they_are():
    rng = np.random.default_rng(8)
    for count in (60, 120, 300):
        for turn, closed in ((2.0 * np.pi, True), (1.6 * np.pi, False)):
            found = []
            for _ in range(10):
                t = rng.uniform(0.0, turn, count)
                found.append(
                    curve_through(np.column_stack([np.cos(t), np.sin(t), 0.3 * np.cos(2.0 * t)]), strict=False)
                )
            # An arc of four fifths lacks at least 12 mean edges; one in n closed curves is taken for open.
            assert sum(tour.closed == closed for tour in found if tour is not None) >= len(found) - 1


def test_a_trajectory_with_several_strands_is_no_curve():
    # Seven periods of a loop, two and a half steps apart.
    t = np.linspace(0.0, 14.0 * np.pi, 700)
    loop = np.column_stack([np.cos(t), np.sin(t), 0.15 * t / (2.0 * np.pi)])
    assert curve_through(loop, strict=False) is None
    assert curve_through(loop[:100], strict=False) is not None


def test_novelty_is_about_one_for_rows_that_were_held_out():
    # Few rows of a curve and of a sheet with noise in many dimensions: charts pass through the training rows.
    rng = np.random.default_rng(9)
    for rank, count in ((1, 120), (2, 300)):
        inside = rng.uniform(0.0, 1.0, (2 * count, rank))
        waves = np.concatenate([np.sin(2.0 * inside), np.cos(3.0 * inside)], axis=1)
        rows = waves @ rng.standard_normal((2 * rank, 30)) + 0.02 * rng.standard_normal((2 * count, 30))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sb.SubbundleWarning)
            model = sb.AtlasEmbedding(rank, reduce_dim=None).fit(rows[:count])
        assert 0.6 < np.median(model.novelty(rows[count:])) < 1.6
        assert model.novelty(rows[count : count + 1] + 1.0)[0] > 5.0


def test_equal_rows_are_refused_with_their_number():
    with pytest.raises(ValueError, match="X must have rows that differ; all 50 are equal"):
        sb.AtlasEmbedding(2).fit(np.ones((50, 4)))


def test_repeated_rows_do_not_predict_one_another():
    tosses = np.random.default_rng(10).integers(0, 2, (300, 6)).astype(float)
    figures = []
    for rows in (tosses, np.unique(tosses, axis=0)):
        with pytest.warns(sb.SubbundleWarning, match="no 2-dimensional shape"):
            figures.append(sb.AtlasEmbedding(2).fit(rows).quality_.prediction_error)
    assert min(figures) > 0.3


def test_quality_agrees_with_scikit_learn_and_includes_pca():
    rng = np.random.default_rng(7)
    points = rng.standard_normal((200, 5)) * [3.0, 2.0, 1.0, 1.0, 1.0]
    shown = points[:, :2] + 0.1 * rng.standard_normal((200, 2))
    trust, continuity = neighborhoods_kept(points, shown)
    assert trust == pytest.approx(trustworthiness(points, shown, n_neighbors=10), abs=1e-12)
    assert continuity == pytest.approx(trustworthiness(shown, points, n_neighbors=10), abs=1e-12)
    left, values, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    linear = quality(points, left[:, :2] * values[:2])
    assert linear.trustworthiness == linear.pca_trustworthiness
    assert linear.prediction_error == pytest.approx(linear.pca_prediction_error)


@pytest.mark.parametrize("seed", [1, 3])
def test_a_handful_of_rows_beside_a_far_outlier_can_be_diagnosed(seed):
    rows = np.random.default_rng(seed).standard_normal((8, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[0] += 4e11
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert sb.diagnose(rows, 2, n_jobs=1).n_points == 8


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_noise_wider_than_the_first_neighbourhoods_is_found(seed):
    # The nearest of 3000 rows lie within the noise: small fits follow it, and their risks do not predict larger ones.
    roll = datasets.swiss_roll(3000, noise=0.05, seed=seed)
    found, _ = evidence_of_noise(roll.points[Cloud(roll.points).order], np.ones(3000), 2)
    # The noise across the sheet; fits take a few per cent of it for curvature.
    assert found.noise == pytest.approx(0.05, rel=0.15)


def fits_of(order, reaches, totals):
    """Fits whose E is the same whichever block is left out, without a risk."""
    pairs = zip(reaches, totals, strict=True)
    return [_Fits(order, 10, reach, np.full(5, total), np.zeros(5), np.zeros(5)) for reach, total in pairs]


def test_noise_is_at_most_what_any_fit_that_reaches_as_far_leaves():
    planes, quadrics = fits_of(1, [1.0, 2.0, 4.0], [1.0, 1.0, 3.0]), fits_of(2, [1.5, 3.0, 6.0], [5.0, 2.0, 2.5])
    # Tilted frames: quadrics of the smallest reach leave more than planes that reach farther.
    known = _with_noise([planes, quadrics])
    by_reach = sorted(known, key=lambda fits: fits.squared_reach)
    assert [fits.total[0] for fits in by_reach] == [1.0, 1.0, 1.0, 2.0, 2.5, 2.5]
    # d log E/d log h between the neighbours of the same order; the reaches are squares.
    slopes = [0.0, 2.0 * np.log(2.5) / np.log(4.0), 2.0 * np.log(2.5) / np.log(2.0)]
    for fits, slope in zip(planes, slopes, strict=True):
        np.testing.assert_allclose(fits.noise, fits.total * np.clip(1.0 - slope / 2.0, 0.0, 1.0))


def test_the_standard_error_is_that_of_block_means_and_of_ratios_by_the_delta_method():
    rng = np.random.default_rng(13)
    values = rng.standard_normal(900) + 0.5
    left_out = without_blocks(values, 900)
    means = values.reshape(30, 30).mean(axis=1)
    error = means.std(ddof=1) / np.sqrt(30.0)
    assert np.sqrt(29.0) * np.std(left_out) == pytest.approx(error, rel=1e-10)
    for away, above in ((0.99, False), (1.01, True)):
        assert exceeds(left_out - left_out.mean() + away * error) is above
    one_sided = ttest_1samp(means - 0.45, 0.0, alternative="greater").pvalue
    assert normal_score(values - 0.45) == pytest.approx(norm.isf(one_sided), rel=1e-6)
    other = 5.0 + rng.standard_normal(900)
    ratio = left_out / without_blocks(other, 900)
    linear = (means - ratio.mean() * other.reshape(30, 30).mean(axis=1)) / other.mean()
    # The jackknife of a ratio has errors of higher order in the spread of its denominator.
    assert np.sqrt(29.0) * np.std(ratio) == pytest.approx(linear.std(ddof=1) / np.sqrt(30.0), rel=0.05)


def test_where_charts_disagree_the_layout_that_predicts_best_is_taken(monkeypatch):
    rng = np.random.default_rng(14)
    rows = rng.standard_normal((240, 6))
    rows = rows[Cloud(rows).order]
    candidates = [NO_DENOISING, Denoising(1, 18, 1.0, 1.0), Denoising(2, 40, 1.0, 1.0)]

    # No principal components instead, nor refits that ask for them.
    monkeypatch.setattr(table, "normal_score", lambda _: -9.0)

    def laid_out(*first):
        monkeypatch.setattr(table, "_denoising", lambda *_: first)
        return table.lay_out_table(rows, np.ones(240), 2, metric="auto", n_neighbors=None, bandwidth="auto", n_jobs=1)

    errors = [prediction_error(rows, laid_out(how).coordinates(rows)) for how in candidates]
    best = int(np.argmin(errors))
    worst = int(np.argmax(errors))
    assert errors[best] < 0.98 * errors[worst]
    others = [how for how in candidates if how is not candidates[worst]]
    assert laid_out(candidates[worst], *others).denoising == candidates[best]
