"""Files made to do harm: each is refused with a message, at once, and nothing in it is run or opened."""

import json
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest

import subbundle as sb
from subbundle._archives import DamagedError, read_arrays
from subbundle.formats.las import check_las
from subbundle.io import read_points
from subbundle.scans import read_scan

MANY = 10**12
PROPERTIES = "property float x\nproperty float y\nproperty float z\n"


def npy(shape, kind="<f8", content=bytes(48)):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


FILES = {
    "ascii.ply": f"ply\nformat ascii 1.0\nelement vertex {MANY}\n{PROPERTIES}end_header\n0 0 0\n".encode(),
    "binary.ply": f"ply\nformat binary_little_endian 1.0\nelement vertex {MANY}\n{PROPERTIES}end_header\n".encode()
    + bytes(24),
    "faces.ply": (
        f"ply\nformat binary_little_endian 1.0\nelement vertex 1\n{PROPERTIES}element face {MANY}\n"
        "property list uchar int vertex_indices\nend_header\n"
    ).encode()
    + bytes(24),
    "endless.ply": b"ply\nformat ascii 1.0\n" + b"comment and so on\n" * 1000,
    "many.off": f"OFF\n{MANY} 1 0\n0 0 0\n".encode(),
    "many.stl": bytes(80) + struct.pack("<I", 4_000_000_000) + bytes(100),
    "index.obj": f"v 0 0 0\nf 1 {MANY} 2\n".encode(),
    "many.npy": npy((MANY, 3)),
    "some.npy": npy((10**8, 3)),
    "pickle.npy": npy((1,), "|O", pickle.dumps(print)),
    "text.csv": "x,y,z\n1,2,3\n".encode("utf-16"),
    "text.xyz": "1 2 3\n".encode("utf-16"),
    "nothing.csv": bytes(1000),
}


@pytest.mark.parametrize("read", [read_points, read_scan])
@pytest.mark.parametrize("name", FILES)
def test_announced_sizes_are_checked(tmp_path, name, read):
    (tmp_path / name).write_bytes(FILES[name])
    with pytest.raises(ValueError, match=rf"{name} (could not be read as \.\w+: |must hold)"):
        read(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("read", [read_points, read_scan, sb.load])
def test_pipes_and_folders_are_no_files(tmp_path, read):
    os.mkfifo(tmp_path / "pipe.ply")
    (tmp_path / "folder.ply").mkdir()
    for name in ("pipe.ply", "folder.ply"):
        with pytest.raises(FileNotFoundError, match="must be an existing file"):
            read(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("read", [read_points, lambda path: read_scan(path).points])
def test_files_that_a_mesh_names_are_not_opened(tmp_path, read):
    # Opening the pipe would wait for ever.
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "mesh.obj").write_text("mtllib pipe\nusemtl a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    assert len(read(tmp_path / "mesh.obj")) == 3
    (tmp_path / "mesh.ply").write_text(
        f"ply\nformat ascii 1.0\ncomment TextureFile pipe\nelement vertex 1\n{PROPERTIES}end_header\n0 0 0\n"
    )
    assert len(read(tmp_path / "mesh.ply")) == 1


def archive(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in members:
            file.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("zeros.npy", npy((10_000_000,), content=bytes(80_000_000)))], "beyond the compression of any model"),
        ([("a.npy", npy((MANY,)))], "it holds 48 bytes and announces 8000000000000"),
        ([("a.npy", npy((-6,)))], "is no array"),
        ([("a.npy", npy((6,), "|O"))], "objects are never read"),
        ([("a.npy", pickle.dumps(print))], "is no array"),
        ([("../../a.txt", b"text")], "which is no array"),
        ([("a.npy", b"")], "is no array"),
    ],
)
def test_untrusted_archives(tmp_path, members, message):
    with pytest.raises(DamagedError, match=message):
        read_arrays(archive(tmp_path / "model.npz", members))
    with pytest.raises(ValueError, match=rf"model\.npz is damaged: .*{message}.*\. Save the model again\."):
        sb.load(tmp_path / "model.npz")


def test_an_archive_with_two_arrays_of_one_name(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive(tmp_path / "model.npz", [("a.npy", npy((6,)))] * 2)
    with pytest.raises(DamagedError, match="two arrays of the same name"):
        read_arrays(tmp_path / "model.npz")


def test_arrays_are_read_as_written(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.asfortranarray(np.eye(3)), "c": np.array(1), "d": np.zeros(0)}
    np.savez_compressed(tmp_path / "some.npz", **arrays)
    read = read_arrays(tmp_path / "some.npz")
    assert list(read) == list(arrays)
    assert all(np.array_equal(read[name], arrays[name]) for name in arrays)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        (b"[" * 100_000, "its description is no JSON"),
        (b"\xff\xfe", "its description is no JSON"),
        (b"{}", "it is another kind of file"),
        ({"class": "os.system"}, "it holds a 'os.system', which no version has"),
        ({"class": "PrincipalSubmanifold"}, "is damaged: KeyError: 'parameters'"),
        ({"class": "PrincipalSubmanifold", "parameters": {"n": 1}}, "fitted with n, which PrincipalSubmanifold"),
        ({"class": "PrincipalSubmanifold", "parameters": {}, "features": 10**400}, "is damaged: "),
        ({"version": 10**6}, "was written by a later version"),
    ],
)
def test_untrusted_descriptions(tmp_path, description, message):
    if isinstance(description, dict):
        description = json.dumps({"format": "subbundle model", "version": 1} | description).encode()
    np.savez(tmp_path / "model.npz", description=np.frombuffer(description, dtype=np.uint8))
    with pytest.raises(ValueError, match=message):
        sb.load(tmp_path / "model.npz")


def las(*, count=2, points_at=227, variable=0, kind=0, record=20, content=bytes(40)):
    header = bytearray(227)
    struct.pack_into("<4s", header, 0, b"LASF")
    struct.pack_into("<BB68xHIIBHI", header, 24, 1, 2, 227, points_at, variable, kind, record, count)
    return bytes(header) + content


def chunked(table_at, chunks, content=bytes(60)):
    """A compressed file: the place of its table, points, and a table of so many chunks."""
    return las(kind=128, content=struct.pack("<q", table_at) + content + struct.pack("<II", 0, chunks))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (las(count=10**9), "it announces 1000000000 points and holds at most 2"),
        (las(points_at=10**9), "points would lie outside the file"),
        (las(variable=2**32 - 1), "records before its points, more than fit there"),
        (las(record=0), "its header is damaged"),
        (las()[:200], "it is cut off or no LAS file"),
        (b"PK" + las()[2:], "it is cut off or no LAS file"),
        (chunked(10**15, 1), "its table of chunks would lie outside the file"),
        (chunked(0, 1), "its table of chunks would lie outside the file"),
        (chunked(227 + 8 + 60, 2**31), "its table announces 2147483648 chunks of points, more than the file can hold"),
        (las(kind=128, content=b""), "it is cut off"),
    ],
)
def test_headers_of_las(tmp_path, content, message):
    (tmp_path / "scan.las").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        check_las(tmp_path / "scan.las")


def test_correct_headers(tmp_path):
    for content in (las(), chunked(227 + 8 + 60, 2), chunked(227 + 8 + 60, 3)):
        (tmp_path / "scan.las").write_bytes(content)
        assert check_las(tmp_path / "scan.las") == (40, content != las())
