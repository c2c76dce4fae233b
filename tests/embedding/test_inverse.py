"""The inverse of a layout on rows that were left out, against means of rows and charts alone."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.preprocessing import StandardScaler

import subbundle as sb
from subbundle import datasets
from subbundle.embedding.shrinkage import local_means


def mean_nearby(model, coordinates, size):
    """Means of the nearest rows with weights 1 − (d/R)², R a fiftieth beyond the farthest, by brute force."""
    atlas = model.atlas_
    apart = np.linalg.norm(coordinates[:, None] - atlas.shifts[None], axis=2)
    near = np.argsort(apart, axis=1)[:, :size]
    apart = np.take_along_axis(apart, near, axis=1)
    weights = 1.0 - (apart / (1.02 * apart[:, -1:])) ** 2
    return np.einsum("qm,qmd->qd", weights / weights.sum(axis=1, keepdims=True), atlas.atlas.origins[near])


def fitted(rows, rank=2, **options):
    """A model of three quarters of ``rows``, and the others."""
    order = np.random.default_rng(1).permutation(len(rows))
    held = len(rows) // 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.SubbundleWarning)
        return sb.AtlasEmbedding(rank, n_jobs=1, **options).fit(rows[order[held:]]), rows[order[:held]]


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_diabetes])
def test_rows_that_were_left_out_are_predicted_as_well_as_by_means_and_better_than_by_charts(load):
    # Rows as they are: charts that pass through them, and no principal components instead.
    model, others = fitted(StandardScaler().fit_transform(load().data), reduce_dim=None, bandwidth=None)
    coordinates = model.transform(others)
    given = model._components.enter(others)

    def error(found):
        return np.sum((found - given) ** 2)

    found = error(model.atlas_.evaluate(coordinates))
    charts = error(model.atlas_._mapped_to(coordinates))
    means = min(error(mean_nearby(model, coordinates, size)) for size in (4, 8, 16, 32, 64))
    # λ and the size are estimated from some hundred rows: the best of the means is chosen with the answer.
    assert found < 1.1 * means
    assert found < 0.9 * charts


@pytest.mark.filterwarnings("ignore:.*lie beyond all charts")
def test_the_inverse_of_noise_is_no_worse_than_the_mean_row():
    rows = np.random.default_rng(5).standard_normal((400, 100)) * np.append([3.0, 3.0], np.ones(98))
    model, others = fitted(rows, reduce_dim=None)
    found = model.inverse_transform(model.transform(others))
    missed, spread = (np.sum((others - one) ** 2) for one in (found, rows.mean(axis=0)))
    assert missed < spread


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_charts_that_predict_rows_are_used_as_they_are(noise):
    model, _ = fitted(datasets.s_surface(800, noise=noise, seed=0).points)
    assert model.atlas_.shrinkage[1] == 1.0
    coordinates = model.embedding_[::10]
    points = model.atlas_.evaluate(coordinates)
    np.testing.assert_array_equal(points, model.atlas_._mapped_to(coordinates))


def test_means_are_regressions_on_the_nearest_rows_whatever_the_batch():
    rng = np.random.default_rng(3)
    places, rows, at = rng.standard_normal((60, 2)), rng.standard_normal((60, 7)), rng.standard_normal((9, 2))
    whole = local_means(places, rows, at, 40)
    np.testing.assert_array_equal(whole[4:5], local_means(places, rows, at[4:5], 40))
    # The weights of one row are those of a point as far from all of them: a constant is its own mean, but for
    # the ridge of 1e-12 that keeps the equations regular.
    np.testing.assert_allclose(local_means(places, np.ones((60, 3)), at, 40), 1.0, rtol=1e-11)
    # A linear function at the centre of a symmetric star is its value there.
    star = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.0]])
    np.testing.assert_allclose(local_means(star, star @ [[2.0], [3.0]] + 1.0, np.zeros((1, 2)), 5), 1.0, rtol=1e-12)
    # The weighted least squares with a small penalty on slopes, by brute force.
    apart = np.linalg.norm(places - at[0], axis=1)
    near = np.argsort(apart)[:40]
    reach = apart[near[-1]]
    weights = 1.0 - (apart[near] / (1.02 * reach)) ** 2
    features = np.column_stack([np.ones(40), (places[near] - at[0]) / reach])
    root = np.sqrt(weights / weights.sum())[:, None]
    penalty = np.sqrt(1e-3) * np.diag([0.0, 1.0, 1.0])
    loads = np.linalg.lstsq(np.vstack([root * features, penalty]), np.vstack([root * rows[near], np.zeros((3, 7))]))[0]
    np.testing.assert_allclose(whole[0], loads[0], rtol=1e-9)
