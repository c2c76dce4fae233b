"""Meshes of known surfaces: topology, accuracy, borders, and what happens to clouds that are no surface."""

import numpy as np
import pytest
import trimesh
from shapes import bumpy_patch, double_torus, height, moebius_band, patch_border

import subbundle as sb

# Observations of the torus.
N = 5000


def assert_sound(mesh, euler, parts=1):
    assert mesh.euler_characteristic == euler
    assert mesh.n_components == parts
    assert mesh.n_nonmanifold_edges == 0
    assert mesh.is_oriented
    assert np.array_equal(np.unique(mesh.faces), np.arange(len(mesh.vertices)))
    # Normals belong to the faces: all within a right angle of every face around.
    corners = mesh.vertices[mesh.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    agree = np.einsum("fd,fcd->fc", across, mesh.normals[mesh.faces])
    assert np.mean(agree > 0.0) > 0.99


@pytest.fixture(scope="module")
def torus():
    data = sb.datasets.torus(N, noise=0.02, seed=0)
    return data, sb.reconstruct(data.points)


def test_a_sphere():
    data = sb.datasets.sphere(4000, noise=0.02, seed=1)
    mesh = sb.reconstruct(data.points)
    assert_sound(mesh, 2)
    assert mesh.is_closed
    # A closed mesh oriented outward has positive volume; 1 % is the chord error of cells a twentieth wide.
    assert mesh.volume == pytest.approx(4.0 / 3.0 * np.pi, rel=0.01)
    assert mesh.area == pytest.approx(4.0 * np.pi, rel=0.02)
    # About thirty observations determine a vertex, with weights that cost a factor of 1.6: noise/√30 · 1.6.
    assert data.distance(mesh.vertices).mean() < 0.3 * data.distance(data.points).mean()


def test_a_torus(torus):
    data, mesh = torus
    assert_sound(mesh, 0)
    assert mesh.is_closed
    assert mesh.volume == pytest.approx(2.0 * np.pi**2 * 0.16, rel=0.02)
    assert data.distance(mesh.vertices).mean() < 0.3 * data.distance(data.points).mean()


def test_a_surface_of_genus_two():
    mesh = sb.reconstruct(double_torus(9000, noise=0.005))
    assert_sound(mesh, -2)
    assert mesh.is_closed
    assert mesh.volume > 0.0


def test_an_open_patch_keeps_its_border():
    points = bumpy_patch(12000, noise=0.01)
    mesh = sb.reconstruct(points)
    assert_sound(mesh, 1)
    assert mesh.n_border_loops == 1
    # The project's own aim for borders: a tenth. Rounded corners make it shorter, jags longer.
    assert mesh.border_length == pytest.approx(patch_border(), rel=0.1)
    # Heights over the plane bound the distances from above inside the square; beyond it, how far beyond counts too.
    inside = np.clip(mesh.vertices[:, :2], -1.0, 1.0)
    off = np.hypot(mesh.vertices[:, 2] - height(*inside.T), np.linalg.norm(mesh.vertices[:, :2] - inside, axis=1))
    assert off.max() < 0.06
    assert off.mean() < 0.3 * 0.8 * 0.01


def test_a_hole_stays_open_and_is_bridged_on_request():
    points = bumpy_patch(8000, noise=0.01, hole=0.3)
    ring = sb.reconstruct(points)
    assert_sound(ring, 0)
    assert ring.n_border_loops == 2
    width = 2.0 * 0.3 / ring.summary.bandwidth
    bridged = sb.reconstruct(points, opening=2.0 * width)
    assert bridged.n_border_loops == 1
    assert bridged.euler_characteristic == 1


def test_closed_closes_everything():
    data = sb.datasets.sphere(4000, noise=0.01, seed=0)
    bowl = data.points[data.points[:, 2] < 0.6]
    open_mesh, closed_mesh = sb.reconstruct(bowl), sb.reconstruct(bowl, closed=True)
    assert open_mesh.n_border_loops == 1
    # The rim is a circle of radius 0.8.
    assert open_mesh.border_length == pytest.approx(2.0 * np.pi * 0.8, rel=0.1)
    assert_sound(closed_mesh, 2)
    assert closed_mesh.is_closed


def test_closing_an_open_sheet_gives_a_warning():
    with pytest.warns(sb.SubbundleWarning, match="lies where there are no points: the cloud resembles an open sheet"):
        mesh = sb.reconstruct(bumpy_patch(3000, noise=0.01), closed=True)
    assert mesh.is_closed


def test_nothing_is_put_between_two_walls():
    # Two open plates eight noise levels apart. The outside of either is undetermined; if both have the same
    # orientation, the implicit function changes its sign once more between them.
    rng = np.random.default_rng(0)
    clean = rng.uniform([-1.0, -0.6, 0.0], [1.0, 0.6, 0.0], (16000, 3))
    clean[:8000, 2] = 0.16
    mesh = sb.reconstruct(clean + 0.02 * rng.standard_normal(clean.shape))
    assert mesh.n_components == 2
    inside = (np.abs(mesh.vertices[:, 0]) < 0.8) & (np.abs(mesh.vertices[:, 1]) < 0.4)
    off = np.minimum(np.abs(mesh.vertices[:, 2]), np.abs(mesh.vertices[:, 2] - 0.16))[inside]
    # A quarter of the noise; a sheet in the middle would be off by four noise levels.
    assert off.mean() < 0.25 * 0.02


def test_a_moebius_band_is_meshed_without_sides():
    mesh = sb.reconstruct(moebius_band(8000, noise=0.01))
    assert not mesh.summary.orientable
    assert not mesh.is_oriented
    assert (mesh.euler_characteristic, mesh.n_components, mesh.n_border_loops) == (0, 1, 1)
    assert mesh.n_nonmanifold_edges == 0
    assert np.allclose(np.linalg.norm(mesh.normals, axis=1), 1.0)
    t = np.linspace(0.0, 4.0 * np.pi, 4001)
    ring = 1.0 + 0.4 * np.cos(0.5 * t)
    border = np.column_stack([ring * np.cos(t), ring * np.sin(t), 0.4 * np.sin(0.5 * t)])
    assert mesh.border_length == pytest.approx(np.linalg.norm(np.diff(border, axis=0), axis=1).sum(), rel=0.1)
    assert "not orientable" in "\n".join(mesh.report())


def test_two_objects_become_two_components(torus):
    data, _ = torus
    both = np.concatenate([data.points, data.points + [4.0, 0.0, 0.0]])
    assert_sound(sb.reconstruct(both), 0, parts=2)


def test_outliers_do_not_matter(torus):
    data, clean = torus
    rng = np.random.default_rng(0)
    mesh = sb.reconstruct(np.concatenate([data.points, rng.uniform(-1.5, 1.5, (400, 3))]))
    assert_sound(mesh, 0)
    # Five per cent of outliers, those near the surface with full weight at the edge of the window.
    assert data.distance(mesh.vertices).mean() < 1.2 * data.distance(clean.vertices).mean()


def test_far_outliers_do_not_make_the_mesh_coarser(torus, monkeypatch):
    data, clean = torus
    # Cells enough for the torus, and a fiftieth of what a box around the outliers would need.
    monkeypatch.setattr("subbundle.surface.implicit.MOST_CELLS", 1_000_000)
    far = np.random.default_rng(0).uniform(-10.0, 10.0, (250, 3))
    mesh = sb.reconstruct(np.concatenate([data.points, far]))
    assert_sound(mesh, 0)
    assert mesh.summary.cell == pytest.approx(clean.summary.cell, rel=0.02)
    assert set(range(N, N + 250)) <= set(mesh.summary.outliers.tolist())


def test_repeated_points_count_once(torus):
    data, mesh = torus
    again = sb.reconstruct(np.concatenate([data.points, data.points[::-1], data.points[:100]]))
    assert np.array_equal(again.vertices, mesh.vertices)
    assert again.summary.n_used == len(data.points)


def test_density_may_vary_tenfold(torus):
    data, _ = torus
    keep = np.random.default_rng(0).uniform(size=N) < np.interp(data.points[:, 0], [-1.4, 1.4], [0.1, 1.0])
    assert_sound(sb.reconstruct(data.points[keep]), 0)


def test_the_order_of_the_rows_and_the_number_of_threads_change_nothing(torus):
    data, mesh = torus
    shuffled = np.random.default_rng(0).permutation(data.points)
    other = sb.reconstruct(shuffled, n_jobs=1)
    assert np.array_equal(other.vertices, mesh.vertices)
    assert np.array_equal(other.faces, mesh.faces)


def test_far_from_the_origin_and_in_other_units(torus):
    data, mesh = torus
    moved = sb.reconstruct(1000.0 * data.points + [5e5, 5e6, 100.0])
    assert_sound(moved, 0)
    back = (moved.vertices - [5e5, 5e6, 100.0]) / 1000.0
    # Coordinates of five million have nine digits after the point left; the mesh may differ where rounding decides.
    assert data.distance(back).mean() == pytest.approx(data.distance(mesh.vertices).mean(), rel=0.02)


def test_dense_clouds_are_thinned_out_first(monkeypatch):
    data = sb.datasets.sphere(40000, noise=0.05, seed=0)
    mesh = sb.reconstruct(data.points)
    monkeypatch.setattr("subbundle.surface.tuning.DENSE_POINTS", 1000)
    monkeypatch.setattr("subbundle.surface.prepare._PILOT_POINTS", 5000)
    thinned = sb.reconstruct(data.points)
    assert thinned.summary.n_used < 0.8 * len(data.points)
    assert_sound(thinned, 2)
    # What the voxels blur is a twelfth of their squared side, times the curvature.
    assert data.distance(thinned.vertices).mean() < 1.3 * data.distance(mesh.vertices).mean()


def test_attributes_are_interpolated_at_the_vertices(torus):
    data, _ = torus
    colors = np.clip(255.0 * (0.5 + 0.3 * data.clean), 0, 255).astype(np.uint8)
    label = (data.clean[:, 0] > 0.0).astype(np.int32)
    mesh = sb.reconstruct(data.points, attributes={"colors": colors, "label": label, "x": data.clean[:, 0]})
    assert mesh.attributes["colors"].dtype == np.uint8
    assert np.array_equal(np.unique(mesh.attributes["label"]), [0, 1])
    # Neighbours are about a spacing away, 0.04 here.
    assert np.abs(mesh.attributes["x"] - mesh.vertices[:, 0]).mean() < 0.04
    assert np.abs(mesh.attributes["colors"] / 255.0 - (0.5 + 0.3 * mesh.vertices)).mean() < 0.3 * 0.04


def test_progress_names_the_stages(torus):
    data, _ = torus
    said = []
    mesh = sb.reconstruct(data.points[::4], progress=said.append)
    assert list(mesh.summary.seconds) == said
    assert len(said) == 8


def test_noise_and_spacing_are_estimated(torus):
    _, mesh = torus
    assert mesh.summary.noise == pytest.approx(0.02, rel=0.1)
    # N points on an area of 4π²·0.4.
    assert mesh.summary.spacing == pytest.approx(np.sqrt(4.0 * np.pi**2 * 0.4 / N), rel=0.1)


def test_the_summary_reports_estimates(torus):
    _, mesh = torus
    text = "\n".join(mesh.report())
    for words in (f"{N} given", "noise 0.0", "Euler characteristic 0", "closed", "1 connected component"):
        assert words in text


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (np.column_stack([np.linspace(0.0, 1.0, 500), np.zeros((500, 2))]), "resemble a curve"),
        (np.random.default_rng(0).uniform(size=(3000, 3)), "resemble a solid body"),
        (np.zeros((500, 3)), "at least 100 different rows; got 1"),
        (np.zeros((50, 3)), "at least 100 to estimate a surface; got 50"),
        (np.zeros((500, 2)), "must have 3 coordinates"),
        (np.full((500, 3), np.nan), "must be finite"),
    ],
    ids=["curve", "solid", "one point", "few", "plane", "nan"],
)
def test_clouds_without_a_surface_are_refused(points, words):
    with pytest.raises(ValueError, match=words):
        sb.reconstruct(points)


