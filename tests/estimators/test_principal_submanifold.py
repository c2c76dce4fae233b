import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from subbundle import Status, SubbundleWarning, datasets
from subbundle.estimators import GeodesicDistance, PrincipalSubmanifold


def moved_onto(points, truth):
    """Nearest rigid motion of ``points`` to ``truth``."""
    centre, goal = points.mean(axis=0), truth.mean(axis=0)
    left, _, right = np.linalg.svd((points - centre).T @ (truth - goal))
    return (points - centre) @ (left @ right) + goal


def rms(vectors):
    return float(np.sqrt(np.mean(np.sum(vectors**2, axis=1))))


class TestTruth:
    def test_the_s_surface_is_unrolled_at_its_true_scale(self, sheet, fitted):
        error = rms(moved_onto(fitted.embedding_, sheet.coordinates) - sheet.coordinates)
        # Noise along the sheet alone gives 0.03 √2 = 0.042; the S is 9.4 long, and an eighth of its radius is allowed.
        assert error < 0.125
        assert np.mean(fitted.status_ == Status.OK) > 0.95

    def test_its_quality_is_that_of_scikit_learn(self, sheet, fitted):
        from sklearn.manifold import trustworthiness

        expected = trustworthiness(sheet.points, fitted.embedding_, n_neighbors=10)
        # The same integers summed in another order.
        assert fitted.quality_.trustworthiness == pytest.approx(expected, abs=1e-12)
        # Coordinates predict a row up to its noise, which is 0.03 in three directions.
        noise = 3.0 * 0.03**2 / np.var(sheet.points, axis=0).sum()
        assert fitted.quality_.prediction_error < noise < fitted.quality_.pca_prediction_error
        assert "nan" not in fitted.quality_.sentence()

    def test_flat_data_is_only_moved(self):
        rng = np.random.default_rng(0)
        flat = rng.uniform(-1.0, 1.0, (400, 2))
        basis = np.linalg.qr(rng.standard_normal((9, 2)))[0]
        model = PrincipalSubmanifold(bandwidth=0.3).fit(flat @ basis.T + 5.0)
        inside = model.status_ == Status.OK
        assert inside.mean() > 0.99
        found = moved_onto(model.embedding_[inside], flat[inside])
        # Straight geodesics: the error is the chart's own, a thousandth of the bandwidth.
        np.testing.assert_allclose(found, flat[inside], atol=1e-3 * 0.3)

    def test_as_many_components_as_features_give_a_rigid_motion(self):
        flat = np.random.default_rng(1).uniform(-1.0, 1.0, (300, 2))
        with pytest.warns(SubbundleWarning, match="n_components=2 is the number of features: no dimension is reduced"):
            model = PrincipalSubmanifold(bandwidth=0.3).fit(flat)
        inside = model.status_ == Status.OK
        np.testing.assert_allclose(moved_onto(model.embedding_[inside], flat[inside]), flat[inside], atol=1e-3 * 0.3)

    def test_one_component_is_arc_length(self):
        data = datasets.curve_in_plane(600, noise=0.02, seed=0)
        model = PrincipalSubmanifold(n_components=1, bandwidth=0.15).fit(data.points)
        error = rms(moved_onto(model.embedding_, data.coordinates) - data.coordinates)
        # Noise along the curve is 0.02; as much again is allowed to the curve learned.
        assert error < 0.04

    def test_high_dimension_is_as_accurate_as_low_dimension(self, sheet, fitted):
        rng = np.random.default_rng(0)
        basis = np.linalg.qr(rng.standard_normal((60, 3)))[0]
        raw = sheet.points @ basis.T + 0.03 * rng.standard_normal((700, 60)) @ (np.eye(60) - basis @ basis.T)
        model = PrincipalSubmanifold(bandwidth=0.25).fit(raw)
        assert model.axes_.shape == (60, 3)
        # 57 directions of 700 observations: a relative error of √(2/(57·700)).
        assert model.noise_ == pytest.approx(0.03, rel=0.03)
        here = moved_onto(model.embedding_, sheet.coordinates) - sheet.coordinates
        there = moved_onto(fitted.embedding_, sheet.coordinates) - sheet.coordinates
        # The components turn by σ √(60/700)/0.7, about 0.01: the errors stay of the same size.
        assert rms(here) < 1.3 * rms(there) + 0.01
        # Back in R^60 the reconstruction lies nearer to the clean points than the observations do, noise √60 · 0.03.
        clean = sheet.clean @ basis.T
        assert rms(model.inverse_transform(model.embedding_) - clean) < 0.5 * rms(raw - clean)


