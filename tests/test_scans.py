"""Scans in every format, and files that are damaged, empty or something else."""

import numpy as np
import pytest
import trimesh

import subbundle as sb
from subbundle.io import write_mesh
from subbundle.scans import read_scan

RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((60, 3)) * 100.0
COLORS = RNG.integers(0, 256, (60, 3)).astype(np.uint8)
INTENSITY = RNG.uniform(size=60).astype(np.float32)
PROPERTIES = [("double", axis) for axis in "xyz"] + [("uchar", c) for c in ("red", "green", "blue")]
PROPERTIES += [("float", "intensity")]


def ply(form):
    """A PLY file as bytes, written here by the format's own description."""
    header = ["ply", f"format {form} 1.0", "comment a scan", "element vertex 60"]
    header += [f"property {kind} {name}" for kind, name in PROPERTIES] + ["end_header", ""]
    if form == "ascii":
        rows = [
            [*map(repr, map(float, p)), *map(str, c), repr(float(i))]
            for p, c, i in zip(POINTS, COLORS, INTENSITY, strict=True)
        ]
        body = "\n".join(" ".join(row) for row in rows).encode() + b"\n"
    else:
        order = "<" if "little" in form else ">"
        table = np.empty(60, [(a, f"{order}f8") for a in "xyz"] + [(c, "u1") for c in "rgb"] + [("i", f"{order}f4")])
        for i, axis in enumerate("xyz"):
            table[axis] = POINTS[:, i]
        for i, channel in enumerate("rgb"):
            table[channel] = COLORS[:, i]
        table["i"] = INTENSITY
        body = table.tobytes()
    return "\n".join(header).encode() + body


FORMS = ["ascii", "binary_little_endian", "binary_big_endian"]


@pytest.mark.parametrize("form", FORMS)
def test_ply_with_colours_and_attributes(tmp_path, form):
    (tmp_path / "scan.ply").write_bytes(ply(form))
    scan = read_scan(tmp_path / "scan.ply")
    assert np.array_equal(scan.points, POINTS)
    assert np.array_equal(scan.attributes["colors"], COLORS)
    assert np.allclose(scan.attributes["intensity"], INTENSITY)
    assert scan.n_dropped == 0


@pytest.mark.parametrize("form", FORMS)
def test_cut_off_ply_is_refused(tmp_path, form):
    (tmp_path / "scan.ply").write_bytes(ply(form)[:-300])
    with pytest.raises(ValueError, match=r"scan\.ply could not be read as \.ply"):
        read_scan(tmp_path / "scan.ply")


@pytest.mark.parametrize("suffix", ["ply", "obj", "off", "npy", "xyz", "csv"])
def test_junk_is_refused(tmp_path, suffix):
    path = tmp_path / f"junk.{suffix}"
    path.write_bytes(np.random.default_rng(1).integers(0, 256, 999).astype(np.uint8).tobytes())
    with pytest.raises(ValueError, match=r"junk\." + suffix):
        read_scan(path)


@pytest.mark.parametrize("suffix", ["ply", "obj", "stl", "off", "npy", "xyz", "csv", "las"])
def test_empty_files_are_refused(tmp_path, suffix):
    path = tmp_path / f"none.{suffix}"
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="must hold at least one point; the file is empty"):
        read_scan(path)


def test_foreign_endings_and_missing_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must end in one of \.ply, .*\.laz; got '\.docx'"):
        read_scan(tmp_path / "scan.docx")
    with pytest.raises(FileNotFoundError, match="must be an existing file"):
        read_scan(tmp_path / "scan.ply")


def test_tables(tmp_path):
    np.savetxt(tmp_path / "a.xyz", np.column_stack([POINTS, INTENSITY]))
    assert np.array_equal(read_scan(tmp_path / "a.xyz").attributes["column_4"], INTENSITY)
    np.save(tmp_path / "a.npy", POINTS.astype(np.float32))
    assert np.allclose(read_scan(tmp_path / "a.npy").points, POINTS)
    rows = [
        ",".join([f"place {i}", str(int(c[0])), *map(repr, map(float, p))])
        for i, (p, c) in enumerate(zip(POINTS, COLORS, strict=True))
    ]
    (tmp_path / "a.csv").write_text("name,red,x,y,z\n" + "\n".join(rows))
    scan = read_scan(tmp_path / "a.csv")
    assert np.array_equal(scan.points, POINTS)
    assert np.array_equal(scan.attributes["red"], COLORS[:, 0])
    assert "name" not in scan.attributes
    np.save(tmp_path / "flat.npy", POINTS[:, :2])
    with pytest.raises(ValueError, match=r"points of 3 coordinates or more; it holds an array of shape \(60, 2\)"):
        read_scan(tmp_path / "flat.npy")


