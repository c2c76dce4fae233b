"""``subbundle denoise`` from end to end."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from subbundle import datasets
from subbundle.cli import main
from subbundle.io import read_points, write_ply
from subbundle.scans import read_scan


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    return write_ply(tmp_path_factory.mktemp("scan") / "scan.ply", datasets.sphere(3000, noise=0.03, seed=0).points)


def offsets(points):
    return np.abs(np.linalg.norm(points, axis=1) - 1.0).mean()


def test_a_scan_becomes_a_clean_one_with_normals(scan, tmp_path, capsys):
    target = tmp_path / "clean.ply"
    assert main(["denoise", str(scan), "-o", str(target)]) == 0
    words = capsys.readouterr()
    assert "3000 points in R^3, dimension 2, bandwidth" in words.out
    assert words.err == ""  # nobody watches
    # The noise is 0.03, and a fraction of it is left by averaging some tens of observations.
    assert offsets(read_points(scan)) > 0.02
    assert offsets(read_points(target)) < 0.009
    # Normals follow the coordinates in the file.
    loaded = trimesh.load(target, process=False)
    assert b"property double nx" in target.read_bytes()[:400]
    assert len(loaded.vertices) == 3000


def test_a_table_has_noise_score_and_status(scan, tmp_path):
    target = tmp_path / "clean.csv"
    assert main(["denoise", str(scan), "-o", str(target), "--bandwidth", "0.2", "--order", "1", "--jobs", "1"]) == 0
    assert target.read_text().splitlines()[0] == "x1,x2,x3,noise,outlier_score,status"
    table = np.loadtxt(target, delimiter=",", skiprows=1)
    assert table.shape == (3000, 6)
    assert np.median(table[:, 3]) == pytest.approx(0.03, rel=0.1)


def test_outliers_can_be_left_out(tmp_path, capsys):
    rng = np.random.default_rng(1)
    cloud = np.vstack([datasets.sphere(3000, noise=0.02, seed=1).points, rng.uniform(-3.0, 3.0, size=(60, 3))])
    source = write_ply(tmp_path / "dirty.ply", cloud)
    target = tmp_path / "clean.npy"
    assert main(["denoise", str(source), "-o", str(target), "--bandwidth", "0.15", "--outliers", "4"]) == 0
    left_out = int(capsys.readouterr().out.split("left out as outliers: ")[1].split()[0])
    assert 50 <= left_out <= 75
    kept = np.load(target)
    assert np.abs(np.linalg.norm(kept[:, :3], axis=1) - 1.0).max() < 0.1


def test_a_curve_in_the_plane(tmp_path):
    np.save(tmp_path / "curve.npy", datasets.curve_in_plane(1500, noise=0.05, seed=0).points)
    target = tmp_path / "clean.npy"
    assert main(["denoise", str(tmp_path / "curve.npy"), "-o", str(target), "--dim", "1"]) == 0
    truth = datasets.curve_in_plane(5)
    assert truth.distance(np.load(target)[:, :2]).mean() < 0.02


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "clean.stl"], "must end in one of .csv, .npy, .parquet"),
        (["-o", "nowhere/clean.ply"], "nowhere does not"),
        (["-o", "clean.ply", "--bandwidth", "-1"], "must be a positive number, or auto or local; got '-1'"),
        (["-o", "clean.ply", "--dim", "3"], "rank must be an integer in 1..2"),
        (["-o", "clean.ply", "--save-outliers", "out.ply"], "Write --outliers 4 as well"),
        (["-o", "clean.csv", "--normals", "--dim", "1"], "--normals is for surfaces in R³; this is dimension 1"),
        (["-o", "clean.ply", "--outliers", "1e-9"], "would leave out all 3000 points"),
        (["-o", "clean.ply", "--bandwidth", "1e-4"], "bandwidth must reach at least rank + 1 = 3 neighbours"),
    ],
)
def test_wrong_input_leaves_no_file(scan, arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(["denoise", str(scan), *arguments])
    except SystemExit as exit_:
        code = exit_.code
    assert code == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.ply", b"", "must hold at least one point; the file is empty"),
        ("text.xyz", b"this is no cloud\n", "could not be read as .xyz"),
        (
            "line.xyz",
            b"0 0 0\n1 1 1\n2 2 2\n3 3 3\n4 4 4\n",
            "rank must not exceed the number of directions in the data",
        ),
        ("nan.xyz", b"nan 0 0\nnan 1 1\n", "must hold at least one point; it holds 2, none of them finite"),
    ],
)
def test_files_that_hold_no_surface(name, content, message, tmp_path, capsys):
    (tmp_path / name).write_bytes(content)
    assert main(["denoise", str(tmp_path / name), "-o", str(tmp_path / "clean.ply")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "clean.ply").exists()


def test_points_of_other_dimension_do_not_fit_into_a_ply(tmp_path, capsys):
    np.save(tmp_path / "four.npy", np.random.default_rng(0).normal(size=(300, 4)) * [1.0, 1.0, 0.05, 0.05])
    code = main(["denoise", str(tmp_path / "four.npy"), "-o", str(tmp_path / "four.ply"), "--bandwidth", "0.5"])
    assert code == 2
    assert "four.ply can only hold points with 3 coordinates; these have 4" in capsys.readouterr().err


def coloured(path, outliers):
    """A sphere with colours and intensity, and ``outliers`` around it."""
    rng = np.random.default_rng(2)
    data = datasets.sphere(2000, noise=0.02, seed=2)
    points = np.vstack([data.points, 2.0 * rng.standard_normal((outliers, 3))])
    colors = np.arange(3 * len(points)).reshape(-1, 3).astype(np.uint8)
    return write_ply(path, points, colors=colors, attributes={"intensity": points[:, 2]}), points, colors


def test_attributes_are_kept_and_outliers_reported(tmp_path, capsys):
    source, points, colors = coloured(tmp_path / "scan.ply", 9)
    command = ["denoise", str(source), "-o", str(tmp_path / "clean.ply"), "--bandwidth", "150", "--outliers", "4"]
    assert main([*command, "--save-outliers", str(tmp_path / "out.csv"), "--units", "m:mm"]) == 0
    said = capsys.readouterr().out
    left_out = int(said.split("left out as outliers: ")[1].split()[0])
    assert 2009 - left_out == len(trimesh.load(tmp_path / "clean.ply").vertices)
    assert "attributes kept: colors, intensity" in said
    clean, out = read_scan(tmp_path / "clean.ply"), read_scan(tmp_path / "out.csv")
    kept = np.isin(points[:, 2], clean.attributes["intensity"])
    assert np.array_equal(clean.attributes["intensity"], points[kept, 2])
    assert np.array_equal(clean.attributes["colors"], colors[kept])
    assert {"noise", "outlier_score", "status"} <= set(clean.attributes)
    assert np.array_equal(out.points, 1000.0 * points[~kept])
    assert (out.attributes["outlier_score"] > 4.0).all()
    assert b"comment unit mm" in (tmp_path / "clean.ply").read_bytes()[:200]
    # Normals of a sphere, outward.
    towards = clean.points / np.linalg.norm(clean.points, axis=1, keepdims=True)
    assert np.sum(clean.normals * towards, axis=1).min() > 0.9


def test_normals_have_the_orientation_of_the_scanner(tmp_path):
    data = datasets.sphere(2000, noise=0.02, seed=3)
    inward = -data.clean * (np.arange(2000) % 3 == 0)[:, None]  # known at every third point
    source = write_ply(tmp_path / "scan.ply", data.points, normals=inward)
    target = tmp_path / "clean.csv"
    assert main(["denoise", str(source), "-o", str(target), "--bandwidth", "0.15", "--normals"]) == 0
    clean = read_scan(target)
    assert np.sum(clean.normals * data.clean, axis=1).max() < -0.9
    assert main(["denoise", str(source), "-o", str(target), "--bandwidth", "0.15", "--normals", "--no-normals"]) == 0
    assert np.sum(read_scan(target).normals * data.clean, axis=1).min() > 0.9


def test_rays_without_a_return_are_left_out_and_counted(tmp_path, capsys):
    points = datasets.sphere(500, noise=0.02, seed=3).points
    points[::50] = np.nan
    np.savetxt(tmp_path / "scan.xyz", points)
    assert main(["denoise", str(tmp_path / "scan.xyz"), "-o", str(tmp_path / "a.npy"), "--bandwidth", "0.3"]) == 0
    assert "left out, not finite: 10 of 500 points" in capsys.readouterr().err
    assert len(np.load(tmp_path / "a.npy")) == 490
