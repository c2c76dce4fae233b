"""``subbundle reconstruct`` with several files, units, boxes and attributes."""

from __future__ import annotations

import numpy as np
import pytest

import subbundle as sb
from subbundle.cli import main
from subbundle.io import write_ply
from subbundle.scans import read_scan

DATA = sb.datasets.torus(3000, noise=0.02, seed=0)
RING = DATA.clean * [1.0, 1.0, 0.0]
RING /= np.linalg.norm(RING, axis=1, keepdims=True)
NORMALS = (DATA.clean - RING) / 0.4
COLOURS = np.where(DATA.clean[:, :1] > 0.0, np.uint8([200, 0, 0]), np.uint8([0, 0, 200]))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The torus in two files, the second moved away, with colours and normals; and the inverse motion."""
    folder = tmp_path_factory.mktemp("scans")
    back = np.eye(4)
    back[:3, :3], back[:3, 3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]], [5.0, 6.0, 7.0]
    away = np.linalg.inv(back)
    write_ply(folder / "a.ply", DATA.points[:1500], normals=NORMALS[:1500], colors=COLOURS[:1500])
    moved = DATA.points[1500:] @ away[:3, :3].T + away[:3, 3]
    write_ply(folder / "b.ply", moved, normals=NORMALS[1500:] @ away[:3, :3].T, colors=COLOURS[1500:])
    np.savetxt(folder / "back.txt", back)
    rows = ["\n".join(" ".join(map(str, row)) for row in matrix) for matrix in (np.eye(4), back)]
    (folder / "both.aln").write_text(f"2\na.ply\n#\n{rows[0]}\n#\nb.ply\n#\n{rows[1]}\n#\n0\n")
    return folder


def test_two_scans_with_poses_colours_and_normals(files, tmp_path, capsys):
    a, b = str(files / "a.ply"), str(files / "b.ply")
    command = ["reconstruct", a, b, "-o", str(tmp_path / "mesh.ply"), "--jobs", "1"]
    assert main([*command, "--transform", "identity", "--transform", str(files / "back.txt")]) == 0
    said = capsys.readouterr().out
    assert "3000 given" in said
    assert "Euler characteristic 0" in said
    assert "normals of the scan: used" in said
    made = read_scan(tmp_path / "mesh.ply")
    assert DATA.distance(made.points).mean() < 0.01
    # Red on one side, blue on the other, away from the seam.
    red = made.attributes["colors"][:, 0] > 100
    clear = np.abs(made.points[:, 0]) > 0.2
    assert np.array_equal(red[clear], made.points[clear, 0] > 0.0)
    assert set(np.unique(made.attributes["scan"])) == {0, 1}
    first = (tmp_path / "mesh.ply").read_bytes()
    assert main(["reconstruct", str(files / "both.aln"), *command[3:]]) == 0
    assert (tmp_path / "mesh.ply").read_bytes() == first


def test_units_faces_and_normals_left_out(files, tmp_path, capsys):
    pytest.importorskip("fast_simplification", reason="needs fast-simplification: pip install -e '.[simplify]'")
    target = tmp_path / "mesh.obj"
    options = ["--no-normals", "--units", "m:mm", "--faces", "800", "--jobs", "1"]
    assert main(["reconstruct", str(files / "both.aln"), "-o", str(target), *options]) == 0
    out, err = capsys.readouterr()
    assert "all lengths are multiplied by 1000 and in mm from here on" in err
    assert "simplified: " in out
    assert "normals of the scan" not in out
    assert target.read_text().startswith("# unit mm\n")
    made = read_scan(target)
    assert len(made.points) == 400  # a torus has half as many vertices as faces
    assert np.abs(np.ptp(made.points, axis=0) - [2800.0, 2800.0, 800.0]).max() < 100.0


def test_meshes_in_more_dimensions_are_not_simplified(tmp_path, capsys):
    pytest.importorskip("fast_simplification", reason="needs fast-simplification: pip install -e '.[simplify]'")
    np.save(tmp_path / "four.npy", np.random.default_rng(0).standard_normal((200, 4)))
    command = ["reconstruct", str(tmp_path / "four.npy"), "-o", str(tmp_path / "mesh.npz")]
    for option, words in (
        (["--faces", "9"], "Leave --faces out"),
        (["--crop", "0,1,,,,"], "3 coordinates; these have 4"),
    ):
        assert main([*command, *option]) == 2
        assert words in capsys.readouterr().err


def test_a_box_and_a_list_of_outliers(tmp_path, capsys):
    points = np.vstack([DATA.points, np.random.default_rng(0).uniform(-0.3, 0.3, (12, 3)) * [1.0, 1.0, 0.3]])
    write_ply(tmp_path / "scan.ply", points, attributes={"number": np.arange(3012)})
    command = ["reconstruct", str(tmp_path / "scan.ply"), "-o", str(tmp_path / "mesh.ply"), "--jobs", "1"]
    assert main([*command, "--save-outliers", str(tmp_path / "out.npy"), "--crop", "-2,,,,,"]) == 0
    said = capsys.readouterr()
    assert "cropped: 3012 of 3012 points" in said.err
    assert "outliers by position: " in said.out
    # The made ones, far inside the ring, are all among them; few others can be.
    found = np.load(tmp_path / "out.npy")[:, 3].astype(int)
    assert set(range(3000, 3012)) <= set(found)
    assert len(found) < 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--crop", "1,2"], "must be six numbers xmin,xmax,ymin,ymax,zmin,zmax"),
        (["--crop", "2,1,,,,"], "must have xmin < xmax; got 2 and 1"),
        (["--crop", "9,10,,,,"], "--crop must leave some points; none of 1500 lies in it. They lie in -1."),
        (["--units", "parsec"], "must be one of km, m, cm, mm, um, in, ft, or two like m:mm"),
        (["--transform", "identity", "--transform", "identity"], "once for every scan, 1 times; it was given 2 times"),
        (["--transform", "no.txt"], "no.txt must be an existing file"),
        (["--faces", "few"], "must be at least 4, the triangles of the smallest closed mesh; got 'few'"),
        (["--save-outliers", "out.stl"], "a cloud must end in one of .csv, .npy, .parquet, .ply; got 'out.stl'"),
    ],
)
def test_messages_for_wrong_options_state_what_to_write(files, tmp_path, capsys, options, message):
    try:
        code = main(["reconstruct", str(files / "a.ply"), "-o", str(tmp_path / "mesh.ply"), *options])
    except SystemExit as exit_:
        code = exit_.code
    assert code == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
