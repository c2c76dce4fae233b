"""Estimators on a manifold: bandwidth, denoised bundle, base point, explained variance."""

from __future__ import annotations

import json

import numpy as np
import pytest

import subbundle as sb
from subbundle.spaces import SO, SPD, Euclidean, Hyperbolic, Kendall, Product, Sphere
from subbundle.spaces.description import describe, restore


def parallel(n=300, noise=0.03, seed=0):
    """Noisy points around the circle of latitude z = 0.6, and their longitudes."""
    rng = np.random.default_rng(seed)
    c = rng.uniform(-1.5, 1.5, n)
    points = np.column_stack([0.8 * np.cos(c), 0.8 * np.sin(c), np.full(n, 0.6)])
    return Sphere(2).projection(points + noise * rng.normal(size=(n, 3))), c


def test_coordinates_along_a_circle_of_latitude():
    points, longitude = parallel()
    model = sb.PrincipalSubmanifold(1, space=Sphere(2)).fit(points)
    assert np.mean(model.status_ == sb.Status.OK) > 0.95
    # The coordinate is the arc length 0.8 · longitude; noise along the curve is 0.03.
    slope, offset = np.polyfit(longitude, model.embedding_[:, 0], 1)
    rest = model.embedding_[:, 0] - slope * longitude - offset
    assert abs(slope) == pytest.approx(0.8, rel=0.02)
    assert rest.std() < 0.045
    assert np.median(model.residuals_) < 0.03
    # The bundle was estimated from points on the ridge, far nearer to the circle than the observations.
    off = np.abs(model.bundle_.observations[:, 2] - 0.6)
    assert off.mean() < 0.4 * np.abs(points[:, 2] - 0.6).mean()
    assert 0.98 < model.score(points) < 1.0
    back = model.inverse_transform(model.embedding_)
    np.testing.assert_allclose(np.linalg.norm(back, axis=1), 1.0, atol=1e-9)


def test_full_rank_is_the_sphere_itself():
    rng = np.random.default_rng(2)
    points = Sphere(2).projection(rng.normal(size=(150, 3)) * 0.4 + [0.0, 0.0, 1.0])
    model = sb.PrincipalSubmanifold(2, space=Sphere(2), radius=0.5, outside="nan")
    with pytest.warns(sb.SubbundleWarning, match="lie outside the chart"):
        model.fit(points)
    # Nothing is projected: the base point is the row with the least squared distances.
    totals = (Sphere(2).dist(points[:, None], points[None]) ** 2).sum(axis=1)
    np.testing.assert_array_equal(model.base_point_, points[np.argmin(totals)])
    inside = model.status_ == sb.Status.OK
    expected = Sphere(2).log(points[inside], model.base_point_) @ model.chart_.frame
    tolerance = 10.0 * model.chart_.interpolation_error + 1e-5
    np.testing.assert_allclose(model.embedding_[inside], expected, atol=tolerance)


def test_bad_input():
    points, _ = parallel(60)
    with pytest.raises(ValueError, match=r"n_components must be an integer in 1..2 .*rank = dim is the manifold"):
        sb.PrincipalSubmanifold(3, space=Sphere(2)).fit(points)
    with pytest.raises(ValueError, match="write points = space.projection"):
        sb.GeodesicDistance(1, space=Sphere(2)).fit(1.2 * points)
    with pytest.raises(ValueError, match="bandwidth must be one of 'auto'"):
        sb.GeodesicDistance(1, space=Sphere(2), bandwidth="scott").fit(points)
    for estimator in (sb.PrincipalSubmanifold, sb.GeodesicDistance):
        with pytest.raises(TypeError, match=r"space must be a manifold of sb.spaces; got 'sphere'. Pass for example"):
            estimator(1, space="sphere").fit(points)
    with pytest.raises(ValueError, match="base_point must be one of 'frechet'"):
        sb.PrincipalSubmanifold(1, space=Sphere(2), bandwidth=0.2, base_point="mean").fit(points)
    with pytest.raises(ValueError, match="the given base_point must lie where the subspaces are defined"):
        sb.PrincipalSubmanifold(1, space=Sphere(2), bandwidth=0.2, base_point=[0.0, 0.0, -1.0]).fit(points)


@pytest.mark.parametrize(
    "space",
    [Euclidean(3), Sphere(2), Hyperbolic(4), SPD(3), SO(3), Kendall(5, 2), Product(Sphere(2), SPD(2))],
    ids=repr,
)
def test_spaces_are_described_as_text(space):
    again = restore(json.loads(json.dumps(describe(space))))
    assert repr(again) == repr(space)
    assert again.shape == space.shape


def test_a_space_without_description():
    with pytest.raises(ValueError, match="to be written to a file; got .* fit again instead"):
        describe(object())
    with pytest.raises(ValueError, match="got 'Torus'"):
        restore({"space": "Torus", "arguments": [2]})


class TestEstimator:
    def test_matrices_go_in_as_they_are_or_flat(self, tmp_path):
        rng = np.random.default_rng(0)
        logs = rng.uniform(-1.0, 1.0, (150, 1)) * [[1.0, -0.5]] + 0.02 * rng.standard_normal((150, 2))
        matrices = np.exp(logs)[:, :, None] * np.eye(2)
        model = sb.PrincipalSubmanifold(1, space=SPD(2), bandwidth=0.4).fit(matrices)
        few = model.transform(matrices[:20])
        np.testing.assert_array_equal(model.transform(matrices.reshape(150, 4)[:20]), few)
        # Diagonal matrices are a plane of logarithms, where the data is a straight line of slope −1/2.
        inside = model.status_ == sb.Status.OK
        along = logs @ np.array([1.0, -0.5]) / np.sqrt(1.25)
        sign = np.sign(np.corrcoef(model.embedding_[:, 0], along)[0, 1])
        offset = sign * model.embedding_[inside, 0] - along[inside]
        assert np.std(offset) < 0.02
        given = sb.PrincipalSubmanifold(1, space=SPD(2), bandwidth=0.4, denoise=False, base_point=matrices[20])
        given.fit(matrices)
        assert given.bandwidth_ == given.bundle_.bandwidth == 0.4
        # Projected onto the ridge of the observations, within the noise of two directions.
        assert SPD(2).dist(given.base_point_.reshape(2, 2), matrices[20]) < 0.1
        again = sb.load(sb.save(model, tmp_path / "model.npz"))
        assert repr(again.space) == repr(SPD(2))
        np.testing.assert_array_equal(again.transform(matrices[:20]), few)
        np.testing.assert_array_equal(again.inverse_transform([[0.1]]), model.inverse_transform([[0.1]]))

    def test_distances_on_the_sphere_itself(self):
        points = Sphere(2).projection(np.random.default_rng(0).standard_normal((60, 3)))
        metric = sb.GeodesicDistance(2, space=Sphere(2), bandwidth=0.8).fit(points)
        near = points[np.argsort(Sphere(2).dist(points, points[0]))[:6]]
        # Full rank: the bundle is the sphere, and distances are its own; a fan places targets to a hundredth of the
        # bandwidth.
        np.testing.assert_allclose(metric.pairwise(near), Sphere(2).dist(near[:, None], near[None]), atol=8e-3)
