import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from subbundle import Status, SubbundleWarning, datasets
from subbundle.estimators import GeodesicDistance
from subbundle.saving import load, save
from subbundle.spaces import Sphere


@pytest.fixture(scope="module")
def ball():
    data = datasets.sphere(2000, noise=0.02, seed=0)
    return data.points, GeodesicDistance(rank=2, bandwidth=0.25).fit(data.points)


def on_sphere(points, others):
    """Great-circle distances between the directions of the points."""
    unit, other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (points, others))
    return np.arccos(np.clip(unit @ other.T, -1.0, 1.0))


def test_distances_are_those_of_the_sphere(ball):
    points, metric = ball
    found, truth = metric.pairwise(points[:4], points[10:60]), on_sphere(points[:4], points[10:60])
    far = truth > 0.3
    # Noise across the sphere is removed, and that along it is in both; the ridge of 2000 points deviates by
    # 0.02/√40, and so do the geodesics along it.
    assert np.abs(found - truth)[far].max() < 0.05
    assert np.mean(np.abs(found - truth)[far] / truth[far]) < 0.01


def test_callable_and_matrix_agree_and_are_symmetric(ball):
    points, metric = ball
    matrix = metric.pairwise(points[:6])
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diag(matrix), 0.0)
    for i, j in ((0, 1), (2, 5)):
        assert metric(points[i], points[j]) == metric(points[j], points[i])
        # The matrix interpolates between geodesics of a fan, the call follows the one.
        assert metric(points[i], points[j]) == pytest.approx(matrix[i, j], rel=1e-3, abs=1e-3 * 0.25)


def test_the_training_points_are_the_default():
    flat = np.random.default_rng(0).uniform(-1.0, 1.0, (80, 2))
    bowl = np.column_stack([flat, 0.2 * np.sum(flat**2, axis=1)])
    metric = GeodesicDistance(rank=2, bandwidth=0.4).fit(bowl)
    some = np.arange(0, 80, 16)
    whole = metric.pairwise()
    assert whole.shape == (80, 80)
    # The large matrix is read off the graph, the small one has straightened paths: 80 sparse points leave per cents.
    np.testing.assert_allclose(metric.pairwise(bowl[some]), whole[np.ix_(some, some)], rtol=0.02)


def test_connected_components_are_infinitely_far():
    rng = np.random.default_rng(0)
    sides = np.where(np.arange(600) < 300, 0.0, 9.0)
    parts = np.column_stack([sides + rng.uniform(-1, 1, 600), rng.uniform(-1, 1, 600), 0.01 * rng.standard_normal(600)])
    metric = GeodesicDistance(rank=2, bandwidth=0.25).fit(parts)
    found = metric.pairwise(parts[::100])
    apart = sides[::100, None] != sides[None, ::100]
    np.testing.assert_array_equal(np.isinf(found), apart)


@pytest.mark.parametrize("method", ["geodesics", "atlas"])
def test_locate_projects_and_numbers_the_components(method, tmp_path):
    first, second = datasets.sphere(600, noise=0.02, seed=0).points, datasets.sphere(400, noise=0.02, seed=1).points
    points = np.concatenate([first, second + [5.0, 0.0, 0.0]])
    metric = GeodesicDistance(rank=2, bandwidth=0.25, method=method).fit(points)
    some = points[::10]
    located = metric.locate(some)
    centre = np.where(np.arange(100)[:, None] < 60, 0.0, [5.0, 0.0, 0.0])
    off, given = (np.abs(np.linalg.norm(rows - centre, axis=1) - 1.0).mean() for rows in (located.points, some))
    # Some ten neighbours in a bandwidth are averaged, and the sphere bends within it.
    assert off < 0.7 * given
    np.testing.assert_allclose(located.residuals, np.linalg.norm(some - located.points, axis=1), rtol=1e-9)
    np.testing.assert_array_equal(located.labels, np.repeat([0, 1], [60, 40]))
    np.testing.assert_array_equal(located.status, 0)
    # The training points are kept as they are located, in either method.
    np.testing.assert_allclose(metric.points_[::10] @ metric.axes_.T + metric.mean_, located.points, atol=1e-12)
    beyond = metric.locate([[0.0, 9.0, 0.0]])
    # Above the middle of a chart the atlas has a projection, with a residual of 8.
    assert beyond.status[0] == Status.LEFT_SUPPORT if method == "geodesics" else beyond.novelty[0] > 100.0
    again = load(save(metric, tmp_path / "metric.npz"))
    np.testing.assert_array_equal(again.locate(some).points, located.points)
    np.testing.assert_array_equal(again.points_, metric.points_)


