"""Meshes in tiles: known topology, accuracy compared with a mesh in memory, and the same bits for every tiling."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import subbundle as sb
from subbundle.cloud.lattice import lattice_cloud, z_curve
from subbundle.distributed.mesh_level_set import Piece
from subbundle.distributed.mesh_places import Territory, cells_of, inside, names_of
from subbundle.distributed.mesh_scale import BLOCK, scale_of
from subbundle.distributed.mesh_seeds import seeds_of
from subbundle.distributed.mesh_sides import Nodes, Winding
from subbundle.distributed.mesh_signs import SIGN_MARGIN, cluster_tile, orient_clusters
from subbundle.distributed.mesh_tiles import around, piece_of, seed_margin
from subbundle.distributed.mesh_weld import weld, write_welded
from subbundle.local.model import fit_local
from subbundle.surface.repair import keep_large_components
from subbundle.triangles.mesh import Mesh
from subbundle.triangles.topology import compact, edges_of


def pieces_of(points, boxes, scale):
    """Pieces of all tiles ``boxes`` [k, 2, 3] of a scene that fits into memory, one tile after the other."""
    tiles = [Territory(boxes, number) for number in range(len(boxes))]
    near = [points[inside(points, tile.box, scale.halo)] for tile in tiles]
    seeds = [seeds_of(rows, tile, scale) for rows, tile in zip(near, tiles, strict=True)]
    found = [cluster_tile(around(seeds, tile, SIGN_MARGIN, scale), tile, scale) for tile in tiles]
    members, signs = [part[0] for part in found], orient_clusters([part[1] for part in found])
    return [
        piece_of(rows, around(seeds, tile, seed_margin(scale), scale), members, signs, tile, scale)
        for rows, tile in zip(near, tiles, strict=True)
    ]


def welded(pieces):
    """Vertices, normals, standard errors and faces of all ``pieces`` in memory, sorted: the same for every tiling."""
    large, seams = weld(pieces.__getitem__, len(pieces))
    names = np.empty((seams.n_vertices, 2), np.int64)
    columns = np.empty((seams.n_vertices, 7))
    faces = []
    for number in range(len(pieces)):
        piece = large(number)
        numbers, _ = seams.of(number, piece)
        names[numbers] = piece.names
        columns[numbers] = np.column_stack([piece.vertices, piece.normals, piece.error])
        faces.append(numbers[piece.faces])
    order = np.lexsort((names[:, 1], names[:, 0]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    columns, corners = columns[order], place[np.concatenate(faces)]
    return columns[:, :3], columns[:, 3:6], columns[:, 6], corners[np.lexsort(corners.T[::-1])]


def ball(n, centre, radius, noise, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    x *= radius / np.linalg.norm(x, axis=1, keepdims=True)
    return x + centre + rng.normal(size=x.shape) * noise


def hills(n, noise, seed):
    rng = np.random.default_rng(seed)
    xy = rng.uniform([-2.0, -1.0], [2.0, 1.0], (n, 2))
    return np.column_stack([xy, height(xy)]) + rng.normal(size=(n, 3)) * noise


def height(xy):
    return 0.25 * np.sin(2.0 * xy[:, 0]) * np.cos(2.0 * xy[:, 1])


def slab(n, sides, noise, seed):
    """A closed box with sides of the given lengths."""
    rng, sides = np.random.default_rng(seed), np.array(sides)
    area = np.prod(sides) / sides
    axis = rng.choice(3, n, p=area / area.sum())
    points = rng.uniform(-0.5, 0.5, (n, 3)) * sides
    points[np.arange(n), axis] = rng.choice([-0.5, 0.5], n) * sides[axis]
    return points + rng.normal(size=points.shape) * noise


SCENES = {
    "sphere": lambda: ball(4000, [3.0, 0.0, 0.0], 1.0, 0.01, 0),
    "torus": lambda: sb.datasets.torus(5000, noise=0.01, seed=0).points,
    "two spheres": lambda: np.concatenate([ball(3000, [0, 0, 0], 1.0, 0.01, 1), ball(1500, [2.4, 0, 0], 0.6, 0.01, 2)]),
    "nested spheres": lambda: np.concatenate([ball(4000, [0, 0, 0], 1.0, 0.0, 3), ball(2500, [0, 0, 0], 0.7, 0.0, 4)]),
    "hills": lambda: hills(5000, 0.005, 5),
    "thin slab": lambda: slab(12000, [2.0, 1.0, 0.2], 0.002, 6),
    # Both are oriented upward: between them the mean of their planes is zero, and there is no surface.
    "deck over ground": lambda: np.concatenate([hills(4000, 0.0, 7), hills(4000, 0.0, 8) + [0.0, 0.0, 0.4]]),
}
# Euler characteristic, components and border loops.
TOPOLOGY = {
    "sphere": (2, 1, 0), "torus": (0, 1, 0), "two spheres": (4, 2, 0), "nested spheres": (4, 2, 0), "hills": (1, 1, 1),
    "thin slab": (2, 1, 0), "deck over ground": (2, 2, 2),
}  # fmt: skip


def boxes_of(points, counts, shift=0.0):
    """A grid of boxes around ``points``, its origin moved by ``shift``."""
    low, high = points.min(axis=0) - 0.01 - shift, points.max(axis=0) + 0.01
    edges = [np.linspace(a, b, n + 1) for a, b, n in zip(low, high, counts, strict=True)]
    cells = np.array(list(np.ndindex(*counts)))
    return np.stack([np.column_stack([edges[k][cells[:, k] + up] for k in range(3)]) for up in (0, 1)], axis=1)


@cache
def scene(name):
    points = SCENES[name]()
    scale = scale_of(points)
    return points, scale, welded(pieces_of(points, boxes_of(points, (1, 1, 1)), scale))


@pytest.mark.parametrize("name", SCENES)
def test_the_topology_is_that_of_the_shape(name):
    _, _, (vertices, normals, _, faces) = scene(name)
    mesh = Mesh(vertices, faces, normals)
    assert (mesh.euler_characteristic, mesh.n_components, mesh.n_border_loops) == TOPOLOGY[name]
    assert mesh.is_closed == (TOPOLOGY[name][2] == 0)


@pytest.mark.parametrize("name", ["torus", "hills", "two spheres"])
def test_any_tiling_gives_the_same_bits(name):
    points, scale, whole = scene(name)
    shuffled = np.random.default_rng(0).permutation(points)
    boxes = boxes_of(points, (3, 2, 1), shift=0.37)
    # The order of the tiles, and what lies in tiles that are left out because they are empty, does not matter either.
    boxes = boxes[::-1][[np.any(np.all((points >= b[0]) & (points < b[1]), axis=1)) for b in boxes[::-1]]]
    divided = welded(pieces_of(shuffled, boxes, scale))
    for one, other in zip(whole, divided, strict=True):
        assert np.array_equal(one, other)


def test_gaps_are_bridged_up_to_the_opening():
    # A sphere without two caps: one seen under half an angle of 0.17, less than three windows, one under 0.6.
    points = ball(9000, [0, 0, 0], 1.0, 0.004, 9)
    points = points[(points[:, 2] < np.cos(0.17)) & (points[:, 2] > -np.cos(0.6))]
    scale = scale_of(points)
    assert np.sin(0.17) < 3.0 * scale.window < np.sin(0.6)
    vertices, _, _, faces = welded(pieces_of(points, boxes_of(points, (2, 1, 1)), scale))
    mesh = Mesh(vertices, faces)
    assert (mesh.euler_characteristic, mesh.n_components, mesh.n_border_loops) == (1, 1, 1)
    # The membrane lies between the plane of its rim and the sphere, and a little noise.
    over = vertices[np.hypot(*vertices[:, :2].T) < np.sin(0.1)]
    over = over[over[:, 2] > 0.0, 2]
    assert np.cos(0.17) - 0.02 < over.min() < over.max() < 1.02
    closed = welded(pieces_of(points, boxes_of(points, (1, 1, 1)), replace(scale, opening=1.0)))
    assert Mesh(closed[0], closed[3]).n_border_loops == 2


def around_sphere(n, radius, centre, seed):
    """Places, outward normals and areas of ``n`` seeds of a sphere, and the blocks of the scene that they are in."""
    normals = np.random.default_rng(seed).normal(size=(n, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    places, areas = centre + radius * normals, np.full(n, 4.0 * np.pi * radius**2 / n)
    blocks = np.floor(places / BLOCK).astype(np.int64)
    scene = Nodes.of(blocks, areas[:, None] * np.column_stack([np.ones(n), places, normals]))
    return places, areas, areas[:, None] * normals, scene


def test_winding_numbers_are_one_inside_and_zero_outside():
    centre = np.array([7.0, -300.0, 40.0])
    places, areas, moments, scene = around_sphere(20000, 60.0, centre, 0)
    asked = centre + np.random.default_rng(1).uniform(-90.0, 90.0, (300, 3))
    found = Winding(places, areas, moments, scene).at(asked)
    # All seeds one by one. Blocks approximate seeds to first order: at two blocks' distance within some hundredths.
    apart = places - asked[:, None]
    square = np.sum(apart**2, axis=2)
    exact = np.sum(np.sum(apart * moments, axis=2) / np.sqrt(square**3 + 2.64**6), axis=1) / (4.0 * np.pi)
    assert np.abs(found - exact).max() < 0.05
    assert np.abs(found - exact).mean() < 0.01
    away = np.linalg.norm(asked - centre, axis=1) - 60.0
    # Random seeds leave gaps, of a hundredth of the solid angle each at ten cells.
    assert np.abs(found - (away < 0.0))[np.abs(away) > 10.0].max() < 0.1


def test_winding_numbers_are_the_same_bits_with_fewer_seeds_around():
    places, areas, moments, scene = around_sphere(20000, 60.0, np.zeros(3), 0)
    asked = np.array([[60.0, 3.0, 1.0], [57.5, -4.0, 2.0], [61.0, 0.0, 0.0]])
    near = np.linalg.norm(places - asked[0], axis=1) < 4.0 * BLOCK
    whole, part = (Winding(places[s], areas[s], moments[s], scene).at(asked) for s in (slice(None), near))
    assert np.array_equal(whole, part)


def test_faces_are_oriented_outward_and_sheets_upward():
    for name, volume in (("sphere", 4.0 / 3.0 * np.pi), ("thin slab", 2.0 * 1.0 * 0.2)):
        vertices, _, _, faces = scene(name)[2]
        a, b, c = (vertices - vertices.mean(axis=0))[faces].transpose(1, 0, 2)
        # Positive: outward. Noise and rounded edges take less than 3 %.
        assert np.sum(np.cross(a, b) * c) / 6.0 == pytest.approx(volume, rel=0.03)
    vertices, normals, _, faces = scene("hills")[2]
    a, b, c = vertices[faces].transpose(1, 0, 2)
    # At the border, where the cut is smoothed, slivers may fold.
    inner = (np.abs((a + b + c) / 3.0)[:, :2] < [1.9, 0.9]).all(axis=1)
    assert (np.cross(b - a, c - a)[inner, 2] > 0.0).all()
    assert (normals[:, 2] > 0.0).all()
    whole = sb.reconstruct(scene("hills")[0])
    inner = (np.abs(whole.vertices[:, :2]) < [1.9, 0.9]).all(axis=1)
    assert (whole.normals[inner, 2] > 0.0).all()


def test_vertices_are_as_accurate_as_in_memory():
    # The bar for the ratio of root mean squares is 1.3; both meshes are of the same few thousand points.
    points = scene("hills")[0]
    ours, one = scene("hills")[2][0], sb.reconstruct(points).vertices
    errors = [np.sqrt(np.mean((v[:, 2] - height(v)) ** 2)) for v in (ours, one)]
    assert errors[0] < 1.3 * errors[1]
    torus = sb.datasets.torus(5000, noise=0.01, seed=0)
    errors = [torus.distance(v).mean() for v in (scene("torus")[2][0], sb.reconstruct(torus.points).vertices)]
    assert errors[0] < 1.3 * errors[1]
    # Standard errors have the size of the errors.
    error, off = scene("torus")[2][2], torus.distance(scene("torus")[2][0])
    assert 0.5 < np.sqrt(np.mean(error**2) / np.mean(off**2)) < 2.0


def test_outliers_are_no_surface():
    points = np.concatenate(
        [ball(4000, [0, 0, 0], 1.0, 0.01, 0), np.random.default_rng(1).uniform(-1.5, 1.5, (200, 3))]
    )
    vertices, _, _, _ = welded(pieces_of(points, boxes_of(points, (1, 1, 1)), scale_of(points)))
    assert np.abs(np.linalg.norm(vertices, axis=1) - 1.0).max() < 0.1


def test_a_welded_file_is_the_mesh(tmp_path):
    import trimesh

    points, scale, (vertices, _, _, faces) = scene("hills")
    pieces = pieces_of(points, boxes_of(points, (2, 2, 1)), scale)
    large, seams = weld(pieces.__getitem__, len(pieces))
    mesh = Mesh(vertices, faces)
    assert (seams.n_vertices, seams.n_faces) == (len(vertices), len(faces))
    assert (seams.euler_characteristic, seams.n_components) == (mesh.euler_characteristic, mesh.n_components)
    read = trimesh.load(write_welded(tmp_path / "hills.ply", large, seams), process=False)
    order, other = np.lexsort(vertices.T), np.lexsort(read.vertices.T)
    assert np.array_equal(vertices[order], read.vertices[other])
    corners = [np.sort(v[f].sum(axis=(1, 2))) for v, f in ((vertices, faces), (read.vertices, read.faces))]
    # The corners of a face may begin elsewhere, so their sums are rounded in another order.
    assert np.allclose(*corners, rtol=0.0, atol=1e-12)
    assert not list(tmp_path.glob(".*"))


def test_places_belong_to_the_box_that_they_are_in_or_nearest_to():
    boxes = np.array([[[0, 0, 0], [1, 1, 1]], [[1, 0, 0], [2, 1, 1]], [[4, 0, 0], [5, 1, 1]]], dtype=float)
    places = np.array([[1.0, 0.5, 0.5], [0.5, 0.5, 0.5], [2.5, 0.5, 0.5], [3.0, 0.5, 0.5], [3.4, 0.5, 0.5], [0, 9, 0]])
    owners = np.array([Territory(boxes, k).owns(places) for k in range(3)])
    assert np.array_equal(owners.argmax(axis=0), [1, 0, 1, 1, 2, 0])
    assert (owners.sum(axis=0) == 1).all()


def test_names_encode_cells_and_their_order():
    cells = np.random.default_rng(0).integers(-1000, 1000, (200, 3))
    names = names_of(cells, 5)
    assert np.array_equal(cells_of(names), cells)
    assert np.array_equal(np.argsort(names), np.lexsort(cells.T[::-1]))
    with pytest.raises(ValueError, match="cells wide"):
        names_of(np.array([[2**18, 0, 0]]))


def test_fits_in_a_lattice_do_not_depend_on_what_is_far_away():
    points = ball(6000, [0, 0, 0], 1.0, 0.02, 0)
    near = points[points[:, 2] > 0.3]
    asked = points[points[:, 2] > 0.8]
    clouds = [lattice_cloud(some, None, np.zeros(3), 0.2) for some in (points, near[::-1])]
    for options in ({}, {"robust": 0.1}):
        one, other = (fit_local(cloud, asked, 0.08, 2, steps=2, **options) for cloud in clouds)
        assert np.array_equal(one.points, other.points)
        assert np.array_equal(one.forms, other.forms)
        # And it is the same cloud: sums of other order differ by rounding, robust ones by that of single precision.
        usual = fit_local(sb.Cloud(points), asked, 0.08, 2, steps=2, **options)
        rounding = 4 * 6e-8 * 0.08 if options else 1e-12
        assert np.allclose(one.points, usual.points, rtol=0.0, atol=rounding)


def test_the_z_curve_keeps_blocks_together():
    cells = np.array(list(np.ndindex(4, 4, 4))) - 2
    order = np.argsort(z_curve(cells))
    # Eight in a row are a cube of two, from an even corner.
    assert (np.ptp(cells[order].reshape(8, 8, 3), axis=1) == 1).all()
    with pytest.raises(ValueError, match="cells of the origin"):
        z_curve(np.array([[2**20, 0, 0]]))


def test_the_wall_of_a_cavity_is_oriented_inward():
    vertices, _, _, faces = scene("nested spheres")[2]
    a, b, c = vertices[faces].transpose(1, 0, 2)
    # What the faces enclose is the shell between the spheres; chords of the cells take less than 3 % of it.
    assert np.sum(np.cross(a, b) * c) / 6.0 == pytest.approx(4.0 / 3.0 * np.pi * (1.0 - 0.7**3), rel=0.03)


def sheet(side, at):
    """Vertices and faces of a square of so many cells, each 0.1 wide, from the corner ``at``."""
    n = side + 1
    grid = np.array(list(np.ndindex(n, n)))
    first = n * grid[:, 0] + grid[:, 1]
    low = first[(grid < side).all(axis=1)]
    faces = np.concatenate([np.column_stack([low, low + n, low + 1]), np.column_stack([low + 1, low + n, low + n + 1])])
    return np.column_stack([0.1 * grid, np.zeros(n * n)]) + at, faces


def cut_in_two(vertices, faces):
    """The mesh as pieces of two tiles, left and right of x = 2, faces belonging to the tile of their middle."""
    left = vertices[faces].mean(axis=1)[:, 0] < 2.0
    pieces = []
    for own in (left, ~left):
        others = np.zeros(len(vertices), bool)
        others[faces[~own]] = True
        mine, rows = compact(faces[own], len(vertices))
        count = edges_of(faces)
        border = np.repeat(faces[own][:, 0], (count.counts[count.of_face[own]] == 1).sum(axis=1))
        names = np.column_stack([rows, np.full(len(rows), -1)])
        zeros = np.zeros(len(rows))
        pieces.append(
            Piece(names, vertices[rows], vertices[rows], zeros, mine, others[rows], np.searchsorted(rows, border))
        )
    return pieces


def test_small_components_are_removed_as_in_memory():
    # 1600 cells; 9 are more than 0.4 % of them and stay, 4 are not: across the seam, and in one tile.
    parts = [sheet(40, [0, 0, 0]), sheet(3, [1.85, 0, 1]), sheet(2, [1.95, 0, 2]), sheet(2, [3, 0, 2])]
    shifts = np.cumsum([0, *(len(v) for v, _ in parts)])
    vertices = np.concatenate([v for v, _ in parts])
    faces = np.concatenate([f + n for (_, f), n in zip(parts, shifts[:-1], strict=True)])
    left = keep_large_components(vertices, faces, np.ones(len(vertices), bool))
    pieces = cut_in_two(vertices, faces)
    large, seams = weld(pieces.__getitem__, 2)
    assert (seams.n_components, seams.n_faces, seams.n_border_edges) == (2, len(left), 4 * (40 + 3))
    assert seams.euler_characteristic == 2
    found, _, _, corners = welded(pieces)
    assert np.array_equal(np.sort(found[corners].sum(axis=(1, 2))), np.sort(vertices[left].sum(axis=(1, 2))))
    assert sum(len(large(k).faces) for k in range(2)) == len(left)
    # Relative to an area of 5 cells, as in a much larger scene, none of them is small.
    assert weld(pieces.__getitem__, 2, 0.05)[1].n_components == 4
