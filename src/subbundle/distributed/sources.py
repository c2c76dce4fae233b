"""Sources of points larger than memory: files read a chunk at a time, with rows numbered consecutively.

Several files, folders and patterns are one source; rows are numbered consecutively, in the order of the files as given.
Dask arrays and data frames are written to ``.npy`` files first, one partition at a time. Of a table the numeric columns
are used.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._sampling import in_fraction
from subbundle._types import FloatArray, IntArray
from subbundle._validation import as_real, needed
from subbundle.distributed.readers import READERS, naming, parquet_rows, points_of, shape_of, suffix_of

# Rows of a chunk: 24 MB of points in space, little compared to a tile.
CHUNK = 1_000_000


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows ``start`` to ``stop`` of a file, the first of which has the number ``first`` in the whole source."""

    path: str
    start: int
    stop: int
    first: int

    @property
    def name(self) -> str:
        """The file and the rows, for messages."""
        return f"{Path(self.path).name}, rows {self.start}..{self.stop - 1}"

    def read(self) -> FloatArray:
        """The points [stop − start, d] as they are in the file; they need not be finite."""
        return points_of(self.path, self.start, self.stop)


@dataclass(frozen=True, slots=True)
class Source:
    """Files of points, read in chunks.

    Attributes
    ----------
    paths : tuple of str
    counts : tuple of int
        Rows of each file.
    dim : int
        Coordinates of a point.
    """

    paths: tuple[str, ...]
    counts: tuple[int, ...]
    dim: int

    @property
    def n_rows(self) -> int:
        """Rows of all files together."""
        return sum(self.counts)

    def chunks(self, rows: int = CHUNK) -> Iterator[Chunk]:
        """All rows in order, at most ``rows`` at a time."""
        first = 0
        for path, count in zip(self.paths, self.counts, strict=True):
            for start in range(0, count, rows):
                yield Chunk(path, start, min(start + rows, count), first + start)
            first += count

    def signature(self) -> list[Any]:
        """Names, rows, bytes and times of last change of the files, to detect changes."""
        stats = [os.stat(path) for path in self.paths]
        return [
            [str(path), count, stat.st_size, stat.st_mtime_ns]
            for path, count, stat in zip(self.paths, self.counts, stats, strict=True)
        ]


def open_source(data: Any, work: Path | None = None) -> Source:
    """The source of ``data``: a path, a folder, a pattern, several of these, an array, or a Dask collection.

    Arrays and Dask collections are written to the folder ``work`` first, as ``.npy`` files of one partition each.
    """
    if isinstance(data, Source):
        return data
    if isinstance(data, str | os.PathLike):
        data = [data]
    if isinstance(data, Sequence) and data and all(isinstance(one, str | os.PathLike) for one in data):
        return _of_files([path for one in data for path in _files(os.fspath(one))])
    return _of_files(_written(data, work))


def _files(name: str) -> list[str]:
    """The file ``name``, the files in that folder, or those that match the pattern, in the order of their names."""
    path = Path(name)
    if path.is_file():
        return [str(path.absolute())]
    inside = path.iterdir() if path.is_dir() else map(Path, glob.glob(name, recursive=True))
    found = sorted(str(file.absolute()) for file in inside if file.is_file() and suffix_of(file) in READERS)
    if not found:
        known = ", ".join(READERS)
        raise FileNotFoundError(
            f"{name} must be a file, a folder or a pattern of files ending in one of {known}; no such file is there."
        )
    return found


def _of_files(paths: Sequence[str]) -> Source:
    counts: list[int] = []
    dims: dict[int, str] = {}
    for path in paths:
        count, dim = shape_of(path)
        counts.append(count)
        dims.setdefault(dim, path)
    if len(dims) > 1:
        listed = " and ".join(f"{dim} in {Path(path).name}" for dim, path in dims.items())
        raise ValueError(f"all files must have the same number of coordinates; there are {listed}.")
    if sum(counts) == 0 or 0 in dims:
        raise ValueError(f"there must be at least one point; {Path(paths[0]).name} and the others hold none.")
    return Source(tuple(paths), tuple(counts), next(iter(dims)))


