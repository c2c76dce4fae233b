"""``subbundle denoise`` and ``embed`` on chunks, from end to end, with real workers."""

import numpy as np
import pytest

from subbundle import _memory, datasets
from subbundle.cli import main
from subbundle.io import write_ply
from subbundle.scans import read_scan

pytest.importorskip("dask")


@pytest.fixture(scope="module")
def address(client):
    """A scheduler whose workers are there already: starting processes takes seconds."""
    return client.scheduler.address


def test_scans_are_denoised_in_chunks(address, tmp_path, capsys):
    points = datasets.sphere(3000, noise=0.03, seed=0).points
    for name, part in (("a", points[:2000]), ("b", points[2000:])):
        write_ply(tmp_path / f"{name}.ply", part)
    given = [str(tmp_path / "a.ply"), str(tmp_path / "b.ply")]
    typed = ["denoise", *given, "-o", str(tmp_path / "out"), "--scheduler", address, "--memory", "4GB"]
    assert main([*typed, "--crop", ",,,,-0.5,"]) == 0
    said = capsys.readouterr()
    assert "points, tiles: 1, dimension 2, bandwidth" in said.out
    assert f"out of bounds, or outliers): {np.sum(points[:, 2] < -0.5)} rows" in said.out
    assert "wrote 2 files to" in said.out
    # Nobody watches: nothing but that kernels are compiled, where they are.
    assert not [line for line in said.err.splitlines() if "compiling kernels" not in line]
    found = [read_scan(tmp_path / "out" / f"{name}.ply") for name in "ab"]
    clean = np.concatenate([scan.points for scan in found])
    assert len(clean) == np.sum(points[:, 2] >= -0.5)
    inside = clean[:, 2] > -0.3  # the border of what was cut out has neighbours on one side only
    assert np.abs(np.linalg.norm(clean[inside], axis=1) - 1.0).mean() < 0.009
    normals = np.concatenate([scan.normals for scan in found])
    assert (np.einsum("ni,ni->n", normals, clean)[inside] > 0.9).all()


def test_a_table_is_embedded_in_chunks(address, tmp_path, capsys):
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    points = datasets.s_surface(800, noise=0.02, seed=0).points
    parquet.write_table(arrow.table(dict(zip("abc", points.T, strict=True))), tmp_path / "table.parquet")
    typed = ["embed", str(tmp_path / "table.parquet"), "-o", str(tmp_path / "out"), "--scheduler", address]
    assert main([*typed, "--save", str(tmp_path / "model.npz")]) == 0
    said = capsys.readouterr().out
    assert "800 rows, learned from a sample of 800" in said
    found = parquet.read_table(tmp_path / "out")
    assert found.num_rows == 800
    # The S is three half circles of length π long.
    assert abs(np.ptp(found["coordinate_1"].to_numpy()) - 3 * np.pi) < 0.3
    again = ["embed", str(tmp_path / "table.parquet"), "-o", str(tmp_path / "again"), "--scheduler", address]
    assert main([*again, "--model", str(tmp_path / "model.npz")]) == 0
    assert parquet.read_table(tmp_path / "again").equals(found)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["denoise", "a.ply", "-o", "out", "--workers", "1", "--units", "mm"], "--units needs all points at once"),
        (["denoise", "a.ply", "-o", "out.ply", "--workers", "1"], "must be a folder; got out.ply"),
        (["denoise", "a.ply", "-o", "out", "--resume", "--bandwidth", "local"], "--bandwidth local needs all points"),
        (["denoise", "a.ply", "-o", "out", "--memory", "much"], "memory must be a size like 4GB"),
        (["denoise", "a.ply", "-o", "out", "--workers", "9", "--memory", "1GB"], "memory must leave at least 500 MB"),
        (["embed", "a.parquet", "-o", "out", "--resume", "--figure", "a.png"], "--figure needs all points at once"),
        (["embed", "a.parquet", "--resume"], "must be a folder; got None"),
    ],
)
def test_options_that_need_all_points_are_refused(typed, said, capsys):
    assert main(typed) == 2
    assert said in capsys.readouterr().err


def test_a_missing_scheduler_is_one_message(capsys, monkeypatch):
    import distributed

    def nobody(address, timeout):
        raise OSError(f"Timed out trying to connect to {address}")

    monkeypatch.setattr(distributed, "Client", nobody)
    assert main(["denoise", "a.ply", "-o", "out", "--scheduler", "tcp://127.0.0.1:1"]) == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["denoise", "embed"])
def test_a_file_larger_than_memory_is_refused_with_advice(command, tmp_path, capsys, monkeypatch):
    np.save(tmp_path / "big.npy", np.zeros((2000, 3)))
    monkeypatch.setattr(_memory, "free_memory", lambda: 1e5)
    assert main([command, str(tmp_path / "big.npy"), "-o", str(tmp_path / "out.npy")]) == 2
    said = capsys.readouterr().err
    assert "2000" in said
    assert f"subbundle {command} … -o folder/ --workers 2 --memory 4GB" in said


def test_without_dask_the_message_names_the_extra(capsys, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["denoise", "a.ply", "-o", "out", "--workers", "2"]) == 2
    assert 'pip install "subbundle[dask]"' in capsys.readouterr().err
