"""Files of scans as objects to view: with the attributes of their points, which a job uses."""

import os
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
    assert np.array_equal(objects.named["scan.npz"].points, DATA.points)
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


def test_columns_of_a_table_keep_their_names(tmp_path):
    lines = [f"{i},{i % 3},{i % 7},{i % 5},{'ab'[i % 2]}" for i in range(30)]
    (tmp_path / "table.csv").write_text("\n".join(["height,mass,age,id,kind", *lines]))
    objects = objects_in([tmp_path / "table.csv"], drop=["id"])
    assert list(objects.columns) == ["id", "kind"]
    scene = sb.view(objects.named, columns=objects.columns).scene
    assert scene.panels[0].axes == ("height", "mass", "age")
    with pytest.raises(ValueError, match="--drop must name columns of the table; got 'size'"):
        objects_in([tmp_path / "table.csv"], drop=["size"])
    names = (tmp_path / "table.csv").read_text(encoding="utf-8").partition("\n")[0].strip().split(",")
    with pytest.raises(ValueError, match="all were left out; leave out fewer"):
        objects_in([tmp_path / "table.csv"], drop=names)


def test_a_quantity_without_variation_does_not_colour_first():
    columns = {"intensity": np.zeros(200), "gain": np.linspace(0.0, 1.0, 200)}
    assert sb.view(DATA.points[:200], columns=columns).scene.tables[0].default == "gain"


def test_a_mesh_keeps_its_attributes(tmp_path):
    corners, quality = np.eye(3), np.array([0.25, 0.5, 1.0])
    sb.io.write_ply(tmp_path / "a.ply", corners, [[0, 1, 2]], attributes={"quality": quality})
    mesh = objects_in([tmp_path / "a.ply"]).named["a.ply"]
    assert np.array_equal(mesh.vertices, corners)
    assert np.array_equal(mesh.attributes["quality"], quality)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_files_that_a_mesh_names_are_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for ever
    (tmp_path / "a.obj").write_text("mtllib pipe\nusemtl a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    assert objects_in([tmp_path / "a.obj"]).named["a.obj"].faces.tolist() == [[0, 1, 2]]
