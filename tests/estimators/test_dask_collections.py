"""Estimators on Dask collections: lazy in, lazy out, and a sample for the fit that is reported."""

import numpy as np
import pytest

import subbundle as sb
from subbundle._parallel import one_thread, resolve_jobs
from subbundle.estimators import _lazy

array = pytest.importorskip("dask.array")
frame = pytest.importorskip("dask.dataframe")
pandas = pytest.importorskip("pandas")

POINTS = sb.datasets.s_surface(900, noise=0.02, seed=0).points


@pytest.fixture(scope="module", params=[sb.PrincipalSubmanifold, sb.AtlasEmbedding])
def model(request):
    return request.param(n_components=2).fit(POINTS)


def test_arrays_are_transformed_lazily_block_by_block(model):
    lazy = model.transform(array.from_array(POINTS, chunks=(400, 2)))
    assert isinstance(lazy, array.Array)
    assert lazy.chunks == ((400, 400, 100), (2,))
    # Rows do not depend on their batch, to the bit.
    assert np.array_equal(lazy.compute(scheduler="sync"), model.transform(POINTS))


@pytest.mark.filterwarnings("ignore:.* lie outside the chart")
def test_data_frames_keep_their_index(model):
    table = pandas.DataFrame(POINTS, columns=list("xyz"), index=np.arange(900) * 3)
    lazy = model.transform(frame.from_pandas(table, npartitions=4))
    with pytest.warns(UserWarning, match="feature names"):
        found = lazy.compute(scheduler="sync")
    assert list(found.columns) == list(model.get_feature_names_out())
    assert np.array_equal(found.index, table.index)
    assert np.array_equal(found.to_numpy(), model.transform(POINTS))


def test_a_sample_is_the_same_for_every_division():
    found = []
    for lazy in (
        array.from_array(POINTS, chunks=(200, 3)),
        array.from_array(POINTS, chunks=(333, 1)),
        frame.from_pandas(pandas.DataFrame(POINTS, columns=list("xyz")), npartitions=3),
    ):
        with pytest.warns(sb.SubbundleWarning, match="fit uses a sample of 500 of 900 rows"):
            found.append(_lazy.sampled(lazy, 500))
    assert len(found[0]) == 500
    assert np.array_equal(found[0], found[1])
    assert list(found[2].columns) == list("xyz")
    assert np.array_equal(found[2].to_numpy(), found[0])
    assert _lazy.sampled(POINTS, 5) is POINTS


def test_few_rows_are_not_subsampled_and_fit_transform_returns_all():
    coordinates = sb.AtlasEmbedding(2).fit_transform(array.from_array(POINTS, chunks=(300, 3)))
    assert isinstance(coordinates, array.Array)
    assert np.array_equal(coordinates.compute(scheduler="sync"), sb.AtlasEmbedding(2).fit(POINTS).transform(POINTS))


def test_distances_to_landmarks_are_lazy_too():
    metric = sb.GeodesicDistance(rank=2, method="atlas").fit(POINTS)
    lazy = metric.pairwise(array.from_array(POINTS[:60], chunks=(25, 3)), POINTS[100:104])
    assert lazy.shape == (60, 4)
    assert np.array_equal(lazy.compute(scheduler="sync"), metric.pairwise(POINTS[:60], POINTS[100:104]))
    with pytest.raises(ValueError, match="needs landmarks Y in memory"):
        metric.pairwise(lazy)


def test_weights_cannot_be_sampled():
    with pytest.raises(ValueError, match="sample_weight must be None for Dask collections"):
        sb.AtlasEmbedding(2).fit(array.from_array(POINTS), sample_weight=np.ones(900))


def test_one_thread_is_one_for_any_n_jobs():
    with one_thread():
        assert resolve_jobs(None) == resolve_jobs(7) == 1
    assert resolve_jobs(7) == 7
