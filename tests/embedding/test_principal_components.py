"""Tables without a shape: their layout is that of principal components."""

import numpy as np
import pytest

import subbundle as sb
from subbundle.embedding.quality import least_prediction_error, prediction_error


def without_shape(count, dim, seed=0):
    """Gaussian rows with variances 1, 1/2, 1/3, …: no floor of noise, and no dimension at which to stop."""
    rotation = np.linalg.qr(np.random.default_rng(9).standard_normal((dim, dim)))[0]
    return np.random.default_rng(seed).standard_normal((count, dim)) / np.sqrt(1.0 + np.arange(dim)) @ rotation


def principal_axes(rows):
    """The mean and the two leading principal axes [2, d]."""
    mean = rows.mean(axis=0)
    return mean, np.linalg.svd(rows - mean, full_matrices=False)[2][:2]


def test_the_least_prediction_error_is_that_of_linear_regression_for_linear_rows():
    rng = np.random.default_rng(0)
    positions = rng.standard_normal((300, 2))
    rows = positions @ rng.standard_normal((2, 20)) + 2.0 * rng.standard_normal((300, 20))
    # Residuals of rows that are left out, in closed form: those of the regression over 1 − h, h its leverages.
    design = np.column_stack([np.ones(300), positions])
    hat = design @ np.linalg.pinv(design)
    held_out = (rows - hat @ rows) / (1.0 - np.diag(hat))[:, None]
    truth = np.sum(held_out**2) / np.sum((rows - rows.mean(axis=0)) ** 2)
    # The slopes are drawn to zero by a penalty of 1e-3 or so of the weight of all rows.
    assert least_prediction_error(rows, positions) == pytest.approx(truth, rel=2e-3)
    # Eight neighbours predict their own noise.
    assert prediction_error(rows, positions) > 1.05 * truth


@pytest.mark.parametrize("count", [90, 400])
def test_rows_without_a_shape_are_laid_out_by_their_principal_components(count):
    rows = without_shape(count, 30)
    with pytest.warns(sb.SubbundleWarning, match="which predict rows better"):
        model = sb.AtlasEmbedding(2).fit(rows)
    assert model.metric_ == "linear"
    mean, axes = principal_axes(rows)
    truth = (rows - mean) @ axes.T
    # The same up to a rigid motion: scalar products of the centred coordinates agree.
    found = model.embedding_ - model.embedding_.mean(axis=0)
    np.testing.assert_allclose(found @ found.T, truth @ truth.T, atol=1e-6 * np.sum(truth**2))
    # Rows that were not in the table too, and points in the plane come back.
    new = without_shape(50, 30, seed=1)
    np.testing.assert_allclose(model.locate(new).points, mean + (new - mean) @ axes.T @ axes, atol=1e-6)


@pytest.mark.filterwarnings("ignore:The shape cannot be flattened")
def test_a_curved_sheet_with_noise_is_not_taken_for_a_plane():
    roll = sb.datasets.swiss_roll(600, noise=0.03, seed=0)
    assert sb.AtlasEmbedding(2).fit(roll.points).metric_ != "linear"