def test_high_dimension_is_reduced_first():
    data = datasets.sphere(1500, noise=0.02, seed=1)
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 3)))[0]
    raw = data.points @ basis.T + 0.02 * np.random.default_rng(1).standard_normal((1500, 40))
    metric = GeodesicDistance(rank=2, bandwidth=0.3).fit(raw)
    assert metric.axes_.shape == (40, 3)
    truth = on_sphere(raw[:3] @ basis, raw[20:60] @ basis)
    far = truth > 0.3
    assert np.mean(np.abs(metric.pairwise(raw[:3], raw[20:60]) - truth)[far] / truth[far]) < 0.02


class TestBadInput:
    def test_settings(self):
        points = np.random.default_rng(0).standard_normal((50, 3))
        with pytest.raises(ValueError, match="rank must be below the number of features; got rank=4 and n_features=3"):
            GeodesicDistance(rank=4).fit(points)
        with pytest.raises(TypeError, match="rank must be an integer"):
            GeodesicDistance(rank=2.5).fit(points)
        with pytest.raises(ValueError, match="rank must be a positive integer or 'auto'; got 'two'"):
            GeodesicDistance(rank="two").fit(points)

    def test_calls(self, ball):
        points, metric = ball
        with pytest.raises(ValueError, match="pairwise takes Y only together with X"):
            metric.pairwise(Y=points[:3])
        with pytest.raises(ValueError, match="X has 2 features"):
            metric(points[0, :2], points[1, :2])
        with pytest.raises(ValueError, match="contains NaN"):
            metric.pairwise(np.full((2, 3), np.nan))
        with pytest.raises(NotFittedError):
            GeodesicDistance().pairwise(points)
        with pytest.raises(NotFittedError):
            GeodesicDistance()(points[0], points[1])

    def test_a_point_off_the_data_is_infinitely_far(self, ball):
        points, metric = ball
        assert metric(points[0], [9.0, 0.0, 0.0]) == np.inf

    def test_few_rows_have_two_dimensions(self):
        points = np.random.default_rng(0).standard_normal((20, 3))
        with pytest.warns(SubbundleWarning, match="rank='auto' needs 30 rows and took 2 for 20"):
            assert GeodesicDistance(bandwidth=1.5).fit(points).rank_ == 2

    def test_shapeless_clouds_are_reported(self):
        with pytest.warns(SubbundleWarning, match="could not be compared: at none do most of the 20 distinct"):
            GeodesicDistance(2).fit(np.random.default_rng(0).standard_normal((20, 3)))


def test_the_dimension_is_that_of_the_data():
    """Along a helix of radius 1 and slope 0.3 lengths are √1.09 times the angle; a sheet would cut across."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 4.0 * np.pi, 1000)
    helix = np.column_stack([np.cos(angle), np.sin(angle), 0.3 * angle]) + 0.03 * rng.standard_normal((1000, 3))
    metric = GeodesicDistance(n_jobs=1).fit(helix)
    assert metric.rank_ == 1
    exact = np.sqrt(1.09) * np.abs(angle[:30, None] - angle[:30])
    far = exact > 1.0
    # Each end is off along the curve by the noise, 0.03.
    assert np.median(np.abs(metric.pairwise(helix[:30])[far] / exact[far] - 1.0)) < 0.03


class TestAtlas:
    def test_distances_of_a_cap_are_great_circles(self, tmp_path):
        rng = np.random.default_rng(0)
        height, turn = rng.uniform(0.5, 1.0, 1500), rng.uniform(0.0, 2.0 * np.pi, 1500)
        ring = np.sqrt(1.0 - height**2)
        clean = np.column_stack([ring * np.cos(turn), ring * np.sin(turn), height])
        metric = GeodesicDistance(2, method="atlas").fit(clean + 0.01 * rng.standard_normal(clean.shape))
        found = metric.pairwise(clean[:20])
        exact = np.arccos(np.clip(clean[:20] @ clean[:20].T, -1.0, 1.0))
        # The sheet learned is off by a fraction of the noise, 0.01, and paths are straight to a hundredth.
        np.testing.assert_allclose(found, exact, atol=0.03)
        np.testing.assert_allclose(found, found.T, atol=1e-9)
        assert metric(clean[0], clean[1]) == pytest.approx(found[0, 1], abs=1e-6)
        again = load(save(metric, tmp_path / "metric.npz"))
        np.testing.assert_array_equal(again.pairwise(clean[:5]), metric.pairwise(clean[:5]))

    def test_what_is_refused(self):
        points = np.random.default_rng(0).standard_normal((50, 3))
        with pytest.raises(ValueError, match="method must be one of 'geodesics', 'atlas'; got 'graph'"):
            GeodesicDistance(2, method="graph").fit(points)
        with pytest.raises(ValueError, match="space must be None with method='atlas'"):
            GeodesicDistance(2, method="atlas", space=Sphere(2)).fit(points)
