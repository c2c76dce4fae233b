import numpy as np
import pytest

from subbundle import PrincipalSubbundle, datasets
from subbundle.bundles.analytic import SphereTangent
from subbundle.cloud import Cloud
from subbundle.selection import choose_base_point, choose_radius
from subbundle.selection.base_point import central_landmarks, central_points


def cap(n, lowest, noise=0.01):
    """Part of the unit sphere above the height ``lowest``, uniform by area."""
    rng = np.random.default_rng(0)
    z, t = rng.uniform(lowest, 1.0, n), rng.uniform(0.0, 2.0 * np.pi, n)
    ring = np.sqrt(1.0 - z**2)
    return np.column_stack([ring * np.cos(t), ring * np.sin(t), z]) + noise * rng.standard_normal((n, 3))


def cylinder(n, radius, height):
    rng = np.random.default_rng(0)
    t, z = rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(-0.5 * height, 0.5 * height, n)
    return np.column_stack([radius * np.cos(t), radius * np.sin(t), z]) + 0.005 * rng.standard_normal((n, 3))


def test_it_is_the_within_sample_frechet_mean():
    points = np.random.default_rng(0).standard_normal((300, 4)) ** 3
    distances = np.linalg.norm(points[:, None] - points[None], axis=2).mean(axis=1)
    found = central_points(Cloud(points), 5)
    # Up to 1000 observations the mean is over all of them, and the definition itself is computed.
    np.testing.assert_allclose(found, points[np.argsort(distances)[:5]], atol=1e-12)


def test_it_does_not_depend_on_the_order_of_the_rows():
    points = np.random.default_rng(1).standard_normal((2500, 3))
    shuffled = np.random.default_rng(2).permutation(points)
    np.testing.assert_array_equal(central_points(Cloud(points)), central_points(Cloud(shuffled)))
    bundles = [
        PrincipalSubbundle(cloud, 2, 0.2)
        for cloud in (cap(800, 0.3), np.random.default_rng(2).permutation(cap(800, 0.3)))
    ]
    first, second = (choose_base_point(bundle, distance="learned").point for bundle in bundles)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("distance", ["euclidean", "learned"])
def test_the_middle_of_a_cap_is_its_pole(distance):
    choice = choose_base_point(PrincipalSubbundle(cap(1500, 0.3), 2, 0.2), distance=distance)
    # The mean distance is flat around its minimum: neighbours a few spacings, 0.05 each, from the pole are as good.
    assert np.linalg.norm(choice.point - [0.0, 0.0, 1.0]) < 0.2
    # On the ridge, where the noise of 0.01 is averaged over.
    assert abs(np.linalg.norm(choice.point) - 1.0) < 0.01
    assert choice.distance == distance


def test_along_the_shape_the_middle_of_a_roll_is_that_of_the_sheet():
    data = datasets.swiss_roll(2000, noise=0.01, seed=0)
    bundle = PrincipalSubbundle(data.points, 2, 0.2)
    unrolled = data.coordinates
    middle = np.array([0.5 * unrolled[:, 0].max(), 1.0])

    def off(distance):
        point = choose_base_point(bundle, distance=distance).point
        return np.abs(unrolled[np.argmin(np.linalg.norm(data.clean - point, axis=1))] - middle)

    # The sheet is 8.9 long; mean distances within a twentieth of it differ by a hundredth.
    assert off("learned")[0] < 0.5
    assert off("euclidean")[0] > 1.0


def test_it_lies_in_the_largest_component():
    small = cap(300, 0.8) + np.array([0.0, 0.0, 9.0])
    bundle = PrincipalSubbundle(np.concatenate([cap(1200, 0.3), small]), 2, 0.2)
    assert central_landmarks(bundle)[0][0, 2] < 2.0


def test_radii_of_known_shapes():
    on_sphere = choose_radius(SphereTangent(2), [0.0, 0.0, 1.0], max_radius=4.0)
    # Geodesics meet at the antipode, and are taken for met when close, up to a tenth early.
    assert 0.9 * np.pi < on_sphere.radius <= np.pi + 1e-6
    assert on_sphere.support == np.inf
    around = PrincipalSubbundle(cylinder(2500, 0.6, 6.0), 2, 0.15)
    start = choose_base_point(around).point
    found = choose_radius(around, start)
    # Halfway around, π R; noise deflects geodesics by some hundredths.
    assert found.injectivity == pytest.approx(0.6 * np.pi, rel=0.08)
    assert found.radius == found.injectivity < found.support <= found.reach


def test_a_cap_ends_where_the_data_does():
    bundle = PrincipalSubbundle(cap(1500, 0.3), 2, 0.15)
    found = choose_radius(bundle, [0.0, 0.0, 1.0])
    assert found.injectivity == np.inf
    # arccos 0.3 from the pole; the support ends where the density has fallen to 5 %, 1.6 bandwidths further out.
    assert np.arccos(0.3) < found.support <= found.radius < np.arccos(0.3) + 2.5 * 0.15


def test_unknown_options_are_refused():
    bundle = PrincipalSubbundle(cap(300, 0.3), 2, 0.3)
    with pytest.raises(ValueError, match="distance must be one of 'euclidean', 'learned'; got 'far'"):
        choose_base_point(bundle, distance="far")


def test_a_bundle_in_closed_form_has_no_centre():
    with pytest.raises(TypeError, match="bundle must be learned from data.*got SphereTangent"):
        choose_base_point(SphereTangent(2))
