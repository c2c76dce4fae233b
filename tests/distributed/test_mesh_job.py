"""`distributed.reconstruct`: one mesh for any tiles and workers; complete files; jobs that are resumed."""

import json

import numpy as np
import pytest
from test_mesh_tiles import SCENES
from test_mesh_tiles import hills as hilly

from subbundle import distributed
from subbundle.cli import main
from subbundle.distributed import mesh_job, mesh_scale, mesh_tiles
from subbundle.io import read_points, write_ply


@pytest.fixture(scope="module")
def hills():
    return SCENES["hills"]() + [500.0, -200.0, 30.0]


def sorted_vertices(path):
    points = read_points(path)
    return points[np.lexsort(points.T)]


def test_one_mesh_for_every_size_of_tiles(hills, tmp_path):
    found = [distributed.reconstruct(hills, tmp_path / f"{size}.ply", points_per_tile=size) for size in (10_000, 2500)]
    assert found[0].n_tiles == 1
    assert found[1].n_tiles > 2
    for mesh in found:
        assert (mesh.euler_characteristic, mesh.n_components, mesh.n_points) == (1, 1, len(hills))
    assert np.array_equal(*(sorted_vertices(mesh.paths[0]) for mesh in found))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["10000.ply", "2500.ply"]


def test_tiles_in_a_folder_share_their_seams(hills, tmp_path):
    mesh = distributed.reconstruct(hills, tmp_path / "out", points_per_tile=3000)
    listed = json.loads((tmp_path / "out" / "tiles.json").read_text())["tiles"]
    assert [tmp_path / "out" / tile["file"] for tile in listed] == list(mesh.paths)
    assert sum(tile["faces"] for tile in listed) == mesh.n_faces
    together = np.concatenate([read_points(path) for path in mesh.paths])
    # No vertex is twice in the whole mesh, so those on seams are the same to the bit in both tiles.
    assert len(np.unique(together, axis=0)) == mesh.n_vertices < len(together)


def test_a_failed_job_is_resumed(hills, tmp_path, monkeypatch):
    def failing(*arguments):
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(mesh_job, "write_welded", failing)
        with pytest.raises(OSError, match="disk is full"):
            distributed.reconstruct(hills, tmp_path / "m.ply", points_per_tile=3000)
    assert not (tmp_path / "m.ply").exists()
    with pytest.raises(FileExistsError, match="--resume"):
        distributed.reconstruct(hills, tmp_path / "m.ply", points_per_tile=3000)
    monkeypatch.setattr(mesh_tiles, "piece_of", failing)  # nothing is meshed again
    mesh = distributed.reconstruct(hills, tmp_path / "m.ply", points_per_tile=3000, resume=True)
    assert len(read_points(mesh.paths[0])) == mesh.n_vertices


def test_the_scale_of_a_large_scene_is_estimated_at_a_few_places(tmp_path, monkeypatch):
    points = hilly(20_000, 0.005, 0)
    known = mesh_scale.scale_of(points)
    for name, value in (("_MOST_POINTS", 8000), ("SCENE_PLACES", 8)):
        monkeypatch.setattr(mesh_scale, name, value)
    found = [
        mesh_scale.plan_scale(distributed.plan_tiles(points, tmp_path / str(size), points_per_tile=size))
        for size in (3000, 9000)
    ]
    assert found[0] == found[1]
    # Spacing is 1/√density, over an area of 8 and its slopes, seen through a few thousand windows; noise was given.
    assert found[0].noise == pytest.approx(0.005, rel=0.1)
    for name in ("spacing", "cell", "window"):
        assert getattr(found[0], name) == pytest.approx(getattr(known, name), rel=0.1)


def test_the_command_and_workers_make_the_same_mesh(hills, tmp_path, client, capsys):
    for name, part in (("a", hills[:2000]), ("b", hills[2000:])):
        write_ply(tmp_path / f"{name}.ply", part)
    given = [str(tmp_path / "a.ply"), str(tmp_path / "b.ply")]
    typed = ["reconstruct", *given, "-o", str(tmp_path / "there.ply"), "--memory", "4GB"]
    assert main([*typed, "--scheduler", client.scheduler.address]) == 0
    said = capsys.readouterr().out
    assert f"points: {len(hills)}, tiles: 1" in said
    assert "1 connected component" in said
    here = distributed.reconstruct(given, tmp_path / "here.ply")
    assert here.paths[0].read_bytes() == (tmp_path / "there.ply").read_bytes()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["-o", "m.ply", "--closed"], "--closed needs all points at once"),
        (["-o", "m.ply", "--opening", "9"], "opening must be at most 8 bandwidths in tiles"),
        (["-o", "m.obj"], ".ply file or a folder; got m.obj"),
    ],
)
def test_options_that_need_all_points_are_refused(typed, said, capsys):
    assert main(["reconstruct", "a.ply", *typed, "--workers", "1"]) == 2
    assert said in capsys.readouterr().err


def test_points_of_a_plane_are_no_scene(tmp_path):
    with pytest.raises(ValueError, match="3 coordinates"):
        distributed.reconstruct(np.zeros((10, 2)), tmp_path / "m.ply")
