"""PCD in its three forms, written here by the format's own description and by Open3D's rules for colours."""

import struct

import numpy as np
import pytest

from subbundle.formats.pcd import read_pcd, unpacked
from subbundle.scans import read_scan

RNG = np.random.default_rng(0)
N = 50
LAYOUT = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("rgb", "<u4"), ("normal_x", "<f4"), ("normal_y", "<f4"),
                   ("normal_z", "<f4"), ("intensity", "<u2"), ("_", "<u1", (3,))])  # fmt: skip
TABLE = np.zeros(N, LAYOUT)
for _name in ("x", "y", "z", "normal_x", "normal_y", "normal_z"):
    TABLE[_name] = RNG.standard_normal(N)
COLOURS = RNG.integers(0, 256, (N, 3))
TABLE["rgb"] = COLOURS @ [65536, 256, 1]
TABLE["intensity"] = np.arange(N)
HEADER = """# .PCD v0.7 - Point Cloud Data file format
VERSION 0.7
FIELDS x y z rgb normal_x normal_y normal_z intensity _
SIZE 4 4 4 4 4 4 4 2 1
TYPE F F F U F F F U U
COUNT 1 1 1 1 1 1 1 1 3
WIDTH {n}
HEIGHT 1
VIEWPOINT 0 0 0 1 0 0 0
POINTS {n}
DATA {form}
"""


def packed(data):
    """LZF without any repetition but one: a literal run of 32 bytes at most is its length less one and the bytes."""
    runs = [data[i : i + 32] for i in range(0, len(data), 32)]
    return b"".join(bytes([len(run) - 1]) + run for run in runs)


def pcd(form, n=N):
    body = TABLE.tobytes()
    if form == "ascii":
        rows = [" ".join(map(str, np.concatenate([np.ravel(value) for value in row.item()]).tolist())) for row in TABLE]
        body = "\n".join(rows).encode()
    elif form == "binary_compressed":
        columns = b"".join(np.ascontiguousarray(TABLE[name]).tobytes() for name in LAYOUT.names)
        body = struct.pack("<II", len(packed(columns)), len(columns)) + packed(columns)
    return HEADER.format(n=n, form=form).encode() + body


@pytest.mark.parametrize("form", ["ascii", "binary", "binary_compressed"])
def test_points_with_normals_colours_and_intensity(tmp_path, form):
    (tmp_path / "scan.pcd").write_bytes(pcd(form))
    scan = read_scan(tmp_path / "scan.pcd")
    assert np.array_equal(scan.points, np.column_stack([TABLE[axis] for axis in "xyz"]))
    assert np.array_equal(scan.attributes["colors"], COLOURS)
    assert np.array_equal(scan.attributes["intensity"], np.arange(N))
    assert set(scan.attributes) == {"colors", "intensity"}
    given = np.column_stack([TABLE[f"normal_{axis}"] for axis in "xyz"]).astype(float)
    assert scan.normals == pytest.approx(given / np.linalg.norm(given, axis=1, keepdims=True))


def test_colours_packed_into_a_float(tmp_path):
    text = "FIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\nWIDTH 2\nHEIGHT 1\nPOINTS 2\nDATA ascii\n"
    (tmp_path / "scan.pcd").write_text(text + "0 0 0 4210752\nnan 1 1 16711680\n")
    scan = read_scan(tmp_path / "scan.pcd")
    # 4210752 = 0x404040; the second ray has no return.
    assert scan.attributes["colors"].tolist() == [[64, 64, 64]]
    assert scan.n_dropped == 1


def test_what_repetition_means():
    # "abc" as it is, then 2 + 2 bytes from 3 back, then 7 + 5 + 2 bytes from 1 back, which overlap themselves.
    assert unpacked(b"\x02abc" + b"\x40\x02" + b"\xe0\x05\x00", 21) == b"abcabca" + b"a" * 14


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pcd("binary")[:-10], "it announces 1650 bytes of points and holds 1640"),
        (pcd("binary", 10**12), "it announces 33000000000000 bytes of points"),
        (pcd("ascii", 10**12), "it announces 1000000000000 points, more than its"),
        (pcd("ascii", N - 1), "it announces 49 points of 11 numbers and holds 50 of 11"),
        (pcd("binary_compressed", 10**12), "it announces 33000000000000 bytes of points and holds 1650"),
        (pcd("binary_compressed")[:-10], "bytes of points and holds"),
        (HEADER.format(n=10**7, form="binary_compressed").encode() + struct.pack("<II", 4, 33 * 10**7) + b"\x02abc",
         "in 4 compressed ones, which hold fewer"),
        (HEADER.format(n=1, form="binary_compressed").encode() + struct.pack("<II", 4, 33) + b"\x20\xffab",
         "its compressed points are damaged"),
        (pcd("binary").replace(b"SIZE 4", b"SIZE 3"), "the field x has type F, size 3"),
        (pcd("binary").replace(b"FIELDS x", b"FIELDS q"), "its fields must be x, y, z"),
        (pcd("binary").replace(b"DATA binary", b"DATA bzip2"), "they are 'bzip2'"),
        (b"VERSION 0.7\n" * 10_000, "its header has no line that begins with DATA"),
    ],
)  # fmt: skip
def test_damaged_files(tmp_path, content, message):
    (tmp_path / "scan.pcd").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_pcd(tmp_path / "scan.pcd")
    with pytest.raises(ValueError, match=r"scan\.pcd could not be read as \.pcd: "):
        read_scan(tmp_path / "scan.pcd")
