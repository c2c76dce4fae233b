"""Properties of real scans: unseen patches, outliers near the surface, normals as evidence, standard errors."""

import warnings

import numpy as np
import pytest

import subbundle as sb
from subbundle.local.frames import tangents_from_normals
from subbundle.surface import implicit, mesh_warnings, openings, outliers, tuning
from subbundle.surface._grid_kernels import interpolate
from subbundle.surface.blend import blended_quadrics
from subbundle.surface.facing import Facing, cube_directions
from subbundle.surface.layers import without_layers
from subbundle.surface.local import SAMPLE, WeightedCloud
from subbundle.surface.pilot import Pilot, estimate_pilot
from subbundle.surface.prepare import Prepared
from subbundle.surface.project import smooth_uncertain
from subbundle.surface.pyramid import Pyramid
from subbundle.surface.repair import make_manifold
from subbundle.surface.thin_walls import SidedPyramid, in_thin_walls
from subbundle.surface.tuning import RIDGE_STEPS, SECOND_LOOK
from subbundle.surface.tunnels import Filled
from subbundle.surface.walls import noise_of_sheets
from subbundle.surface.widths import neighbour_average
from subbundle.triangles.mesh import Mesh, Summary
from subbundle.triangles.topology import border_edges


def grid_mesh(n):
    """A flat square of n by n vertices."""
    axis = np.linspace(-1.0, 1.0, n)
    x, y = (grid.ravel() for grid in np.meshgrid(axis, axis, indexing="ij"))
    rows = np.arange(n * n).reshape(n, n)
    a, b, c, d = (part.ravel() for part in (rows[:-1, :-1], rows[1:, :-1], rows[1:, 1:], rows[:-1, 1:]))
    return np.column_stack([x, y, np.zeros(n * n)]), np.concatenate(
        [np.column_stack([a, b, c]), np.column_stack([a, c, d])]
    )


def test_a_membrane_between_tilted_rims_is_the_plane_through_them():
    flat, faces = grid_mesh(15)
    rim = (np.abs(flat[:, :2]) > 0.99).any(axis=1)
    tilted = flat + np.column_stack([np.zeros((len(flat), 2)), 0.3 * flat[:, 0]])
    start = np.where(rim[:, None], tilted, tilted + [0.0, 0.0, 2.0])
    found = openings.membrane(start, faces, rim)
    # Linear functions solve Laplace's equation on a graph whose neighbours lie evenly around every vertex.
    assert np.abs(found - tilted).max() < 1e-9


def test_patches_are_classified_by_their_half_width():
    flat, faces = grid_mesh(41)
    far = np.maximum(0.3 - np.hypot(flat[:, 0] - 0.4, flat[:, 1]), 0.0) + np.maximum(
        0.2 - np.hypot(flat[:, 0] + 0.5, flat[:, 1]), 0.0
    )
    keep, found = openings.classify_patches(flat, faces, far, far < 0.05, 0.25)
    # The discs of radius 0.2 and 0.3 in a square; vertices are 0.05 apart.
    assert found.bridged == pytest.approx((0.2,), abs=0.05)
    assert found.left == pytest.approx((0.3,), abs=0.05)
    gone = flat[faces[~keep]].reshape(-1, 3)
    assert np.hypot(gone[:, 0] - 0.4, gone[:, 1]).max() < 0.3
    assert openings.classify_patches(flat, faces, far, far < 0.05, np.inf)[0].all()


def test_smoothing_leaves_what_is_known_and_flattens_what_is_not():
    flat, faces = grid_mesh(21)
    rng = np.random.default_rng(0)
    rough = flat + np.column_stack([np.zeros((len(flat), 2)), 0.02 * rng.standard_normal(len(flat))])
    average = neighbour_average(faces, len(flat))
    # A third of the vertices is known eight times less well than the others, c = (2/8)⁴ = 0.004 against λ = 0.15.
    unsure = flat[:, 0] > 0.35
    found = smooth_uncertain(rough, np.where(unsure, 0.16, 0.02), average, 0.1)
    # c = 1 against λ = 0.15: at most 0.13 of the way to the mean of the neighbours, which is smooth already.
    assert np.abs(found - rough)[~unsure].max() < 0.15 * 0.08
    assert np.std(found[unsure, 2]) < 0.4 * np.std(rough[unsure, 2])


