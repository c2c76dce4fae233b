"""Files of scans as objects to view: with the attributes of their points, which a job uses."""

from pathlib import Path

import numpy as np
import pytest

import subbundle as sb
from subbundle._progress import Progress
from subbundle.commands._tables import read_table
from subbundle.commands.view import objects_in, with_job

DATA = sb.datasets.sphere(1500, noise=0.02, seed=0)


@pytest.fixture
def scan(tmp_path):
    colours = np.where(DATA.clean[:, 2:] > 0.0, np.uint8([250, 0, 0]), np.uint8([0, 0, 250]))
    np.savez(tmp_path / "scan.npz", points=DATA.points, normals=DATA.clean, colors=colours)
    return tmp_path / "scan.npz"


def test_an_archive_of_points_is_a_scan(scan):
    objects = objects_in([scan])
    assert np.array_equal(objects.named["scan.npz"], DATA.points)
    assert set(objects.columns) == {"colors"}
    made = with_job(objects, "reconstruct", Progress(), 1).named["reconstruct"]
    assert made.summary.used_normals
    top = made.vertices[:, 2] > 0.2
    assert (made.attributes["colors"][top, 0] > 200).all()


def test_tables_of_all_kinds_of_scans(scan, tmp_path):
    text = "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 2\nHEIGHT 1\nPOINTS 2\nDATA ascii\n1 2 3\n4 5 6\n"
    Path(tmp_path / "two.pcd").write_text(text)
    assert read_table(tmp_path / "two.pcd").values.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert np.array_equal(read_table(scan).values, DATA.points)
    with pytest.raises(ValueError, match=r"must end in one of .*; got '\.docx'"):
        read_table(tmp_path / "two.docx")
