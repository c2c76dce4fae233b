"""Fewer triangles, the same surface: topology, border, attributes."""

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
