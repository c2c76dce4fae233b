"""Reading ``.las`` and ``.laz``: the header is checked against the file before anything is allocated.

The decoder of LAZ trusts what a file says of itself and ends the whole process when it asks for memory that is not
there. A file that survives the checks is therefore decoded by a process of its own, which hands the columns over; if a
damaged file ends that process, this one reports it.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

COLUMNS = ("x", "y", "z", "red", "green", "blue", "intensity", "classification")
# Bytes of the smallest records by the standard: a point, a header of variable length, one behind the points.
_POINT, _VARIABLE, _EXTENDED = 20, 54, 60
# The decoder may have so many bytes and so many times the points again, which it keeps decoded and as numbers.
_MEMORY, _COPIES = 4 << 30, 8


def read_las(path: Path) -> dict[str, NDArray[Any]]:
    """The columns of `COLUMNS` that the file has, by name; x, y, z as float64."""
    n_bytes = check_las(path)
    if not _is_compressed(path):
        return _columns(path)
    # The same package, however this process came to it.
    paths = [str(Path(__file__).resolve().parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    with subprocess.Popen(
        [sys.executable, "-m", "subbundle._las", str(path), str(_memory_for(n_bytes))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        try:
            columns = _received(process.stdout)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0 or columns is None:
        raise ValueError("its compressed points are damaged, cut off, or too many for the memory")
    return columns


def _memory_for(n_bytes: int) -> int:
    """Bytes that the decoder may take for points of ``n_bytes``: not more than the machine has."""
    if not hasattr(os, "sysconf"):
        return _MEMORY + _COPIES * n_bytes
    return min(_MEMORY + _COPIES * n_bytes, max(_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))


def check_las(path: Path) -> int:
    """Raise when the header announces more than the file can hold; return the bytes of all points, decoded."""
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
    return int(count * record)


def _check_chunks(stream: IO[bytes], size: int, points_at: int, record: int) -> None:
    """The table of chunks of a LAZ file: inside it, and no longer than its first points, which lie there in full."""
    stream.seek(points_at)
    table_at = _integer(stream, "<q")
    if table_at == -1:  # written by a program that could not go back
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


def _is_compressed(path: Path) -> bool:
    with open(path, "rb") as stream:
        return bool(stream.read(105)[104] & 0xC0)


def _columns(path: Path) -> dict[str, NDArray[Any]]:
    import laspy

    file = laspy.read(path)
    known = {"x", "y", "z", *file.point_format.dimension_names}
    return {name: np.array(file[name]) for name in COLUMNS if name in known}


def _received(stream: IO[bytes]) -> dict[str, NDArray[Any]] | None:
    """What `_send` sent; None where it ends early."""
    columns: dict[str, NDArray[Any]] = {}
    for line in stream:
        if line == b"end\n":
            return columns
        name, kind, length = line.decode("ascii").split()
        values = np.empty(int(length), dtype=kind)
        if stream.readinto(values.view(np.uint8).data) < values.nbytes:  # type: ignore[attr-defined]
            return None
        columns[name] = values
    return None


def _send(path: Path, memory: int) -> None:
    """Decode ``path`` and write its columns to standard output."""
    with suppress(ImportError, ValueError, OSError):  # no such limit on Windows, or a lower one is set
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    for name, values in _columns(path).items():
        sys.stdout.buffer.write(f"{name} {values.dtype.str} {len(values)}\n".encode("ascii"))
        sys.stdout.buffer.write(np.ascontiguousarray(values).data)
    sys.stdout.buffer.write(b"end\n")


if __name__ == "__main__":
    _send(Path(sys.argv[1]), int(sys.argv[2]))