def _written(data: Any, work: Path | None) -> list[str]:
    """``data`` as ``.npy`` files in ``work``, one of each partition."""
    if work is None:
        raise ValueError("arrays larger than memory are written to disk first; give a folder for that, work=…")
    folder, paths = work / "given", []
    for number, block in enumerate(_blocks(data)):
        values = as_real(block, "points")
        if values.ndim != 2:
            raise ValueError(f"points must be rows of numbers, [n, d]; got shape {values.shape}.")
        folder.mkdir(parents=True, exist_ok=True)
        paths.append(str(folder / f"{number:06d}.npy"))
        if not _holds(paths[-1], values):
            np.save(paths[-1], values)
    return paths


def _holds(path: str, values: FloatArray) -> bool:
    """Whether the file holds the same values from an earlier job: unchanged files allow it to be resumed."""
    try:
        return np.array_equal(np.load(path, mmap_mode="r", allow_pickle=False), values, equal_nan=True)
    except (OSError, ValueError, EOFError):
        return False


def _blocks(data: Any) -> Iterator[Any]:
    """The partitions of a Dask collection, one after the other; anything else is one."""
    if not hasattr(data, "__dask_graph__"):
        yield data
        return
    if hasattr(data, "npartitions") and hasattr(data, "map_partitions"):
        yield from (data.get_partition(i).compute() for i in range(data.npartitions))
        return
    whole = data.rechunk({1: -1})
    yield from (whole.blocks[i].compute() for i in range(whole.numblocks[0]))


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Columns of a table: ``names`` of the features, and the ``label`` that is copied, if any."""

    names: tuple[str, ...]
    label: str | None = None


def table_layout(source: Source, drop: Sequence[str] = (), label: str | None = None) -> TableLayout:
    """The columns of numbers of all files, which must have the same."""
    if not isinstance(drop, list | tuple) or not all(isinstance(name, str) for name in drop):
        raise TypeError(f"drop must be a list of names of columns; got {type(drop).__name__}.")
    endings = {suffix_of(path) for path in source.paths}
    if len(endings) > 1 or not endings <= {".parquet", ".npy"}:
        raise ValueError(f"a table must be .parquet or .npy files, all of one kind; got {', '.join(sorted(endings))}.")
    if endings == {".npy"}:
        if drop or label is not None:
            raise ValueError("--drop and --label need the names of columns; .npy files have none. Write .parquet.")
        return TableLayout(tuple(f"column {i + 1}" for i in range(source.dim)))
    layouts = {_parquet_layout(path, drop, label) for path in source.paths}
    if len(layouts) > 1:
        raise ValueError("all files of a table must have the same columns of numbers; these differ.")
    return layouts.pop()


def _parquet_layout(path: str, drop: Sequence[str], label: str | None) -> TableLayout:
    types = needed("pyarrow").types
    schema = needed("pyarrow.parquet").ParquetFile(path).schema_arrow
    for name in [*drop, *([label] if label else [])]:
        if name not in schema.names:
            raise ValueError(
                f"columns must be those of {Path(path).name}; got {name!r}. It has: {', '.join(schema.names)}."
            )
    is_number = {
        f.name: types.is_integer(f.type) or types.is_floating(f.type) or types.is_boolean(f.type) for f in schema
    }
    names = tuple(name for name in schema.names if is_number[name] and name not in drop and name != label)
    if not names:
        raise ValueError(f"{path} must hold columns of numbers; none of its {len(schema.names)} is numeric.")
    return TableLayout(names, label)


def read_rows(chunk: Chunk, layout: TableLayout) -> tuple[FloatArray, dict[str, NDArray[Any]]]:
    """Rows [n, d] of a chunk, NaN where numbers are missing, and its labels."""
    if suffix_of(chunk.path) == ".npy":
        return chunk.read(), {}
    file = needed("pyarrow.parquet").ParquetFile(chunk.path)
    wanted = [*layout.names, *([layout.label] if layout.label else [])]
    with naming(Path(chunk.path)):
        table = parquet_rows(file, chunk.start, chunk.stop, wanted)
        values = np.column_stack([np.asarray(table[name].to_numpy(), dtype=np.float64) for name in layout.names])
    return values, {layout.label: table[layout.label].to_numpy()} if layout.label else {}


def sample_rows(chunk: Chunk, layout: TableLayout, fraction: float) -> tuple[IntArray, FloatArray]:
    """Numbers [m] and values [m, d] of the complete rows of a chunk among the ``fraction`` with the smallest hashes."""
    values, _ = read_rows(chunk, layout)
    rows = np.arange(chunk.first, chunk.first + len(values))
    taken = in_fraction(rows, fraction) & np.isfinite(values).all(axis=1)
    return rows[taken], values[taken]
