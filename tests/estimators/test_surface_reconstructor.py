"""`SurfaceReconstructor` as an estimator, on two noisy spheres; its meshes are tested in tests/surface."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import subbundle as sb

NOISE = 0.02


@pytest.fixture(scope="module")
def points():
    """1200 points around the unit sphere, and 500 around one of radius 0.6 with the centre (4, 0, 0)."""
    large, small = sb.datasets.sphere(1200, noise=NOISE, seed=0), sb.datasets.sphere(500, noise=NOISE, seed=1)
    return np.concatenate([large.points, 0.6 * small.points + [4.0, 0.0, 0.0]])


@pytest.fixture(scope="module")
def model(points):
    grey = np.arange(len(points), dtype=np.float64)
    return sb.SurfaceReconstructor(n_jobs=1).fit(points, attributes={"grey": grey})


def off(points):
    """Distance from the two spheres."""
    large, small = np.linalg.norm(points, axis=1) - 1.0, np.linalg.norm(points - [4.0, 0.0, 0.0], axis=1) - 0.6
    return np.minimum(np.abs(large), np.abs(small))


def test_locate_projects_and_numbers_the_components(points, model):
    rows = np.concatenate([points, [[0.0, 9.0, 0.0]]])
    located = model.locate(rows)
    assert located.coordinates.shape == (1701, 0)
    # Across the sphere the projection averages some twenty neighbours.
    assert np.mean(off(located.points[:-1])) < 0.5 * np.mean(off(points))
    np.testing.assert_allclose(located.residuals, np.linalg.norm(rows - located.points, axis=1))
    np.testing.assert_array_equal(located.labels, np.repeat([0, 1, -1], [1200, 500, 1]))
    np.testing.assert_array_equal(located.status, np.repeat([sb.Status.OK, sb.Status.LEFT_SUPPORT], [1700, 1]))
    np.testing.assert_array_equal(located.points[-1], rows[-1])
    np.testing.assert_array_equal(model.transform(rows), located.points)


def test_rows_do_not_depend_on_each_other_nor_on_their_layout(points, model):
    whole = model.transform(points)
    order = np.random.default_rng(0).permutation(len(points))
    np.testing.assert_array_equal(model.transform(points[order][:300]), whole[order][:300])
    np.testing.assert_array_equal(model.transform(np.asfortranarray(points)), whole)
    np.testing.assert_array_equal(model.transform(points.astype(object)), whole)
    frozen = points.copy()
    frozen.setflags(write=False)
    np.testing.assert_array_equal(model.transform(frozen), whole)


def test_saved_and_pickled_models_are_the_same_to_the_bit(points, model, tmp_path):
    for copy in (sb.load(sb.save(model, tmp_path / "surface.npz")), pickle.loads(pickle.dumps(model))):
        assert copy.get_params() == model.get_params()
        assert copy.bandwidth_ == model.bandwidth_
        np.testing.assert_array_equal(copy.transform(points[::50]), model.transform(points[::50]))
        np.testing.assert_array_equal(copy.locate(points[::50]).labels, model.locate(points[::50]).labels)
        for name in ("vertices", "faces", "normals"):
            np.testing.assert_array_equal(getattr(copy.mesh_, name), getattr(model.mesh_, name))
        for name, values in model.mesh_.attributes.items():
            np.testing.assert_array_equal(copy.mesh_.attributes[name], values)
        assert copy.mesh_.summary.report() == model.mesh_.summary.report()
        assert repr(copy.mesh_.summary) == repr(model.mesh_.summary)


def test_a_file_with_faces_beyond_the_vertices_is_refused(model, tmp_path):
    path = sb.save(model, tmp_path / "surface.npz")
    with np.load(path) as file:
        arrays = dict(file)
    arrays["mesh.faces"] = arrays["mesh.faces"] + len(arrays["mesh.vertices"])
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="faces must be triples of rows of the vertices"):
        sb.load(path)


def test_it_is_a_transformer(points, model):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(points, columns=["x", "y", "z"])
    fitted = clone(model).set_output(transform="pandas").fit(frame)
    moved = fitted.transform(frame)
    assert list(moved.columns) == list(fitted.feature_names_in_) == ["x", "y", "z"]
    np.testing.assert_array_equal(moved.to_numpy(), model.transform(points))
    pipeline = make_pipeline(FunctionTransformer(), clone(model))
    np.testing.assert_array_equal(pipeline.fit_transform(points), moved.to_numpy())


def test_what_it_refuses(points):
    with pytest.raises(NotFittedError):
        sb.SurfaceReconstructor().transform(points)
    with pytest.raises(ValueError, match="at least 100 points of a surface; got n_samples=40"):
        sb.SurfaceReconstructor().fit(points[:40])
    with pytest.raises(ValueError, match="minimum of 3 is required"):
        sb.SurfaceReconstructor().fit(points[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        sb.SurfaceReconstructor().fit(np.where(points > 1.0, np.nan, points))


def test_the_noise_is_that_of_the_data(model):
    assert model.mesh_.summary.noise == pytest.approx(NOISE, rel=0.3)
