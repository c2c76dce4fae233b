"""Estimators on a manifold: bandwidth, denoised bundle, base point, explained variance."""

from __future__ import annotations

import json

import numpy as np
import pytest

import subbundle as sb
from subbundle.bundles.surroundings import _Logs as Logs
from subbundle.estimators._learn import central_rows, find_base_point, kept_variance, prepare_on_manifold
from subbundle.spaces import SO, SPD, Euclidean, Hyperbolic, Kendall, Product, Sphere
from subbundle.spaces.description import describe, restore
from subbundle.spaces.rows import as_observations


def parallel(n=300, noise=0.03, seed=0):
    """Noisy points around the circle of latitude z = 0.6, and their longitudes."""
    rng = np.random.default_rng(seed)
    c = rng.uniform(-1.5, 1.5, n)
    points = np.column_stack([0.8 * np.cos(c), 0.8 * np.sin(c), np.full(n, 0.6)])
    return Sphere(2).projection(points + noise * rng.normal(size=(n, 3))), c


def test_coordinates_along_a_circle_of_latitude():
    points, longitude = parallel()
    learned = prepare_on_manifold(points, 1, space=Sphere(2))
    base = find_base_point(learned, "frechet", Sphere(2))
    chart = sb.Chart(learned.bundle, base)
    located = chart.locate(points, outside="nearest")
    # The coordinate is the arc length 0.8 · longitude; noise along the curve is 0.03.
    slope, offset = np.polyfit(longitude, located.coordinates[:, 0], 1)
    rest = located.coordinates[:, 0] - slope * longitude - offset
    assert abs(slope) == pytest.approx(0.8, rel=0.02)
    assert rest.std() < 0.045
    assert np.median(located.residuals) < 0.03
    # The bundle was estimated from points on the ridge, far nearer to the circle than the observations.
    off = np.abs(learned.bundle.observations[:, 2] - 0.6)
    assert off.mean() < 0.4 * np.abs(points[:, 2] - 0.6).mean()
    assert 0.98 < kept_variance(chart, points, Sphere(2)) < 1.0


def test_matrices_may_be_flat_or_square():
    rng = np.random.default_rng(1)
    base = np.array([[2.0, 0.5], [0.5, 1.0]])
    pictures = np.column_stack([np.linspace(-0.6, 0.6, 40), *(0.05 * rng.normal(size=(2, 40)))])
    rows = Logs(SPD(2), base.ravel()).leave(pictures)
    np.testing.assert_array_equal(as_observations(rows.reshape(-1, 2, 2), SPD(2)), as_observations(rows, SPD(2)))
    learned = prepare_on_manifold(rows, 1, space=SPD(2), bandwidth=0.2, denoise=False)
    assert learned.bandwidth == learned.bundle.bandwidth == 0.2
    # 40 observations are few, and yet enough to compare bandwidths: between their spacing and their extent.
    assert 1.2 / 40 < prepare_on_manifold(rows, 1, space=SPD(2), denoise=False).bandwidth < 1.2
    given = find_base_point(learned, rows[20].reshape(2, 2), SPD(2))
    # Projected onto the ridge, within the noise of three directions.
    assert SPD(2).dist(given.reshape(2, 2), rows[20].reshape(2, 2)) < 0.3


def test_full_rank_is_the_sphere_itself():
    rng = np.random.default_rng(2)
    points = Sphere(2).projection(rng.normal(size=(300, 3)) * 0.4 + [0.0, 0.0, 1.0])
    learned = prepare_on_manifold(points, 2, space=Sphere(2))
    base = find_base_point(learned, "frechet", Sphere(2))
    assert np.abs(points - base).max(axis=1).min() == 0.0
    chart = sb.Chart(learned.bundle, base, 0.5)
    located = chart.locate(points)
    inside = located.status == sb.Status.OK
    expected = Sphere(2).log(points[inside], base) @ chart.frame
    np.testing.assert_allclose(located.coordinates[inside], expected, atol=10.0 * chart.interpolation_error + 1e-5)


def test_the_most_central_row_has_the_least_squared_distances():
    points, _ = parallel(80)
    space = Sphere(2)
    totals = (space.dist(points[:, None], points[None]) ** 2).sum(axis=1)
    np.testing.assert_array_equal(central_rows(points, space), np.argsort(totals, kind="stable"))
    order = np.random.default_rng(0).permutation(80)
    assert order[central_rows(points[order], space)[0]] == np.argmin(totals)


def test_bad_input():
    points, _ = parallel(60)
    with pytest.raises(ValueError, match=r"n_components must be an integer in 1..2 .*rank = dim is the manifold"):
        prepare_on_manifold(points, 3, space=Sphere(2))
    with pytest.raises(ValueError, match="write points = space.projection"):
        prepare_on_manifold(1.2 * points, 1, space=Sphere(2))
    with pytest.raises(ValueError, match="bandwidth must be one of 'auto'"):
        prepare_on_manifold(points, 1, space=Sphere(2), bandwidth="scott")
    for estimator in (sb.PrincipalSubmanifold, sb.GeodesicDistance):
        with pytest.raises(TypeError, match=r"space must be a manifold of sb.spaces; got 'sphere'. Pass for example"):
            estimator(1, space="sphere").fit(points)
    learned = prepare_on_manifold(points, 1, space=Sphere(2), bandwidth=0.2)
    with pytest.raises(ValueError, match="base_point must be one of 'frechet'"):
        find_base_point(learned, "mean", Sphere(2))
    with pytest.raises(ValueError, match="the given base_point must lie where the subspaces are defined"):
        find_base_point(learned, [0.0, 0.0, -1.0], Sphere(2))


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
    def test_arc_length_along_a_parallel(self):
        points, longitude = parallel(300)
        model = sb.PrincipalSubmanifold(1, space=Sphere(2), bandwidth=0.2).fit(points)
        middle = model.embedding_[:, 0]
        height = float(np.median(points[:, 2]))
        truth = np.sqrt(1.0 - height**2) * longitude
        sign = np.sign(np.corrcoef(middle, truth)[0, 1])
        inside = model.status_ == sb.Status.OK
        assert inside.mean() > 0.95
        offset = sign * middle[inside] - truth[inside]
        # Noise along the parallel, and a little for the curve learned.
        assert np.std(offset) < 0.05
        back = model.inverse_transform(model.embedding_)
        np.testing.assert_allclose(np.linalg.norm(back, axis=1), 1.0, atol=1e-9)
        assert model.score(points) > 0.95

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