def test_a_seed_is_no_evidence_for_the_back_of_its_sheet():
    flat, _ = grid_mesh(41)
    up = np.tile([0.0, 0.0, 1.0], (len(flat), 1))
    above = flat + [0.0, 0.0, 0.05]
    for normals, seen in ((up, True), (-up, False)):
        far, shown, _ = openings.Coverage(flat, up, 0.1).of(above, normals)
        assert (shown == seen).all()
        # At the corners of the square seeds are sparser, and their distances count less.
        assert np.median(far) == pytest.approx(0.05)


def test_a_tunnel_is_filled_by_observations_inside_of_its_loop():
    angle = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(24)])
    walls = np.concatenate([ring + [0.0, 0.0, h] for h in (-0.5, 0.0, 0.5)])
    rows = np.arange(48).reshape(2, 24)
    low, high = np.roll(rows, -1, axis=1), rows + 24
    faces = np.concatenate([np.stack([rows, low, high], -1), np.stack([low, low + 24, high], -1)]).reshape(-1, 3)
    loop, long, window = [24 + np.arange(24)], np.array([False]), 0.85
    axis = np.arange(-1.2, 1.2, 0.3)
    plug = np.stack(np.meshgrid(axis, axis, [0.0]), axis=-1).reshape(-1, 3)
    few = plug[np.hypot(plug[:, 0], plug[:, 1] - 0.6) < 0.2]  # outliers on one side
    inward = faces[:, ::-1]
    assert not Filled(walls, window)(walls, inward, loop, long)[0]
    assert not Filled(np.concatenate([walls, few]), window)(walls, inward, loop, long)[0]
    assert Filled(plug, window)(walls, inward, loop, long)[0]
    # Turned inside out it is a strut, whose inside is no evidence.
    assert not Filled(plug, window)(walls, faces, loop, long)[0]


def test_a_narrow_tunnel_stays_if_observations_are_its_walls():
    # A loop of half a window in radius, as smoothing leaves of a tunnel one or 1.5 windows of 2 noise levels in radius:
    # walls and their noise fill the middle. Around a hole of that size in a sheet, or in two, the sheets continue.
    rng = np.random.default_rng(0)
    angle = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    ring = 0.5 * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(12)])
    vertices = np.concatenate([ring, ring + [0.0, 0.0, 0.3]])
    low = np.roll(np.arange(12), -1)
    inward = np.concatenate(
        [np.stack([np.arange(12), np.arange(12) + 12, low], -1), np.stack([low, np.arange(12) + 12, low + 12], -1)]
    )
    turn, height = rng.uniform(0.0, 2.0 * np.pi, 400), rng.uniform(-4.0, 4.0, 400)
    tubes = [np.column_stack([r * np.cos(turn), r * np.sin(turn), height]) for r in (1.0, 1.5)]
    sheet = np.column_stack([rng.uniform(-5.0, 5.0, (800, 2)), np.zeros(800)])
    wall = sheet + np.array([0.0, 0.0, 1.0]) * rng.choice([-1.5, 1.5], (800, 1))
    for observations, cut in ((tubes[0], False), (tubes[1], False), (sheet, True), (wall, True)):
        noisy = observations + 0.5 * rng.standard_normal(observations.shape)
        assert Filled(noisy, 1.0)(vertices, inward, [np.arange(12)], np.array([True]))[0] == cut
        # Turned inside out it is a strut, thinner than windows resolve.
        assert Filled(noisy, 1.0)(vertices, inward[:, ::-1], [np.arange(12)], np.array([True]))[0]


def test_the_implicit_function_vanishes_at_the_seeds():
    data = sb.datasets.sphere(4000, seed=0)
    # Half of the seeds are thinned out, so that areas and the drift of χ differ between the sides.
    kept = (data.points[:, 0] < 0.0) | (np.arange(4000) % 4 == 0)
    points = data.points[kept]
    grid = implicit.grid_around(points, 0.06)
    chi = implicit.solve(points, points, grid, tuning.SMOOTH_CELLS, 1)
    values = np.empty(len(points))
    interpolate(chi, grid.places(points), values)
    inside = chi[tuple(np.rint(grid.places(np.zeros((1, 3)))[0]).astype(int))]
    assert inside < 0.0
    # In units of the jump from inside to outside, which is 1.
    assert np.abs(values).mean() < 0.03
    assert inside < -0.3


