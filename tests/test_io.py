"""Files come back as they went, and failures leave nothing behind."""

from __future__ import annotations

import os
import stat

import numpy as np
import pytest
import trimesh

from subbundle.io import atomic_path, read_points, write_ply

POINTS = np.random.default_rng(0).standard_normal((7, 3)) * 1e3
FACES = np.array([[0, 1, 2], [2, 3, 4], [4, 5, 6]])


def test_ply_cloud_is_read_to_the_bit(tmp_path):
    path = write_ply(tmp_path / "cloud.ply", POINTS)
    assert np.array_equal(read_points(path), POINTS)


def test_ply_mesh_with_normals_and_colours_is_read_by_trimesh(tmp_path):
    colors = np.arange(21, dtype=np.uint8).reshape(7, 3)
    normals = POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)
    path = write_ply(tmp_path / "mesh.ply", POINTS, FACES, normals=normals, colors=colors)
    mesh = trimesh.load(path, process=False)
    assert np.array_equal(mesh.vertices, POINTS)
    assert np.array_equal(mesh.faces, FACES)
    assert np.array_equal(mesh.visual.vertex_colors[:, :3], colors)
    assert np.array_equal(mesh.vertex_normals, normals)


def test_colours_may_be_fractions_of_one(tmp_path):
    path = write_ply(tmp_path / "cloud.ply", POINTS, colors=np.tile([0.0, 0.5, 1.0], (7, 1)))
    assert (trimesh.load(path).colors[:, :3] == [0, 128, 255]).all()


def test_written_files_are_as_readable_as_others(tmp_path):
    path = write_ply(tmp_path / "cloud.ply", POINTS)
    (tmp_path / "other").write_text("")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "other").stat().st_mode)


@pytest.mark.parametrize("suffix", ["ply", "obj", "stl", "off"])
def test_meshes_written_by_trimesh_give_their_vertices(tmp_path, suffix):
    box = trimesh.creation.box()
    box.export(tmp_path / f"box.{suffix}")
    points = read_points(tmp_path / f"box.{suffix}")
    assert np.array_equal(np.unique(points, axis=0), np.unique(box.vertices, axis=0))
    assert len(points) == 8


def test_a_mesh_file_may_hold_points_only(tmp_path):
    (tmp_path / "cloud.obj").write_text("".join("v {} {} {}\n".format(*map(repr, map(float, p))) for p in POINTS))
    assert np.array_equal(read_points(tmp_path / "cloud.obj"), POINTS)


def test_tables(tmp_path):
    np.save(tmp_path / "a.npy", POINTS)
    np.savetxt(tmp_path / "a.xyz", np.hstack([POINTS, POINTS]), fmt="%.17g")
    np.savetxt(tmp_path / "a.csv", POINTS, fmt="%.17g", delimiter=",")
    np.savetxt(tmp_path / "named.CSV", POINTS, fmt="%.17g", delimiter=",", header="x,y,z", comments="")
    for name in ("a.npy", "a.xyz", "a.csv", "named.CSV"):
        assert np.array_equal(read_points(tmp_path / name), POINTS)


def test_one_row_is_a_cloud_too(tmp_path):
    (tmp_path / "a.csv").write_text("1,2,3,4\n")
    assert np.array_equal(read_points(tmp_path / "a.csv"), [[1.0, 2.0, 3.0, 4.0]])


def test_unreadable_files_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"cloud.las must end in one of .ply, .obj, .* got '.las'"):
        read_points(tmp_path / "cloud.las")
    with pytest.raises(FileNotFoundError, match="must be an existing file"):
        read_points(tmp_path / "missing.ply")
    (tmp_path / "broken.csv").write_text("1,2\n3,x\n")
    with pytest.raises(
        ValueError, match=r"broken.csv could not be read as .csv: its columns must hold numbers; column 2 .* 'x'"
    ):
        read_points(tmp_path / "broken.csv")
    (tmp_path / "broken.ply").write_text("this is no mesh")
    with pytest.raises(ValueError, match=r"broken.ply could not be read as .ply"):
        read_points(tmp_path / "broken.ply")
    (tmp_path / "hole.csv").write_text("1,2\nnan,4\n")
    with pytest.raises(ValueError, match=r"hole.csv must be finite"):
        read_points(tmp_path / "hole.csv")


def test_pickled_arrays_are_refused(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"could not be read as .npy"):
        read_points(tmp_path / "objects.npy")


def test_bad_arguments_of_write_ply(tmp_path):
    target = tmp_path / "a.ply"
    with pytest.raises(ValueError, match=r"path must end in .ply"):
        write_ply(tmp_path / "a.obj", POINTS)
    with pytest.raises(ValueError, match="points must have 3 coordinates"):
        write_ply(target, POINTS[:, :2])
    with pytest.raises(ValueError, match=r"faces must name rows 0..6 of points; got 0..7"):
        write_ply(target, POINTS, [[0, 1, 7]])
    with pytest.raises(ValueError, match=r"faces must be integers of shape \(m, 3\); got float64"):
        write_ply(target, POINTS, [[0.0, 1.0, 2.0]])
    with pytest.raises(ValueError, match="normals must have one row per point, 7; got 6"):
        write_ply(target, POINTS, normals=POINTS[:6])
    with pytest.raises(ValueError, match=r"colors must be uint8 in 0..255 or floats in 0..1; got float64 in 2.0..2.0"):
        write_ply(target, POINTS, colors=np.full((7, 3), 2.0))
    with pytest.raises(FileNotFoundError, match="Create it first"):
        write_ply(tmp_path / "nowhere" / "a.ply", POINTS)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_keeps_the_old_file_and_leaves_nothing_behind(tmp_path, monkeypatch):
    target = write_ply(tmp_path / "a.ply", POINTS)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_ply(target, POINTS[:3])
    assert os.listdir(tmp_path) == ["a.ply"]
    assert np.array_equal(read_points(target), POINTS)


def test_atomic_path_deletes_on_interrupt(tmp_path):
    def interrupted():
        with atomic_path(tmp_path / "a.bin") as temporary:
            temporary.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []
