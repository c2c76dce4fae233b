"""AtlasEmbedding against surfaces whose unrolled coordinates and distances are known."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import subbundle as sb
from rigid_motions import rigid_error
from subbundle import Status, SubbundleWarning, datasets
from subbundle.cli import main
from subbundle.estimators import AtlasEmbedding

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def sheet():
    return datasets.s_surface(1200, noise=0.025, seed=0)


@pytest.fixture(scope="module")
def model(sheet):
    return AtlasEmbedding(2).fit(sheet.points)


@pytest.fixture(scope="module")
def few(sheet):
    """A quarter of the rows, for what must agree to the last bit or is far from the floor, and their fit."""
    points = sheet.points[:300]
    return points, AtlasEmbedding(2).fit(points)


def test_a_noisy_s_is_unrolled_to_the_floor_of_its_noise(sheet, model):
    # Noise along the surface stays in the coordinates: √2 σ. The method should add little to it.
    assert rigid_error(model.embedding_, sheet.coordinates) < 1.1 * np.sqrt(2.0) * 0.025
    assert model.alignment_residual_ < 0.01
    assert model.n_connected_components_ == 1
    assert model.metric_ == "rigid"
    assert model.cut_ == 0.0
    assert np.all(model.status_ == Status.OK)


@pytest.mark.parametrize("make", [datasets.s_surface, datasets.swiss_roll])
def test_the_error_on_clean_surfaces_falls_with_the_number_of_rows(make):
    errors = []
    for count in (300, 1200):
        data = make(count, seed=2)
        errors.append(rigid_error(AtlasEmbedding(2).fit(data.points).embedding_, data.coordinates))
    # Fifth order in the chart radius over the radius of curvature, about 0.3: below 3e-3 of a unit, over a length of 9.
    assert errors[1] < 5e-3
    # Half of the spacing: at least second order.
    assert errors[1] < errors[0] / 4.0


def test_new_points_are_as_accurate_as_training_points(sheet, model):
    fresh = datasets.s_surface(400, noise=0.025, seed=5)
    both = np.concatenate([model.embedding_, model.transform(fresh.points)])
    truth = np.concatenate([sheet.coordinates, fresh.coordinates])
    left, _, right = np.linalg.svd((both - both.mean(axis=0)).T @ (truth - truth.mean(axis=0)))
    off = np.linalg.norm((both - both.mean(axis=0)) @ (left @ right) - (truth - truth.mean(axis=0)), axis=1)
    old, new = np.sqrt(np.mean(off[:1200] ** 2)), np.sqrt(np.mean(off[1200:] ** 2))
    # 400 points determine a root-mean-square to 3.5 %.
    assert new < 1.1 * old
    np.testing.assert_array_equal(model.transform(sheet.points), model.embedding_)


def test_inverse_is_on_the_surface_and_transforms_back(sheet, model):
    points = model.inverse_transform(model.embedding_)
    observed, found = (np.sqrt(np.mean(sheet.distance(x) ** 2)) for x in (sheet.points, points))
    assert found < 0.5 * observed
    size = np.ptp(model.embedding_, axis=0).max()
    assert np.abs(model.transform(points) - model.embedding_).max() < 1e-3 * size


def test_loadings_are_the_derivative_of_the_inverse(sheet, model):
    z = model.embedding_[::100]
    loadings = model.loadings(z)
    step = np.array([1e-3, 0.0])
    moved = (model.inverse_transform(z + step) - model.inverse_transform(z - step)) / 2e-3
    np.testing.assert_allclose(loadings[:, :, 0], moved, atol=0.02)
    # Lengths are kept: columns are nearly orthonormal on a surface that can be flattened.
    gram = np.einsum("nda,ndb->nab", loadings, loadings)
    np.testing.assert_allclose(np.median(gram, axis=0), np.eye(2), atol=0.05)


def test_development_agrees_with_the_logarithm(sheet):
    base = sheet.points[7]
    found = AtlasEmbedding(2, base_point=base).fit(sheet.points)
    np.testing.assert_allclose(found.transform(found.base_point_[None]), 0.0, atol=1e-6)
    coordinates = np.array([[0.15, 0.1], [-0.1, 0.2], [0.0, -0.25]])
    log = sb.log(found.bundle_, found.base_point_, found.inverse_transform(coordinates))
    # Two fits of the same noisy surface, by charts and by geodesics: they differ by a few per cent of the length.
    np.testing.assert_allclose(log.coordinates, coordinates, atol=0.02)


@pytest.fixture(scope="module")
def cap():
    """A cap of the unit sphere, its distances along great circles, and its fits by metric."""
    rng = np.random.default_rng(1)
    height, turn = rng.uniform(np.cos(1.3), 1.0, 600), rng.uniform(0.0, 2.0 * np.pi, 600)
    ring = np.sqrt(1.0 - height**2)
    points = np.column_stack([ring * np.cos(turn), ring * np.sin(turn), height])
    fits = {}
    for metric in ("rigid", "stress"):
        with pytest.warns(SubbundleWarning, match="cannot be flattened"):
            fits[metric] = AtlasEmbedding(2, metric=metric).fit(points)
    return points, np.arccos(np.clip(points @ points.T, -1.0, 1.0)), fits


def test_distances_on_a_sphere_are_great_circles(cap):
    points, exact, fits = cap
    some, exact = points[:40], exact[:40, :40]
    found = fits["rigid"]
    distances = found.distance(some)
    far = exact > 0.2
    # Charts of radius 0.3 err by its fifth power; along the border a path zigzags until it converges.
    np.testing.assert_allclose(distances[far], exact[far], rtol=1e-2)
    np.testing.assert_array_equal(distances, distances.T)
    np.testing.assert_array_equal(distances[:3, 5:9], found.distance(some[:3], some[5:9]))
    assert np.all(np.diag(distances) == 0.0)


def test_stress_lays_a_cap_out_with_less_stress(cap):
    _, exact, fits = cap
    apart = {metric: cdist(fit.embedding_, fit.embedding_) for metric, fit in fits.items()}
    stress = {metric: np.sum((found - exact) ** 2) for metric, found in apart.items()}
    assert stress["stress"] < stress["rigid"]


def test_rows_in_another_order_give_the_same_bits(few):
    points, model = few
    order = np.random.default_rng(3).permutation(len(points))
    again = AtlasEmbedding(2, n_jobs=1).fit(points[order])
    np.testing.assert_array_equal(again.embedding_, model.embedding_[order])


def test_high_dimension_is_reduced_first():
    data = datasets.s_surface(1200, seed=4)
    rng = np.random.default_rng(4)
    axes = np.linalg.qr(rng.standard_normal((60, 3)))[0]
    found = AtlasEmbedding(2).fit(data.clean @ axes.T + 0.025 * rng.standard_normal((1200, 60)))
    assert found.axes_.shape[1] < 6
    assert rigid_error(found.embedding_, data.coordinates) < 1.1 * np.sqrt(2.0) * 0.025
    assert found.inverse_transform(found.embedding_[:3]).shape == (3, 60)


def test_three_dimensions():
    rng = np.random.default_rng(5)
    u = rng.uniform(0.0, 1.5, (800, 3))
    radii = np.array([0.7, 0.9, 1.2])
    points = np.hstack([radii * np.sin(u / radii), radii * np.cos(u / radii)]) + 0.01 * rng.standard_normal((800, 6))
    found = AtlasEmbedding(3).fit(points)
    assert rigid_error(found.embedding_, u) < 1.2 * np.sqrt(3.0) * 0.01


def test_a_curve():
    data = datasets.curve_in_plane(400, noise=0.02, seed=0)
    found = AtlasEmbedding(1).fit(data.points)
    assert rigid_error(found.embedding_, data.coordinates) < 1.3 * 0.02


def test_novelty_is_large_off_the_training_data(sheet, model):
    assert np.median(model.novelty(sheet.points)) < 1.5
    beside = model.novelty(np.array([[0.0, 1.0, 0.5], [0.0, 6.0, 0.0]]))
    # Half a unit off the surface, and four units beyond its border, at a noise of 0.025.
    assert np.all(beside > 10.0)
    located = model.locate(np.array([[0.0, 6.0, 0.0]]))
    assert located["status"][0] == Status.LEFT_SUPPORT
    assert located["coverage"][0] == 0.0


def test_locate_returns_one_record(sheet, model):
    located = model.locate(sheet.points[:50])
    assert set(located.keys()) == set(dict(located)) == set(located.as_dict())
    coordinates, residuals, status = located
    assert coordinates is located.coordinates is located["coordinates"]
    np.testing.assert_allclose(np.linalg.norm(sheet.points[:50] - located.points, axis=1), residuals, rtol=1e-9)
    np.testing.assert_array_equal(located["residual"], residuals)
    np.testing.assert_array_equal(located.labels, 0)
    assert np.all(status == Status.OK)


def test_outside_can_be_nan(sheet):
    found = AtlasEmbedding(2, outside="nan").fit(sheet.points[:300])
    with pytest.warns(SubbundleWarning, match="1 of 2 points lie beyond all charts and get NaN"):
        z = found.transform(np.array([sheet.points[0], [0.0, 6.0, 0.0]]))
    assert np.isfinite(z[0]).all()
    assert np.isnan(z[1]).all()
    assert np.isnan(found.inverse_transform(np.array([[50.0, 0.0], [np.nan, 0.0]]))).all()


def test_separate_components_keep_all_rows():
    first, second = datasets.s_surface(400, seed=0), datasets.s_surface(300, seed=1)
    points = np.concatenate([first.points, second.points + [0.0, 10.0, 0.0]])
    with pytest.warns(SubbundleWarning, match="2 connected components"):
        found = AtlasEmbedding(2).fit(points)
    assert found.n_connected_components_ == 2
    np.testing.assert_array_equal(found.labels_, np.repeat([0, 1], [400, 300]))
    for label, data in enumerate((first, second)):
        assert rigid_error(found.embedding_[found.labels_ == label], data.coordinates) < 0.02
    # Side by side: the first coordinates do not overlap.
    assert found.embedding_[found.labels_ == 1, 0].min() > found.embedding_[found.labels_ == 0, 0].max()
    assert np.isinf(found.distance(points[:1], points[-1:])).all()
    np.testing.assert_allclose(found.transform(found.inverse_transform(found.embedding_)), found.embedding_, atol=1e-3)


def band(n, half_turns, seed=0):
    """A band around a circle of radius 1.5, with so many half turns: 0 a cylinder, 1 a Möbius strip."""
    rng = np.random.default_rng(seed)
    u, w = rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(-0.5, 0.5, n)
    lean = 0.5 * half_turns * u + 0.5 * np.pi * (half_turns == 0)
    ring = 1.5 + w * np.cos(lean)
    return np.column_stack([ring * np.cos(u), ring * np.sin(u), w * np.sin(lean)]), u


@pytest.mark.parametrize("half_turns", [0, 1])
def test_closed_bands_are_cut_open(half_turns):
    points, _ = band(400, half_turns)
    with pytest.warns(SubbundleWarning, match="shape is closed .* was cut open"):
        found = AtlasEmbedding(2).fit(points)
    assert found.alignment_residual_ < 0.02
    # Neighbours keep their distance except across the cut, which is one line of a tenth of the length.
    apart, near = cKDTree(points).query(points, k=8)
    ratio = np.linalg.norm(found.embedding_[near[:, -1]] - found.embedding_, axis=1) / apart[:, -1]
    assert np.mean(np.abs(ratio - 1.0) < 0.05) > 0.9
    # Distances are unaffected by the cut: the longest is half way around.
    some = found.distance(points[:30])
    assert some.max() < 1.15 * np.hypot(1.5 * np.pi, 1.0)


def test_closed_shapes_can_be_refused():
    points, _ = band(300, 0)
    with pytest.raises(ValueError, match="laid out without a cut"):
        AtlasEmbedding(2, closed="raise").fit(points)


def test_a_sphere_is_cut_with_one_warning():
    with pytest.warns(SubbundleWarning, match="shape is closed") as record:
        found = AtlasEmbedding(2).fit(datasets.sphere(800, seed=0).points)
    assert len(record) == 1
    assert np.isfinite(found.embedding_).all()
    # Of 800 rows all but those along the cut keep their neighbours.
    assert found.quality_.trustworthiness > 0.98


def test_few_points_have_charts():
    data = datasets.s_surface(150, noise=0.025, seed=0)
    found = AtlasEmbedding(2).fit(data.points)
    # Twice the floor of the noise; neighbours are 0.35 apart on arcs of radius 1.
    assert rigid_error(found.embedding_, data.coordinates) < 2.0 * np.sqrt(2.0) * 0.025


def test_sparse_shapes_in_many_dimensions_are_true_to_scale():
    rng = np.random.default_rng(0)
    u = rng.uniform(0.0, 2.0, (200, 2))
    pace = np.array([[0.6, 1.3, 2.1], [0.9, 1.6, 2.4]])
    turns = u[:, :, None] * pace
    radii = 1.0 / (pace * np.sqrt(3.0))
    bent = np.concatenate([radii * np.cos(turns), radii * np.sin(turns)], axis=2).reshape(200, -1)
    points = bent @ np.linalg.qr(rng.standard_normal((300, 12)))[0].T
    found = AtlasEmbedding(2).fit(points)
    # Isometric by construction; 200 rows are 0.14 apart, and the radius of curvature is about one.
    assert rigid_error(found.embedding_, u) < 5e-3
    assert found.quality_.trustworthiness > found.quality_.pca_trustworthiness
    assert found.n_denoising_neighbors_ == 0


def test_a_closed_curve_is_opened_in_one_dimension_and_a_ring_in_two():
    t = 2.0 * np.pi * np.arange(60) / 60
    waves = [wave(h * t) / h for h in range(1, 5) for wave in (np.cos, np.sin)]
    points = np.column_stack(waves) @ np.random.default_rng(0).standard_normal((8, 30))
    order = np.random.default_rng(1).permutation(60)
    with pytest.warns(SubbundleWarning, match="cut open"):
        line = AtlasEmbedding(1).fit(points[order])
    along = order[np.argsort(line.embedding_[:, 0])]
    steps = np.abs(np.diff(along))
    assert np.all(np.minimum(steps, 60 - steps) == 1)
    ring = AtlasEmbedding(2).fit(points[order])
    assert ring.cut_ == 0.0
    angle = np.arctan2(*(ring.embedding_ - ring.embedding_.mean(axis=0)).T)
    steps = np.abs(np.diff(order[np.argsort(angle)]))
    assert np.all(np.minimum(steps, 60 - steps) == 1)


def test_data_without_a_shape_is_reported_once():
    with pytest.warns(SubbundleWarning, match="no 2-dimensional shape.*PCA.*UMAP") as record:
        found = AtlasEmbedding(2).fit(np.random.default_rng(3).standard_normal((200, 10)))
    assert len(record) == 1
    assert np.isfinite(found.embedding_).all()


def test_a_plane_stays_a_plane():
    points = np.column_stack([np.random.default_rng(0).uniform(0.0, 1.0, (200, 2)), np.zeros(200)])
    found = AtlasEmbedding(2).fit(points)
    # Charts are exact; graph distances, of weight 1e-4, are off by some per cent.
    assert rigid_error(found.embedding_, points[:, :2]) < 1e-4


def test_missing_values_are_refused_or_located_by_observed_features(sheet):
    gaps, coordinates = sheet.points[:600].copy(), sheet.coordinates[:600]
    gaps[::30, 1] = np.nan
    with pytest.raises(ValueError, match="20 of 600 rows have NaN, first in row 0.*missing='local'"):
        AtlasEmbedding(2).fit(gaps)
    found = AtlasEmbedding(2, missing="local").fit(gaps)
    left, _, right = np.linalg.svd((found.embedding_ - found.embedding_.mean(axis=0)).T @ coordinates)
    turned = (found.embedding_ - found.embedding_.mean(axis=0)) @ (left @ right)
    off = np.abs(turned - (coordinates - coordinates.mean(axis=0)))
    # The second feature is the second coordinate: without it only the first is known.
    assert np.median(off[::30, 0]) < 0.05


def test_sparse_tables_and_precomputed_distances(sheet, few):
    points, model = few
    sparse = AtlasEmbedding(2).fit(csr_array(points))
    np.testing.assert_array_equal(sparse.embedding_, model.embedding_)
    distances = cdist(points, points)
    found = AtlasEmbedding(2, metric="precomputed").fit(distances)
    # Classical scaling of distances gives the rows back, turned; halves and landmarks are then others.
    assert rigid_error(found.embedding_, model.embedding_) < 0.3 * np.sqrt(2.0) * 0.025
    np.testing.assert_allclose(found.transform(cdist(sheet.points[300:320], points)).shape, (20, 2))
    with pytest.raises(ValueError, match="only distances"):
        found.inverse_transform(found.embedding_)
    with pytest.raises(ValueError, match="square matrix of distances"):
        AtlasEmbedding(2, metric="precomputed").fit(distances[:200])


@pytest.mark.filterwarnings("ignore::subbundle.SubbundleWarning")
def test_duplicates_and_constant_columns(sheet):
    points, coordinates = sheet.points[:300], sheet.coordinates[:300]
    found = AtlasEmbedding(2).fit(np.concatenate([points, points]))
    assert rigid_error(found.embedding_, np.concatenate([coordinates, coordinates])) < 0.05
    np.testing.assert_array_equal(found.embedding_[:300], found.embedding_[300:])
    constant = np.column_stack([points, np.full(300, 7.0), np.zeros(300)])
    assert rigid_error(AtlasEmbedding(2).fit(constant).embedding_, coordinates) < 0.05
    few = np.repeat(np.random.default_rng(0).standard_normal((6, 3)), 5, axis=0)
    assert np.isfinite(AtlasEmbedding(2).fit(few).embedding_).all()


def test_wrong_input_is_named(sheet):
    for settings, message in [
        ({"n_components": 4}, "n_components must be below the number of features"),
        ({"n_components": 0}, "n_components must be an integer >= 1"),
        ({"bandwidth": -1.0}, "bandwidth must be positive"),
        ({"bandwidth": "wide"}, "bandwidth must be one of 'auto'"),
        ({"metric": "best"}, "metric must be one of 'auto', 'rigid', 'stress'"),
        ({"closed": "yes"}, "closed must be one of"),
        ({"n_neighbors": 2}, "n_neighbors must be an integer >= 4"),
        ({"missing": "drop"}, "missing must be one of"),
        ({"base_point": [0.0, 1.0]}, "base_point must have 3 coordinates"),
    ]:
        with pytest.raises(ValueError, match=message):
            AtlasEmbedding(**settings).fit(sheet.points)
    with pytest.raises(ValueError, match="minimum of 4 is required"):
        AtlasEmbedding(2).fit(sheet.points[:3])


def test_a_given_bandwidth_is_the_scale_of_the_averages(sheet):
    found = AtlasEmbedding(2, bandwidth=0.12).fit(sheet.points)
    # Rows within √6 bandwidths, of 1200 on an area of 6π.
    assert 0.6 < found.n_denoising_neighbors_ / (1200 * 6.0 * 0.12**2 * np.pi / (6.0 * np.pi)) < 1.1
    assert rigid_error(found.embedding_, sheet.coordinates) < 1.2 * np.sqrt(2.0) * 0.025
    with pytest.warns(SubbundleWarning, match="cannot be flattened"):
        raw = AtlasEmbedding(2, bandwidth=None).fit(sheet.points)
    assert raw.n_denoising_neighbors_ == 0


def test_pandas_pipelines_clones_and_copies(sheet, few, tmp_path):
    points, model = few
    frame = pd.DataFrame(points, columns=["x", "y", "z"])
    table = AtlasEmbedding(2).set_output(transform="pandas").fit(frame).transform(frame)
    assert list(table.columns) == ["atlasembedding0", "atlasembedding1"]
    np.testing.assert_array_equal(table.to_numpy(), model.embedding_)
    assert clone(model).get_params() == model.get_params()
    sb.save(model, tmp_path / "model.npz")
    for copy in (pickle.loads(pickle.dumps(model)), sb.load(tmp_path / "model.npz")):
        np.testing.assert_array_equal(copy.transform(points), model.embedding_)
        np.testing.assert_array_equal(copy.novelty(points), model.novelty(points))
        np.testing.assert_array_equal(copy.distance(points[:4]), model.distance(points[:4]))
    pipeline = make_pipeline(StandardScaler(with_std=False), AtlasEmbedding(2), KNeighborsRegressor(5))
    pipeline.fit(points, sheet.coordinates[:300, 0])
    # Neighbours of 300 points on 18.8 units of area are 0.25 apart, and five are averaged.
    assert np.median(np.abs(pipeline.predict(sheet.points[300:]) - sheet.coordinates[300:, 0])) < 0.14
    assert model.score(points) > 0.99


def test_the_command(sheet, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    source, target = tmp_path / "s.csv", tmp_path / "out.csv"
    np.savetxt(source, sheet.points[:400], delimiter=",")
    picture, saved = tmp_path / "s.png", tmp_path / "s.npz"
    arguments = ["embed", str(source), "-o", str(target), "--method", "atlas"]
    assert main([*arguments, "--figure", str(picture), "--save", str(saved)]) == 0
    said = capsys.readouterr().out
    assert "alignment residual of the charts" in said
    assert picture.stat().st_size > 1000
    table = pd.read_csv(target)
    assert list(table.columns) == [
        "coordinate_1", "coordinate_2", "residual", "coverage", "disagreement", "distortion", "novelty", "component",
        "status",
    ]  # fmt: skip
    assert rigid_error(table.to_numpy()[:, :2], sheet.coordinates[:400]) < 0.06
    assert main(["embed", str(source), "-o", str(tmp_path / "b.csv"), "--method", "atlas", "--model", str(saved)]) == 0
    assert (tmp_path / "b.csv").read_text() == target.read_text()
    assert main([*arguments, "--radius", "1"]) != 0
    assert "--radius belongs to --method chart" in capsys.readouterr().err