class TestLaws:
    def test_fit_transform_is_fit_then_transform(self, sheet, fitted):
        again = PrincipalSubmanifold(n_components=2, bandwidth=0.25)
        np.testing.assert_array_equal(again.fit_transform(sheet.points), fitted.transform(sheet.points))
        np.testing.assert_array_equal(again.embedding_, fitted.embedding_)

    def test_rows_do_not_depend_on_batch_or_order(self, sheet, fitted):
        whole = fitted.transform(sheet.points)
        order = np.random.default_rng(0).permutation(len(whole))
        np.testing.assert_array_equal(fitted.transform(sheet.points[order]), whole[order])
        np.testing.assert_array_equal(fitted.transform(sheet.points[13:14]), whole[13:14])

    def test_the_order_of_the_training_rows_does_not_matter(self, sheet, fitted):
        shuffled = np.random.default_rng(1).permutation(sheet.points)
        again = PrincipalSubmanifold(n_components=2, bandwidth=0.25).fit(shuffled)
        np.testing.assert_array_equal(again.transform(sheet.points), fitted.embedding_)

    def test_transform_then_inverse_is_the_projection(self, sheet, fitted):
        inside = fitted.status_ == Status.OK
        back = fitted.inverse_transform(fitted.embedding_[inside])
        # The projection of a projection is itself; both are found to rounding of the interpolant.
        np.testing.assert_allclose(fitted.transform(back), fitted.embedding_[inside], atol=1e-6 * 0.25)
        np.testing.assert_allclose(
            np.linalg.norm(sheet.points[inside] - back, axis=1), fitted.residuals_[inside], atol=1e-9
        )

    def test_equivariance_under_rotation_translation_and_scale(self, sheet, fitted):
        turn = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0]
        moved = PrincipalSubmanifold(n_components=2, bandwidth=0.5).fit(2.0 * sheet.points @ turn.T + [4.0, -1.0, 9.0])
        both = (fitted.status_ == Status.OK) & (moved.status_ == Status.OK)
        assert both.mean() > 0.9
        # Axes of the frame may flip, and its rays are then other ones; the chart is true to 1e-3 of the bandwidth,
        # and rays end at folds a little earlier or later.
        found = moved_onto(0.5 * moved.embedding_[both], fitted.embedding_[both])
        assert np.quantile(np.abs(found - fitted.embedding_[both]), 0.99) < 1e-2 * 0.25

    def test_loadings_are_the_derivative_of_the_inverse(self, fitted):
        at = 0.5 * fitted.embedding_[:5]
        loadings = fitted.loadings(at)
        assert loadings.shape == (5, 3, 2)
        step = 1e-5
        for i in range(2):
            ahead, behind = (fitted.inverse_transform(at + sign * step * np.eye(2)[i]) for sign in (1.0, -1.0))
            # Central differences of a smooth interpolant: step² and rounding over step.
            np.testing.assert_allclose(loadings[:, :, i], (ahead - behind) / (2.0 * step), atol=1e-6)

    def test_score_is_the_variance_kept(self, sheet, fitted):
        back = fitted.inverse_transform(fitted.transform(sheet.points))
        lost = np.sum((sheet.points - back) ** 2) / np.sum((sheet.points - sheet.points.mean(axis=0)) ** 2)
        assert fitted.score(sheet.points) == pytest.approx(1.0 - lost, abs=1e-9)
        # Off the surface remains noise of 0.03 in one direction, of a variance of 0.5 + 0.33 + 1.5 in all.
        assert fitted.score(datasets.s_surface(300, noise=0.03, seed=9).points) > 0.99


