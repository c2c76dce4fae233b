"""Meshes of surfaces in R^d, d > 3, against closed forms; and what happens to clouds that are no surface."""

import numpy as np
import pytest
from shapes_ambient import (
    FLAT_RADII,
    bent_patch,
    distance_to_flat_torus,
    distance_to_klein_bottle,
    flat_torus,
    klein_area,
    moebius_in_four,
    noisy_klein_bottle,
    rotated,
    with_noise,
)

import subbundle as sb
from subbundle.surface.ambient import signal_subspace

# Of the area of a mesh by edges of half a bandwidth a, the chord error is below a²κ²/50; the rest is the noise of the
# ridge, also a few thousandths.
AREA = 0.01


def numbers(mesh):
    return mesh.euler_characteristic, mesh.n_components, mesh.n_border_loops, mesh.n_nonmanifold_edges


@pytest.fixture(scope="module")
def torus():
    points = flat_torus(3000, noise=0.01)
    return points, sb.reconstruct(points)


def test_a_flat_torus(torus):
    points, mesh = torus
    assert numbers(mesh) == (0, 1, 0, 0)
    assert mesh.summary.orientable
    assert mesh.is_oriented
    assert mesh.normals is None
    assert mesh.area == pytest.approx(4.0 * np.pi**2 * FLAT_RADII[0] * FLAT_RADII[1], rel=AREA)
    # Noise of 0.01 in each of two normal directions. A dozen observations and more determine a point of the ridge.
    assert mesh.summary.noise == pytest.approx(0.01, rel=0.2)
    off = distance_to_flat_torus(mesh.vertices)
    assert off.mean() < 0.4 * distance_to_flat_torus(points).mean()
    assert off.max() < 0.02


@pytest.mark.parametrize("noise", [0.01, 0.02])
def test_a_klein_bottle_is_meshed_and_has_no_sides(noise):
    points = noisy_klein_bottle(3000, noise=noise)
    mesh = sb.reconstruct(points)
    assert numbers(mesh) == (0, 1, 0, 0)
    assert not mesh.summary.orientable
    assert not mesh.is_orientable
    assert mesh.area == pytest.approx(klein_area(), rel=AREA)
    off = distance_to_klein_bottle(mesh.vertices)
    assert off.mean() < 0.4 * distance_to_klein_bottle(points).mean()
    assert "not orientable" in "\n".join(mesh.report())


def test_a_moebius_band_in_four_dimensions():
    mesh = sb.reconstruct(moebius_in_four(2000, noise=0.01))
    assert numbers(mesh) == (0, 1, 1, 0)
    assert not mesh.summary.orientable
    assert mesh.border_length == pytest.approx(4.0 * np.pi * np.sqrt(1.04), rel=0.1)


def test_a_patch_keeps_its_border():
    mesh = sb.reconstruct(bent_patch(3000, noise=0.01))
    assert numbers(mesh) == (1, 1, 1, 0)
    assert mesh.border_length == pytest.approx(8.0, rel=0.1)
    # What the border loses, a fifth of a bandwidth at most, is lost along all of it.
    assert mesh.area == pytest.approx(4.0, abs=8.0 * 0.2 * mesh.summary.bandwidth)


def test_a_hole_stays_open():
    points = bent_patch(4000, noise=0.01)
    middle = np.hypot(points[:, 1], points[:, 3]) > 0.3
    mesh = sb.reconstruct(points[middle])
    assert numbers(mesh) == (0, 1, 2, 0)
    bridged = sb.reconstruct(points[middle], opening=1.5 / mesh.summary.bandwidth)
    assert numbers(bridged) == (1, 1, 1, 0)


def test_a_sphere_in_five_dimensions():
    data = sb.datasets.sphere(3000, seed=0)
    clean, basis = rotated(data.points, 5)
    mesh = sb.reconstruct(with_noise(clean, 0.02, 0))
    assert numbers(mesh) == (2, 1, 0, 0)
    assert mesh.is_oriented
    assert mesh.vertices.shape[1] == 5
    assert mesh.area == pytest.approx(4.0 * np.pi, rel=0.02)
    off = np.hypot(
        data.distance(mesh.vertices @ basis), np.linalg.norm(mesh.vertices - mesh.vertices @ basis @ basis.T, axis=1)
    )
    # Observations are noise·√3 off; across the flat the mesh is off by the error of its axes alone.
    assert off.mean() < 0.3 * 0.02 * np.sqrt(3.0)


@pytest.mark.parametrize("dim", [20, 100])
def test_an_s_in_many_dimensions(dim):
    data = sb.datasets.s_surface(4000, seed=0)
    clean, basis = rotated(data.points, dim)
    mesh = sb.reconstruct(with_noise(clean, 0.03, 0))
    assert numbers(mesh) == (1, 1, 1, 0)
    assert mesh.border_length == pytest.approx(2.0 * (3.0 * np.pi + 2.0), rel=0.1)
    off = mesh.vertices - mesh.vertices @ basis @ basis.T
    # The mean and three axes of 4000 observations are known to noise/√4000 each, for an extent of one, in each of the
    # other directions: twice that together, and half as much again for the axis of least extent.
    assert np.linalg.norm(off, axis=1).mean() < 3.0 * 0.03 * np.sqrt(dim / 4000.0)
    assert data.distance(mesh.vertices @ basis).mean() < 0.4 * 0.03


def test_curvature_in_many_dimensions_keeps_them():
    clean, basis = rotated(flat_torus(3000), 30)
    points = with_noise(clean, 0.02, 0)
    assert signal_subspace(points).axes.shape == (30, 4)
    mesh = sb.reconstruct(points)
    assert numbers(mesh) == (0, 1, 0, 0)
    assert distance_to_flat_torus(mesh.vertices @ basis).mean() < 0.4 * 0.02 * np.sqrt(2.0)


