"""The arguments of a geodesic, and the exponential map."""

import numpy as np
import pytest

from subbundle import Status, SubbundleWarning
from subbundle.bundles.analytic import Constant, Heisenberg, SphereTangent
from subbundle.flow import METHODS
from subbundle.geodesics import exp, geodesic

SPHERE = SphereTangent(2)
POLE = np.array([0.0, 0.0, 1.0])
TOLERANCE = 1e-5  # of dopri5: 1e-6 per step, over about ten steps


class Half:
    """The tangent spaces of spheres, defined only where z > 0.2: an end of the data for tests."""

    ambient_dim, rank, length_scale, is_costly = 3, 2, 1.0, False

    def frame(self, points):
        frame = SPHERE.frame(points)
        frame.density[points[:, 2] <= 0.2] = 0.001
        frame.status[points[:, 2] <= 0.2] = Status.LEFT_SUPPORT
        return frame

    def field(self, points, covectors):
        field = SPHERE.field(points, covectors)
        field.status[points[:, 2] <= 0.2] = Status.LEFT_SUPPORT
        return field


def test_length_gives_unit_speed_geodesics_equally_spaced():
    curves = geodesic(SPHERE, POLE, np.array([[5.0, 0, 0], [0, 0.1, 3.0]]), length=1.5, n_points=4)
    np.testing.assert_array_equal(curves.times, [0.0, 0.5, 1.0, 1.5])
    np.testing.assert_array_equal(curves.lengths, 1.5)
    np.testing.assert_array_equal(curves.reached, 1.5)
    sine, cosine, zero = np.sin(curves.times), np.cos(curves.times), np.zeros(4)
    np.testing.assert_allclose(curves.points[0], np.stack([sine, zero, cosine], axis=1), atol=TOLERANCE)
    np.testing.assert_allclose(curves.points[1], np.stack([zero, sine, cosine], axis=1), atol=TOLERANCE)
    np.testing.assert_allclose(curves.covectors[:, 0], [[1.0, 0, 0], [0, 1.0, 30.0]], rtol=1e-13)
    assert geodesic(SPHERE, POLE, [1.0, 0, 0], length=1.0).points.shape == (101, 3)


def test_times_give_the_exponential_map_of_multiples():
    covectors = np.array([[0.7, 0, 0], [0, -1.3, 0.4]])
    curves = geodesic(SPHERE, POLE, covectors, times=[0.5, 2.0])
    for i, t in enumerate([0.5, 2.0]):
        np.testing.assert_allclose(curves.points[:, i], exp(SPHERE, POLE, t * covectors), atol=TOLERANCE)
    np.testing.assert_allclose(curves.lengths, [1.4, 2.6], rtol=1e-13)
    np.testing.assert_array_equal(curves.reached, 2.0)


def test_one_covector_gives_one_geodesic():
    curve = geodesic(SPHERE, POLE, [1.0, 0, 0], length=1.0, n_points=3)
    assert curve.points.shape == curve.covectors.shape == (3, 3)
    assert curve.status is Status.OK
    assert curve.reached == curve.lengths == 1.0
    assert curve.end_points.shape == (3,)
    assert isinstance(curve.n_evaluations, int)
    assert exp(SPHERE, POLE, [1.0, 0, 0]).shape == (3,)
    assert exp(SPHERE, POLE, [[1.0, 0, 0]]).shape == (1, 3)
    assert exp(SPHERE, POLE[None], [1.0, 0, 0]).shape == (1, 3)


def test_base_points_and_covectors_pair_up():
    points = np.array([[1.0, 0, 0], [0, 2.0, 0]])
    ends = exp(SPHERE, points, [0, 0, np.pi / 2])
    np.testing.assert_allclose(ends, [[0, 0, 1.0], [0, 2 * np.cos(np.pi / 4), 2 * np.sin(np.pi / 4)]], atol=TOLERANCE)
    pairs = exp(SPHERE, points, [[0, 0, np.pi / 2], [0, 0, np.pi]])
    np.testing.assert_allclose(pairs, [[0, 0, 1.0], [0, 0, 2.0]], atol=TOLERANCE)