class TestOutside:
    far = np.array([[0.0, 1.0, 30.0], [0.0, 1.0, 0.0]])

    def test_nearest_gives_a_point_of_the_border_and_warns(self, fitted):
        with pytest.warns(
            SubbundleWarning, match="1 of 2 points lie outside the chart .* get the nearest point on the"
        ):
            coordinates = fitted.transform(self.far)
        assert np.isfinite(coordinates).all()
        found, residuals, status = fitted.locate(self.far)
        np.testing.assert_array_equal(found, coordinates)
        assert status.tolist() == [Status.LEFT_SUPPORT, Status.OK]
        assert residuals[0] > 20.0

    def test_nan_gives_nan_and_warns(self, sheet):
        model = PrincipalSubmanifold(bandwidth=0.25, radius=2.0, outside="nan")
        with pytest.warns(SubbundleWarning, match="points lie outside the chart .* and get NaN"):
            model.fit(sheet.points)
        outside = model.status_ != Status.OK
        assert 0.2 < outside.mean() < 0.9
        np.testing.assert_array_equal(np.isnan(model.embedding_).any(axis=1), outside)
        assert np.linalg.norm(model.embedding_[~outside], axis=1).max() <= 2.0 + 1e-6
        back = model.inverse_transform(model.embedding_)
        np.testing.assert_array_equal(np.isnan(back).any(axis=1), outside)

    def test_coordinates_beyond_the_border_are_shortened_along_their_ray(self, fitted):
        direction = fitted.embedding_[0] / np.linalg.norm(fitted.embedding_[0])
        near, beyond = fitted.inverse_transform([50.0 * direction, 500.0 * direction])
        np.testing.assert_allclose(near, beyond, atol=1e-6)
        back = fitted.transform(near[None])[0]
        # On the border of the chart, on the same ray, up to where the bisection ends and the border's own slack.
        assert np.abs(back / np.linalg.norm(back) - direction).max() < 1e-3


class TestChoices:
    def test_the_base_point_can_be_given(self, sheet):
        wanted = sheet.clean[5]
        model = PrincipalSubmanifold(bandwidth=0.25, base_point=wanted, radius=1.0)
        with pytest.warns(SubbundleWarning, match="outside the chart"):
            model.fit(sheet.points)
        # Projected onto the ridge: a fraction of the noise away, and less than the bandwidth along the sheet.
        assert np.linalg.norm(model.base_point_ - wanted) < 0.1
        np.testing.assert_allclose(model.inverse_transform([[0.0, 0.0]])[0], model.base_point_, atol=1e-9)

    def test_without_denoising_the_bundle_is_that_of_the_observations(self, sheet):
        model = PrincipalSubmanifold(bandwidth=0.3, denoise=False).fit(sheet.points)
        assert model.bundle_.bandwidth == 0.3
        np.testing.assert_allclose(model.bundle_.cloud.points, sheet.points, atol=1e-12)

    def test_components_can_be_counted_or_left_alone(self, sheet):
        padded = np.pad(sheet.points, ((0, 0), (0, 3)))
        for reduce_dim, kept in (("auto", 3), (None, 6), (4, 4)):
            assert GeodesicDistance(bandwidth=0.25, reduce_dim=reduce_dim).fit(padded).axes_.shape == (6, kept)

    def test_dense_clouds_are_thinned_without_loss(self):
        data = datasets.s_surface(6000, noise=0.03, seed=0)
        model = PrincipalSubmanifold(bandwidth=0.25).fit(data.points)
        assert model.bundle_.cloud.n_points < 5500
        # As in the sparse case: noise along the sheet is 0.042.
        assert rms(moved_onto(model.embedding_, data.coordinates) - data.coordinates) < 0.1


