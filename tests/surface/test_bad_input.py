"""Bad files and clouds, through the command: a good mesh, or a message of one line and no files."""

from pathlib import Path

import numpy as np
import pytest
import trimesh
from ply_files import FORMS, ply_bytes
from shapes import bumpy_patch, moebius_band
from shapes_ambient import flat_torus, noisy_klein_bottle

import subbundle as sb
from subbundle.cli import main

SPHERE = sb.datasets.sphere(1500, noise=0.02, seed=0).points
RNG = np.random.default_rng(0)
JUNK = RNG.integers(0, 256, 3000).astype(np.uint8).tobytes()


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(name, output="mesh.npz", *options):
    return main(["reconstruct", name, "-o", output, *options])


def mesh_of(output="mesh.npz"):
    with np.load(output, allow_pickle=False) as arrays:
        return sb.Mesh(arrays["vertices"], arrays["faces"])


def save(name, data):
    with open(name, "wb") as stream:
        stream.write(data)


def solid(suffix):
    """A sphere as a file of the given format, written by another library."""
    unit = SPHERE / np.linalg.norm(SPHERE, axis=1, keepdims=True)
    data = trimesh.convex.convex_hull(unit).export(file_type=suffix)
    return data.encode() if isinstance(data, str) else data


@pytest.mark.parametrize("form", FORMS)
def test_ascii_and_binary_of_both_byte_orders(form):
    save("scan.ply", ply_bytes(SPHERE, form))
    assert run("scan.ply") == 0
    assert mesh_of().euler_characteristic == 2


@pytest.mark.parametrize("suffix", ["ply", "stl", "stl_ascii", "obj", "off"])
def test_meshes_of_other_programs(suffix):
    name = f"scan.{suffix.removesuffix('_ascii')}"
    save(name, solid(suffix))
    assert run(name) == 0
    assert mesh_of().euler_characteristic == 2


def damaged(name):
    """The bytes of one bad file."""
    kind, suffix = name.split(".")
    if kind == "cut":
        if suffix == "npy":
            np.save("whole.npy", SPHERE)
            with open("whole.npy", "rb") as stream:
                whole = stream.read()
        else:
            whole = solid(suffix)
        return whole[: len(whole) // 2]
    if kind == "head":
        return solid(suffix)[:60]
    if kind == "picture":
        return b"\x89PNG\r\n\x1a\n" + JUNK
    if kind == "page":
        return b"<html><body>404 not found</body></html>\n" * 5
    return b""


BAD = [f"{kind}.{end}" for kind in ("cut", "head", "picture", "page", "empty") for end in ("ply", "stl", "obj", "off")]
BAD += ["cut.npy", "picture.npy", "picture.csv", "picture.xyz", "page.xyz", "page.csv"]
BAD += ["empty.npy", "empty.csv", "empty.las"]


@pytest.mark.parametrize("name", BAD)
def test_damaged_and_foreign_files(name, capsys):
    save(name, damaged(name))
    assert run(name) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(f"subbundle: error: {name} ")
    assert "could not be read as" in error or "must hold at least one point" in error
    assert "allow_pickle" not in error
    assert not any(path.endswith(".npz") for path in map(str, Path().iterdir()))


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array(["a", "b"] * 200), "could not be read as .npy: points must be real numbers; it holds <U1"),
        (np.ones((300, 3), complex), "points must be real numbers; it holds complex128"),
        (np.arange(300.0), "must hold points of 3 coordinates or more; it holds an array of shape (300,)"),
        (np.zeros((5, 5, 5)), "it holds an array of shape (5, 5, 5)"),
        (np.full((300, 3), np.nan), "it holds 300, none of them finite"),
        (np.zeros((300, 3)), "at least 100 different rows; got 1"),
        (np.column_stack([np.linspace(0.0, 1.0, 400), np.zeros((400, 2))]), "resemble a curve"),
        (np.column_stack([np.linspace(0.0, 1.0, 400), np.zeros((400, 4))]), "resemble a curve"),
        (RNG.uniform(-1.0, 1.0, (3000, 3)), "resemble a solid body"),
    ],
    ids=["words", "complex", "row", "cube", "nan", "one point", "line", "line in R^5", "solid"],
)
def test_arrays_that_are_no_surface(array, words, capsys, tmp_path):
    np.save("scan.npy", array)
    assert run("scan.npy") == 2
    assert words in capsys.readouterr().err.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["scan.npy"]


