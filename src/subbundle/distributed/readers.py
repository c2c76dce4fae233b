"""Files read in chunks, two functions per format: number of rows and coordinates, and the points of some rows.

``.npy`` is mapped into memory, ``.las`` and ``.laz`` are decoded chunk by chunk, binary ``.ply`` is read by offset (its
header determines the position of every vertex), ``.parquet`` by its row groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray
from subbundle._validation import needed
from subbundle.formats.columns import LONGEST_HEADER
from subbundle.formats.las import check_las, las_columns
from subbundle.formats.tables import check_npy, coordinate_columns
from subbundle.io import unreadable

_Reader = tuple[Callable[[Path], tuple[int, int]], Callable[[Path, int, int], FloatArray]]
_PLY_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip


def shape_of(path: str | Path) -> tuple[int, int]:
    """Rows and coordinates of a file."""
    shape, _ = _reader(path)
    with naming(path):
        return shape(Path(path))


def points_of(path: str | Path, start: int, stop: int) -> FloatArray:
    """The points [stop − start, d] of some rows of a file; they need not be finite."""
    _, read = _reader(path)
    with naming(path):
        points = read(Path(path), start, stop)
        if len(points) != stop - start:
            raise ValueError(f"it announces at least {stop} points and ends after {start + len(points)}")
        return points


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Add the name of the file to errors."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        raise unreadable(Path(path), error) from error


def suffix_of(path: str | Path) -> str:
    """The ending of a file, in small letters."""
    return Path(path).suffix.lower()


def _npy_shape(path: Path) -> tuple[int, int]:
    check_npy(path)
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise ValueError(f"it must hold rows of numbers, [n, d]; it holds {array.dtype} of shape {array.shape}")
    return array.shape[0], array.shape[1]


def _npy_points(path: Path, start: int, stop: int) -> FloatArray:
    return np.array(np.load(path, mmap_mode="r", allow_pickle=False)[start:stop], dtype=np.float64)


def _las_shape(path: Path) -> tuple[int, int]:
    check_las(path)
    with needed("laspy", "las").open(path) as file:
        return int(file.header.point_count), 3


def _las_points(path: Path, start: int, stop: int) -> FloatArray:
    return np.column_stack(list(las_columns(path, start, stop).values()))


def _parquet_shape(path: Path) -> tuple[int, int]:
    file = needed("pyarrow.parquet").ParquetFile(path)
    return int(file.metadata.num_rows), len(numeric_coordinates(file.schema_arrow))


def _parquet_points(path: Path, start: int, stop: int) -> FloatArray:
    file = needed("pyarrow.parquet").ParquetFile(path)
    table = parquet_rows(file, start, stop, numeric_coordinates(file.schema_arrow))
    return np.column_stack([column.to_numpy().astype(np.float64) for column in table.columns])


def numeric_coordinates(schema: Any) -> list[str]:
    """x, y, z or x1, x2, … where the table has them; otherwise all columns of numbers."""
    types = needed("pyarrow").types
    numbers = [f.name for f in schema if types.is_integer(f.type) or types.is_floating(f.type)]
    if not numbers:
        raise ValueError("it must hold columns of numbers; it holds none")
    found = coordinate_columns(numbers)
    return [numbers[i] for i in found] if len(found) > 1 else numbers


def parquet_rows(file: Any, start: int, stop: int, columns: list[str] | None = None) -> Any:
    """Rows ``start`` to ``stop`` of a Parquet ``file`` as an Arrow table, from the row groups that hold them."""
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    ends = np.cumsum([0, *sizes])
    first = int(np.searchsorted(ends, start, side="right")) - 1
    last = int(np.searchsorted(ends, stop, side="left"))
    groups = file.read_row_groups(list(range(first, last)), columns=columns)
    return groups.slice(start - int(ends[first]), stop - start)


@dataclass(frozen=True, slots=True)
class PlyLayout:
    """The vertices of a PLY file: ``count`` records of type ``dtype`` from the byte ``offset`` on."""

    count: int
    dtype: np.dtype[np.void]
    offset: int
    comments: tuple[str, ...]


def ply_layout(path: Path) -> PlyLayout:
    """The layout that the header announces; its vertices come first and hold single numbers."""
    with open(path, "rb") as stream:
        head = stream.read(LONGEST_HEADER)
    text, found, _ = head.partition(b"end_header")
    if not head.startswith(b"ply") or not found:
        raise ValueError("it is no PLY file: its header is missing")
    offset = head.index(b"\n", len(text)) + 1
    header = text.decode("ascii", "replace")
    form = re.search(r"^format (\S+)", header, re.M)
    order = {"binary_little_endian": "<", "binary_big_endian": ">"}.get(form[1] if form else "")
    if order is None:
        raise ValueError("only binary PLY can be read in chunks; this one is text. Write it as binary first")
    element = re.search(r"^element\s+(\S+)\s+(-?\d+)", header, re.M)
    if element is None or element[1] != "vertex":
        raise ValueError("its vertices must come first to be read in chunks")
    body, fields = header.partition("element vertex")[2].split("\nelement")[0], []
    for kind, name in re.findall(r"^\s*property\s+(\S+)\s+(\S+)\s*$", body, re.M):
        if kind not in _PLY_TYPES:
            raise ValueError(f"its property {name} is of the unknown type {kind}")
        fields.append((name, order + _PLY_TYPES[kind]))
    if not {"x", "y", "z"} <= {name for name, _ in fields}:
        raise ValueError("its vertices must have the properties x, y and z")
    if re.search(r"^\s*property\s+list", body, re.M):
        raise ValueError("its vertices hold lists, which have no fixed length")
    comments = tuple(re.findall(r"^comment (.*?)\r?$", header, re.M))
    layout = PlyLayout(int(element[2]), np.dtype(fields), offset, comments)
    if layout.count < 0 or offset + layout.count * layout.dtype.itemsize > path.stat().st_size:
        raise ValueError(f"it announces {layout.count} vertices and is cut off before their end")
    return layout


def ply_rows(path: Path, start: int, stop: int) -> NDArray[np.void]:
    """Vertices ``start`` to ``stop`` with all their properties."""
    layout = ply_layout(path)
    with open(path, "rb") as stream:
        stream.seek(layout.offset + start * layout.dtype.itemsize)
        return np.fromfile(stream, layout.dtype, stop - start)


def _ply_shape(path: Path) -> tuple[int, int]:
    return ply_layout(path).count, 3


def _ply_points(path: Path, start: int, stop: int) -> FloatArray:
    rows = ply_rows(path, start, stop)
    return np.column_stack([rows[axis].astype(np.float64) for axis in "xyz"])


READERS: dict[str, _Reader] = {
    ".npy": (_npy_shape, _npy_points), ".las": (_las_shape, _las_points), ".laz": (_las_shape, _las_points),
    ".ply": (_ply_shape, _ply_points), ".parquet": (_parquet_shape, _parquet_points),
}  # fmt: skip


def _reader(path: str | Path) -> _Reader:
    suffix = suffix_of(path)
    if suffix not in READERS:
        raise ValueError(
            f"{Path(path).name} cannot be read in chunks: it must end in one of {', '.join(READERS)}. Convert it first."
        )
    return READERS[suffix]