def test_rows_that_are_not_finite_are_left_out(tmp_path):
    holes = POINTS.copy()
    holes[::7, 1] = np.nan
    np.save(tmp_path / "a.npy", holes)
    scan = read_scan(tmp_path / "a.npy")
    assert scan.n_dropped == 9
    assert len(scan.points) == 51
    np.save(tmp_path / "none.npy", np.full((5, 3), np.inf))
    with pytest.raises(ValueError, match="it holds 5, none of them finite"):
        read_scan(tmp_path / "none.npy")


@pytest.mark.parametrize("name", ["scan.las", "scan.laz"])
def test_las(tmp_path, name):
    laspy = pytest.importorskip("laspy")
    file = laspy.create(point_format=2, file_version="1.2")
    file.header.scales, file.header.offsets = [1e-4] * 3, POINTS.min(axis=0)
    file.x, file.y, file.z = POINTS.T
    file.red, file.green, file.blue = COLORS.T.astype(np.uint16) * 257
    file.intensity = np.arange(60, dtype=np.uint16)
    for axis, values in zip("XYZ", POINTS.T, strict=True):
        file.add_extra_dim(laspy.ExtraBytesParams(name=f"Normal{axis}", type=np.float32))
        file[f"Normal{axis}"] = values.astype(np.float32)
    file.add_extra_dim(laspy.ExtraBytesParams(name="a deviation", type=np.uint8))
    file.write(tmp_path / name)
    scan = read_scan(tmp_path / name)
    # LAS stores multiples of the scale.
    assert np.abs(scan.points - POINTS).max() < 1e-4
    assert np.array_equal(scan.attributes["colors"], COLORS)
    assert np.array_equal(scan.attributes["intensity"], np.arange(60))
    assert scan.normals == pytest.approx(POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True), abs=1e-6)
    assert not scan.attributes["a deviation"].any()
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[:-300])
    with pytest.raises(ValueError, match=rf"{name} could not be read as"):
        read_scan(tmp_path / name)


def test_meshes_and_their_colours(tmp_path):
    box = trimesh.creation.box()
    box.visual.vertex_colors = np.arange(32, dtype=np.uint8).reshape(8, 4) | [0, 0, 0, 255]
    box.export(tmp_path / "box.obj")
    scan = read_scan(tmp_path / "box.obj")
    assert len(scan.points) == 8
    assert np.abs(scan.attributes["colors"].astype(int) - box.visual.vertex_colors[:, :3]).max() <= 1


def test_nothing_is_left_of_a_mesh_that_could_not_be_written(tmp_path):
    with pytest.raises(ValueError, match=r"must end in one of \.ply, \.obj, \.stl, \.off, \.npz; got 'mesh\.txt'"):
        write_mesh(tmp_path / "mesh.txt", POINTS, [[0, 1, 2]])
    with pytest.raises(ValueError, match=r"faces must name rows 0\.\.59"):
        write_mesh(tmp_path / "mesh.obj", POINTS, [[0, 1, 60]])
    assert list(tmp_path.iterdir()) == []


def test_a_million_points_are_read(tmp_path):
    points = np.random.default_rng(0).standard_normal((1_000_000, 3))
    path = sb.io.write_ply(tmp_path / "large.ply", points)
    assert np.array_equal(read_scan(path).points, points)


def test_the_command_makes_a_mesh(tmp_path, capsys):
    from subbundle.cli import main

    data = sb.datasets.torus(3000, noise=0.02, seed=0)
    points = np.concatenate([data.points, [[np.nan, 0.0, 0.0]]])
    np.save(tmp_path / "scan.npy", points)
    assert main(["reconstruct", str(tmp_path / "scan.npy"), "-o", str(tmp_path / "mesh.ply")]) == 0
    out, err = capsys.readouterr()
    assert "3000 given" in out
    assert "Euler characteristic 0" in out
    assert "left out, not finite: 1 of 3001 points" in err
    assert len(trimesh.load(tmp_path / "mesh.ply").faces) > 1000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.ply", "-o", "mesh.ply"], "must be an existing file"),
        (["missing.ply", "-o", "mesh.jpg"], "the output must end in one of .ply, .obj, .stl, .off"),
        (["line.npy", "-o", "mesh.ply"], "resemble a curve"),
    ],
)
def test_the_command_fails_in_one_line_and_leaves_nothing(tmp_path, capsys, monkeypatch, arguments, words):
    from subbundle.cli import main

    monkeypatch.chdir(tmp_path)
    np.save("line.npy", np.column_stack([np.linspace(0.0, 1.0, 300), np.zeros((300, 2))]))
    assert main(["reconstruct", *arguments]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("subbundle: error:")
    assert words in error
    assert not (tmp_path / "mesh.ply").exists()
