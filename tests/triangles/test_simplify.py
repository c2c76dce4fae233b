"""Fewer triangles, the same surface: topology, border, attributes."""

from importlib import import_module

import numpy as np
import pytest
import trimesh

from subbundle.triangles.mesh import Mesh
from subbundle.triangles.simplify import simplify_mesh

pytest.importorskip("fast_simplification", reason="needs fast-simplification: pip install -e '.[simplify]'")


def torus():
    made = trimesh.creation.torus(1.0, 0.4, major_sections=48, minor_sections=24)
    vertices = np.asarray(made.vertices) + 1e4  # far from the origin, as scans are
    return Mesh(vertices, np.asarray(made.faces), np.asarray(made.vertex_normals), {"height": vertices[:, 2]})


def test_a_torus_stays_one():
    mesh = torus()
    fewer = simplify_mesh(mesh, 300)
    assert 250 < len(fewer.faces) <= 300
    assert (fewer.euler_characteristic, fewer.n_components, fewer.n_border_loops) == (0, 1, 0)
    assert fewer.is_oriented
    assert fewer.volume == pytest.approx(mesh.volume, rel=0.05)
    x, y, z = (fewer.vertices - 1e4).T
    assert np.abs(np.hypot(np.hypot(x, y) - 1.0, z) - 0.4).max() < 0.05
    # Attributes are those of the nearest vertex, at most an edge away; the longest edge is 0.18.
    assert np.abs(fewer.attributes["height"] - fewer.vertices[:, 2]).max() < 0.18
    assert np.linalg.norm(fewer.normals, axis=1) == pytest.approx(1.0)


def test_the_unit_does_not_matter():
    mesh = torus()
    small, large = (simplify_mesh(Mesh(unit * mesh.vertices, mesh.faces), 300) for unit in (1e-3, 1e3))
    assert len(small.faces) == len(large.faces) <= 300


def test_borders_stay_open():
    mesh = torus()
    x, y = (mesh.vertices - 1e4).T[:2]
    inside = np.abs(np.arctan2(y, x)) < 2.0  # ends in two circles around the tube
    open_mesh = Mesh(mesh.vertices, mesh.faces[inside[mesh.faces].all(axis=1)])
    fewer = simplify_mesh(open_mesh, 200)
    assert fewer.n_border_loops == open_mesh.n_border_loops == 2
    assert fewer.euler_characteristic == open_mesh.euler_characteristic
    # A polygon through points of the border is shorter, by a few per cent at this fineness.
    assert fewer.border_length == pytest.approx(open_mesh.border_length, rel=0.1)


def test_topology_comes_before_the_number():
    fewer = simplify_mesh(torus(), 4)
    assert fewer.euler_characteristic == 0
    assert fewer.n_nonmanifold_edges == 0
    assert 4 < len(fewer.faces) < 400


def test_a_mesh_with_fewer_faces_is_left_alone():
    mesh = torus()
    assert simplify_mesh(mesh, 10**6) is mesh
    with pytest.raises(ValueError, match="n_faces must be an integer >= 4; got 3"):
        simplify_mesh(mesh, 3)


def test_small_components_attached_at_an_edge_are_dropped(monkeypatch):
    # What is left of a thin spine: an icosahedron, and a tetrahedron on one of its edges, which then has four faces.
    body = trimesh.creation.icosahedron().convex_hull
    a, b = body.faces[0][:2]
    middle = 0.5 * (body.vertices[a] + body.vertices[b])
    tips = 1.2 * middle + 0.1 * np.array([np.cross(middle, body.vertices[a]), -np.cross(middle, body.vertices[a])])
    vertices = np.vstack([body.vertices, tips])
    bubble = [[a, b, 12], [b, a, 13], [a, 12, 13], [b, 13, 12]]
    faces = np.vstack([body.faces, bubble])
    assert Mesh(vertices, faces).n_nonmanifold_edges == 1
    # It is called with the ball below, 2 wide, at size 1.
    monkeypatch.setattr(import_module("fast_simplification"), "simplify", lambda *_, **__: (vertices / 2.0, faces))
    ball = trimesh.creation.icosphere(subdivisions=2)
    fewer = simplify_mesh(Mesh(np.asarray(ball.vertices), np.asarray(ball.faces)), 24)
    assert len(fewer.faces) == 20
    assert fewer.volume == pytest.approx(body.volume)


def test_a_thin_neck_stays_connected():
    # Two balls on a neck of radius 0.01, open at both ends; so few triangles cannot hold the neck.
    z, around = np.linspace(-1.0, 1.0, 201), 2.0 * np.pi * np.arange(16) / 16
    ball = np.sqrt(np.maximum(0.35**2 - (np.abs(z) - 0.65) ** 2, 0.0))
    radius = 0.01 + np.where(np.abs(z) > 0.3, ball, 0.0)
    sides = radius[:, None, None] * np.stack([np.cos(around), np.sin(around)], axis=-1)
    vertices = np.dstack([sides, np.broadcast_to(z[:, None, None], (201, 16, 1))]).reshape(-1, 3)
    rows = np.arange(201 * 16).reshape(201, 16)
    next_ = np.roll(rows, -1, axis=1)
    corners = [(rows[:-1], next_[:-1], next_[1:]), (rows[:-1], next_[1:], rows[1:])]
    mesh = Mesh(vertices, np.concatenate([np.stack(triangle, axis=-1).reshape(-1, 3) for triangle in corners]))
    fewer = simplify_mesh(mesh, 100)
    assert (fewer.euler_characteristic, fewer.n_components, fewer.n_border_loops) == (0, 1, 2)
    assert fewer.n_nonmanifold_edges == 0
