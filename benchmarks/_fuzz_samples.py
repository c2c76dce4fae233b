"""Whole files of every format that is read, and ways to damage them."""

from __future__ import annotations

import io
import os
import pickle
import re
import struct
import warnings
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import trimesh

import subbundle as sb

Rng = np.random.Generator

_NUMBERS = (b"-1", b"0", b"1e400", b"nan", b"999999999999", b"4294967295", b"18446744073709551615", b"1_0", b"0x7", b"")


class Bomb:
    """Ends the process of whoever unpickles it."""

    def __reduce__(self) -> tuple[Callable[[int], None], tuple[int]]:
        return os._exit, (99,)


def write_samples(folder: Path) -> None:
    """One or more files of every format, a few kilobytes each."""
    rng = np.random.default_rng(0)
    points = rng.standard_normal((60, 3))
    sphere = trimesh.creation.icosphere(subdivisions=1)
    colors = rng.integers(0, 256, (len(sphere.vertices), 3)).astype(np.uint8)
    sb.io.write_ply(folder / "binary.ply", sphere.vertices, sphere.faces, normals=sphere.vertices, colors=colors)
    for name, options in (("ascii.ply", {"encoding": "ascii"}), ("mesh.obj", {}), ("binary.stl", {}), ("mesh.off", {})):
        sphere.export(folder / name, **options)
    sphere.export(folder / "ascii.stl", file_type="stl_ascii")
    np.savetxt(folder / "table.xyz", points)
    np.savetxt(folder / "named.txt", np.tile(points, 2), header="x y z nx ny nz")
    np.savetxt(folder / "counted.pts", points, header="60", comments="")
    np.savez(folder / "scan.npz", points=points, normals=points, colors=np.abs(points))
    (folder / "scans.aln").write_text("1\nbinary.ply\n#\n1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n#\n0\n")
    _write_pcd(folder, points.astype("<f4"))
    np.savetxt(folder / "table.csv", points, delimiter=",", header="x,y,z", comments="")
    np.save(folder / "table.npy", points)
    _write_bomb(folder / "bomb.npy")
    _write_models(folder)
    if find_spec("laspy") is not None:
        _write_las(folder, points)
    if find_spec("pyarrow") is not None:
        _write_parquet(folder, points)
    if find_spec("pye57") is not None:
        _write_e57(folder / "scan.e57", points)


def _write_bomb(path: Path) -> None:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "|O", "fortran_order": False, "shape": (3, 3)})
    path.write_bytes(stream.getvalue() + pickle.dumps([Bomb()]))


def _write_models(folder: Path) -> None:
    cloud = sb.datasets.s_surface(500, noise=0.02, seed=0).points
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (
            sb.PrincipalSubmanifold(2, bandwidth=0.4, n_jobs=1),
            sb.AtlasEmbedding(2, n_jobs=1),
            sb.GeodesicDistance(2, bandwidth=0.4, n_jobs=1),
        ):
            sb.save(model.fit(cloud), folder / f"{type(model).__name__}.npz")


def _write_las(folder: Path, points: np.ndarray) -> None:
    import laspy

    for kind, version in ((2, "1.2"), (6, "1.4")):
        file = laspy.create(point_format=kind, file_version=version)
        file.header.scales, file.header.offsets = [1e-4] * 3, points.min(axis=0)
        file.x, file.y, file.z = np.tile(points, (20, 1)).T
        for suffix in ("las", "laz"):
            file.write(folder / f"kind{kind}.{suffix}")


def _write_parquet(folder: Path, points: np.ndarray) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {**dict(zip("xyz", points.T, strict=True)), "whole": np.arange(60), "name": ["a", "b"] * 30}
    columns["few"] = pa.array([None, 1.5] * 30)
    for name, options in (("plain", {"compression": "none", "use_dictionary": False}), ("packed", {})):
        parquet.write_table(pa.table(columns), folder / f"{name}.parquet", row_group_size=20, **options)


def _write_e57(path: Path, points: np.ndarray) -> None:
    import pye57

    writer = pye57.E57(str(path), mode="w")
    columns = {f"cartesian{axis}": points[:, i].copy() for i, axis in enumerate("XYZ")}
    writer.write_scan_raw({**columns, "intensity": points[:, 0].astype("f")})
    writer.close()


