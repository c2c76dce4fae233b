"""Tables without a shape: their layout is that of principal components."""

from types import SimpleNamespace

import numpy as np
import pytest

import subbundle as sb
from subbundle.cloud import Cloud
from subbundle.embedding import table
from subbundle.embedding.table import held_out_differences


def without_shape(count, dim, seed=0):
    """Gaussian rows with variances 1, 1/2, 1/3, …: no floor of noise, and no dimension at which to stop."""
    rotation = np.linalg.qr(np.random.default_rng(9).standard_normal((dim, dim)))[0]
    return np.random.default_rng(seed).standard_normal((count, dim)) / np.sqrt(1.0 + np.arange(dim)) @ rotation


def principal_axes(rows):
    """The mean and the two leading principal axes [2, d]."""
    mean = rows.mean(axis=0)
    return mean, np.linalg.svd(rows - mean, full_matrices=False)[2][:2]


def test_differences_are_those_of_rows_that_were_left_out():
    rows, weights = without_shape(100, 6), np.ones(100)
    asked = []

    def laid_out(left):
        asked.append(np.setdiff1d(np.arange(100), left))
        # Maps every row to the first axis of the table and back.
        shown = SimpleNamespace(evaluate=lambda z: z * np.eye(6)[0])
        return SimpleNamespace(atlas=shown, coordinates=lambda out: out[:, :1])

    found = held_out_differences(rows, weights, 2, laid_out)
    # Every row is left out once, a fifth at a time.
    np.testing.assert_array_equal(np.sort(np.concatenate(asked)), np.arange(100))
    assert max(map(len, asked)) == 20
    truth = np.empty(100)
    for out in asked:
        mean, axes = principal_axes(np.delete(rows, out, axis=0))
        flat = mean + (rows[out] - mean) @ axes.T @ axes
        truth[out] = np.sum(rows[out, 1:] ** 2, axis=1) - np.sum((rows[out] - flat) ** 2, axis=1)
    np.testing.assert_allclose(found, truth, atol=1e-12)


def test_principal_components_are_taken_on_evidence_only(monkeypatch):
    """Of two figures one decides where the other is the same, and chance does not."""
    rows = without_shape(120, 8)
    rows = rows[Cloud(rows).order]
    chance = np.random.default_rng(2).standard_normal(120)
    chance -= chance.mean()

    def is_linear(kept, missed):
        figures = iter((np.stack([kept, 0.0 * kept]), np.zeros((2, 120))))
        monkeypatch.setattr(table, "kept_by_row", lambda *_: next(figures))
        monkeypatch.setattr(table, "held_out_differences", lambda *_: missed)
        layout = table.lay_out_table(rows, np.ones(120), 2, metric="auto", n_neighbors=None, bandwidth="auto", n_jobs=1)
        return layout.denoising.is_linear

    # The standard error of the means is about 0.1.
    assert is_linear(1.0 + chance, chance)
    assert is_linear(chance, 1.0 + chance)
    assert not is_linear(chance, chance)
    # Nor do figures that contradict each other.
    assert not is_linear(0.25 + chance, chance - 0.25)


@pytest.mark.parametrize("count", [90, 400])
def test_rows_without_a_shape_are_laid_out_by_their_principal_components(count):
    rows = without_shape(count, 30)
    with pytest.warns(sb.SubbundleWarning, match="predict rows better than a curved layout"):
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


@pytest.mark.filterwarnings("ignore:.*alignment residual")
def test_a_curved_sheet_with_noise_is_not_taken_for_a_plane():
    roll = sb.datasets.swiss_roll(600, noise=0.03, seed=0)
    assert sb.AtlasEmbedding(2).fit(roll.points).metric_ != "linear"
