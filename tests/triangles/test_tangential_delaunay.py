"""Triangulating points with known tangent planes, against the convex hull, Delaunay's triangulation and laws."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull, Delaunay, cKDTree

from subbundle.triangles.finish import finish
from subbundle.triangles.mesh import Mesh
from subbundle.triangles.poisson_disk import spread
from subbundle.triangles.tangential_delaunay import triangulate


def on_sphere(n, seed=0):
    x = np.random.default_rng(seed).standard_normal((n, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def sphere_tangents(points):
    """Orthonormal bases [n, 3, 2] of the planes across the radii."""
    return np.ascontiguousarray(np.linalg.qr(points[:, :, None], mode="complete")[0][:, :, 1:])


def as_sets(faces):
    return {tuple(face) for face in np.sort(faces, axis=1).tolist()}


@pytest.mark.parametrize("dim", [3, 7])
def test_points_of_a_sphere_make_their_convex_hull(dim):
    # Voronoi edges of points of a sphere are rays from its centre, so every plane meets those of the hull's faces.
    points = on_sphere(4000)
    points = points[spread(points, 0.12)]
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((dim, 3)))[0]
    tangents = np.ascontiguousarray(basis @ sphere_tangents(points))
    faces = triangulate(np.ascontiguousarray(points @ basis.T), tangents, 0.8)
    assert as_sets(faces) == as_sets(ConvexHull(points).simplices)


def test_points_of_a_plane_make_their_delaunay_triangulation():
    rng = np.random.default_rng(0)
    flat = rng.uniform(0.0, 1.0, (4000, 2))
    flat = flat[spread(flat, 0.04)]
    points = np.column_stack([flat, np.zeros((len(flat), 2))])
    tangents = np.broadcast_to(np.eye(4)[:, :2], (len(points), 4, 2)).copy()
    faces = triangulate(points, tangents, 0.2)
    expected = Delaunay(flat).simplices
    p, q = flat[expected[:, 1]] - flat[expected[:, 0]], flat[expected[:, 2]] - flat[expected[:, 0]]
    sides = np.linalg.norm(p, axis=1) * np.linalg.norm(q, axis=1) * np.linalg.norm(p - q, axis=1)
    radius = sides / (2.0 * np.abs(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]))
    assert as_sets(faces) == as_sets(expected[radius <= 0.1])


@pytest.mark.parametrize("tilt", [0.0, 0.15, 0.3, 0.5])
def test_planes_that_are_slightly_wrong_still_give_a_closed_manifold(tilt):
    points = on_sphere(3000, seed=2)
    points = np.ascontiguousarray(points[spread(points, 0.12)])
    rng = np.random.default_rng(3)
    tangents = np.linalg.qr(sphere_tangents(points) + tilt * rng.standard_normal((len(points), 3, 2)) / np.sqrt(3.0))[0]
    done = finish(points, triangulate(points, np.ascontiguousarray(tangents), 0.6))
    mesh = Mesh(done.vertices, done.faces)
    assert (mesh.euler_characteristic, mesh.n_nonmanifold_edges, mesh.is_closed) == (2, 0, True)
    assert mesh.is_oriented
    assert mesh.volume > 0.0


def test_gaps_wider_than_the_opening_stay_open():
    flat = np.random.default_rng(0).uniform(-1.0, 1.0, (8000, 2))
    flat = flat[np.hypot(*flat.T) > 0.25]
    flat = flat[spread(flat, 0.05)]
    points, tangents = np.column_stack([flat, 0.0 * flat]), np.broadcast_to(np.eye(4)[:, :2], (len(flat), 4, 2)).copy()
    ring, disc = (Mesh(points, triangulate(points, tangents, opening)) for opening in (0.4, 0.6))
    assert (ring.euler_characteristic, ring.n_border_loops) == (0, 2)
    assert (disc.euler_characteristic, disc.n_border_loops) == (1, 1)


def test_a_lone_patch_narrower_than_the_opening_stays_open():
    angles = np.arange(6) * (np.pi / 3.0)
    hexagon = np.concatenate([[[0.0, 0.0]], np.column_stack([np.cos(angles), np.sin(angles)])])
    points = np.column_stack([hexagon, np.zeros((7, 2))])
    tangents = np.broadcast_to(np.eye(4)[:, :2], (7, 4, 2)).copy()
    mesh = Mesh(points, triangulate(points, tangents, 10.0))
    assert (len(mesh.faces), mesh.euler_characteristic, mesh.n_border_loops) == (6, 1, 1)


def test_two_sheets_are_not_joined():
    flat = np.random.default_rng(0).uniform(-1.0, 1.0, (6000, 2))
    flat = flat[spread(flat, 0.08)]
    # The sheets are half the opening apart; seen from the border of one, the other is no nearer than that anywhere.
    points = np.column_stack([flat, np.zeros(len(flat))])
    both = np.concatenate([points, points[points[:, 0] < 0.0] + [0.03, 0.03, 0.3]])
    tangents = np.broadcast_to(np.eye(3)[:, :2], (len(both), 3, 2)).copy()
    faces = triangulate(both, tangents, 0.58)
    assert Mesh(both, faces).n_components == 2
    assert not ((faces < len(flat)).any(axis=1) & (faces >= len(flat)).any(axis=1)).any()


def test_spread_points_are_apart_and_leave_none_far():
    points = np.random.default_rng(0).standard_normal((3000, 4))
    rows = spread(points, 0.5)
    tree = cKDTree(points[rows])
    assert tree.query(points[rows], k=2)[0][:, 1].min() > 0.5
    assert tree.query(points)[0].max() <= 0.5
    order = np.random.default_rng(1).permutation(3000)
    assert np.array_equal(np.sort(order[spread(points[order], 0.5)]), rows)


def test_spread_takes_the_highest_rank_first():
    points = np.arange(10.0)[:, None]
    assert np.array_equal(spread(points, 2.5, np.arange(10.0)), [0, 3, 6, 9])


def test_the_number_of_threads_changes_nothing():
    points = on_sphere(3000)
    points = np.ascontiguousarray(points[spread(points, 0.1)])
    one, two = (triangulate(points, sphere_tangents(points), 0.5, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one, two)
