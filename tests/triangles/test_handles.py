"""Non-separating loops: found, cut and capped, on surfaces with known handles."""

import numpy as np
import pytest

from subbundle.surface.extract import extract
from subbundle.triangles.clip import split_quads
from subbundle.triangles.handles import cut_short_loops, short_loops
from subbundle.triangles.mesh import Mesh


def level_set(field, half, cell):
    axes = [np.arange(-h - 2.0 * cell, h + 2.0 * cell, cell) for h in half]
    places, quads = extract(field(*np.meshgrid(*axes, indexing="ij")).astype(np.float32))
    vertices = np.array([axis[0] for axis in axes]) + cell * places
    return vertices, split_quads(vertices, quads)


@pytest.fixture(scope="module")
def torus():
    """Radii 1 and 0.2: a loop around the tube is 1.26 long, one through the hole at least 2π 0.8 = 5.0."""
    return level_set(lambda x, y, z: np.hypot(np.hypot(x, y) - 1.0, z) - 0.2, (1.3, 1.3, 0.3), 0.08)


def test_the_tube_of_a_torus_is_cut_where_it_is_thin_enough(torus):
    vertices, faces = torus
    scale = np.ones(len(vertices))
    # Edges of a grid make a loop longer, by less than √2.
    cut = cut_short_loops(vertices, faces, 1.26 * 1.42, scale)
    mesh = Mesh(cut.vertices, cut.faces)
    assert (mesh.euler_characteristic, mesh.n_components, mesh.is_closed, mesh.is_oriented) == (2, 1, True, True)
    assert len(cut.lengths) == 1
    assert 1.1 < cut.lengths[0] < 1.26 * 1.42
    # The middle of a loop around the tube lies on its core.
    assert np.hypot(*cut.middles[0, :2]) == pytest.approx(1.0, abs=0.05)
    whole = cut_short_loops(vertices, faces, 1.1, scale)
    assert np.array_equal(whole.faces, faces)


def test_a_handle_is_found_beside_a_sphere(torus):
    ball = level_set(lambda x, y, z: np.sqrt(x * x + y * y + z * z) - 0.5, (0.6, 0.6, 0.6), 0.1)
    assert len(short_loops(*ball, 10.0, np.ones(len(ball[0])))[0]) == 0
    vertices = np.concatenate([ball[0] + 5.0, torus[0]])
    faces = np.concatenate([ball[1], torus[1] + len(ball[0])])
    assert len(short_loops(vertices, faces, 1.26 * 1.42, np.ones(len(vertices)))[0]) > 0


def test_lengths_count_less_where_the_scale_is_small(torus):
    vertices, faces = torus
    assert len(short_loops(vertices, faces, 0.9, np.ones(len(vertices)))[0]) == 0
    assert len(short_loops(vertices, faces, 0.9, np.full(len(vertices), 0.5))[0]) > 0


def test_a_thin_neck_between_two_balls_separates_them_and_stays():
    def field(x, y, z):
        balls = np.minimum(np.hypot(np.hypot(x - 0.8, y), z), np.hypot(np.hypot(x + 0.8, y), z)) - 0.6
        neck = np.maximum(np.hypot(y, z) - 0.15, np.abs(x) - 0.8)
        return np.minimum(balls, neck)

    vertices, faces = level_set(field, (1.5, 0.7, 0.7), 0.08)
    cut = cut_short_loops(vertices, faces, 2.0, np.ones(len(vertices)))
    assert len(cut.lengths) == 0
    assert Mesh(cut.vertices, cut.faces).euler_characteristic == 2


def test_many_handles_are_cut_at_once_and_borders_are_no_handles():
    # Two plates joined by a row of six posts: five handles, of which the loops around the posts are short. One face is
    # taken out: the loop around that hole bounds, and stays.
    def field(x, y, z):
        plates = np.minimum(np.abs(z - 0.3), np.abs(z + 0.3)) - 0.1
        plates = np.maximum(plates, np.maximum(np.abs(x) - 1.2, np.abs(y) - 0.4))
        posts = np.full(x.shape, np.inf)
        for place in np.linspace(-1.0, 1.0, 6):
            posts = np.minimum(posts, np.maximum(np.hypot(x - place, y) - 0.1, np.abs(z) - 0.3))
        return np.minimum(plates, posts)

    vertices, faces = level_set(field, (1.3, 0.5, 0.5), 0.05)
    assert Mesh(vertices, faces).euler_characteristic == 2 - 2 * 5
    top = int(np.argmax(vertices[faces].mean(axis=1)[:, 2]))
    faces = np.delete(faces, top, axis=0)
    # A post is 0.63 around; the smallest loop that passes through the gap between two posts is 1.2 long.
    cut = cut_short_loops(vertices, faces, 1.0, np.ones(len(vertices)))
    mesh = Mesh(cut.vertices, cut.faces)
    assert len(cut.lengths) == 5
    assert (mesh.euler_characteristic, mesh.n_border_loops, mesh.n_components) == (1, 1, 1)
    assert mesh.n_nonmanifold_edges == 0


@pytest.mark.parametrize("side", [0, 1])
def test_a_loop_beside_a_border_is_cut_on_whichever_side_the_border_is(side):
    # A torus, thinnest at one meridian, with a hole in the faces on either side of it.
    n, m = 24, 12
    around, across = np.meshgrid(2 * np.pi * np.arange(n) / n, 2 * np.pi * np.arange(m) / m, indexing="ij")
    tube = 0.3 + 0.05 * (1.0 - np.cos(around))
    ring = 1.0 + tube * np.cos(across)
    places = np.stack([ring * np.cos(around), ring * np.sin(around), tube * np.sin(across)], axis=-1).reshape(-1, 3)
    i, j = (part.ravel() for part in np.meshgrid(np.arange(n), np.arange(m), indexing="ij"))
    a, b, c, d = (((i + p) % n) * m + (j + q) % m for p, q in ((0, 0), (1, 0), (1, 1), (0, 1)))
    hole = (i == (0 if side else n - 1)) & (j < 4)
    faces = np.concatenate([np.column_stack([a, b, c])[~hole], np.column_stack([a, c, d])[~hole]])
    assert Mesh(places, faces).euler_characteristic == -1
    cut = cut_short_loops(places, faces, 2.0, np.ones(len(places)))
    # Without its handle it is a sphere with a hole.
    mesh = Mesh(cut.vertices, cut.faces)
    assert (len(cut.lengths), mesh.euler_characteristic, mesh.n_border_loops) == (1, 1, 1)
