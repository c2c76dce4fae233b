"""Atlases: on bundles in closed form where every number is known, and on clouds."""

import re

import numpy as np
import pytest

import subbundle as sb
from subbundle import Atlas, PrincipalSubbundle, Status
from subbundle.atlas._atlas_charts import farthest
from subbundle.bundles.analytic import SphereTangent

BASES = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.6, 0.8]])


@pytest.fixture(scope="module")
def sphere_atlas():
    """Four charts of radius 1.2 on the unit sphere, whose geodesics are great circles."""
    return Atlas(SphereTangent(2), BASES, 1.2, threshold=0.2)


@pytest.fixture(scope="module")
def noisy_atlas():
    data = sb.datasets.sphere(5000, noise=0.03, seed=1)
    return Atlas(PrincipalSubbundle(data.points, 2, 0.14)), data.points


def test_on_a_sphere_the_blend_follows_the_formulas_with_great_circle_distances(sphere_atlas):
    rng = np.random.default_rng(0)
    unit = rng.normal(size=(300, 3))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    points = unit * rng.uniform(0.7, 1.3, size=(300, 1))
    blended = sphere_atlas.project(points)
    angles = np.arccos(np.clip(unit @ BASES.T, -1.0, 1.0))
    # A point above the sphere is projected along its radius, whatever the chart; all charts agree.
    near = np.abs(np.linalg.norm(points, axis=1) - 1.0) < 0.2
    speaks = (angles < 1.2) & near[:, None]
    clear = (np.abs(angles - 1.2) > 0.01).all(axis=1) & (np.abs(np.linalg.norm(points, axis=1) - 1.0) - 0.2 != 0.0)
    np.testing.assert_array_equal(blended.n_charts[clear], speaks.sum(axis=1)[clear])
    held = clear & speaks.any(axis=1)
    np.testing.assert_array_equal(blended.status[clear], np.where(held, Status.OK, Status.LEFT_SUPPORT)[clear])
    # Interpolants of fans 1/4 apart at the border, of fourth order.
    np.testing.assert_allclose(blended.points[held], unit[held], atol=2e-3)
    assert np.nanmax(blended.disagreement) < 2e-3
    assert np.isnan(blended.points[clear & ~held]).all()
    scaled = angles / (1.0 - angles / 1.2)
    for row in np.flatnonzero(held)[:50]:
        mine = blended.rows == row
        charts = blended.charts[mine]
        np.testing.assert_array_equal(charts, np.flatnonzero(speaks[row]))
        own = scaled[row, charts]
        expected = np.exp(-((own - own.min()) ** 2) / (2.0 * 1.2**2))
        # Distances to 1e-3, blown up by 1/(1 − d/r)² near the border.
        np.testing.assert_allclose(blended.weights[mine], expected / expected.sum(), atol=0.05)
        assert blended.weights[mine].sum() == pytest.approx(1.0)
        np.testing.assert_allclose(np.linalg.norm(blended.coordinates[mine], axis=1), angles[row, charts], atol=2e-3)


def test_sigma_and_radius_have_the_paper_s_defaults(sphere_atlas):
    assert sphere_atlas.sigma == pytest.approx(1.2)
    uneven = Atlas(SphereTangent(2), BASES[:2], [0.5, 0.9], threshold=0.1)
    np.testing.assert_allclose(uneven.radii, [0.5, 0.9])
    assert uneven.sigma == pytest.approx(0.9)
    assert Atlas(SphereTangent(2), BASES[:2], 0.5, threshold=0.1, sigma=0.3).sigma == 0.3


def test_a_point_far_from_a_chart_is_not_projected_to_it():
    # Two concentric spheres belong to one bundle; a base point on each, with the threshold below half their distance.
    atlas = Atlas(SphereTangent(2), [[0.0, 0.0, 1.0], [0.0, 0.0, 1.5]], 0.5, threshold=0.2)
    blended = atlas.project([[0.1, 0.0, 1.05], [0.1, 0.0, 1.45], [0.0, 0.0, 1.25]])
    np.testing.assert_array_equal(blended.n_charts, [1, 1, 0])
    np.testing.assert_array_equal(blended.charts, [0, 1])
    np.testing.assert_allclose(np.linalg.norm(blended.points[:2], axis=1), [1.0, 1.5], atol=1e-4)
    np.testing.assert_array_equal(blended.status, [Status.OK, Status.OK, Status.LEFT_SUPPORT])
    np.testing.assert_array_equal(blended.disagreement[:2], 0.0)