def test_directions_are_near_every_normal():
    rng = np.random.default_rng(0)
    normals = rng.standard_normal((2000, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    assert np.rad2deg(np.arccos((normals @ cube_directions(1, 3).T).max(axis=1))).max() < 37.0
    facing = Facing(normals, normals, None, 1)
    for row, side in enumerate(facing.side_of(normals)[:200]):
        assert row in facing.rows[side]
        assert (
            np.flatnonzero((normals @ normals[row]) < -0.99).size == 0
            or not np.isin(np.flatnonzero((normals @ normals[row]) < -0.99), facing.rows[side]).any()
        )


def slab(n, thickness, noise, seed):
    """Both faces of a plate of 2 by 1.2 and their outward normals, without its rim."""
    rng = np.random.default_rng(seed)
    clean = rng.uniform([-1.0, -0.6, 0.0], [1.0, 0.6, 0.0], (n, 3))
    up = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    clean[:, 2] = 0.5 * thickness * up
    return clean + noise * rng.standard_normal((n, 3)), np.column_stack([np.zeros((n, 2)), up])


def test_normals_keep_thin_walls_apart():
    points, normals = slab(12000, 0.08, 0.02, 0)  # four noise levels
    mesh = sb.reconstruct(points, normals=normals)
    inside = (np.abs(mesh.vertices[:, 0]) < 0.8) & (np.abs(mesh.vertices[:, 1]) < 0.4)
    height = mesh.vertices[inside, 2]
    assert (height > 0.0).mean() == pytest.approx(0.5, abs=0.05)
    # A quarter of the noise; one sheet in the middle would be off by two noise levels.
    assert np.abs(np.abs(height) - 0.04).mean() < 0.25 * 0.02


def test_normals_without_a_side_are_left_out_with_a_warning():
    data = sb.datasets.sphere(2000, noise=0.01, seed=0)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], 2000)
    with pytest.warns(sb.SubbundleWarning, match="the normals were left out: only"):
        mesh = sb.reconstruct(data.points, normals=data.clean * signs[:, None])
    assert np.array_equal(mesh.vertices, sb.reconstruct(data.points).vertices)
    with pytest.raises(ValueError, match="normals must have one row per point, 2000; got 3"):
        sb.reconstruct(data.points, normals=np.eye(3))


def test_outliers_beside_an_exact_surface_are_named_and_make_no_flaps():
    data = sb.datasets.torus(12000, seed=0)
    rng = np.random.default_rng(0)
    rows = rng.choice(12000, 600, replace=False)
    points = data.points.copy()
    away = rng.standard_normal((600, 3))
    points[rows] += rng.uniform(0.05, 0.2, (600, 1)) * away / np.linalg.norm(away, axis=1, keepdims=True)
    mesh = sb.reconstruct(points)
    assert (mesh.euler_characteristic, mesh.n_components, mesh.is_closed) == (0, 1, True)
    # The surface is exact: chords of the triangles and the outliers' weight in a few windows are left.
    assert data.distance(mesh.vertices).mean() < 0.003
    height = data.distance(points)
    assert set(np.flatnonzero(height > 0.03)) <= set(mesh.summary.outliers)
    assert height[mesh.summary.outliers].min() > 0.003
    assert any(line.startswith("outliers:") for line in mesh.report())


