"""Splitting edges keeps a mesh a manifold."""

import numpy as np
import pytest

from subbundle.triangles.clip import split_curved, split_edges
from subbundle.triangles.mesh import Mesh
from subbundle.triangles.topology import edges_of, face_areas


def octahedron():
    vertices = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=float)
    around = [(0, 2), (2, 1), (1, 3), (3, 0)]
    faces = [(a, b, 4) for a, b in around] + [(b, a, 5) for a, b in around]
    return vertices, np.array(faces)


@pytest.mark.parametrize("seed", range(6))
def test_any_edges_can_be_split(seed):
    vertices, faces = octahedron()
    edges = edges_of(faces)
    chosen = np.random.default_rng(seed).random(len(edges.ends)) < [0.0, 0.1, 0.2, 0.4, 0.7, 1.0][seed]
    split, ends = split_edges(faces, len(vertices), edges, chosen)
    whole = np.concatenate([vertices, vertices[ends].mean(axis=1)])
    mesh = Mesh(whole, split)
    assert (mesh.euler_characteristic, mesh.is_closed, mesh.n_components) == (2, True, 1)
    # Faces stay in their planes and keep their sides: area and volume are those of the octahedron, 4 √3 and 4/3.
    assert face_areas(whole, split).sum() == pytest.approx(4.0 * np.sqrt(3.0), abs=1e-12)
    assert np.linalg.det(whole[split]).sum() / 6.0 == pytest.approx(4.0 / 3.0, abs=1e-12)
    asked = {tuple(end) for end in edges.ends[chosen].tolist()}
    assert asked <= {tuple(end) for end in ends.tolist()}


def test_edges_are_split_where_normals_turn_along_them():
    # A roof: normals rotate across its ridge, and not along it.
    x, y = (part.ravel() for part in np.meshgrid(np.arange(-2.0, 3.0), np.arange(3.0), indexing="ij"))
    vertices = np.column_stack([x, y, -np.abs(x)])
    rows = np.arange(15).reshape(5, 3)
    a, b, c, d = (part.ravel() for part in (rows[:-1, :-1], rows[1:, :-1], rows[1:, 1:], rows[:-1, 1:]))
    faces = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    normals = np.column_stack([np.sign(x), np.zeros(15), np.ones(15)])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    free = np.ones(15, bool)
    _, ends = split_curved(vertices, faces, normals, free, 0.2)
    # All edges that lead up to the ridge, and third ones of faces that have two of those; nothing further out.
    edges = edges_of(faces).ends
    leads = np.sort(np.abs(x[edges]), axis=1).tolist()
    upward = {tuple(edge) for edge, ends_at in zip(edges.tolist(), leads, strict=True) if ends_at == [0.0, 1.0]}
    assert upward <= {tuple(edge) for edge in ends.tolist()}
    assert np.abs(x[ends]).max() == 1.0
    _, none = split_curved(vertices, faces, normals, x != 0.0, 0.2)
    assert len(none) == 0
