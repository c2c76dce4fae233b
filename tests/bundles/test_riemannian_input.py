"""What the bundle on a manifold refuses, and its statuses where it is not defined."""

from __future__ import annotations

import numpy as np
import pytest
from manifold_clouds import BANDWIDTH, cloud, inside

import subbundle as sb
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.spaces import SPD, Hyperbolic, Kendall, Sphere

RING = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
EQUATOR = np.column_stack([np.cos(RING), np.sin(RING), np.zeros(60)])


def on_sphere(points=EQUATOR, rank=1, bandwidth=0.2, **options):
    return RiemannianSubbundle(points, rank, bandwidth, space=Sphere(2), **options)


def test_points_off_the_manifold_are_refused_with_their_distance_and_advice():
    points = EQUATOR.copy()
    points[7] *= 1.25
    with pytest.raises(
        ValueError, match=r"unit vectors of R\^3; the worst of 60, row 7, is off by 0.25 .*space.projection"
    ):
        on_sphere(points)
    bundle = on_sphere(Sphere(2).projection(points))
    np.testing.assert_allclose(np.linalg.norm(bundle.observations, axis=1), 1.0, atol=1e-15)


def test_a_bandwidth_beyond_the_cloud_leaves_lengths_those_of_the_cloud():
    with pytest.warns(sb.SubbundleWarning, match="bandwidth"):
        wide = on_sphere(0.01 * EQUATOR[:, [2, 0, 1]] + [np.sqrt(1.0 - 1e-4), 0.0, 0.0], bandwidth=10.0)
    # Between the radius and twice the diameter of a ring of radius asin 0.01.
    assert 0.01 <= wide.length_scale <= 0.04001
    assert on_sphere().length_scale == 0.2


def test_single_precision_is_near_enough_and_is_put_right():
    bundle = on_sphere(EQUATOR.astype(np.float32))
    np.testing.assert_allclose(np.linalg.norm(bundle.observations, axis=1), 1.0, atol=1e-8)


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (EQUATOR[:, :2], r"shape \(..., 3\) for Sphere\(dim=2\); got shape \(60, 2\)"),
        (EQUATOR[0], r"observations of Sphere\(dim=2\), shape \(N, 3\); got shape \(3,\)"),
        (EQUATOR[None], r"shape \(N, 3\); got shape \(1, 60, 3\)"),
        ([EQUATOR[0], EQUATOR[1, :2]], "items of shapes"),
        (EQUATOR[:1], "at least rank"),
        (np.repeat(EQUATOR[:1], 9, axis=0), "must not all be equal"),
        (np.where(EQUATOR[3] == EQUATOR, np.nan, EQUATOR), "must be finite"),
    ],
)
def test_wrong_shapes(points, words):
    with pytest.raises(ValueError, match=words):
        on_sphere(points)


def test_matrices_that_are_not_positive_definite():
    matrices = np.repeat(np.eye(2)[None], 9, axis=0) * np.linspace(1.0, 2.0, 9)[:, None, None]
    with pytest.raises(ValueError, match="matrix 4 is not symmetric: entries across its diagonal differ by 0.3"):
        RiemannianSubbundle(_changed(matrices, 4, [[1.0, 0.5], [0.2, 1.0]]), 1, 0.5, space=SPD(2))
    with pytest.raises(ValueError, match="matrix 2 with smallest eigenvalue -1"):
        RiemannianSubbundle(_changed(matrices, 2, [[1.0, 0.0], [0.0, -1.0]]), 1, 0.5, space=SPD(2))


def _changed(matrices, row, matrix):
    matrices = matrices.copy()
    matrices[row] = matrix
    return matrices


def test_matrices_may_come_flat():
    data = cloud(SPD(2))
    flat, square = (RiemannianSubbundle(x, 1, BANDWIDTH, space=SPD(2)) for x in (data, data.reshape(-1, 2, 2)))
    points = inside(SPD(2), 2)
    assert flat.frame(points).vectors.tobytes() == square.frame(points).vectors.tobytes()
    assert flat.observations.shape == (60, 2, 2)
    assert flat.ambient_dim == 4
    assert repr(flat) == "RiemannianSubbundle(60 points on SPD(n=2), rank=1, bandwidth=0.25, centering='recentred')"


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (
            {"rank": 3},
            ValueError,
            r"integer in 1..2 \(dimensions of the tangent spaces of Sphere\(dim=2\); rank = dim is",
        ),
        ({"rank": 0}, ValueError, "rank must be an integer in 1..2"),
        ({"rank": 1.5}, TypeError, "rank must be an integer"),
        ({"bandwidth": -1.0}, ValueError, "bandwidth must be positive.*a distance on the manifold"),
        ({"bandwidth": 1e-4}, ValueError, r"bandwidth=0.0001 gives .* Try bandwidth=0\.\d+ or more"),
        ({"centering": "mean"}, ValueError, "centering must be one of 'local', 'recentred', 'none'; got 'mean'"),
        ({"min_gap": 0.0}, ValueError, "min_gap must be positive"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
    ],
)
def test_wrong_settings(change, error, words):
    with pytest.raises(error, match=words):
        on_sphere(**change)


