"""Positions of vertices: windows, variances and the correction of bias, against closed forms."""

from itertools import pairwise

import numpy as np
import pytest
import trimesh

import subbundle as sb
from subbundle.surface import widths
from subbundle.surface.local import WeightedCloud
from subbundle.surface.pilot import Pilot, estimate_pilot
from subbundle.surface.pyramid import Pyramid
from subbundle.surface.repair import vertex_normals
from subbundle.surface.widths import elongation


def plane(n, noise, seed):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.uniform(-1.0, 1.0, (n, 2)), noise * rng.standard_normal(n)])


def cylinder(n, radius, noise, seed):
    """A tube of length 4 along z."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    clean = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), rng.uniform(-2.0, 2.0, n)])
    return clean + noise * rng.standard_normal((n, 3))


def test_the_variance_of_heights_is_as_predicted():
    a, b = 0.1, 0.16
    gathered = []
    for seed in range(4):
        cloud = WeightedCloud(plane(20000, 0.01, seed))
        x, y = np.meshgrid(np.linspace(-0.5, 0.5, 8), np.linspace(-0.5, 0.5, 8))
        start = np.column_stack([x.ravel(), y.ravel(), np.zeros(64)])
        up = np.tile([0.0, 0.0, 1.0], (64, 1))
        fits = [cloud.quadric(start, up, width, 0.2, rounds=2) for width in (a, b)]
        gathered.append([*(fit.points[:, 2] / np.sqrt(widths.variance_of_height(fit.gain)) for fit in fits)])
    low, high = np.concatenate(gathered, axis=1) / 0.01
    # 256 heights, as good as 100 and 50 that are independent, 1/√(2n) each: two and a half standard deviations.
    assert np.std(low) == pytest.approx(1.0, rel=0.18)
    assert np.std(high) == pytest.approx(1.0, rel=0.25)
    assert np.corrcoef(low, high)[0, 1] == pytest.approx(widths.height_correlation(a, b), abs=0.1)


def test_equal_windows_agree():
    assert widths.height_correlation(0.3, 0.3) == pytest.approx(1.0, rel=1e-12)
    assert widths.height_correlation(0.1, 0.2) == pytest.approx(widths.height_correlation(0.2, 0.1), rel=1e-12)


def test_quadrics_are_exact_on_arcs_of_tubes():
    # Over a tangent plane a tube of radius 1 is u²/2 + u⁴/8 + u⁶/16 …; a plain quadric would be off by
    # 3a⁴/8 + 30a⁶/16 = 0.0044.
    points = cylinder(40000, 1.0, 0.0, 0)
    start = np.array([[np.cos(t), np.sin(t), 0.0] for t in np.linspace(0.0, 6.0, 50)])
    fit = WeightedCloud(points).quadric(start, start, 0.3, 0.5, rounds=3)
    off = np.linalg.norm(fit.points[:, :2], axis=1) - 1.0
    # A quarter of that: curvatures come from the round before and are right to a few per cent.
    assert abs(off.mean()) < 0.0011
    assert fit.curvature.mean() == pytest.approx(-1.0, rel=0.05)


def test_levels_of_a_pyramid_give_the_same_heights():
    data = sb.datasets.sphere(30000, noise=0.01, seed=0)
    fine = WeightedCloud(data.points)
    levels = Pyramid(fine, data.points, None, side=0.0, spacing=0.02, widest=0.25)
    start = data.clean[:200]
    wide, cuts = np.full(200, 0.25), np.full(200, 0.1)
    whole = fine.quadric(start, start, 0.25, 0.1, rounds=2)
    thinned = levels.quadric(start, start, wide, cuts, rounds=2)
    apart = np.sum((thinned.points - whole.points) * start, axis=1)
    # Voxels of 0.09 uncorrected would lower the sphere by 0.0081/12 = 0.0007; a thin sheet fills them less than evenly.
    assert abs(apart.mean()) < 0.0003
    assert np.allclose(thinned.mass, whole.mass, rtol=0.05)


def test_voxel_means_of_an_exact_plane_give_the_same_plane():
    # Means of points of a plane lie on it, so every level gives heights without error.
    rng = np.random.default_rng(0)
    flat = rng.uniform(-1.0, 1.0, (20000, 2))
    points = np.column_stack([flat, 0.3 * flat[:, 0] - 0.2 * flat[:, 1]])
    levels = Pyramid(WeightedCloud(points), points, None, side=0.0, spacing=0.014, widest=0.3)
    normal = np.array([-0.3, 0.2, 1.0]) / np.sqrt(1.13)
    start = points[np.abs(flat).max(axis=1) < 0.3][:40] + 0.01 * normal
    for width in widths.bandwidths(Pilot(0.0, 0.014, 0.03)):
        fit = levels.quadric(start, np.tile(normal, (40, 1)), np.full(40, width), np.full(40, 0.1), rounds=2)
        # Single precision in bandwidths: 6e-8 of one, and the start is 0.01 away.
        assert np.abs(fit.points @ normal).max() < 1e-7 * width
        assert np.abs(fit.normals @ normal - 1.0).max() < 1e-9
    held = [cloud.n_points for cloud in levels._clouds]
    assert len(held) > 2
    assert all(less < 0.6 * more for more, less in pairwise(held))


def test_the_risk_between_two_bandwidths_is_interpolated():
    grid = widths.bandwidths(Pilot(0.0, 1.0, 1.0))
    for strength in (1e-4, 1e-3, 1e-2):
        # A bias that grows like a and a variance that falls like 1/a² are exact between bandwidths, too.
        found = widths.least_risk(strength * grid[:, None] ** 2, grid[:, None] ** -2.0)
        steps = np.arange(0.0, len(grid) - 0.5, 0.5)
        fine = grid[0] * (grid[1] / grid[0]) ** steps
        risk = strength * fine**2 + fine**-2.0
        risk[0] = fine[0] ** -2.0  # the bias of the narrowest is not estimated
        weights = np.exp(2.0 * (1.0 - risk / risk.min()))
        assert found[0] == pytest.approx((steps @ weights) / weights.sum(), rel=1e-9)


def test_windows_are_wide_on_a_plane_and_narrow_where_it_is_rough():
    rng = np.random.default_rng(0)
    flat = plane(40000, 0.0, 0)
    rough = 0.03 * np.sin(25.0 * flat[:, 0]) * (flat[:, 0] > 0.0)
    points = flat + np.column_stack([np.zeros((40000, 2)), rough + 0.01 * rng.standard_normal(40000)])
    axis = np.linspace(-0.8, 0.8, 81)
    x, y = (grid.ravel() for grid in np.meshgrid(axis, axis, indexing="ij"))
    rows = np.arange(81 * 81).reshape(81, 81)
    a, b, c, d = (part.ravel() for part in (rows[:-1, :-1], rows[1:, :-1], rows[1:, 1:], rows[:-1, 1:]))
    faces = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    vertices = np.column_stack([x, y, 0.03 * np.sin(25.0 * x) * (x > 0.0)])
    pilot = Pilot(noise=0.01, spacing=0.01, bandwidth=0.018)
    cloud = Pyramid(WeightedCloud(points), points, None, side=0.0, spacing=0.01, widest=widths.bandwidths(pilot)[-1])
    average = widths.neighbour_average(faces, len(vertices))
    up = np.tile([0.0, 0.0, 1.0], (len(vertices), 1))
    # As long as wide.
    aside = np.tile([1.0, 0.0, 0.0], (len(vertices), 1))
    chosen = widths.choose(cloud, vertices, up, np.ones(len(vertices), dtype=bool), average, pilot, aside)
    # Noise of the heights of two windows, from some 800 of them.
    assert chosen.noise == pytest.approx(0.01, rel=0.15)
    # Waves of length 0.25 allow windows of about a tenth of that, a plane any.
    assert np.median(chosen.widths[x < -0.2]) > 2.0 * np.median(chosen.widths[x > 0.2])


def test_windows_are_long_where_one_curvature_vanishes():
    turn, up = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 32, endpoint=False), 0.02 * np.arange(40))
    tube = np.column_stack([0.1 * np.cos(turn.ravel()), 0.1 * np.sin(turn.ravel()), up.ravel()])
    rows = np.arange(40 * 32).reshape(40, 32)
    a, b = rows[:-1].ravel(), np.roll(rows, -1, axis=1)[:-1].ravel()
    sides = np.concatenate([np.column_stack([a, b, b + 32]), np.column_stack([a, b + 32, a + 32])])
    along = elongation(vertex_normals(tube, sides), widths.neighbour_average(sides, len(tube)))
    stretch = np.linalg.norm(along, axis=1)
    # Normals rotate by about κℓ = 0.3 around the tube, and by a negligible angle along its axis.
    assert stretch.min() > 2.0
    assert np.all(np.abs(along[:, 2]) > np.cos(0.02) * stretch)
    ball = trimesh.creation.icosphere(4)
    same = elongation(np.asarray(ball.vertices), widths.neighbour_average(np.asarray(ball.faces), len(ball.vertices)))
    # On a sphere both rotations are equal, as far as its edges are.
    assert np.linalg.norm(same, axis=1).max() < 1.1


def test_long_windows_average_more_of_a_groove():
    # Waves of amplitude 4 and length 16 noise levels; along them a window may be as long as one likes.
    rng = np.random.default_rng(0)
    noise, x = 0.01, rng.uniform([-0.4, -1.0], [0.4, 1.0], (40_000, 2))

    def height(u):
        return 0.04 * np.cos(2.0 * np.pi * u / 0.16)

    cloud = WeightedCloud(np.column_stack([x, height(x[:, 0])]) + noise * rng.standard_normal((40_000, 3)))
    start = np.column_stack([0.16 * rng.integers(-1, 2, 400), rng.uniform(-0.6, 0.6, 400), np.full(400, 0.04)])
    up = np.tile([0.0, 0.0, 1.0], (400, 1))
    # Noise sideways leaves exp(−k²σ²/2) of the amplitude, whatever the window.
    crest = 0.04 * np.exp(-0.5 * (2.0 * np.pi / 0.16 * noise) ** 2)
    wide, long = (cloud.quadric(start, up, 0.03, 0.06, rounds=2, along=r * up[:, [0, 2, 1]]) for r in (1.0, 4.0))
    off = [np.mean(fit.points[:, 2] - crest) for fit in (wide, long)]
    # The same area has the same noise, but half the width across a sixteenth of the bias to leading order; noise moves
    # observations sideways, out of narrow windows and into them, which leaves more.
    assert np.std(long.points[:, 2]) < 1.3 * np.std(wide.points[:, 2])
    assert abs(off[1]) < abs(off[0]) / 3.0


def test_noise_on_a_thin_tube():
    # The tube is ten noise levels across; λ₃ alone is larger by half, because of curvature.
    points = cylinder(20000, 0.1, 0.02, 0)
    assert estimate_pilot(WeightedCloud(points)).noise == pytest.approx(0.02, rel=0.2)


def test_sideways_noise_does_not_shrink_a_sphere():
    data = sb.datasets.sphere(20000, noise=0.1, seed=0)
    mesh = sb.reconstruct(data.points)
    # Noise in all directions shifts the mean of the cloud inward by σ² = 0.01; the wide windows that such
    # noise calls for leave some of the fourth order.
    assert np.linalg.norm(mesh.vertices, axis=1).mean() == pytest.approx(1.0, abs=0.005)


def test_a_plane_without_noise_is_met_exactly():
    # Heights at all windows agree, so that every risk is zero; a warning would be an error here.
    line = np.linspace(0.0, 1.0, 40)
    plane = np.column_stack([*(axis.ravel() for axis in np.meshgrid(line, line)), np.zeros(1600)])
    mesh = sb.reconstruct(plane)
    # Rounding of coordinates of size one.
    np.testing.assert_allclose(mesh.vertices[:, 2], 0.0, atol=1e-12)