def test_a_component_that_observations_fill_is_no_surface():
    rng = np.random.default_rng(0)
    unit = sb.datasets.sphere(2000, seed=0).points
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    mesh = sb.reconstruct(unit)
    shift = np.array([10.0, 0.0, 0.0])
    vertices = np.concatenate([3.0 * mesh.vertices, mesh.vertices + shift, mesh.vertices - shift])
    faces = np.concatenate([mesh.faces + i * len(mesh.vertices) for i in range(3)])
    # Beside the large sphere, a ball and a sphere of the same radius: by volume and by area.
    ball = unit * rng.uniform(size=(len(unit), 1)) ** (1.0 / 3.0)
    noisy = unit + 0.1 * rng.standard_normal(unit.shape)
    cloud = np.concatenate([3.0 * unit, ball + shift, noisy - shift])
    kept = outliers.without_bodies(cloud, vertices, faces, 0.25)
    assert np.array_equal(np.unique(kept // len(mesh.vertices)), [0, 2])
    # With windows as wide as the radius nothing can be deeper.
    assert len(outliers.without_bodies(cloud, vertices, faces, 1.0)) == len(faces)


def test_local_noise_is_not_that_of_a_clump_nearby():
    flat, _ = grid_mesh(41)
    rng = np.random.default_rng(0)
    sheet = np.column_stack([rng.uniform(-1.0, 1.0, (4000, 2)), 0.01 * rng.standard_normal(4000)])
    clump = [0.0, 0.0, 0.4] + 0.05 * rng.standard_normal((500, 3))
    named = outliers.flagged(np.concatenate([sheet, clump]), flat, np.tile([0.0, 0.0, 1.0], (len(flat), 1)), 0.05, 0.1)
    # Five noise levels: one observation in two million of the sheet; the clump is six of its own away.
    assert np.array_equal(named, np.arange(4000, 4500))


def test_of_two_sheets_across_a_narrow_gap_one_is_a_layer():
    flat, _ = grid_mesh(21)
    points = np.concatenate([flat, flat + [0.0, 0.0, 0.3]])
    inward = np.repeat([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], len(flat), axis=0)
    mass = np.repeat([20.0, 10.0], len(flat))
    # The gap is three windows wide, and twenty deep.
    assert np.array_equal(without_layers(points, inward, mass, 0.1), np.arange(len(flat)))
    assert len(without_layers(points, inward, np.full(len(points), 10.0), 0.1)) == len(points)
    # A wall, whose sides face away from each other, and a wide gap.
    assert len(without_layers(points, -inward, mass, 0.1)) == len(points)
    assert len(without_layers(points, inward, mass, 0.05)) == len(points)
    # As dense, but one of them is a side of a wall: the other is the layer.
    walled = np.concatenate([points, flat - [0.0, 0.0, 0.5]])
    outward = np.concatenate([inward, np.tile([0.0, 0.0, -1.0], (len(flat), 1))])
    kept = without_layers(walled, outward, np.full(len(walled), 10.0), 0.1)
    assert np.array_equal(kept, np.flatnonzero(walled[:, 2] < 0.1))


def test_the_sides_of_a_thin_wall_do_not_bias_each_other():
    flat, _ = grid_mesh(81)
    rng = np.random.default_rng(0)
    noise, half = 0.01, 0.025  # five noise levels thick
    top = np.concatenate([flat + [0.0, 0.0, half], flat - [0.0, 0.0, half]])
    normals = np.repeat([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], len(flat), axis=0)
    cloud = np.column_stack([rng.uniform(-1.0, 1.0, (40000, 2)), half * np.sign(rng.uniform(-1.0, 1.0, 40000))])
    cloud[:, 2] += noise * rng.standard_normal(len(cloud))
    scan = Prepared(cloud, None, 0.0, Pilot(noise, 0.01, 0.018), 0.02, 0.0125, None)
    plain = Pyramid(WeightedCloud(cloud), cloud, None, side=0.0, spacing=0.01, widest=0.1)
    middle = np.flatnonzero(np.abs(top[:, :2]).max(axis=1) < 0.5)[::7]
    at, across = top[middle], normals[middle]
    widths = np.full(len(middle), 0.04)

    def height(levels):
        fit = levels.quadric(at, across, widths, np.full(len(middle), 4.0 * noise), rounds=3)
        return float(np.mean(np.sum((fit.points - at) * across, axis=1)))

    # Assignment at the middle, 2.5 noise levels away, moves a sheet by .005 of them; the rest is noise.
    assert abs(height(SidedPyramid(plain, scan, top, normals, 0.0125))) < 0.03 * noise
    assert height(plain) < -0.1 * noise
    assert in_thin_walls(top, normals, 0.06).all()
    assert not in_thin_walls(top, normals, 0.04).any()


def test_standard_errors_are_those_of_the_vertices():
    data = sb.datasets.sphere(12000, noise=0.03, seed=0)
    mesh = sb.reconstruct(data.points)
    off = data.distance(mesh.vertices)
    error = mesh.attributes["standard_error"]
    assert np.isfinite(error).all()
    # What curvature and smoothing add or take is within a factor of two.
    assert 0.5 < np.sqrt(np.mean(off**2)) / np.sqrt(np.mean(error**2)) < 2.0


def test_the_summary_lists_bridged_and_open_patches():
    data = sb.datasets.sphere(8000, noise=0.01, seed=0)
    scan = data.points[data.points[:, 2] < 0.7]
    mesh = sb.reconstruct(scan)
    assert len(mesh.summary.left_open) == 1
    assert any(line.startswith("left open: 1 unseen patch, half-width") for line in mesh.report())
    closed = sb.reconstruct(scan, closed=True)
    assert closed.is_closed
    # A membrane over a circle of radius 0.71 is flat: its vertices lie in the plane of the rim.
    top = closed.vertices[np.hypot(closed.vertices[:, 0], closed.vertices[:, 1]) < 0.5]
    assert top[top[:, 2] > 0.0, 2].mean() == pytest.approx(0.7, abs=0.06)


def test_parts_that_are_dropped_are_reported():
    rng = np.random.default_rng(0)
    big = sb.datasets.sphere(8000, noise=0.01, seed=0).points
    # A square of 0.3 % of the area of the sphere.
    small = rng.uniform([-0.1, -0.1, 1.5], [0.1, 0.1, 1.5], (40, 3))
    mesh = sb.reconstruct(np.concatenate([big, small]))
    assert mesh.n_components == 1
    assert mesh.summary.left_out == (40,)
    assert "left out: 1 part, with 40 points nearby" in mesh.report()


def test_places_are_printed_to_the_resolution_of_the_mesh():
    places = np.array([[548952.4, 4177040.2, 174.3]])
    summary = Summary(
        9, 9, 9, 0.1, 0.1, bandwidth=0.2, cell=0.1, orientable=True, seconds={}, handles_cut=(1.0,), handles_at=places
    )
    assert summary.report()[0].endswith("at (548952.4, 4177040.2, 174.3)")


def test_large_handles_are_no_defect_and_points_beside_the_mesh_no_outliers():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A plate with 5 × 4 square holes has 20 handles.
        mesh_warnings.warn_of_fragments(pierced_plate(), 0.05, closed=False)
    with pytest.warns(sb.SubbundleWarning, match="20 handles"):
        mesh_warnings.warn_of_fragments(pierced_plate(), 0.5, closed=False)
    mesh, off = pierced_plate(), np.full((10, 3), [1.0, 1.0, 2.3])
    with pytest.warns(sb.SubbundleWarning, match="10 % of the points lie beside the surface"):
        mesh_warnings.warn_of_points_beside(off, mesh, 0.2, 100)
    mesh_warnings.warn_of_points_beside(off, mesh, 0.2, 201)
    mesh_warnings.warn_of_points_beside(off + [0.0, 0.0, 0.2], mesh, 0.2, 100)


def pierced_plate():
    """The surface of 11 × 9 unit cubes between z = 1 and 2, without every second in both directions: 20 holes."""
    full = np.zeros((13, 11, 3), bool)
    full[1:-1, 1:-1, 1] = True
    full[2:-1:2, 2:-1:2, 1] = False
    square, quads = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]), []
    for axis in range(3):
        for way in (1, -1):
            cubes = np.argwhere(full & ~np.roll(full, -way, axis))
            corners = np.insert(square[::way], axis, (way + 1) // 2, axis=1)
            quads.append((cubes[:, None] + corners)[:, :: 1 if axis != 1 else -1])
    vertices, rows = np.unique(np.concatenate(quads).reshape(-1, 3), axis=0, return_inverse=True)
    rows = rows.reshape(-1, 4)
    return Mesh(vertices.astype(float), np.concatenate([rows[:, [0, 1, 2]], rows[:, [0, 2, 3]]]))


def test_closed_is_no_worse_than_open_with_its_holes_filled():
    rng = np.random.default_rng(4)
    way = on_sphere(20_000, rng)
    for patch in ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, -0.6, -0.8]):
        way = way[way @ patch < np.cos(0.35)]
    scan = way + 0.01 * rng.standard_normal(way.shape)
    mesh, closed = sb.reconstruct(scan), sb.reconstruct(scan, closed=True)
    assert (mesh.n_border_loops, closed.n_border_loops, closed.euler_characteristic) == (3, 0, 2)
    filled, faces, _ = make_manifold(mesh.vertices, mesh.faces, np.inf)

    def off(vertices, faces):
        """Mean distance of the faces' middles from the sphere, by area."""
        corners = vertices[faces]
        area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
        return np.average(np.abs(np.linalg.norm(corners.mean(axis=1), axis=1) - 1.0), weights=area)

    # Flat fans and membranes over the same rims are the same but for these: 2 %.
    assert off(closed.vertices, closed.faces) < 1.02 * off(filled, faces)