def test_directions_that_depend_on_the_others_are_not_left_out():
    # The last coordinate of the torus has as much variance as the third, and two values over all the others.
    assert signal_subspace(flat_torus(2000, noise=0.01)).axes.shape == (4, 4)
    flat = rotated(sb.datasets.sphere(2000, seed=0).points, 4)[0]
    assert signal_subspace(flat).axes.shape == (4, 3)
    assert signal_subspace(with_noise(flat, 0.02, 0)).axes.shape == (4, 3)


def test_two_objects_outliers_and_copies(torus):
    points, mesh = torus
    rng = np.random.default_rng(0)
    assert numbers(sb.reconstruct(np.concatenate([points, points + [4.0, 0.0, 0.0, 0.0]]))) == (0, 2, 0, 0)
    dirty = sb.reconstruct(np.concatenate([points, rng.uniform(-1.3, 1.3, (150, 4))]))
    assert numbers(dirty) == (0, 1, 0, 0)
    # Outliers widen the window a little, and those in it have full weight.
    assert distance_to_flat_torus(dirty.vertices).mean() < 2.0 * distance_to_flat_torus(mesh.vertices).mean()
    again = sb.reconstruct(np.concatenate([points[::-1], points[:500]]), n_jobs=1)
    assert np.array_equal(again.vertices, mesh.vertices)
    assert np.array_equal(again.faces, mesh.faces)


def test_density_may_vary_tenfold():
    points = flat_torus(8000, noise=0.01)
    kept = np.random.default_rng(5).uniform(size=8000) < np.interp(points[:, 0], [-1.0, 1.0], [0.1, 1.0])
    assert numbers(sb.reconstruct(points[kept])) == (0, 1, 0, 0)


def test_far_away_and_in_other_units(torus):
    points, mesh = torus
    moved = sb.reconstruct(1000.0 * points + 1e6)
    back = (moved.vertices - 1e6) / 1000.0
    assert numbers(moved) == (0, 1, 0, 0)
    # Rounding at a million decides which of two equal neighbours is taken, here and there.
    assert distance_to_flat_torus(back).mean() == pytest.approx(distance_to_flat_torus(mesh.vertices).mean(), rel=0.1)


def test_attributes_progress_and_report(torus):
    points, _ = torus
    said = []
    angle = np.arctan2(points[:, 1], points[:, 0])
    mesh = sb.reconstruct(
        points, attributes={"x": points[:, 0], "half": (angle > 0).astype(np.int8)}, progress=said.append
    )
    # Neighbours are within a spacing, a tenth.
    assert np.abs(mesh.attributes["x"] - mesh.vertices[:, 0]).mean() < 0.1
    assert mesh.attributes["half"].dtype == np.int8
    assert list(mesh.summary.seconds) == said
    assert "mesh in R^4" in "\n".join(mesh.report())


def test_the_estimator(torus, tmp_path):
    points, mesh = torus
    model = sb.SurfaceReconstructor().fit(points)
    assert np.array_equal(model.mesh_.vertices, mesh.vertices)
    carried = model.transform(np.concatenate([points, [[9.0, 9.0, 9.0, 9.0]]]))
    assert distance_to_flat_torus(carried[:-1]).mean() < 0.4 * distance_to_flat_torus(points).mean()
    assert np.array_equal(carried[-1], [9.0, 9.0, 9.0, 9.0])


def test_the_estimator_in_a_flat():
    data = sb.datasets.sphere(2000, seed=0)
    clean, basis = rotated(data.points, 8)
    carried = sb.SurfaceReconstructor().fit_transform(with_noise(clean, 0.02, 0))
    assert data.distance(carried @ basis).mean() < 0.4 * 0.02


RNG = np.random.default_rng(0)
ANGLE = np.linspace(0.0, 6.0, 800)


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (np.column_stack([np.cos(ANGLE), np.sin(ANGLE), np.cos(2 * ANGLE), np.sin(2 * ANGLE)]), "resemble a curve"),
        (np.column_stack([np.linspace(0.0, 1.0, 500), np.zeros((500, 4))]), "resemble a curve"),
        (RNG.uniform(size=(2000, 4)), "resemble a body of more than two dimensions"),
        (np.zeros((500, 4)), "at least 100 different rows; got 1"),
        (np.zeros((50, 6)), "at least 100 to estimate a surface; got 50"),
        (np.full((500, 4), np.nan), "must be finite"),
    ],
    ids=["curve", "line", "solid", "one point", "few", "nan"],
)
def test_clouds_without_a_surface_are_refused(points, words):
    with pytest.raises(ValueError, match=words):
        sb.reconstruct(points)


def test_wrong_parameters_are_refused(torus):
    points = torus[0]
    with pytest.raises(ValueError, match="bandwidth must be a positive number or 'auto'; got 'wide'"):
        sb.reconstruct(points, bandwidth="wide")
    with pytest.raises(ValueError, match="closed=True needs a surface that divides its space, so one in R³"):
        sb.reconstruct(points, closed=True)
    with pytest.raises(ValueError, match="points must lie around a surface|bandwidth"):
        sb.reconstruct(points, bandwidth=1e-4)


def test_a_given_bandwidth_is_used(torus):
    mesh = sb.reconstruct(torus[0], bandwidth=0.25)
    assert mesh.summary.bandwidth == pytest.approx(0.25)
    assert numbers(mesh) == (0, 1, 0, 0)