def test_located_points_have_the_coordinates_of_the_heaviest_chart(sphere_atlas):
    points = np.concatenate([BASES + 0.05, [[0.0, 0.0, 3.0]]])
    blended, located = sphere_atlas.project(points), sphere_atlas.locate(points)
    for name in ("points", "residuals", "status"):
        np.testing.assert_array_equal(getattr(located, name), getattr(blended, name))
    for row in range(len(BASES)):
        pairs = np.flatnonzero(blended.rows == row)
        best = pairs[np.argmax(blended.weights[pairs])]
        assert located.charts[row] == blended.charts[best]
        np.testing.assert_array_equal(located.coordinates[row], blended.coordinates[best])
    assert located.charts[-1] == -1
    assert np.isnan(located.coordinates[-1]).all()
    np.testing.assert_array_equal(sphere_atlas.locate(points[0]).coordinates, located.coordinates[0])


@pytest.mark.parametrize("rank", [1, 3])
def test_other_dimensions(rank):
    bases = np.eye(rank + 1)[: 2 if rank == 1 else 1]
    atlas = Atlas(SphereTangent(rank), bases, 1.0, threshold=0.3)
    rng = np.random.default_rng(2)
    toward = rng.normal(size=(20, rank + 1))
    points = bases[0] + 0.3 * toward / np.linalg.norm(toward, axis=1, keepdims=True)
    blended = atlas.project(points)
    held = blended.status == Status.OK
    assert held.sum() >= 15
    exact = points / np.linalg.norm(points, axis=1, keepdims=True)
    # Above rank 2 the interpolant is of third order in directions 1/4 apart.
    np.testing.assert_allclose(blended.points[held], exact[held], atol=1e-4 if rank == 1 else 1e-2)


def test_base_points_are_spread_until_the_cloud_is_covered(noisy_atlas):
    atlas, points = noisy_atlas
    assert atlas.coverage > 0.99
    blended = atlas.project(points)
    assert np.mean(blended.status == Status.OK) > 0.995
    # Averaging some 80 observations leaves 0.03/√80; the charts follow the bundle as far as 8 bandwidths.
    assert np.nanmean(np.abs(np.linalg.norm(blended.points, axis=1) - 1.0)) < 0.008
    # Charts disagree by a fraction of the noise.
    assert np.nanmedian(blended.disagreement) < 0.1 * 0.03
    assert np.median(blended.n_charts) >= 2
    nodes, chart = atlas.nodes
    assert len(nodes) == len(chart)
    assert np.isfinite(atlas.project(nodes[::50]).points).all()


def test_the_blend_does_not_jump_where_charts_end(noisy_atlas):
    atlas, _ = noisy_atlas
    angle = np.linspace(0.0, 2.0 * np.pi, 20001)
    tilt = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    path = np.column_stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)]) @ tilt
    blended = atlas.project(path)
    assert (blended.status == Status.OK).all()
    changes = np.flatnonzero(np.diff(blended.n_charts))
    assert changes.size > 10  # charts come and go along the path
    moved = np.linalg.norm(np.diff(blended.points - path, axis=0), axis=1)
    # Steps are 3e-4 long; the offset from the sphere may change by a slope of a tenth on the way, or jump.
    assert moved.max() < 0.1 * 0.03


def test_the_same_for_any_order_of_observations_and_any_batch(noisy_atlas):
    atlas, points = noisy_atlas
    other = Atlas(PrincipalSubbundle(points[::-1], 2, 0.14, n_jobs=1))
    np.testing.assert_array_equal(other.base_points, atlas.base_points)
    whole = atlas.project(points[:60])
    np.testing.assert_array_equal(other.project(points[:60][::-1]).points[::-1], whole.points)
    for i in range(0, 60, 7):
        np.testing.assert_array_equal(atlas.project(points[i]).points[0], whole.points[i])