@pytest.mark.parametrize("seed", [1, 2])
def test_rims_are_smooth_at_the_scale_of_the_window(seed):
    # Noise of half a window moves observations across the rim as well; the mean drift of some 30 of them determines it
    # to a third of a window, and isolated ones further out do not.
    rng = np.random.default_rng(seed)
    angle, aside = rng.uniform(0.0, 2.0 * np.pi, 6000), np.sqrt(rng.uniform(size=6000))
    disc = np.column_stack([aside * np.cos(angle), aside * np.sin(angle), np.zeros(6000)])
    square = np.column_stack([rng.uniform(-1.0, 1.0, (6000, 2)), np.zeros(6000)])
    rims = []
    for points in (disc, square):
        mesh = sb.reconstruct(points + 0.03 * rng.standard_normal(points.shape))
        assert (mesh.n_components, mesh.n_border_loops) == (1, 1)
        edges = border_edges(mesh.faces)
        after = dict(edges.tolist())
        way = mesh.vertices[edges[:, 1]] - mesh.vertices[edges[:, 0]]
        way = dict(zip(edges[:, 0].tolist(), way, strict=True))
        turns = [way[a] @ way[b] / np.linalg.norm(way[a]) / np.linalg.norm(way[b]) for a, b in after.items()]
        # No tongue: nowhere does the rim turn by more than a right angle within one edge.
        assert min(turns) > 0.0
        length = sum(np.linalg.norm(one) for one in way.values())
        rims.append((length, mesh.area, mesh.vertices[edges[:, 0]], mesh.summary.bandwidth))
    (around, area, _, _), (_, whole, rim, window) = rims
    # Waves of a third of a window, a few windows long, make it longer by some per cent.
    assert around == pytest.approx(2.0 * np.pi, rel=0.05)
    assert area == pytest.approx(np.pi, rel=0.03)
    assert whole == pytest.approx(4.0, rel=0.03)
    straight = np.abs(rim[:, :2]).max(axis=1)[np.abs(rim[:, :2]).min(axis=1) < 0.7]
    assert straight.mean() == pytest.approx(1.0, abs=0.2 * window)
    # The noise itself is half a window.
    assert straight.std() < 0.5 * window