def test_a_space_must_be_one():
    with pytest.raises(TypeError, match=r"space must be a manifold of sb.spaces; got 'sphere'. Pass for example"):
        RiemannianSubbundle(EQUATOR, 1, 0.2, space="sphere")
    with pytest.raises(ValueError, match=r"points and covectors must both have shape \(batch, 3\)"):
        on_sphere().field(EQUATOR[:2], EQUATOR[:3])


def test_antipodal_observations_in_reach_of_each_other():
    with pytest.raises(ValueError, match=r"cut locus within reach .*at distance 3.14 .*Use a bandwidth below 0.46"):
        on_sphere(bandwidth=0.6)
    # Out of reach they do no harm, and just beyond the advice neither.
    on_sphere(bandwidth=0.45)


def test_a_kernel_wider_than_the_cloud_gives_a_warning():
    cap = Sphere(2).exp(
        0.01 * np.random.default_rng(0).standard_normal((30, 3)) * [1.0, 0.5, 0.0], np.array([0, 0, 1.0])
    )
    with pytest.warns(sb.SubbundleWarning, match="larger than the whole cloud .* one tangent PCA") as caught:
        on_sphere(cap, bandwidth=0.3)
    assert caught[0].filename == __file__


def test_too_high_a_rank_for_the_data():
    line = Hyperbolic(2).exp(np.linspace(-1.0, 1.0, 30)[:, None] * [0.0, 1.0, 0.0], np.array([1.0, 0.0, 0.0]))
    product = sb.spaces.Product(Hyperbolic(2), sb.spaces.Euclidean(2))
    points = np.column_stack([line, np.zeros((30, 2))])
    with pytest.raises(ValueError, match="spans only 1. Use rank=1"):
        RiemannianSubbundle(points, 2, 0.2, space=product)


def test_statuses_off_the_data_at_a_closed_gap_and_at_the_cut_locus():
    cap = Sphere(2).projection(np.random.default_rng(1).standard_normal((400, 3)) * 0.05 + [0.0, 0.0, 1.0])
    bundle = on_sphere(cap, bandwidth=0.05, min_gap=0.9)
    pole, aside, opposite = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    frame = bundle.frame(np.stack([pole, aside, opposite]))
    assert frame.status.tolist() == [sb.Status.GAP_CLOSED, sb.Status.LEFT_SUPPORT, sb.Status.LEFT_SUPPORT]
    field = bundle.field(np.stack([pole, aside]), np.ones((2, 3)))
    assert np.isnan(field.velocity).all()
    assert np.isnan(field.force).all()
    # A wide kernel and no floor: the antipode of an observation has no subspace.
    wide = RiemannianSubbundle(
        Sphere(2).projection(EQUATOR[:20] + [0.0, 0.0, 0.3]), 1, 0.8, space=Sphere(2), min_density=1e-300
    )
    for bundle in (
        wide,
        RiemannianSubbundle(wide.observations, 1, 0.8, space=sb.spaces.Product(Sphere(2)), min_density=1e-300),
    ):
        field = bundle.field(np.stack([-bundle.observations[5], EQUATOR[5]]), np.ones((2, 3)))
        assert field.status.tolist() == [sb.Status.NOT_FINITE, sb.Status.OK]
        assert bundle.frame(-bundle.observations[5:6]).status[0] == sb.Status.NOT_FINITE


def test_rows_that_are_not_finite_leave_the_others_alone():
    bundle = on_sphere()
    points = np.stack([EQUATOR[0], np.full(3, np.nan), EQUATOR[1], np.zeros(3)])
    covectors = np.ones((4, 3))
    field = bundle.field(points, covectors)
    assert field.status.tolist() == [0, sb.Status.NOT_FINITE, 0, sb.Status.NOT_FINITE]
    alone = bundle.field(points[2:3], covectors[2:3])
    assert field.force[2].tobytes() == alone.force[0].tobytes()


def test_landmarks_lie_within_the_data():
    space = Kendall(4, 2)
    data = cloud(space)
    bundle = RiemannianSubbundle(data, 1, BANDWIDTH, space=space)
    marks = bundle.landmarks(20)
    assert marks.shape == (20, 8)
    assert space.violation(marks.reshape(-1, 4, 2)).max() < 1e-12
    np.testing.assert_array_equal(marks, bundle.landmarks(20))
    # One representative for all: each is as near to the first as its shape is.
    away = np.linalg.norm(marks - marks[0], axis=1)
    shapes = space.dist(marks.reshape(-1, 4, 2), marks[0].reshape(4, 2))
    np.testing.assert_allclose(away, 2.0 * np.sin(0.5 * shapes), atol=1e-12)
    with pytest.raises(ValueError, match="count"):
        bundle.landmarks(0)