def test_wrong_parameters_are_refused(torus):
    points = torus[0].points
    with pytest.raises(ValueError, match="bandwidth must be a positive number or 'auto'; got 'wide'"):
        sb.reconstruct(points, bandwidth="wide")
    with pytest.raises(ValueError, match="bandwidth must reach a few neighbours"):
        sb.reconstruct(points, bandwidth=1e-4)
    with pytest.raises(ValueError, match="opening must be positive"):
        sb.reconstruct(points, opening=0.0)
    with pytest.raises(ValueError, match=rf"attributes\['colors'\] must be numbers with one row per point, {N}"):
        sb.reconstruct(points, attributes={"colors": np.zeros((3, 3))})


def test_few_points_come_with_a_warning():
    with pytest.warns(sb.SubbundleWarning, match="too few or too noisy"):
        sb.reconstruct(sb.datasets.sphere(150, seed=0).points)


def test_a_grid_too_large_is_made_coarser_with_a_warning(torus, monkeypatch):
    monkeypatch.setattr("subbundle.surface.implicit.MOST_CELLS", 60_000)
    with pytest.warns(sb.SubbundleWarning, match="coarser than the scan"):
        mesh = sb.reconstruct(torus[0].points)
    assert_sound(mesh, 0)


def test_a_given_bandwidth_is_used(torus):
    data, _ = torus
    mesh = sb.reconstruct(data.points, bandwidth=0.1)
    assert mesh.summary.bandwidth == pytest.approx(0.1)
    assert_sound(mesh, 0)