def test_blended_quadrics_are_the_surface_between_their_centres():
    # A sphere without noise: every quadric is exact to the fourth order of a/R = 0.15 at its centre.
    data = sb.datasets.sphere(20000, seed=0)
    mesh = sb.reconstruct(sb.datasets.sphere(3000, seed=1).points)
    start = mesh.vertices * (1.0 + 0.01 * np.sin(40.0 * mesh.vertices[:, :1]))
    n, cloud = len(start), WeightedCloud(data.points)
    levels = Pyramid(cloud, data.points, None, side=0.0, spacing=0.025, widest=0.15)
    usable = start[:, 2] > -0.5
    graph = neighbour_average(mesh.faces, n)
    aside = tangents_from_normals(mesh.normals)[:, :, 0]
    fit = blended_quadrics(levels, start, mesh.normals, usable, graph, np.full(n, 0.15), np.full(n, 0.2), 2, aside)
    found = np.isfinite(fit.gain)
    assert np.array_equal(found, usable)
    # Between centres an arc's fourth order is left, (0.6 a)⁴/8 in curvature radii.
    assert np.abs(np.linalg.norm(fit.points[usable], axis=1) - 1.0).max() < (0.6 * 0.15) ** 4 / 8.0 + 1e-4
    outward = fit.points / np.linalg.norm(fit.points, axis=1, keepdims=True)
    assert np.sum(fit.normals * outward, axis=1)[usable].min() > np.cos(0.02)
    assert fit.curvature[usable] == pytest.approx(-2.0, abs=0.1)


