"""Tables with many columns: order and layout of the rows, and one warning where one chart is not enough."""

import warnings

import numpy as np
import pytest

import subbundle as sb


def sheet(n=300, dim=30, seed=0):
    """A bent sheet in R^dim with noise in all coordinates."""
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(-1.0, 1.0, (2, n))
    inside = np.column_stack([np.sin(u), np.cos(u), v])
    turn = np.linalg.qr(rng.standard_normal((dim, 3)))[0]
    return inside @ turn.T + 0.02 * rng.standard_normal((n, dim))


def test_order_and_layout_of_the_rows_do_not_matter_to_the_bit():
    points = sheet()
    order = np.random.default_rng(1).permutation(len(points))
    own = sb.PrincipalSubmanifold(2, bandwidth=0.3).fit(points)
    again = sb.PrincipalSubmanifold(2, bandwidth=0.3).fit(np.asfortranarray(points[order]))
    np.testing.assert_array_equal(again.axes_, own.axes_)
    np.testing.assert_array_equal(again.embedding_, own.embedding_[order])


def test_one_warning_names_the_atlas_where_one_chart_does_not_cover_the_data():
    rng = np.random.default_rng(0)
    far = sheet(200)
    # Two sheets far apart: one chart reaches one of them.
    points = np.concatenate([far, sheet(100, seed=0) + 20.0 * rng.standard_normal(30) / np.sqrt(30.0)])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        sb.PrincipalSubmanifold(2, bandwidth=0.3).fit(points)
    assert len(said) == 1
    assert issubclass(said[0].category, sb.SubbundleWarning)
    assert "subbundle.AtlasEmbedding" in str(said[0].message)


def test_tables_without_a_noise_floor_are_learned_in_few_components():
    rng = np.random.default_rng(0)
    # A spectrum that falls slowly, as that of images does, in more dimensions than rows.
    points = rng.standard_normal((80, 60)) * np.arange(1.0, 61.0) ** -0.7 @ rng.standard_normal((60, 200))
    with pytest.warns(sb.SubbundleWarning, match="The first 10 of .* components were used") as said:
        metric = sb.GeodesicDistance(2).fit(points)
    assert len(said) == 1
    assert metric.axes_.shape == (200, 10)


def test_a_warning_for_a_shapeless_table_names_other_tools():
    report = sb.diagnose(np.random.default_rng(0).standard_normal((300, 20)), rank=2)
    assert any("PCA" in words and "UMAP" in words for words in report.warnings)


def test_a_warning_for_a_flat_table_names_principal_components():
    rng = np.random.default_rng(0)
    flat = rng.uniform(-1.0, 1.0, (500, 2)) @ rng.standard_normal((2, 6)) + 0.01 * rng.standard_normal((500, 6))
    report = sb.diagnose(flat, rank=2)
    assert any("PCA keeps" in words for words in report.warnings)
    # Two uniform coordinates have the variance 1/3 each, times the squares of six standard normals; noise 1e-4 in four.
    assert report.variance_flat > 0.995


def test_a_weight_counts_a_row_as_often_as_a_repetition_and_weight_zero_leaves_it_out_of_the_fit() -> None:
    data = sb.datasets.s_surface(400, noise=0.03, seed=3)
    counts = np.random.default_rng(0).integers(0, 4, len(data.points))
    weighted = sb.AtlasEmbedding(2).fit(data.points, sample_weight=counts)
    repeated = sb.AtlasEmbedding(2).fit(np.repeat(data.points, counts, axis=0))
    # The same distinct rows with the same masses: the same charts, to rounding.
    assert weighted.n_denoising_neighbors_ > 0
    np.testing.assert_allclose(weighted.atlas_.bases, repeated.atlas_.bases, atol=1e-12)
    np.testing.assert_allclose(weighted.transform(data.points), repeated.transform(data.points), atol=1e-9)
    assert weighted.embedding_.shape == (400, 2)
    plain = sb.AtlasEmbedding(2).fit(data.points)
    assert not np.allclose(plain.transform(data.points), weighted.transform(data.points))


def test_invalid_weights_are_refused() -> None:
    points = sb.datasets.s_surface(50, noise=0.0, seed=0).points
    with pytest.raises(ValueError, match="must not be negative; got -1"):
        sb.AtlasEmbedding(2).fit(points, sample_weight=-np.ones(50))
    with pytest.raises(ValueError, match="one number per row, 50"):
        sb.AtlasEmbedding(2).fit(points, sample_weight=np.ones(49))
    with pytest.raises(ValueError, match="with a weight above zero; got 0"):
        sb.AtlasEmbedding(2).fit(points, sample_weight=np.zeros(50))
