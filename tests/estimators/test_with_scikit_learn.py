"""The estimators among scikit-learn's own tools."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from subbundle.estimators import GeodesicDistance, PrincipalSubmanifold

pd = pytest.importorskip("pandas")


@pytest.mark.filterwarnings("ignore::subbundle.SubbundleWarning")
def test_pipeline_with_a_regressor(sheet):
    pipeline = make_pipeline(
        StandardScaler(with_std=False), PrincipalSubmanifold(bandwidth=0.25), KNeighborsRegressor(5)
    )
    pipeline.fit(sheet.points[:600], sheet.coordinates[:600, 0])
    predicted = pipeline.predict(sheet.points[600:])
    # Neighbours of 600 on 18.8 units of area are 0.18 apart.
    assert np.median(np.abs(predicted - sheet.coordinates[600:, 0])) < 0.18


def test_data_frames_and_set_output(sheet, fitted):
    frame = pd.DataFrame(sheet.points, columns=["x", "y", "z"])
    model = PrincipalSubmanifold(bandwidth=0.25).set_output(transform="pandas")
    table = model.fit_transform(frame)
    assert list(table.columns) == ["principalsubmanifold0", "principalsubmanifold1"]
    assert model.get_feature_names_out().tolist() == list(table.columns)
    np.testing.assert_array_equal(table.to_numpy(), fitted.embedding_)
    np.testing.assert_array_equal(model.transform(frame).to_numpy(), fitted.embedding_)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame.rename(columns={"x": "u"}))


def test_clones_and_copies(sheet, fitted, tmp_path):
    assert clone(fitted).get_params() == fitted.get_params()
    assert not hasattr(clone(fitted), "chart_")
    joblib.dump(fitted, tmp_path / "model.joblib")
    for copy in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(copy.transform(sheet.points), fitted.embedding_)


@pytest.mark.filterwarnings("ignore::subbundle.SubbundleWarning")
def test_grid_search_prefers_a_sensible_bandwidth(sheet):
    search = GridSearchCV(PrincipalSubmanifold(), {"bandwidth": [0.25, 1.2]}, cv=2, refit=False, error_score="raise")
    search.fit(sheet.points)
    # 1.2 is wider than the arcs of the S, of radius 1.
    assert search.best_params_ == {"bandwidth": 0.25}


def test_neighbours_along_the_shape():
    # An open ring: its ends lie side by side in space and far apart along the curve.
    angle = np.sort(np.random.default_rng(0).uniform(0.0, 1.7 * np.pi, 90))
    points = np.column_stack([np.cos(angle), np.sin(angle)])
    points += 0.01 * np.random.default_rng(1).standard_normal(points.shape)
    labels = (angle > np.pi).astype(int)
    metric = GeodesicDistance(rank=1, bandwidth=0.2).fit(points)
    distances = metric.pairwise()
    np.testing.assert_array_equal(distances, distances.T)
    precomputed = KNeighborsClassifier(5, metric="precomputed").fit(distances, labels)
    assert np.mean(precomputed.predict(distances) == labels) > 0.98
    called = KNeighborsClassifier(5, metric=metric, algorithm="brute").fit(points[::15], labels[::15])
    table = KNeighborsClassifier(5, metric="precomputed").fit(distances[::15, ::15], labels[::15])
    np.testing.assert_array_equal(called.predict(points[5:6]), table.predict(distances[5:6, ::15]))
    halves = AgglomerativeClustering(2, metric="precomputed", linkage="average").fit_predict(distances)
    # Cut across the curve in one place: the ends are not taken for neighbours.
    assert np.count_nonzero(np.diff(halves)) == 1


def test_parameters_are_shown():
    assert repr(PrincipalSubmanifold(3, bandwidth=0.1)) == "PrincipalSubmanifold(bandwidth=0.1, n_components=3)"
