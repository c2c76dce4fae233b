"""Dual marching cubes against level sets in closed form, and the tables against what they must be."""

import numpy as np
import pytest

from subbundle.surface.extract import extract, tables
from subbundle.surface.repair import make_manifold, vertex_normals
from subbundle.triangles.clip import split_quads
from subbundle.triangles.mesh import Mesh
from subbundle.triangles.topology import split_umbrellas


def grid(n, half):
    axis = np.linspace(-half, half, n)
    return np.stack(np.meshgrid(axis, axis, axis, indexing="ij")), axis[1] - axis[0], -half


def mesh_of(field, cell, low):
    places, quads = extract(field.astype(np.float32))
    vertices = low + cell * places
    faces = split_quads(vertices, quads)
    return Mesh(vertices, faces, vertex_normals(vertices, faces))


def test_a_sphere_lies_within_the_error_of_the_grid():
    (x, y, z), cell, low = grid(48, 1.3)
    mesh = mesh_of(np.sqrt(x**2 + y**2 + z**2) - 1.0, cell, low)
    radius = np.linalg.norm(mesh.vertices, axis=1)
    # Crossings are exact to cell²/8 of curvature along an edge; the mean of a loop lies inside by at most cell²/2.
    assert radius.max() < 1.0 + 0.125 * cell**2
    assert radius.min() > 1.0 - 0.5 * cell**2
    assert mesh.is_closed
    assert mesh.is_oriented
    assert mesh.euler_characteristic == 2
    # Positive outside: normals point outward.
    assert mesh.volume > 0.0


def test_a_torus_has_a_hole():
    (x, y, z), cell, low = grid(40, 1.6)
    mesh = mesh_of((np.hypot(x, y) - 1.0) ** 2 + z**2 - 0.16, cell, low)
    assert mesh.euler_characteristic == 0
    assert mesh.is_closed
    assert mesh.n_nonmanifold_edges == 0


def test_the_mesh_ends_where_the_field_is_unknown():
    (x, y, z), cell, low = grid(32, 1.0)
    field = np.where(np.hypot(x, y) < 0.8, z - 0.013, np.nan)
    mesh = mesh_of(field, cell, low)
    assert mesh.euler_characteristic == 1
    assert mesh.n_border_loops == 1
    assert np.allclose(mesh.vertices[:, 2], 0.013, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_noise_gives_a_manifold_after_repair(seed):
    # Random signs hit every case of the table, ambiguous faces included.
    field = np.random.default_rng(seed).standard_normal((14, 14, 14))
    field[[0, 1, -2, -1]] = field[:, [0, 1, -2, -1]] = field[:, :, [0, 1, -2, -1]] = 1.0
    vertices, quads = extract(field.astype(np.float32))
    # Without triangles: every edge of the quads has an even number of them, one in each direction per pair.
    directed = quads[:, [[0, 1], [1, 2], [2, 3], [3, 0]]].reshape(-1, 2)
    keys = directed @ np.array([len(vertices), 1])
    back = directed[:, ::-1] @ np.array([len(vertices), 1])
    assert np.array_equal(np.sort(keys), np.sort(back))
    vertices, faces, _ = make_manifold(vertices, split_quads(vertices, quads), 100.0)
    mesh = Mesh(vertices, faces, vertex_normals(vertices, faces))
    assert mesh.n_nonmanifold_edges == 0


def test_loops_cover_the_crossed_edges_once():
    loop_of, loops_of = tables()
    for case in range(256):
        for edge in range(12):
            axis, low = divmod(edge, 4)
            others = [other for other in range(3) if other != axis]
            corner = (low & 1) << others[0] | (low >> 1) << others[1]
            crossed = (case >> corner & 1) != (case >> (corner | 1 << axis) & 1)
            assert (loop_of[case, edge] >= 0) == crossed
        sizes = np.bincount(loop_of[case][loop_of[case] >= 0], minlength=loops_of[case])
        assert len(sizes) == loops_of[case]
        assert (sizes >= 3).all()


def test_fans_that_share_a_vertex_only_are_split():
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]], dtype=float)
    faces = np.array([[0, 1, 2], [0, 3, 4]])
    split, corners, old = split_umbrellas(vertices, faces)
    assert len(split) == 6
    assert np.array_equal(old[corners], faces)
    assert len(np.intersect1d(corners[0], corners[1])) == 0


def test_fans_are_those_found_by_rotation_around_their_vertex():
    rng = np.random.default_rng(0)
    faces = np.array([rng.choice(30, 3, replace=False) for _ in range(60)])
    _, corners, old = split_umbrellas(rng.standard_normal((30, 3)), faces)
    assert np.array_equal(old[corners], faces)
    assert (np.diff(old) >= 0).all()
    ends = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]], axis=2)
    shared = {}
    for f, three in enumerate(ends.tolist()):
        for end in three:
            shared.setdefault(tuple(end), []).append(f)
    for v in range(30):
        left, fans = set(np.flatnonzero((faces == v).any(axis=1))), []
        while left:
            fan = walk = {left.pop()}
            while walk:
                beside = {
                    g for ab, both in shared.items() if v in ab and len(both) == 2 and walk & set(both) for g in both
                }
                walk = beside & left
                left, fan = left - walk, fan | walk
            fans.append(fan)
        names = [{corners[f][list(faces[f]).index(v)] for f in fan} for fan in fans]
        assert all(len(name) == 1 for name in names)
        assert len(set.union(set(), *names)) == len(fans)


def test_a_constant_gauge_changes_nothing():
    rng = np.random.default_rng(0)
    field = rng.standard_normal((12, 13, 14)).astype(np.float32)
    field[rng.random(field.shape) < 0.02] = np.nan
    # With a gauge cells are evaluated corner by corner, without one column by column.
    gauge = np.zeros((*field.shape, 3), np.float32)
    gauge[..., 0] = 1.0
    plain, turned = extract(field), extract(field, gauge)
    assert np.array_equal(plain[0], turned[0])
    assert np.array_equal(plain[1], turned[1])
    # A quad per crossed edge inside whose four cells are known all round.
    known = ~np.isnan(field)
    whole = np.ones_like(field[1:, 1:, 1:], np.bool_)
    for x, y, z in np.ndindex(2, 2, 2):
        whole &= known[x : 11 + x, y : 12 + y, z : 13 + z]
    crossed = (field > 0.0)[1:-1, 1:-1, 1:-1] != (field > 0.0)[1:-1, 1:-1, 2:]
    around = whole[:-1, :-1, 1:] & whole[1:, :-1, 1:] & whole[:-1, 1:, 1:] & whole[1:, 1:, 1:]
    along_last = int((crossed & around).sum())
    edges = plain[0][plain[1]]
    # The four vertices of such a quad lie in cells that have the last coordinate in common.
    same = (np.ptp(np.floor(edges[:, :, 2]), axis=1) == 0) & (np.ptp(np.floor(edges[:, :, :2]), axis=1) == 1).all(
        axis=1
    )
    assert int(same.sum()) == along_last
