"""Reading ``.las`` and ``.laz``: the header is checked against the file before anything is allocated.

The decoder of LAZ relies on the sizes in a file and ends the process when memory is not available, so files that pass
the checks are decoded in a separate process (`decoder`).
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from subbundle._validation import needed
from subbundle.formats.columns import Content, named
from subbundle.formats.decoder import decoded, send

COLUMNS = ("x", "y", "z", "red", "green", "blue", "intensity", "classification")
# Bytes of the smallest records by the standard: a point, a header of variable length, one behind the points.
_POINT, _VARIABLE, _EXTENDED = 20, 54, 60


def read_las(path: Path) -> Content:
    """Points, colours, intensity, classification, and all other attributes in the file."""
    laspy = needed("laspy", "las", ".las")
    if path.suffix.lower() == ".laz" and not laspy.LazBackend.detect_available():
        needed("lazrs", "las", ".laz")
    columns = las_columns(path)
    return named(np.column_stack([columns.pop(axis) for axis in "xyz"]), columns)


def las_columns(path: Path, *span: int) -> dict[str, NDArray[Any]]:
    """Columns of the whole file, or x, y and z of the points from one number to another."""
    n_bytes, compressed = check_las(path)
    return decoded("subbundle.formats.las", path, n_bytes, *span) if compressed else _columns(path, *span)


def check_las(path: Path) -> tuple[int, bool]:
    """Raise when the header announces more than the file can hold; bytes of all points, whether compressed."""
    size = path.stat().st_size
    with open(path, "rb") as stream:
        header = stream.read(375)
        if len(header) < 227 or header[:4] != b"LASF":
            raise ValueError("it is cut off or no LAS file: its header is missing")
        minor, header_size, points_at, n_variable, kind, record, count = struct.unpack_from("<B68xHIIBHI", header, 25)
        if minor >= 4 and len(header) >= 255:
            extended_at, n_extended, count = struct.unpack_from("<QIQ", header, 235)
            if n_extended and extended_at + n_extended * _EXTENDED > size:
                raise ValueError(f"it announces {n_extended} records behind its points, more than it can hold")
        if record < _POINT or not 227 <= header_size <= points_at <= size:
            raise ValueError("its header is damaged: points would lie outside the file")
        if header_size + n_variable * _VARIABLE > points_at:
            raise ValueError(f"it announces {n_variable} records before its points, more than fit there")
        if kind & 0xC0:
            _check_chunks(stream, size, points_at, record)
        elif points_at + count * record > size:
            raise ValueError(f"it announces {count} points and holds at most {(size - points_at) // record}")
    return int(count * record), bool(kind & 0xC0)


def _check_chunks(stream: IO[bytes], size: int, points_at: int, record: int) -> None:
    """The table of chunks of a LAZ file: inside it, and no longer than its first points, which lie there in full."""
    stream.seek(points_at)
    table_at = _integer(stream, "<q")
    if table_at == -1:  # written to a stream without seeking
        stream.seek(size - 8)
        table_at = _integer(stream, "<q")
    if not points_at + 8 <= table_at <= size - 8:
        raise ValueError("its table of chunks would lie outside the file: it is damaged or cut off")
    stream.seek(table_at + 4)
    n_chunks = _integer(stream, "<I")
    if n_chunks * record > table_at - points_at:
        raise ValueError(f"its table announces {n_chunks} chunks of points, more than the file can hold")


def _integer(stream: IO[bytes], layout: str) -> int:
    content = stream.read(struct.calcsize(layout))
    if len(content) < struct.calcsize(layout):
        raise ValueError("it is cut off")
    return int(struct.unpack(layout, content)[0])


def _columns(path: Path, *span: int) -> dict[str, NDArray[Any]]:
    import laspy

    if span:
        with laspy.open(path) as pieces:
            pieces.seek(span[0])
            read = pieces.read_points(span[1] - span[0])
            return {axis: np.array(read[axis], dtype=np.float64) for axis in "xyz"}
    file = laspy.read(path)
    extra = [str(name) for name in file.point_format.extra_dimension_names]
    known = {"x", "y", "z", *file.point_format.dimension_names}
    columns = {name: np.array(file[name]) for name in (*COLUMNS, *extra) if name in known}
    return {name: values for name, values in columns.items() if values.ndim == 1}


if __name__ == "__main__":
    send(_columns)
