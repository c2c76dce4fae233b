"""Orientation and meshes of atlases: on spheres, tori, Möbius bands and Klein bottles."""

import numpy as np
import pytest
from shapes import bumpy_patch, moebius_band, patch_border
from shapes_ambient import FLAT_RADII, distance_to_flat_torus, flat_torus, noisy_klein_bottle

import subbundle as sb
from subbundle.atlas.base import blended_tangents, normals_of, vote
from subbundle.bundles.analytic import SphereTangent

# Corners of an octahedron and of a cube: charts of radius 1 around them cover the sphere.
SPREAD = np.concatenate([np.eye(3), -np.eye(3), np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T / np.sqrt(3.0)])


@pytest.fixture(scope="module")
def sphere():
    return sb.Atlas(SphereTangent(2), SPREAD, 1.0, threshold=0.2)


@pytest.fixture(scope="module")
def torus():
    data = sb.datasets.torus(4000, noise=0.02, seed=0)
    return data, sb.Atlas(sb.PrincipalSubbundle(data.points, 2, 0.12))


@pytest.fixture(scope="module")
def moebius():
    return sb.Atlas(sb.PrincipalSubbundle(moebius_band(4000, noise=0.01), 2, 0.08))


def on_sphere(n, seed=0):
    x = np.random.default_rng(seed).standard_normal((n, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_the_signs_of_charts_on_a_sphere_are_those_of_their_frames(sphere):
    frames = np.stack([chart.frame for chart in sphere.charts])
    outward = np.sum(np.cross(frames[:, :, 0], frames[:, :, 1]) * sphere.base_points, axis=1)
    assert sphere.orientable
    assert np.array_equal(sphere.orientation, np.sign(outward) * np.sign(outward[0]))


def test_normals_on_a_sphere_are_the_points_themselves(sphere):
    blended = sphere.project(1.05 * on_sphere(500))
    normals = sphere.normals(blended)
    side = np.sign(normals[0] @ blended.points[0])
    # Interpolants of fans, of third order in their slopes.
    np.testing.assert_allclose(side * normals, on_sphere(500), atol=0.02)
    tangents = sphere.tangents(blended)
    identity = np.broadcast_to(np.eye(2), (500, 2, 2))
    np.testing.assert_allclose(tangents.transpose(0, 2, 1) @ tangents, identity, atol=1e-12)


def test_there_are_no_tangents_beyond_all_charts(sphere):
    blended = sphere.project([[0.0, 0.0, 3.0], [0.0, 0.0, 1.0]])
    assert np.isnan(sphere.tangents(blended)[0]).all()
    assert np.isfinite(sphere.normals(blended)[1]).all()


def test_normals_on_a_torus_are_all_on_one_side(torus):
    data, atlas = torus
    assert atlas.orientable
    blended = atlas.project(data.points[:1000])
    ring = blended.points * [1.0, 1.0, 0.0]
    ring /= np.linalg.norm(ring, axis=1, keepdims=True)
    outward = (blended.points - ring) / 0.4
    cosines = np.sum(atlas.normals(blended) * outward, axis=1)
    # Slopes of charts at this noise are off by a tenth, some by several.
    assert np.abs(cosines).min() > 0.8
    assert len(np.unique(np.sign(cosines))) == 1


def test_a_moebius_band_is_not_orientable_and_still_meshed(moebius):
    assert not moebius.orientable
    mesh = moebius.mesh()
    assert (mesh.euler_characteristic, mesh.n_components, mesh.n_border_loops) == (0, 1, 1)
    assert mesh.n_nonmanifold_edges == 0
    assert not mesh.is_orientable
    t = np.linspace(0.0, 4.0 * np.pi, 4001)
    ring = 1.0 + 0.4 * np.cos(0.5 * t)
    border = np.column_stack([ring * np.cos(t), ring * np.sin(t), 0.4 * np.sin(0.5 * t)])
    assert mesh.border_length == pytest.approx(np.linalg.norm(np.diff(border, axis=0), axis=1).sum(), rel=0.1)


def test_the_border_is_that_of_the_cloud():
    atlas = sb.Atlas(sb.PrincipalSubbundle(bumpy_patch(3000, noise=0.01), 2, 0.12))
    mesh = atlas.mesh()
    assert (mesh.euler_characteristic, mesh.n_border_loops) == (1, 1)
    assert mesh.border_length == pytest.approx(patch_border(), rel=0.1)


def test_the_mesh_of_a_sphere_in_closed_form(sphere):
    mesh = sphere.mesh(spacing=0.1)
    assert (mesh.euler_characteristic, mesh.is_closed, mesh.is_oriented) == (2, True, True)
    # A triangle with sides h ≈ 0.13 of a unit sphere has 1 − h²/4 of the area of its spherical triangle.
    assert mesh.area == pytest.approx(4.0 * np.pi, rel=0.01)
    assert mesh.volume == pytest.approx(4.0 / 3.0 * np.pi, rel=0.02)
    np.testing.assert_allclose(np.linalg.norm(mesh.vertices, axis=1), 1.0, atol=2e-3)
    # Faces are inclined to the tangent plane by up to half their width.
    assert np.sum(mesh.normals * mesh.vertices, axis=1).min() > 0.98


def test_the_mesh_of_an_atlas_lies_on_the_blend(torus):
    data, atlas = torus
    mesh = sb.reconstruct(atlas)
    assert (mesh.euler_characteristic, mesh.is_closed, mesh.n_components) == (0, True, 1)
    assert mesh.is_oriented
    assert mesh.volume == pytest.approx(2.0 * np.pi**2 * 0.16, rel=0.05)
    again = atlas.project(mesh.vertices)
    # Charts disagree by a fraction of the noise, and the blend of a blend moves by a fraction of that.
    assert again.residuals.mean() < 0.1 * 0.02
    assert data.distance(mesh.vertices).mean() < 0.5 * data.distance(data.points).mean()


def test_a_flat_torus_and_a_klein_bottle_in_four_dimensions():
    flat = sb.Atlas(sb.PrincipalSubbundle(flat_torus(1500, noise=0.01), 2, 0.25))
    mesh = sb.reconstruct(flat)
    assert flat.orientable
    assert (mesh.euler_characteristic, mesh.is_closed, mesh.is_oriented) == (0, True, True)
    assert mesh.area == pytest.approx(4.0 * np.pi**2 * FLAT_RADII[0] * FLAT_RADII[1], rel=0.02)
    # Charts lie towards the centre of curvature, by a²κ/2: 0.03 and 0.05 for the two circles.
    assert distance_to_flat_torus(mesh.vertices).mean() < 0.25**2
    # Wider charts, of 1500 points at 0.2, end where few others are and leave holes in most samples of the cloud.
    bottle = sb.Atlas(sb.PrincipalSubbundle(noisy_klein_bottle(2500, noise=0.01), 2, 0.15))
    assert not bottle.orientable
    mesh = bottle.mesh(spacing=0.1)
    assert (mesh.euler_characteristic, mesh.is_closed, mesh.is_orientable) == (0, True, False)
    with pytest.raises(ValueError, match="normals need a hypersurface, rank = dim − 1; rank is 2 in R\\^4"):
        bottle.normals(bottle.project(mesh.vertices[:2]))


def test_wrong_parameters_are_refused(torus):
    _, atlas = torus
    with pytest.raises(ValueError, match="bandwidth, closed and attributes go with points"):
        sb.reconstruct(atlas, closed=True)
    with pytest.raises(ValueError, match="spacing must be positive"):
        atlas.mesh(spacing=-1.0)
    curve = sb.Atlas(sb.PrincipalSubbundle(sb.datasets.curve_in_plane(500, noise=0.01).points, 1, 0.1))
    with pytest.raises(ValueError, match="needs charts of rank 2; these have rank 1"):
        curve.mesh()
    assert curve.orientable


def test_votes_count_places_where_planes_agree():
    eye = np.eye(3)[:, :2]
    swapped, across = eye[:, ::-1], np.eye(3)[:, [0, 2]]
    jacobians = np.stack([eye, 3.0 * eye, eye, swapped, eye, across])
    found = vote(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 2, 1, 2]), jacobians, 3)
    assert found.pairs.tolist() == [[0, 1], [0, 2]]
    assert found.alike.tolist() == [1, 0]
    assert found.opposed.tolist() == [0, 1]
    assert found.signs.tolist() == [1, 1, -1]
    assert found.orientable