def test_an_open_sheet_is_covered_to_its_border_and_not_beyond():
    data = sb.datasets.s_surface(3000, noise=0.01, seed=0)
    atlas = Atlas(PrincipalSubbundle(data.points, 2, 0.12))
    blended = atlas.project(data.points)
    assert np.mean(blended.status == Status.OK) > 0.97
    assert (atlas.project([[5.0, 5.0, 5.0]]).status == Status.LEFT_SUPPORT).all()
    assert atlas.project(np.empty((0, 3))).points.shape == (0, 3)


def test_base_points_are_each_the_farthest_from_those_before():
    points = np.random.default_rng(7).uniform(size=(200, 2))
    rows = farthest(points, 0.2, 5)
    assert rows[0] == 5
    apart = np.linalg.norm(points[:, None] - points[rows], axis=2)
    assert (apart.min(axis=1) <= 0.2).all()
    for i in range(1, len(rows)):
        to_earlier = apart[:, :i].min(axis=1)
        assert to_earlier[rows[i]] == to_earlier.max() > 0.2


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "base_points='auto' needs data to cover, and this bundle has none. Pass base_points"),
        (("all",), {}, "base_points must be one of 'auto'; got 'all'"),
        ((np.empty((0, 3)), 1.0), {}, "base_points must hold at least one point; got none"),
        ((BASES, [1.0, 2.0]), {}, "radius must be 'auto', a positive number, or 4 positive numbers; got [1.0, 2.0]"),
        ((BASES, -1.0), {}, "radius must be positive and finite; got -1.0"),
        ((BASES, 1.0), {"threshold": 0.0}, "threshold must be positive and finite; got 0.0"),
        ((BASES, 1.0), {"sigma": "wide"}, "sigma must be one of 'auto'; got 'wide'"),
        ((BASES, 1.0), {"closest": "nearest"}, "closest must be one of 'rescaled', 'geodesic'; got 'nearest'"),
    ],
)
def test_bad_input(arguments, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Atlas(SphereTangent(2), *arguments, **options)


def test_bad_points(sphere_atlas):
    with pytest.raises(ValueError, match=re.escape("points must be one point or a 2-D array of points")):
        sphere_atlas.project(np.zeros((2, 2, 3)))
    assert repr(sphere_atlas).startswith("Atlas(4 charts of rank 2 in R^3, radius=1.2")
    assert len(sphere_atlas) == 4


def test_on_a_known_manifold_the_blend_stays_there():
    # A band about the equator of S³, of rank 2: the great sphere in the middle of it.
    rng = np.random.default_rng(5)
    data = np.column_stack([rng.normal(size=(1200, 3)), 0.05 * rng.normal(size=1200)])
    data[:, :3] /= np.linalg.norm(data[:, :3], axis=1, keepdims=True)
    data /= np.linalg.norm(data, axis=1, keepdims=True)
    bundle = sb.RiemannianSubbundle(data, 2, 0.3, space=sb.spaces.Sphere(3))
    bases = sb.carry_to_ridge(bundle, data[:3]).points
    blended = Atlas(bundle, bases, 1.0).project(data[:200])
    held = blended.status == Status.OK
    assert held.mean() > 0.3
    np.testing.assert_allclose(np.linalg.norm(blended.points[held], axis=1), 1.0, atol=1e-12)
    # Some 100 neighbours: 0.05/√100, and as much again along a radius of three bandwidths.
    assert np.abs(blended.points[held, 3]).mean() < 0.015


@pytest.mark.parametrize("make", [sb.Chart, lambda bundle, base, radius: sb.Atlas(bundle, base[None], radius)])
def test_radii_of_thousands_of_length_scales_are_refused_where_nothing_else_ends_the_geodesics(make):
    with pytest.raises(ValueError, match=r"radius must be at most 651 here, 651 length scales, for a chart of 512"):
        make(sb.bundles.Heisenberg(), np.zeros(3), 1e4)


def test_no_geodesic_of_an_atlas_is_longer_than_its_observations_can_be():
    points = sb.datasets.curve_in_plane(60, noise=0.01, seed=1).points
    atlas = sb.Atlas(sb.PrincipalSubbundle(points, 1, 0.3), points[:1], 1e9)
    assert atlas.radii.max() <= 60 * 0.3
