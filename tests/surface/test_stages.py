"""The steps of reconstruction one by one, against closed forms and independent computations."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial import cKDTree
from shapes import moebius_band

import subbundle as sb
from subbundle.graph.votes import merge_votes
from subbundle.kernels import tail
from subbundle.local.model import fit_local
from subbundle.local.tuning import LEFT_OUT
from subbundle.surface import voxels
from subbundle.surface._grid_kernels import splat_divergence
from subbundle.surface.local import WeightedCloud, excess
from subbundle.surface.orient import orient
from subbundle.surface.pilot import estimate_pilot
from subbundle.surface.seeds import Seeds, find_seeds
from subbundle.triangles import clip
from subbundle.triangles.mesh import Mesh


def test_the_window_is_a_gaussian_cut_at_its_reach():
    data = sb.datasets.torus(3000, noise=0.02, seed=0)
    fit = fit_local(sb.Cloud(data.points), data.points[:50], 0.1, 2, order=0)
    for i, point in enumerate(data.points[:50]):
        t = np.sum((data.points - point) ** 2, axis=1) / 0.01
        w = np.where(t < tail(2, LEFT_OUT), np.exp(-0.5 * t), 0.0)
        mean = w @ data.points / w.sum()
        second = (w * (data.points - mean).T) @ (data.points - mean) / w.sum()
        # Sums in another order, and an exponential good to 1e-13.
        assert np.allclose(fit.eigenvalues[i], np.linalg.eigvalsh(second)[::-1], rtol=1e-9, atol=0.0)
        assert fit.mass[i] == pytest.approx(w.sum(), rel=1e-12)
        assert abs(fit.normals[i, :, 0] @ np.linalg.eigh(second)[1][:, 0]) > 1.0 - 1e-9


def test_the_second_form_of_a_sphere():
    data = sb.datasets.sphere(20000, seed=0)
    fit = WeightedCloud(2.0 * data.points).fit(2.0 * data.points[:100], 0.15)
    # Normals may point either way; the curvature is 1/2, with the sampling error of 70 effective neighbours.
    assert np.abs(fit.second_form[:, [0, 2]]).mean() == pytest.approx(0.5, rel=0.1)
    assert np.abs(fit.second_form[:, 1]).mean() < 0.1


@pytest.mark.parametrize("how", ["ridge", "quadric"])
def test_projections_are_exact_to_second_order(how):
    data = sb.datasets.sphere(20000, seed=0)
    cloud = WeightedCloud(data.points)
    start = 1.03 * data.points[:200]
    for a in (0.1, 0.2):
        if how == "ridge":
            found = cloud.fit(start, a, rounds=6).points
        else:
            found = cloud.quadric(start, data.points[:200], a, 0.2, rounds=4).points
        # The plain ridge is off by κ a². What is left is of order a⁴, 0.01 and 0.04 of that, and the uneven sampling:
        # 1/√n with n = 200 and 800 effective neighbours, 0.07 and 0.035 of it.
        assert np.abs(np.linalg.norm(found, axis=1) - 1.0).mean() < 0.12 * a**2


def test_iterations_end_once_steps_are_short():
    data = sb.datasets.sphere(5000, noise=0.02, seed=0)
    cloud = WeightedCloud(data.points)
    found = cloud.fit(data.points[:500], 0.15, rounds=4).points
    on = fit_local(cloud.cloud, data.points[:500], 0.15, 2, steps=8, errors=False).points
    # Steps end below 0.01 bandwidths, and each is at most a half of the one before.
    assert np.linalg.norm(found - on, axis=1).max() < 0.01 * 0.15


def test_weights_count_as_repetitions():
    data = sb.datasets.torus(1000, noise=0.02, seed=0)
    twice = np.concatenate([data.points, data.points[:500]])
    weights = np.where(np.arange(1000) < 500, 2.0, 1.0)
    weighted = WeightedCloud(data.points, weights).fit(data.points[:20], 0.15, rounds=2)
    repeated = WeightedCloud(twice).fit(data.points[:20], 0.15, rounds=2)
    # Equal sums in another order.
    assert np.allclose(weighted.points, repeated.points, atol=1e-12)
    assert np.allclose(weighted.mass, repeated.mass)


def test_other_sheets_are_kept_out_of_a_quadric():
    rng = np.random.default_rng(0)
    flat = rng.uniform(-1.0, 1.0, (4000, 2))
    sheet = np.column_stack([flat, 0.005 * rng.standard_normal(4000)])
    both = np.concatenate([sheet, sheet * [1.0, 1.0, -1.0] + [0.0, 0.0, 0.08]])
    start = np.column_stack([rng.uniform(-0.5, 0.5, (50, 2)), np.zeros(50)])
    up = np.tile([0.0, 0.0, 1.0], (50, 1))
    found = WeightedCloud(both).quadric(start, up, 0.1, 0.02).points
    # The second sheet is 16 noise levels away, the window 20 wide: without the cut the middle between both is found.
    assert np.abs(found[:, 2]).max() < 0.004


@pytest.mark.parametrize("noise", [0.005, 0.02, 0.05])
def test_the_pilot_finds_noise_and_spacing(noise):
    data = sb.datasets.torus(10000, noise=noise, seed=0)
    pilot = estimate_pilot(WeightedCloud(data.points))
    # The effect of curvature on λ₃ is subtracted to second order; a tenth of the spacing is left.
    assert pilot.noise == pytest.approx(noise, rel=0.1, abs=0.1 * pilot.spacing)
    # Noise along the surface does not change the density, noise across it is accounted for.
    assert pilot.spacing == pytest.approx(np.sqrt(4.0 * np.pi**2 * 0.4 / 10000), rel=0.1)


def test_seeds_are_oriented_like_the_true_normals():
    data = sb.datasets.torus(10000, noise=0.02, seed=0)
    seeds = find_seeds(WeightedCloud(data.points), data.points, None, 0.1, 0.06)
    found = orient(seeds, 0.06)
    assert found.orientable
    assert (found.components == 0).all()
    ring = seeds.points * [1.0, 1.0, 0.0]
    outward = seeds.points - ring / np.linalg.norm(ring, axis=1, keepdims=True)
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    assert np.sum(outward * seeds.normals * found.signs[:, None], axis=1).min() > 0.8


def unsigned_seeds(points, normals):
    """Seeds with exact normals of random signs."""
    signs, ones = np.random.default_rng(0).choice([-1.0, 1.0], (len(points), 1)), np.ones(len(points))
    return Seeds(points, signs * normals / np.linalg.norm(normals, axis=1, keepdims=True), ones, ones)


def test_height_fields_are_oriented_upward():
    x, y = np.mgrid[0.0:10.0:0.2, 0.0:6.0:0.2].reshape(2, -1)
    for seed in range(6):
        (a, b), phase = np.random.default_rng(seed).normal(size=(2, 3)), np.arange(3.0) + seed
        waves = [0.4 * np.sin(a[k] * x + b[k] * y + phase[k]) for k in range(3)]
        slopes = [0.4 * np.cos(a[k] * x + b[k] * y + phase[k]) for k in range(3)]
        normals = np.column_stack(
            [-sum(s * t for s, t in zip(slopes, c, strict=True)) for c in (a, b)] + [np.ones(len(x))]
        )
        seeds = unsigned_seeds(np.column_stack([x, y, sum(waves)]), normals)
        assert (seeds.normals[:, 2] * orient(seeds, 0.2).signs > 0.0).all()


def test_bowls_are_oriented_outward_whichever_way_they_open():
    # Two thirds of a sphere: over the seeds furthest in 26 directions the mean of n·d is nearly 1, that of n_z is 1/3.
    points = sb.datasets.sphere(2000, seed=0).points
    points = points[points[:, 2] < 1.0 / 3.0]
    for axes in ([1.0, 1.0, 1.0], [1.0, 1.0, -1.0]):
        seeds = unsigned_seeds(axes * points, axes * points)
        outward = np.sum(seeds.normals * seeds.points, axis=1) * orient(seeds, 0.08).signs
        assert (outward > 0.0).all()


def test_bodies_that_nearly_touch_are_each_oriented_outward():
    # Gaps of 0.4, 0.9 and 1.5 windows: the votes across them are between walls that face each other.
    rng = np.random.default_rng(1)
    ball = sb.datasets.sphere(3000, seed=2).points * [0.5, 0.3, 0.3]
    for gap in (0.015, 0.035, 0.06):
        centres = (1.0 + gap) * np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
        points = (centres[:, None] + ball).reshape(-1, 3) + rng.normal(0.0, 0.004, (9000, 3))
        seeds = find_seeds(WeightedCloud(points), points, None, 0.04, 0.03)
        found = orient(seeds, 0.03)
        away = seeds.points - centres[np.abs(seeds.points[:, None, 0] - centres[:, 0]).argmin(axis=1)]
        # Where walls touch, normals are those of the middle and have no side.
        assert np.mean(np.sum(away * seeds.normals, axis=1) * found.signs > 0.0) > 0.97


def drilled_block(spacing=0.02, mouth=0.06):
    """Points of a block of 1 by 0.7 by 0.5 with two tunnels of radius 0.06 along z, and its outward normals.

    On its faces there are none closer than ``mouth`` to the axis of a tunnel.
    """
    rng, half, middles = np.random.default_rng(0), np.array([0.5, 0.35, 0.25]), np.array([[-0.3, -0.1], [0.25, 0.15]])
    points, normals = [], []
    for axis, way in product(range(3), (-1.0, 1.0)):
        face = rng.uniform(-half, half, (int(8.0 * np.prod(half) / (2.0 * half[axis]) / spacing**2), 3))
        face[:, axis] = way * half[axis]
        clear = np.linalg.norm(face[:, None, :2] - middles, axis=2).min(axis=1) > mouth
        points.append(face[clear] if axis == 2 else face)
        normals.append(np.tile(way * np.eye(3)[axis], (len(points[-1]), 1)))
    for middle in middles:
        count = int(0.12 * np.pi * 0.5 / spacing**2)
        angle, height = rng.uniform(0.0, 2.0 * np.pi, count), rng.uniform(-half[2], half[2], count)
        inward = -np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
        points.append(np.column_stack([middle - 0.06 * inward[:, :2], height]))
        normals.append(inward)
    return np.concatenate(points), np.concatenate(normals)


def test_the_wall_of_a_tunnel_with_sharp_ends_faces_its_axis():
    # Across a right angle votes are weak, so the wall is a cluster of its own; but a tube open at both ends is no body.
    points, normals = drilled_block()
    seeds = unsigned_seeds(points, normals)
    found = orient(seeds, 0.02)
    assert found.orientable
    assert found.components.max() == 0
    assert np.mean(np.sum(normals * seeds.normals, axis=1) * found.signs > 0.0) > 0.99


def test_a_tunnel_that_nothing_joins_to_its_body_is_inside():
    # No seeds around the mouths: the wall, which extends as far as the body, is furthest in the mouths.
    points, normals = drilled_block(mouth=0.15)
    seeds = unsigned_seeds(points, normals)
    found = orient(seeds, 0.02)
    assert np.bincount(found.components).max() < len(points)
    assert np.mean(np.sum(normals * seeds.normals, axis=1) * found.signs > 0.0) > 0.99


def test_few_votes_join_large_sheets_only_if_they_agree():
    rng = np.random.default_rng(0)
    for share, joined in ((0.5, False), (1.0, True)):
        # Two chains of 200 seeds, and 40 weak votes between them, of which a ``share`` agree.
        rows = np.arange(399)[np.arange(399) != 199]
        across = np.column_stack([rng.integers(0, 200, 40), rng.integers(200, 400, 40)])
        pairs = np.concatenate([np.column_stack([rows, rows + 1]), across])
        sign = np.where(np.arange(40) < 40.0 * share, 1.0, -1.0)
        votes = np.concatenate([np.ones(398), 0.01 * sign * rng.uniform(0.5, 1.5, 40)])
        cluster = merge_votes(400, pairs, votes, areas=np.ones(400), large=100.0, least=1.0, agree=True)[1]
        assert (len(np.unique(cluster)) == 1) == joined


def test_narrow_places_of_open_sheets_keep_both_sides_together():
    # Two half cylinders that bend opposite ways, joined by a neck of one window: outward is opposite for the two.
    x, y = np.mgrid[-2.0:2.0:0.05, -1.0:1.0:0.05].reshape(2, -1)
    x, y = (v[(np.abs(x) > 0.1) | (np.abs(y) < 0.1)] for v in (x, y))
    angle = np.abs(x) * np.pi / 2.0
    points = np.column_stack([np.sign(x) * (1.0 - np.cos(angle)), y, np.sign(x) * np.sin(angle)]) * [
        2 / np.pi,
        1,
        2 / np.pi,
    ]
    normals = np.column_stack([np.cos(angle), 0.0 * x, -np.sin(angle)])
    seeds = unsigned_seeds(points, normals)
    agree = np.sum(seeds.normals * normals, axis=1) * orient(seeds, 0.05).signs
    assert (agree > 0.0).all() or (agree < 0.0).all()


def test_a_moebius_band_is_not_orientable():
    points = moebius_band(8000, noise=0.01)
    seeds = find_seeds(WeightedCloud(points), points, None, 0.06, 0.04)
    assert not orient(seeds, 0.04).orientable


def test_voxel_means_keep_mass_and_centre():
    rng = np.random.default_rng(0)
    points, weights = rng.uniform(size=(2000, 3)), rng.integers(1, 4, 2000).astype(float)
    means, total = voxels.voxel_means(points, weights, 0.17)
    assert total.sum() == weights.sum()
    # Offsets are rounded to 2⁻³⁰ of a voxel.
    assert np.allclose(total @ means, weights @ points, rtol=1e-9)
    order = rng.permutation(2000)
    again, _ = voxels.voxel_means(points[order], weights[order], 0.17)
    assert np.array_equal(again, means)


def test_voxels_too_small_for_the_extent_are_refused():
    with pytest.raises(ValueError, match="Remove far outliers"):
        voxels.voxel_means(np.array([[0.0, 0.0, 0.0], [1e9, 0.0, 0.0]]), None, 1.0)


def test_the_divergence_of_what_is_spread():
    rng = np.random.default_rng(0)
    places, vectors = rng.uniform(2.0, 9.0, (50, 3)), rng.standard_normal((50, 3))
    found = np.zeros((12, 12, 12))
    splat_divergence(places, vectors, found)
    spread = np.zeros((12, 12, 12, 3))
    for place, vector in zip(places, vectors, strict=True):
        hats = [np.maximum(1.0 - np.abs(np.arange(12) - x), 0.0) for x in place]
        spread += np.einsum("i,j,k,d->ijkd", *hats, vector)
    central = sum(0.5 * (np.roll(spread[..., a], -1, a) - np.roll(spread[..., a], 1, a)) for a in range(3))
    assert np.allclose(found, central, atol=1e-13)


def test_the_drift_at_a_straight_border():
    rng = np.random.default_rng(0)
    flat = np.column_stack([rng.uniform(-1.0, 0.0, 40000), rng.uniform(-1.0, 1.0, 40000), np.zeros(40000)])
    flat += 0.03 * rng.standard_normal(flat.shape)
    across = np.array([-0.05, 0.0, 0.05])
    probes = np.column_stack([across, np.zeros(3), np.zeros(3)])
    drift = WeightedCloud(flat).fit(probes, 0.08, rounds=1).drift
    outside = excess(drift, 0.08, 0.03)
    assert outside[0] < -0.1
    # 1300 effective neighbours leave an error of 1/√1300 of a bandwidth.
    assert abs(outside[1]) < 0.06
    assert outside[2] > 0.1


def test_a_cut_follows_the_zero_line():
    n = 21
    axis = np.linspace(-1.0, 1.0, n)
    x, y = (g.ravel() for g in np.meshgrid(axis, axis, indexing="ij"))
    rows = np.arange(n * n).reshape(n, n)
    a, b, c, d = (part.ravel() for part in (rows[:-1, :-1], rows[1:, :-1], rows[1:, 1:], rows[:-1, 1:]))
    faces = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    flat = np.column_stack([x, y, np.zeros(n * n)])
    kept, edges, t = clip.cut(faces, np.hypot(x, y) - 0.7)
    new = flat[edges[:, 0]] + t[:, None] * (flat[edges[:, 1]] - flat[edges[:, 0]])
    mesh = Mesh(np.concatenate([flat, new]), kept, np.zeros((n * n + len(new), 3)))
    assert mesh.euler_characteristic == 1
    assert mesh.n_border_loops == 1
    # A polygon of chords of cell 0.1, snapped to corners by at most a quarter of a cell.
    assert mesh.area == pytest.approx(np.pi * 0.49, rel=0.05)
    assert mesh.border_length == pytest.approx(2.0 * np.pi * 0.7, rel=0.05)


def test_only_outer_regions_are_cut():
    faces = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]])
    inner = clip.outer_region(faces, np.array([1.0, -1.0, -1.0, -1.0, -1.0]))
    assert (inner < 0.0).all()
    outer = clip.outer_region(faces, np.array([-1.0, 1.0, -1.0, -1.0, -1.0]))
    assert outer[1] == 1.0


def test_the_properties_of_a_tetrahedron():
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    mesh = Mesh(vertices, faces, vertices)
    assert mesh.volume == pytest.approx(1.0 / 6.0)
    assert mesh.area == pytest.approx(1.5 + 0.5 * np.sqrt(3.0))
    assert (mesh.euler_characteristic, mesh.n_components, mesh.is_closed, mesh.is_oriented) == (2, 1, True, True)
    opened = Mesh(vertices, faces[:3], vertices)
    assert opened.border_length == pytest.approx(3.0 * np.sqrt(2.0))
    turned = faces.copy()
    turned[3] = turned[3, ::-1]
    assert not Mesh(vertices, turned, vertices).is_oriented


def test_seeds_cover_the_cloud():
    data = sb.datasets.torus(10000, noise=0.02, seed=0)
    seeds = find_seeds(WeightedCloud(data.points), data.points, None, 0.1, 0.06)
    far = cKDTree(seeds.points).query(data.clean)[0]
    # One seed per cell of 0.94 cells: no place is further from all than about a diagonal and a half.
    assert far.max() < 2.0 * 0.06