class TestBadInput:
    @pytest.mark.parametrize(
        ("settings", "error", "message"),
        [
            ({"n_components": 4}, ValueError, "n_components must be below the number of features; got n_components=4"),
            ({"n_components": 0}, ValueError, "n_components must be an integer >= 1; got 0"),
            ({"n_components": 1.5}, TypeError, "n_components must be an integer"),
            ({"bandwidth": "wide"}, ValueError, "bandwidth must be one of 'auto', 'local'; got 'wide'"),
            ({"bandwidth": -1.0}, ValueError, "bandwidth must be positive and finite; got -1.0. Or pass 'auto'"),
            ({"bandwidth": 1e-4}, ValueError, "bandwidth must reach at least rank \\+ 1 = 3 neighbours"),
            (
                {"base_point": "middle"},
                ValueError,
                "base_point must be one of 'frechet', 'learned', 'auto'; got 'middle'",
            ),
            ({"base_point": [0.0, 1.0]}, ValueError, "base_point must have 3 coordinates per point"),
            ({"base_point": [0.0, 1.0, 50.0]}, ValueError, "the given base_point must lie where the subspaces are"),
            ({"outside": "drop"}, ValueError, "outside must be one of 'nearest', 'nan'; got 'drop'"),
            ({"reduce_dim": 2}, ValueError, "reduce_dim must be an integer in 3..3"),
            ({"reduce_dim": "all"}, ValueError, "reduce_dim must be one of 'auto'"),
        ],
    )
    def test_invalid_settings(self, sheet, settings, error, message):
        with pytest.raises(error, match=message):
            PrincipalSubmanifold(**({"bandwidth": 0.25} | settings)).fit(sheet.points)

    def test_a_base_point_in_a_gap(self):
        rng = np.random.default_rng(0)
        sides = np.where(rng.random(600) < 0.5, -2.0, 2.0)
        parts = np.column_stack([sides + rng.uniform(-1, 1, 600), rng.uniform(-1, 1, 600), np.zeros(600)])
        with pytest.raises(ValueError, match="the given base_point must lie .*left the support"):
            PrincipalSubmanifold(bandwidth=0.2, base_point=[0.0, 0.0, 0.0]).fit(parts)

    def test_one_connected_component_of_a_cloud_is_covered(self):
        rng = np.random.default_rng(0)
        sides = np.where(rng.random(600) < 0.6, 0.0, 8.0)
        parts = np.column_stack([sides + rng.uniform(-1, 1, 600), rng.uniform(-1, 1, 600), np.zeros(600)])
        with pytest.warns(SubbundleWarning, match="points lie outside the chart"):
            model = PrincipalSubmanifold(bandwidth=0.2).fit(parts)
        here = np.abs(sides - model.base_point_[0]) < 2.0
        # Two bandwidths from the border of its own component a point may be beyond the last geodesic.
        assert np.mean(model.status_[here] == Status.OK) > 0.97
        assert (model.status_[~here] == Status.LEFT_SUPPORT).all()

    def test_too_few_samples_and_constant_features(self):
        with pytest.raises(ValueError, match="minimum of 4 is required"):
            PrincipalSubmanifold().fit(np.eye(3)[:2])
        line = np.zeros((50, 3))
        line[:, 0] = np.linspace(0.0, 1.0, 50)
        with pytest.raises(ValueError, match="rank must not exceed the number of directions in the data"):
            PrincipalSubmanifold(bandwidth=0.2).fit(line)
        with pytest.raises(ValueError, match="points must not all be equal"):
            PrincipalSubmanifold(bandwidth=0.2).fit(np.ones((50, 3)))

    def test_what_transform_refuses(self, fitted):
        with pytest.raises(ValueError, match="X has 4 features, but PrincipalSubmanifold is expecting 3"):
            fitted.transform(np.zeros((2, 4)))
        with pytest.raises(ValueError, match="Input X contains NaN"):
            fitted.transform(np.full((2, 3), np.nan))
        with pytest.raises(ValueError, match="X must have one column per component, 2; got shape \\(1, 3\\)"):
            fitted.inverse_transform(np.zeros((1, 3)))
        for name in ("transform", "inverse_transform", "score", "locate", "loadings"):
            with pytest.raises(NotFittedError, match="not fitted yet"):
                getattr(PrincipalSubmanifold(), name)(np.zeros((2, 3)))

    def test_small_clouds_are_reported(self):
        few = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 2))
        bowl = np.column_stack([few, 0.3 * np.sum(few**2, axis=1)])
        with pytest.warns(SubbundleWarning, match="could not be compared: at none do most of the 20 distinct"):
            model = PrincipalSubmanifold().fit(bowl)
        assert np.isfinite(model.embedding_).all()


def test_one_chart_of_very_many_dimensions_is_refused():
    rows = np.random.default_rng(0).standard_normal((60, 15))
    with pytest.raises(ValueError, match=r"n_components must be at most 12 .* got 14\. Use AtlasEmbedding"):
        PrincipalSubmanifold(14, bandwidth=3.0, reduce_dim=None).fit(rows)