def test_coordinates_are_taken_in_the_frame_at_the_base_point():
    rng = np.random.default_rng(2)
    points, v = rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    F = SPHERE.frame(points).vectors
    ends = exp(SPHERE, points, np.einsum("bdi,bi->bd", F, v))
    np.testing.assert_allclose(exp(SPHERE, points, v), ends, atol=1e-12)  # covectors that differ by rounding
    # A frame that is not orthonormal in the Euclidean sense: the covector with η·X = v₁, η·Y = v₂ has speed |v|.
    curves = geodesic(Heisenberg(), points, v, times=[0.0, 1.0])
    np.testing.assert_allclose(curves.lengths, np.linalg.norm(v, axis=1), rtol=1e-12)
    X = Heisenberg().frame(points).vectors
    np.testing.assert_allclose(np.einsum("bdi,bd->bi", X, curves.covectors[:, 0]), v, rtol=1e-12)
    # All of R^2: rank and dimension agree, and components are meant.
    np.testing.assert_allclose(exp(Constant(np.eye(2)[:, ::-1]), [0.0, 0.0], [1.0, 2.0]), [1.0, 2.0], rtol=1e-14)


def test_coordinates_have_the_same_bits_in_every_batch():
    rng = np.random.default_rng(4)
    points, v = rng.normal(size=(9, 6)), rng.normal(size=(9, 5))
    whole = exp(SphereTangent(5), points, v)
    for i in range(9):
        assert exp(SphereTangent(5), points[i], v[i]).tobytes() == whole[i].tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_methods_are_passed_on(method):
    how = {"tol": 1e-9} if method == "dopri5" else {"step": 1e-2}
    end = exp(SPHERE, POLE, [0.3, 0, 0], method=method, **how)
    # First order: at most a step's length times the arc.
    np.testing.assert_allclose(end, [np.sin(0.3), 0, np.cos(0.3)], atol=1e-2)


def test_geodesics_that_end_early_are_reported():
    directions = np.array([[1.0, 0, 0], [0, 0.5, 0]])
    curves = geodesic(Half(), POLE, directions, times=np.linspace(0.0, 2.0, 41))
    np.testing.assert_array_equal(curves.status, [Status.LEFT_SUPPORT, Status.OK])
    border = np.arccos(0.2)
    assert border - 1e-3 - TOLERANCE <= curves.lengths[0] <= border + TOLERANCE
    np.testing.assert_array_equal(np.isfinite(curves.points[0, :, 0]), curves.times <= curves.reached[0])
    with pytest.warns(
        SubbundleWarning, match=r"1 of 2 geodesics ended before time 1 \(left the support of the data: 1\).*sb.geodesic"
    ):
        ends = exp(Half(), POLE, 2.0 * directions)
    assert np.isnan(ends[0]).all()
    np.testing.assert_allclose(ends[1], [0, np.sin(1.0), np.cos(1.0)], atol=TOLERANCE)


def test_messages_of_wrong_arguments():
    with pytest.raises(ValueError, match=r"either length= or times=; got neither. Pass length=1.0"):
        geodesic(SPHERE, POLE, [1.0, 0, 0])
    with pytest.raises(ValueError, match="got both"):
        geodesic(SPHERE, POLE, [1.0, 0, 0], length=1.0, times=[1.0])
    with pytest.raises(ValueError, match="n_points goes with length="):
        geodesic(SPHERE, POLE, [1.0, 0, 0], times=[1.0], n_points=5)
    with pytest.raises(ValueError, match="length must be positive"):
        geodesic(SPHERE, POLE, [1.0, 0, 0], length=0.0)
    with pytest.raises(ValueError, match=r"1 of 2 vanish on it \(H = 0\), first row 1"):
        geodesic(SPHERE, POLE, [[1.0, 0, 0], [0, 0, 1.0]], length=1.0)
    with pytest.raises(
        ValueError, match=r"3 components, or 2 coordinates in the frame at base_point; got shape \(4,\)"
    ):
        exp(SPHERE, POLE, np.ones(4))
    with pytest.raises(ValueError, match="as many rows as each other, or one of them a single row; got 2 and 3"):
        exp(SPHERE, np.ones((2, 3)), np.ones((3, 3)))
    with pytest.raises(ValueError, match=r"covectors must be one row.*reshape\(-1, 3\)"):
        exp(SPHERE, POLE, np.ones((2, 2, 3)))
    with pytest.raises(ValueError, match="base_point must have 3 coordinates"):
        exp(SPHERE, [0.0, 1.0], [1.0, 0, 0])
    with pytest.raises(ValueError, match=r"where the subspace is defined.*relative density 0.001.*sb.carry_to_ridge"):
        exp(Half(), [1.0, 0, 0], [1.0, 0])
    with pytest.raises(ValueError, match=r"in 1 of 2 rows, first in row 1: the eigenvalue gap closed"):
        exp(SPHERE, [[1.0, 0, 0], [0, 0, 0]], [1.0, 0])
