"""Properties of meshes in R^d, orientation of faces, and files."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from subbundle.triangles.finish import orient_consistently, orient_outward
from subbundle.triangles.mesh import Mesh, check_output


def strip(n, twisted):
    """A band of 2 n triangles around a circle, its ends joined straight or after half a turn."""
    low, high = np.arange(n), n + np.arange(n)
    after_low, after_high = np.roll(low, -1), np.roll(high, -1)
    if twisted:
        after_low[-1], after_high[-1] = high[0], low[0]
    return np.concatenate([np.column_stack([low, after_low, high]), np.column_stack([after_low, after_high, high])])


def sphere_mesh(seed=0):
    points = np.random.default_rng(seed).standard_normal((400, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points, ConvexHull(points).simplices.astype(np.int64)


def test_faces_are_oriented_consistently():
    points, faces = sphere_mesh()
    flipped = np.where(np.random.default_rng(0).uniform(size=(len(faces), 1)) < 0.5, faces, faces[:, ::-1])
    alike, orientable = orient_consistently(flipped)
    mesh = Mesh(points, orient_outward(points, alike))
    assert orientable
    assert mesh.is_oriented
    # The hull of 400 points of a sphere.
    assert mesh.volume == pytest.approx(ConvexHull(points).volume, rel=1e-12)


def test_a_strip_with_half_a_twist_is_not_orientable():
    straight, twisted = strip(12, twisted=False), strip(12, twisted=True)
    assert orient_consistently(straight)[1]
    turned, orientable = orient_consistently(twisted)
    assert not orientable
    mesh = Mesh(np.random.default_rng(0).standard_normal((24, 4)), turned)
    assert not mesh.is_orientable
    assert (mesh.euler_characteristic, mesh.n_border_loops, mesh.n_components) == (0, 1, 1)
    # All but one seam of a single edge agree.
    directed = turned[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    assert len(directed) - len(np.unique(directed, axis=0)) == 1
    assert "not orientable" in "\n".join(mesh.report())


def test_only_the_non_orientable_component_keeps_a_seam():
    both = np.concatenate([strip(9, twisted=True), 18 + strip(9, twisted=False)[:, ::-1]])
    turned, orientable = orient_consistently(both)
    assert not orientable
    assert Mesh(np.zeros((36, 3)), turned[18:] - 18).is_oriented


def test_lengths_and_areas_do_not_depend_on_the_dimension():
    points, faces = sphere_mesh()
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((9, 3)))[0]
    here, there = Mesh(points, faces), Mesh(points @ basis.T + 5.0, faces)
    assert there.ambient_dim == 9
    assert there.area == pytest.approx(here.area, rel=1e-12)
    assert there.area == pytest.approx(ConvexHull(points).area, rel=1e-12)
    corner = Mesh(np.eye(5)[:3], np.array([[0, 1, 2]]))
    assert corner.area == pytest.approx(np.sqrt(3.0) / 2.0)
    assert corner.border_length == pytest.approx(3.0 * np.sqrt(2.0))
    with pytest.raises(ValueError, match="an inside in R³ only; this one lies in R\\^9"):
        _ = there.volume


def test_tangents_are_orthonormal_and_oriented_as_the_faces():
    points, faces = sphere_mesh()
    faces = orient_outward(points, orient_consistently(faces)[0])
    frames = Mesh(points, faces).tangents
    np.testing.assert_allclose(frames.transpose(0, 2, 1) @ frames, np.broadcast_to(np.eye(2), (400, 2, 2)), atol=1e-12)
    outward = np.sum(np.cross(frames[:, :, 0], frames[:, :, 1]) * points, axis=1)
    # Faces a tenth wide are inclined to the tangent plane by a twentieth, some by twice that.
    assert outward.min() > 0.9


def test_files(tmp_path):
    points, faces = sphere_mesh()
    mesh = Mesh(
        np.column_stack([points, points[:, 0] ** 2]), faces, None, {"label": np.arange(400), "faces": points[:, 0]}
    )
    with pytest.raises(
        ValueError, match=r"ball\.ply can only hold vertices with 3 coordinates; these have 4. Write ball"
    ):
        mesh.write(tmp_path / "ball.ply")
    with pytest.raises(ValueError, match=r"Write ball\.npz instead"):
        check_output(tmp_path / "ball.stl", 4)
    assert list(tmp_path.iterdir()) == []
    with np.load(mesh.write(tmp_path / "ball.npz"), allow_pickle=False) as arrays:
        assert np.array_equal(arrays["vertices"], mesh.vertices)
        assert np.array_equal(arrays["faces"], mesh.faces)
        assert np.array_equal(arrays["label"], np.arange(400))
        assert np.array_equal(arrays["scan_faces"], points[:, 0])
    assert [path.name for path in tmp_path.iterdir()] == ["ball.npz"]


def test_edges_are_numbered_as_sorting_them_would():
    from subbundle.triangles.topology import edges_of

    faces = np.random.default_rng(0).integers(0, 50, (400, 3))
    faces = faces[(np.diff(np.sort(faces, axis=1), axis=1) > 0).all(axis=1)]
    ends = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    keys, group, counts = np.unique(ends @ [50, 1], return_inverse=True, return_counts=True)
    edges = edges_of(faces)
    assert np.array_equal(edges.ends @ [50, 1], keys)
    assert np.array_equal(edges.counts, counts)
    assert np.array_equal(edges.of_face.ravel(), group)