@pytest.mark.parametrize("bandwidth", [30.0, 1e200])
def test_a_bandwidth_wider_than_the_cloud(bandwidth):
    with pytest.raises(ValueError, match=r"bandwidth must be less than the size of the cloud, .*; got (30|1e\+200)\."):
        sb.reconstruct(sb.datasets.sphere(300, seed=1).points, bandwidth=bandwidth)


def test_a_solid_ball(capsys):
    ball = RNG.standard_normal((4000, 3))
    ball *= (RNG.uniform(size=(4000, 1)) ** (1.0 / 3.0)) / np.linalg.norm(ball, axis=1, keepdims=True)
    np.save("ball.npy", ball)
    assert run("ball.npy") == 2
    assert "resemble a solid body" in capsys.readouterr().err


def test_rows_of_unequal_length_are_named(capsys):
    save("scan.csv", b"x,y,z\n1,2,3\n4,5\n6,7,8\n")
    assert run("scan.csv") == 2
    assert "it must have 3 entries in every row; row 3 has 2" in capsys.readouterr().err


def test_two_objects_outliers_copies_and_empty_rays_at_once(capsys):
    rng = np.random.default_rng(1)
    data = sb.datasets.torus(8000, noise=0.02, seed=0)
    outliers = rng.uniform([-1.5, -1.5, -0.5], [5.5, 1.5, 0.5], (800, 3))
    parts = [data.points, data.points + [4.0, 0.0, 0.0], outliers, data.points[:1000], np.full((300, 3), np.nan)]
    np.save("scan.npy", rng.permutation(np.concatenate(parts)))
    assert run("scan.npy") == 0
    assert "left out, not finite: 300" in capsys.readouterr().err
    mesh = mesh_of()
    assert (mesh.euler_characteristic, mesh.n_components, mesh.n_nonmanifold_edges) == (0, 2, 0)


def test_a_density_ratio_of_ten():
    data = sb.datasets.torus(12000, noise=0.02, seed=0)
    share = np.interp(data.points[:, 0], [-1.4, 1.4], [0.1, 1.0])
    np.save("scan.npy", data.points[np.random.default_rng(2).uniform(size=12000) < share])
    assert run("scan.npy") == 0
    mesh = mesh_of()
    assert (mesh.euler_characteristic, mesh.n_components, mesh.is_closed) == (0, 1, True)


def test_borders_and_bands(capsys):
    np.save("patch.npy", bumpy_patch(5000, noise=0.01))
    assert run("patch.npy", "patch.ply") == 0
    assert "1 border" in capsys.readouterr().out
    np.save("band.npy", moebius_band(5000, noise=0.01))
    assert run("band.npy", "band.ply") == 0
    assert "not orientable" in capsys.readouterr().out


def test_a_table_of_four_coordinates(capsys, tmp_path):
    points = flat_torus(2000, noise=0.01)
    np.savetxt("torus.csv", points, delimiter=",", header="x1,x2,x3,x4", comments="")
    assert run("torus.csv", "mesh.ply") == 2
    words = "mesh.ply can only hold vertices with 3 coordinates; these have 4. Write mesh.npz instead"
    assert words in capsys.readouterr().err
    assert run("torus.csv") == 0
    out = capsys.readouterr().out
    assert "mesh in R^4" in out
    assert "Euler characteristic 0" in out
    assert mesh_of().vertices.shape[1] == 4


def test_the_number_of_coordinates_can_be_given(capsys):
    bottle = noisy_klein_bottle(2000, noise=0.01)
    np.save("bottle.npy", np.column_stack([bottle, np.arange(2000.0)]))
    assert run("bottle.npy", "mesh.npz", "--dim", "4") == 0
    assert "not orientable" in capsys.readouterr().out
    with np.load("mesh.npz") as arrays:
        assert arrays["column_5"].shape == (len(arrays["vertices"]),)
    save("scan.ply", ply_bytes(SPHERE, "ascii"))
    assert run("scan.ply", "mesh.npz", "--dim", "4") == 2
    assert "its points have 3 coordinates, 4 are required" in capsys.readouterr().err