def test_the_estimator(torus):
    data, mesh = torus
    model = sb.SurfaceReconstructor().fit(data.points)
    assert np.array_equal(model.mesh_.vertices, mesh.vertices)
    assert model.bandwidth_ == mesh.summary.bandwidth
    carried = model.transform(data.points)
    assert data.distance(carried).mean() < 0.4 * data.distance(data.points).mean()
    assert sb.SurfaceReconstructor(closed=True).get_params()["closed"] is True
    with pytest.raises(ValueError, match="100"):
        sb.SurfaceReconstructor().fit(data.points[:50])


@pytest.mark.parametrize("suffix", [".ply", ".obj", ".stl", ".off"])
def test_meshes_are_written_and_read_back(torus, tmp_path, suffix):
    _, mesh = torus
    path = mesh.write(tmp_path / f"mesh{suffix}")
    read = trimesh.load(path, process=False)
    assert len(read.faces) == len(mesh.faces)
    # STL has single precision, OBJ and OFF eight digits after the point.
    assert np.abs(read.triangles - mesh.vertices[mesh.faces]).max() < 1e-6
    assert list(tmp_path.iterdir()) == [path]


def test_meshes_keep_colours_and_attributes(torus, tmp_path):
    data, _ = torus
    colors = np.clip(255.0 * (0.5 + 0.3 * data.clean), 0, 255).astype(np.uint8)
    mesh = sb.reconstruct(data.points, attributes={"colors": colors, "x": data.clean[:, 0]})
    scan = sb.scans.read_scan(mesh.write(tmp_path / "mesh.ply"))
    assert np.array_equal(scan.attributes["colors"], mesh.attributes["colors"])
    assert np.array_equal(scan.attributes["scan_x"], mesh.attributes["x"])
    read = trimesh.load(mesh.write(tmp_path / "mesh.obj"), process=False)
    assert np.abs(read.visual.vertex_colors[:, :3].astype(int) - mesh.attributes["colors"]).max() <= 1