def test_three_charts_around_a_band_contradict():
    swapped = np.eye(2)[:, ::-1]
    pairs = [(0, 1, np.eye(2)), (1, 2, np.eye(2)), (0, 2, swapped)]
    rows, charts, jacobians = [], [], []
    for number, (i, j, turned) in enumerate(pairs * 8):
        rows += [number, number]
        charts += [i, j]
        jacobians += [np.eye(2), turned]
    assert not vote(np.array(rows), np.array(charts), np.stack(jacobians), 3).orientable


def test_tangents_of_one_chart_are_its_own():
    jacobian = np.random.default_rng(0).standard_normal((1, 5, 2))
    plus, minus = (blended_tangents(np.array([0]), 1, np.ones(1), np.array([s]), jacobian)[0] for s in (1, -1))
    projector = jacobian[0] @ np.linalg.pinv(jacobian[0])
    np.testing.assert_allclose(plus @ plus.T, projector, atol=1e-12)
    assert np.linalg.det(plus.T @ jacobian[0]) > 0.0 > np.linalg.det(minus.T @ jacobian[0])


def test_normals_complete_a_frame_to_the_right_hand():
    tangents = np.linalg.qr(np.random.default_rng(0).standard_normal((20, 4, 3)))[0]
    normals = normals_of(tangents)
    assert np.allclose(np.linalg.det(np.concatenate([tangents, normals[:, :, None]], axis=2)), 1.0)
    plane = np.linalg.qr(np.random.default_rng(1).standard_normal((20, 3, 2)))[0]
    np.testing.assert_allclose(normals_of(plane), np.cross(plane[:, :, 0], plane[:, :, 1]), atol=1e-12)
