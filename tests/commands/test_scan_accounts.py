"""The measures of quality in the reports are those of the mesh and of the cloud."""

import re

import numpy as np
import pytest

import subbundle as sb
from subbundle.cli import main


def cells(page):
    """Names and values of all rows of the tables of a page."""
    rows = re.findall(r"<tr><th>(.*?)</th><td>(.*?)</td>", page.read_text(encoding="utf-8"))
    return dict(rows)


@pytest.fixture
def scan(tmp_path):
    """A sphere without its top, and a cluster of outliers above the opening."""
    pytest.importorskip("k3d", reason="needs k3d: pip install -e '.[view]'")
    data = sb.datasets.sphere(4000, noise=0.02, seed=0)
    points = data.points[data.clean[:, 2] < 0.6]
    outliers = [0.0, 0.0, 2.0] + 0.02 * np.random.default_rng(0).standard_normal((15, 3))
    path = tmp_path / "scan.npz"
    np.savez(path, points=np.vstack([points, outliers]), intensity=np.zeros(len(points) + 15))
    return path, len(points)


def test_the_mesh_of_an_open_sphere(scan, tmp_path):
    path, _ = scan
    page = tmp_path / "page.html"
    assert (
        main(["reconstruct", str(path), "-o", str(tmp_path / "mesh.ply"), "--units", "mm", "--report", str(page)]) == 0
    )
    found = cells(page)
    assert found["Euler characteristic"] == found["connected components"] == "1"
    assert found["openings left"].startswith("1, half-width up to ")
    assert found["openings bridged"] == "none"
    assert found["unit"] == "mm"
    assert found["attributes"] == "intensity"
    outliers = int(found["outliers"].split()[0])
    assert 15 <= outliers <= 40
    assert "cluster, the largest of 15 around (" in found["outliers"]
    assert float(found["noise"].split()[0]) == pytest.approx(0.02, rel=0.2)
    middle, worst = re.match(r"median (\S+), 95 % quantile (\S+)", found["standard error"]).groups()
    assert 0.0 < float(middle) < float(worst) < 0.02


def test_a_denoised_cloud(scan, tmp_path):
    path, count = scan
    page = tmp_path / "page.html"
    command = ["denoise", str(path), "-o", str(tmp_path / "c.csv"), "--bandwidth", "0.15", "--outliers", "5"]
    assert main([*command, "--report", str(page)]) == 0
    found = cells(page)
    kept = len((tmp_path / "c.csv").read_text().splitlines()) - 1
    assert found["points"] == f"{kept:,} of {count + 15:,} kept"
    assert "median" in found["standard error"]