def on_sphere(n, rng):
    x = rng.standard_normal((n, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_walls_of_four_noise_levels_are_two_sheets():
    rng = np.random.default_rng(3)
    way = on_sphere(20_000, rng)
    noise, half = 0.015, 0.03
    cloud = (0.5 + half * rng.choice([-1.0, 1.0], 20_000))[:, None] * way + noise * rng.standard_normal(way.shape)
    found = estimate_pilot(WeightedCloud(cloud))
    # The median over 2000 places, each from the fourth moment of some hundred heights.
    assert found.noise == pytest.approx(noise, rel=0.15)
    mesh = sb.reconstruct(cloud, n_jobs=1)
    assert (mesh.euler_characteristic, mesh.n_components, mesh.is_closed) == (4, 2, True)
    radius = np.linalg.norm(mesh.vertices, axis=1)
    outer = radius > 0.5
    assert np.mean(radius[outer]) == pytest.approx(0.5 + half, abs=0.25 * noise)
    assert np.mean(radius[~outer]) == pytest.approx(0.5 - half, abs=0.25 * noise)
    # The inner wall bounds a cavity: the material lies between, and normals point away from it.
    lean = np.sum(mesh.normals * mesh.vertices, axis=1)
    assert (np.sign(lean) == np.where(outer, 1.0, -1.0)).mean() > 0.99


def test_a_wall_whose_thickness_varies_has_two_sides_everywhere():
    rng = np.random.default_rng(5)
    way, noise = on_sphere(20_000, rng), 0.015
    # Between a sphere and a smaller one off its centre: from 4 to 10 noise levels.
    inner = rng.random(len(way)) < 0.38
    low = np.array([0.0, 0.0, 3.0 * noise])
    cloud = np.where(inner[:, None], low + (0.5 - 7.0 * noise) * way, 0.5 * way)
    mesh = sb.reconstruct(cloud + noise * rng.standard_normal(way.shape), n_jobs=1)
    assert (mesh.euler_characteristic, mesh.n_components, mesh.is_closed) == (4, 2, True)
    off = np.linalg.norm(mesh.vertices, axis=1) - 0.5, np.linalg.norm(mesh.vertices - low, axis=1) - 0.5 + 7.0 * noise
    # Windows of two noise levels with 13 observations leave a third of the noise; merged they would be two off.
    assert np.mean(np.minimum(*np.abs(off))) < 0.33 * noise


@pytest.mark.parametrize("kind", ["normal", "uniform", "heavy"])
def test_noise_of_any_kind_around_one_sheet_is_no_wall(kind):
    rng = np.random.default_rng(4)
    way = on_sphere(20_000, rng)
    draw = {
        "normal": lambda: 0.03 * rng.standard_normal(way.shape),
        "uniform": lambda: rng.uniform(-0.05, 0.05, (len(way), 1)) * way,
        "heavy": lambda: 0.02 * rng.standard_t(3, way.shape),
    }
    cloud = WeightedCloud(0.5 * way + draw[kind]())
    seen = estimate_pilot(cloud)
    middle = cloud.fit(cloud.sample(SAMPLE), SECOND_LOOK * seen.bandwidth, rounds=RIDGE_STEPS)
    two = noise_of_sheets(cloud, middle, seen.noise)[1]
    # A uniform distribution has no valley but by chance: counts of some hundred vary by a tenth, and the threshold is a
    # third off. The medians over all places do not feel a tenth of them.
    assert two.mean() < 0.1


def test_a_sphere_inside_of_a_sphere_is_a_cavity():
    rng = np.random.default_rng(0)
    way = on_sphere(8000, rng)
    cloud = np.where(rng.random(8000) < 0.5, 1.0, 1.4)[:, None] * way + 0.01 * rng.standard_normal(way.shape)
    mesh = sb.reconstruct(cloud, n_jobs=1)
    assert (mesh.euler_characteristic, mesh.n_components, mesh.is_closed) == (4, 2, True)
    assert mesh.summary.bandwidth > 0.4 / 6.0  # not more than six windows apart: windows reach the other
    lean = np.sum(mesh.normals * mesh.vertices, axis=1)
    assert (np.sign(lean) == np.where(np.linalg.norm(mesh.vertices, axis=1) > 1.2, 1.0, -1.0)).all()
