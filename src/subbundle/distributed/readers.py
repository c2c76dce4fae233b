"""Readers of files by pieces, one class a format: how many rows, which points, which rows with all that they have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from subbundle._types import FloatArray
from subbundle.distributed._extra import needed
from subbundle.distributed._ply_pieces import PlyReader
from subbundle.formats.las import check_las, las_columns
from subbundle.formats.tables import check_npy
from subbundle.io import unreadable


class Reader(Protocol):
    """What a format must be able to do."""

    def shape(self, path: Path) -> tuple[int, int]:
        """Rows and coordinates."""

    def points(self, path: Path, start: int, stop: int) -> FloatArray:
        """Coordinates [stop − start, d]."""


class _Npy:
    def shape(self, path: Path) -> tuple[int, int]:
        check_npy(path)
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            raise ValueError(f"it must hold rows of numbers, [n, d]; it holds {array.dtype} of shape {array.shape}")
        return array.shape[0], array.shape[1]

    def points(self, path: Path, start: int, stop: int) -> FloatArray:
        return np.array(np.load(path, mmap_mode="r", allow_pickle=False)[start:stop], dtype=np.float64)


class _Las:
    def shape(self, path: Path) -> tuple[int, int]:
        check_las(path)
        with needed("laspy", "las").open(path) as file:
            return int(file.header.point_count), 3

    def points(self, path: Path, start: int, stop: int) -> FloatArray:
        return np.column_stack(list(las_columns(path, start, stop).values()))


class _Parquet:
    def shape(self, path: Path) -> tuple[int, int]:
        file = needed("pyarrow.parquet").ParquetFile(path)
        return int(file.metadata.num_rows), len(coordinate_columns(file.schema_arrow))

    def points(self, path: Path, start: int, stop: int) -> FloatArray:
        file = needed("pyarrow.parquet").ParquetFile(path)
        table = parquet_rows(file, start, stop, coordinate_columns(file.schema_arrow))
        return np.column_stack([column.to_numpy().astype(np.float64) for column in table.columns])


def coordinate_columns(schema: Any) -> list[str]:
    """x, y, z or x1, x2, … where the table has them; otherwise all columns of numbers."""
    types = needed("pyarrow").types
    numbers = [f.name for f in schema if types.is_integer(f.type) or types.is_floating(f.type)]
    lower = {name.strip().lower(): name for name in numbers}
    counted = [f"x{i + 1}" for i in range(len(numbers)) if f"x{i + 1}" in lower]
    axes = list("xyz") if set("xyz") <= set(lower) else counted if len(counted) > 1 else []
    if not numbers:
        raise ValueError("it must hold columns of numbers; it holds none")
    return [lower[axis] for axis in axes] or numbers


def parquet_rows(file: Any, start: int, stop: int, columns: list[str] | None = None) -> Any:
    """Rows ``start`` to ``stop`` of a Parquet ``file`` as an Arrow table, from the row groups that hold them."""
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    ends = np.cumsum([0, *sizes])
    first = int(np.searchsorted(ends, start, side="right")) - 1
    last = int(np.searchsorted(ends, stop, side="left"))
    groups = file.read_row_groups(list(range(first, last)), columns=columns)
    return groups.slice(start - int(ends[first]), stop - start)


READERS: dict[str, Any] = {
    ".npy": _Npy(), ".las": _Las(), ".laz": _Las(), ".ply": PlyReader(), ".parquet": _Parquet(),
}  # fmt: skip


class _Checked:
    """A reader whose errors name the file."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def shape(self, path: Path) -> tuple[int, int]:
        with naming(path):
            return self._reader.shape(path)

    def points(self, path: Path, start: int, stop: int) -> FloatArray:
        with naming(path):
            points = self._reader.points(path, start, stop)
            if len(points) != stop - start:
                raise ValueError(f"it announces at least {stop} points and ends after {start + len(points)}")
            return points


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors that name the file."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        raise unreadable(path, error) from error


def reader_of(path: str | Path) -> Reader:
    """The reader of a file, by its ending."""
    suffix = suffix_of(path)
    if suffix not in READERS:
        raise ValueError(
            f"{Path(path).name} cannot be read in pieces: it must end in one of {', '.join(READERS)}. Convert it first."
        )
    return _Checked(READERS[suffix])


def suffix_of(path: str | Path) -> str:
    """The ending of a file, in small letters."""
    return Path(path).suffix.lower()
