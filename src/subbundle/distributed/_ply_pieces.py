"""Binary PLY read by offset: the header says where every vertex lies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray

_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip
# A header ends within so many bytes, or the file is something else.
_LONGEST_HEADER = 1 << 20


@dataclass(frozen=True, slots=True)
class PlyLayout:
    """Where the vertices of a PLY file are: ``count`` records of type ``dtype`` from the byte ``offset`` on."""

    count: int
    dtype: np.dtype[np.void]
    offset: int
    comments: tuple[str, ...]


def ply_layout(path: Path) -> PlyLayout:
    """The layout that the header announces; its vertices come first and hold single numbers."""
    with open(path, "rb") as stream:
        head = stream.read(_LONGEST_HEADER)
    text, found, _ = head.partition(b"end_header")
    if not head.startswith(b"ply") or not found:
        raise ValueError("it is no PLY file: its header is missing")
    offset = head.index(b"\n", len(text)) + 1
    lines = text.decode("ascii", "replace").splitlines()
    order = {"binary_little_endian": "<", "binary_big_endian": ">"}.get(_word(lines, "format"))
    if order is None:
        raise ValueError("only binary PLY can be read in pieces; this one is text. Write it as binary first")
    elements = [line.split() for line in lines if line.startswith("element")]
    if not elements or elements[0][1] != "vertex":
        raise ValueError("its vertices must come first to be read in pieces")
    fields = []
    body = text.decode("ascii", "replace").partition("element vertex")[2].split("\nelement")[0]
    for kind, name in re.findall(r"^\s*property\s+(\S+)\s+(\S+)\s*$", body, re.M):
        if kind not in _TYPES:
            raise ValueError(f"its property {name} is of the unknown type {kind}")
        fields.append((name, order + _TYPES[kind]))
    if not {"x", "y", "z"} <= {name for name, _ in fields}:
        raise ValueError("its vertices must have the properties x, y and z")
    if re.search(r"^\s*property\s+list", body, re.M):
        raise ValueError("its vertices hold lists, which have no fixed place")
    layout = PlyLayout(int(elements[0][2]), np.dtype(fields), offset, tuple(
        line.partition(" ")[2] for line in lines if line.startswith("comment ")
    ))  # fmt: skip
    if layout.count < 0 or offset + layout.count * layout.dtype.itemsize > path.stat().st_size:
        raise ValueError(f"it announces {layout.count} vertices and is cut off before their end")
    return layout


def _word(lines: list[str], key: str) -> str:
    return next((line.split()[1] for line in lines if line.startswith(f"{key} ")), "")


def ply_rows(path: Path, start: int, stop: int) -> NDArray[np.void]:
    """Vertices ``start`` to ``stop`` with all their properties."""
    layout = ply_layout(path)
    with open(path, "rb") as stream:
        stream.seek(layout.offset + start * layout.dtype.itemsize)
        return np.fromfile(stream, layout.dtype, stop - start)


class PlyReader:
    """Rows of binary PLY files."""

    def shape(self, path: Path) -> tuple[int, int]:
        """Rows and coordinates."""
        return ply_layout(path).count, 3

    def points(self, path: Path, start: int, stop: int) -> FloatArray:
        """Coordinates [stop − start, 3]."""
        rows = ply_rows(path, start, stop)
        return np.column_stack([rows[axis].astype(np.float64) for axis in "xyz"])
