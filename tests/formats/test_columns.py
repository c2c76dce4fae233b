"""Normals, colours and intensity in tables and text meshes, with names and without."""

import numpy as np
import pytest
import trimesh

from subbundle.formats.columns import named
from subbundle.io import write_ply
from subbundle.scans import Scan, join_scans, read_scan

RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((30, 3))
NORMALS = RNG.standard_normal((30, 3))
NORMALS /= np.linalg.norm(NORMALS, axis=1, keepdims=True)
COLOURS = RNG.integers(0, 256, (30, 3))
LIGHT = RNG.uniform(size=30)


def lines(*columns):
    return "".join(" ".join(map(repr, row)) + "\n" for row in np.column_stack(columns).tolist())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("names.xyz", "# x y z nx ny nz red green blue intensity\n" + lines(POINTS, NORMALS, COLOURS, LIGHT)),
        ("slashes.asc", "//X Y Z R G B Nx Ny Nz scalar_Intensity\n" + lines(POINTS, COLOURS, NORMALS, LIGHT)),
        ("commas.txt", "x, y, z, r, g, b, i, nx, ny, nz\n" + lines(POINTS, COLOURS, LIGHT, NORMALS).replace(" ", ", ")),
        ("names.csv", "x,y,z,nx,ny,nz,red,green,blue,Intensity\n"
         + lines(POINTS, NORMALS, COLOURS, LIGHT).replace(" ", ",")),
        ("packed.obj", "".join(f"v {p}\nvn {n}\n" for p, n in zip(lines(POINTS, COLOURS / 255).splitlines(),
                                                                   lines(NORMALS).splitlines(), strict=True))),
        ("both.off", "CNOFF\n30 0 0\n" + lines(POINTS, NORMALS, COLOURS)),
        ("meshlab.off", "NCOFF\n30 0 0\n" + lines(POINTS, COLOURS, np.full(30, 255), 7.0 * NORMALS)),
        ("unnamed.xyz", lines(POINTS, NORMALS, COLOURS)),
        ("counted.pts", "30\n" + lines(POINTS, LIGHT, COLOURS)),
    ],
)  # fmt: skip
def test_text_files(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    scan = read_scan(tmp_path / name)
    assert np.array_equal(scan.points, POINTS)
    assert np.array_equal(scan.attributes["colors"], COLOURS)
    if name != "counted.pts":
        assert scan.normals == pytest.approx(NORMALS, abs=1e-15)
    if "intensity" in text.lower() or name in ("commas.txt", "counted.pts"):
        assert np.array_equal(scan.attributes["intensity"], LIGHT)


def test_binary_files(tmp_path):
    write_ply(tmp_path / "a.ply", POINTS, normals=NORMALS, colors=COLOURS.astype(np.uint8), attributes={"i": LIGHT})
    np.savez(tmp_path / "a.npz", points=POINTS, normals=2.0 * NORMALS, colors=COLOURS / 255, intensity=LIGHT, other=[1])
    kinds = [(name, float) for name in ("x", "y", "z", "nx", "ny", "nz", "intensity")] + [(c, "u1") for c in "rgb"]
    records = np.zeros(30, kinds)
    for names, values in (("xyz", POINTS), (("nx", "ny", "nz"), NORMALS), ("rgb", COLOURS)):
        for i, name in enumerate(names):
            records[name] = values[:, i]
    records["intensity"] = LIGHT
    np.save(tmp_path / "a.npy", records)
    for suffix in ("ply", "npz", "npy"):
        scan = read_scan(tmp_path / f"a.{suffix}")
        assert np.array_equal(scan.points, POINTS)
        assert scan.normals == pytest.approx(NORMALS, abs=1e-15)
        assert np.array_equal(scan.attributes["colors"], COLOURS)
        assert np.array_equal(scan.attributes["intensity"], LIGHT)
        assert set(scan.attributes) == {"colors", "intensity"}


def test_corners_of_faces_may_share_normals(tmp_path):
    text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 5 5 5\nvn 0 0 1\nvn 0 3 4\nf 1//1 2//1 3//2\n"
    (tmp_path / "a.obj").write_text(text)
    assert read_scan(tmp_path / "a.obj").normals == pytest.approx(
        np.array([[0, 0, 1], [0, 0, 1], [0, 0.6, 0.8], [0, 0, 0]])
    )
    (tmp_path / "a.obj").write_text(text.replace("3//2", "3//7"))
    with pytest.raises(ValueError, match="a face names the normal 7, and it holds 2"):
        read_scan(tmp_path / "a.obj")


def test_the_triangles_of_an_stl_have_sides(tmp_path):
    ball = trimesh.creation.icosphere(subdivisions=2)
    ball.export(tmp_path / "ball.stl")
    scan = read_scan(tmp_path / "ball.stl")
    # Normals of an inscribed polyhedron of this fineness are off by a few degrees at most.
    assert np.sum(scan.normals * scan.points, axis=1).min() > 0.99


def test_transformed_normals_remain_normal():
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = RNG.standard_normal((3, 3)), [1.0, 2.0, 3.0]
    along = np.cross(NORMALS, RNG.standard_normal((30, 3)))
    moved = Scan(POINTS, {}, 0, NORMALS).moved(matrix)
    assert moved.points == pytest.approx(POINTS @ matrix[:3, :3].T + matrix[:3, 3])
    assert np.abs(np.sum(moved.normals * (along @ matrix[:3, :3].T), axis=1)).max() < 1e-12
    assert np.linalg.norm(moved.normals, axis=1) == pytest.approx(1.0)


def test_joined_scans_keep_common_attributes():
    first = Scan(POINTS, {"colors": COLOURS, "intensity": LIGHT}, 1, NORMALS)
    second = Scan(POINTS + 1.0, {"colors": COLOURS}, 2, None)
    joined, lost = join_scans([first, second])
    assert lost == ["intensity", "normals"]
    assert set(joined.attributes) == {"colors", "scan"}
    assert joined.normals is None
    assert joined.n_dropped == 3
    assert joined.attributes["scan"].tolist() == [0] * 30 + [1] * 30


def test_fields_for_colours_that_hold_only_zeros_are_no_colours():
    zeros, points = np.zeros(5, np.uint16), np.zeros((5, 3))
    shades = {"red": zeros, "green": zeros, "blue": zeros}
    assert named(points, {**shades, "intensity": zeros}).attributes.keys() == {"intensity"}
    assert "colors" in named(points, {**shades, "blue": zeros + 1}).attributes