def _write_pcd(folder: Path, points: np.ndarray) -> None:
    """The three forms; the compressed one has runs of bytes as they are."""
    header = (
        "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH {0}\nHEIGHT 1\nPOINTS {0}\nDATA {1}\n"
    )
    columns = points.T.tobytes()
    runs = b"".join(b"\x1f" + columns[i : i + 32] for i in range(0, len(columns) - 31, 32))
    rest = columns[len(columns) // 32 * 32 :]
    packed = runs + (bytes([len(rest) - 1]) + rest if rest else b"")
    text = "\n".join(" ".join(map(str, row)) for row in points.tolist()).encode()
    sized = struct.pack("<II", len(packed), len(columns)) + packed
    for form, body in (("ascii", text), ("binary", points.tobytes()), ("binary_compressed", sized)):
        (folder / f"{form}.pcd").write_bytes(header.format(len(points), form).encode() + body)


def damaged(rng: Rng, content: bytes) -> bytes:
    """``content`` with one to four of: bytes flipped, set, cut, left out, put in, copied; numbers replaced."""
    for _ in range(int(rng.integers(1, 5))):
        data = bytearray(content)
        at, length = int(rng.integers(len(data) + 1)), int(min(rng.geometric(0.05), 4000))
        if rng.random() < 0.4:  # headers decide more than the rest
            at = min(at, int(rng.integers(400)))
        kind = int(rng.integers(9))
        if kind == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            data[at : at + length] = rng.bytes(length)
        elif kind == 2:
            data = data[:at]
        elif kind == 3:
            del data[at : at + length]
        elif kind == 4:
            data[at:at] = rng.bytes(length)
        elif kind == 5:
            start = int(rng.integers(len(data) + 1))
            data[at:at] = data[start : start + length]
        elif kind == 6:
            data[at : at + 4] = struct.pack("<I", int(rng.choice([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])))
        elif kind == 7:
            data[at : at + 8] = struct.pack("<q", int(rng.choice([-1, 0, 2**62, 10**12])))
        else:
            numbers = list(re.finditer(rb"\d+", bytes(data)))
            if numbers:
                found = numbers[int(min(rng.geometric(0.2), len(numbers))) - 1]
                data[found.start() : found.end()] = _NUMBERS[int(rng.integers(len(_NUMBERS)))]
        content = bytes(data)
    return content


def damaged_pages(rng: Rng, content: bytes) -> bytes:
    """An E57 file of the same length, damaged, whose pages (1020 bytes and their CRC-32C) have right checksums."""
    inside = b"".join(content[i : i + 1020] for i in range(0, len(content), 1024))
    changed = damaged(rng, inside)[: len(inside)].ljust(len(inside), b"\0")
    pages = [changed[i : i + 1020] for i in range(0, len(changed), 1020)]
    return b"".join(page + struct.pack(">I", _checksum(page)) for page in pages)


def _checksum(page: bytes) -> int:
    """CRC-32C, bit by bit."""
    rest = 0xFFFFFFFF
    for byte in page:
        rest ^= byte
        for _ in range(8):
            rest = (rest >> 1) ^ (0x82F63B78 if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


def _other_numbers(rng: Rng, content: bytes) -> bytes:
    """An array of the same shape with other numbers in one to four places."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        at = 128 + 8 * int(rng.integers(max((len(data) - 128) // 8, 1)))
        number = [*struct.pack("<q", int(rng.choice([-1, 0, 7, 10**6, -(10**12)])))]
        if rng.random() < 0.5:
            number = [*struct.pack("<d", float(rng.choice([np.nan, np.inf, -1e300, 0.0, 1e-300, -3.5])))]
        data[at : at + 8] = number[: max(len(data) - at, 0)]
    return bytes(data)


def damaged_inside(rng: Rng, content: bytes) -> bytes:
    """An archive whose checksums are right and one of whose members is damaged."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = list(members)[int(rng.integers(len(members)))]
    if rng.random() < 0.1:
        del members[name]
    elif rng.random() < 0.4:
        members[name] = damaged(rng, members[name])
    else:
        members[name] = _other_numbers(rng, members[name])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return stream.getvalue()
