"""Algorithm 1 on spheres, where every point is known."""

import numpy as np
import pytest

from subbundle import Status
from subbundle.bundles.analytic import Constant, Heisenberg, SphereTangent
from subbundle.flow import METHODS
from subbundle.geodesics import directions, exp, submanifold

SPHERE = SphereTangent(2)
POLE = np.array([0.0, 0.0, 1.0])
TOLERANCE = 1e-5  # of dopri5: 1e-6 per step, over about ten steps


class Cap:
    """The tangent spaces of spheres, defined only where x < 0.5."""

    ambient_dim, rank, length_scale, is_costly = 3, 2, 1.0, False

    def frame(self, points):
        frame = SPHERE.frame(points)
        frame.status[points[:, 0] >= 0.5] = Status.LEFT_SUPPORT
        return frame

    def field(self, points, covectors):
        field = SPHERE.field(points, covectors)
        field.status[points[:, 0] >= 0.5] = Status.LEFT_SUPPORT
        return field


def test_layout_is_that_of_the_algorithm():
    M = submanifold(SPHERE, POLE, 1.0, step=0.3, n_geodesics=5)
    assert M.points.shape == M.covectors.shape == (3 * 5 + 1, 3)
    assert M.coordinates.shape == (16, 2)
    np.testing.assert_array_equal(M.points[0], POLE)
    np.testing.assert_array_equal(M.coordinates[0], 0.0)
    for i in range(5):
        for j in range(1, 4):
            row = 1 + i * 3 + j - 1
            np.testing.assert_array_equal(M.points[row], M.geodesics.points[i, j])
            np.testing.assert_allclose(M.coordinates[row], 0.3 * j * directions(2, 5)[i], rtol=1e-14)
            assert M.distances[row] == pytest.approx(0.3 * j)
    np.testing.assert_allclose(M.coordinates @ M.frame.T, M.covectors, atol=1e-15)
    assert M.valid.all()
    np.testing.assert_array_equal(M.status, Status.OK)
    assert (M.radius, M.step, M.n_geodesics) == (1.0, 0.3, 5)


@pytest.mark.parametrize(
    ("radius", "step", "s"), [(0.3, 0.001, 300), (0.3, 0.1, 3), (0.7, 0.1, 7), (1.0, 0.3, 3), (0.5, 0.5, 1)]
)
def test_the_number_of_points_does_not_depend_on_rounding(radius, step, s):
    assert len(submanifold(SPHERE, POLE, radius, step=step, n_geodesics=2).points) == 2 * s + 1


def test_points_lie_at_their_distance_on_the_sphere():
    M = submanifold(SPHERE, POLE, np.pi / 2, step=0.05, n_geodesics=40, tol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(M.points, axis=1), 1.0, atol=TOLERANCE)
    np.testing.assert_allclose(np.arccos(M.points[1:, 2]), M.distances[1:], atol=TOLERANCE)


@pytest.mark.parametrize("bundle", [SPHERE, SphereTangent(4), Heisenberg()], ids=repr)
def test_covectors_are_the_initial_ones(bundle):
    base = np.linspace(0.2, 0.9, bundle.ambient_dim)
    M = submanifold(bundle, base, 0.8, step=0.2, n_geodesics=12, tol=1e-6)
    np.testing.assert_allclose(exp(bundle, base, M.covectors), M.points, atol=TOLERANCE)
    np.testing.assert_allclose(exp(bundle, base, M.coordinates), M.points, atol=TOLERANCE)
    np.testing.assert_allclose(np.linalg.norm(M.coordinates, axis=1), M.distances, atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_fixed_step_methods_step_from_point_to_point(method):
    M = submanifold(SPHERE, POLE, 0.5, step=0.01, n_geodesics=3, method=method)
    if method == "euler":
        assert (M.geodesics.n_evaluations == 51).all()
    # First order: some times the step.
    np.testing.assert_allclose(np.linalg.norm(M.points, axis=1), 1.0, atol=2e-2)


def test_rank_one_goes_there_and_back():
    line = submanifold(Constant([[0.6], [0.8]]), [0.0, 0.0], 1.0, step=0.5)
    np.testing.assert_allclose(line.points, [[0, 0], [0.3, 0.4], [0.6, 0.8], [-0.3, -0.4], [-0.6, -0.8]], atol=1e-14)
    assert submanifold(SphereTangent(3), [1.0, 0, 0, 0], 0.1, step=0.1).n_geodesics == 200
    assert submanifold(SPHERE, POLE, 0.1, step=0.1).n_geodesics == 100


def test_geodesics_that_end_leave_the_layout_complete():
    M = submanifold(Cap(), POLE, 1.0, step=0.1, n_geodesics=4)  # directions ±x and ±y, in some order
    toward_x = np.flatnonzero(M.frame[0] @ directions(2, 4).T > 0.5)
    np.testing.assert_array_equal(np.flatnonzero(M.status == Status.LEFT_SUPPORT), toward_x)
    assert M.points.shape == (41, 3)
    # sin t < 0.5 up to t = π/6 = 0.52: five of the ten points of one geodesic.
    assert np.count_nonzero(~M.valid) == 5
    assert np.isnan(M.points[~M.valid]).all()
    assert np.isfinite(M.points[M.valid]).all()
    np.testing.assert_allclose(M.distances[~M.valid], [0.6, 0.7, 0.8, 0.9, 1.0])
    rows, distance = M.nearest(np.array([[0.8, 0.0, 0.6]]))
    assert M.valid[rows[0]]
    assert distance[0] == pytest.approx(np.linalg.norm(M.points[rows[0]] - [0.8, 0, 0.6]))


def test_nearest_is_the_discrete_projection():
    M = submanifold(SPHERE, POLE, 1.2, step=0.1, n_geodesics=30)
    queries = np.random.default_rng(0).normal(size=(50, 3))
    rows, distance = M.nearest(queries)
    all_distances = np.linalg.norm(queries[:, None] - M.points[None], axis=2)
    np.testing.assert_array_equal(rows, all_distances.argmin(axis=1))
    np.testing.assert_allclose(distance, all_distances.min(axis=1), rtol=1e-14)


def test_messages_of_wrong_arguments():
    with pytest.raises(ValueError, match=r"step must not exceed radius.*step=2 and radius=1.*step=0.02"):
        submanifold(SPHERE, POLE, 1.0, step=2.0)
    with pytest.raises(ValueError, match="radius must be positive"):
        submanifold(SPHERE, POLE, -1.0, step=0.1)
    with pytest.raises(ValueError, match=r"n_geodesics must be an integer in 2..2 \(rank 1 has two directions"):
        submanifold(Constant([[1.0], [0.0]]), [0.0, 0.0], 1.0, step=0.1, n_geodesics=5)
    with pytest.raises(ValueError, match="n_geodesics must be an integer >= 1"):
        submanifold(SPHERE, POLE, 1.0, step=0.1, n_geodesics=0)
    with pytest.raises(ValueError, match=r"base_point must be one point, shape \(dim,\)"):
        submanifold(SPHERE, POLE[None], 1.0, step=0.1)
    with pytest.raises(
        ValueError, match=r"base_point must lie where the subspace is defined.*the eigenvalue gap closed"
    ):
        submanifold(SPHERE, [0.0, 0, 0], 1.0, step=0.1)
