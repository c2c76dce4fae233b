"""Denoised rows in the format of the input, with all their attributes, in the same order.

Tiles write their own rows into one file of records, in the order of the rows. Each input file is then read again, chunk
by chunk; its coordinates are replaced, and the results are added under the names that ``subbundle denoise`` uses.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._atomic import atomic_path
from subbundle._sampling import in_fraction
from subbundle._types import FloatArray, Status
from subbundle._validation import needed
from subbundle.distributed.readers import numeric_coordinates, parquet_rows, ply_layout, ply_rows, suffix_of
from subbundle.distributed.sample import SAMPLE
from subbundle.distributed.sources import CHUNK, Chunk
from subbundle.io import ply_header
from subbundle.surface.orient import follow

# Bytes of the rows' file that are in memory at a time.
_WINDOW = 1 << 26


@dataclass(frozen=True, slots=True)
class RowFile:
    """A file of ``n_rows`` records; those that no tile has written are zero."""

    path: Path
    dim: int
    n_rows: int

    @property
    def kind(self) -> np.dtype[np.void]:
        """A record: whether it is written, status, position, normal, noise, outlier score."""
        vector = ("<f8", (self.dim,))
        return np.dtype([
            ("done", "u1"), ("status", "i1"), ("x", *vector), ("normal", *vector), ("noise", "<f8"), ("score", "<f8"),
        ])  # fmt: skip

    def make(self) -> None:
        """Create the file, all records zero, with its blocks allocated, so that a full disk raises here."""
        with open(self.path, "wb") as stream:
            left = self.n_rows * self.kind.itemsize
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(stream.fileno(), 0, left)
                return
            while left > 0:
                left -= stream.write(bytes(min(left, _WINDOW)))

    def put(self, rows: NDArray[np.int64], records: NDArray[np.void]) -> None:
        """Write ``records`` at ``rows``, which increase; a window of the file is in memory at a time."""
        width = max(_WINDOW // self.kind.itemsize, 1)
        cuts = np.flatnonzero(np.diff(rows // width)) + 1
        for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            first, last = int(rows[start]), int(rows[stop - 1])
            window = np.memmap(self.path, self.kind, "r+", first * self.kind.itemsize, (last - first + 1,))
            window[rows[start:stop] - first] = records[start:stop]
            window.flush()

    def read(self, start: int, stop: int) -> NDArray[np.void]:
        """The records of rows ``start`` to ``stop``."""
        return np.fromfile(self.path, self.kind, stop - start, offset=start * self.kind.itemsize)

    def found(
        self, chunk: Chunk, level: float | None, normals: bool
    ) -> tuple[NDArray[np.bool_], FloatArray, dict[str, NDArray[Any]]]:
        """Which rows of a chunk are written and no outliers, their points, and the columns to write beside them."""
        records = self.read(chunk.first, chunk.first + chunk.stop - chunk.start)
        columns: dict[str, NDArray[Any]] = {}
        if normals and self.dim == 3 and records["normal"].any():
            columns = {f"n{axis}": records["normal"][:, i] for i, axis in enumerate("xyz")}
        columns |= {"noise": records["noise"], "outlier_score": records["score"]}
        columns["status"] = records["status"].astype(np.float64)
        kept = records["done"] == 1
        return np.asarray(kept if level is None else kept & (records["score"] <= level)), records["x"], columns


def scattered_tile(path: str, file: RowFile, seeds: str) -> tuple[list[int], FloatArray]:
    """Write the results of a tile to the rows' file; how many rows have each status, and the noise of some."""
    with np.load(path, allow_pickle=False) as found:
        records = np.zeros(len(found["rows"]), file.kind)
        rows, records["x"], records["status"] = found["rows"], found["points"], found["status"]
        records["noise"], records["score"], normals = found["noise"], found["scores"], found["normals"]
    if normals.shape[1]:
        with np.load(seeds, allow_pickle=False) as oriented:
            records["normal"] = follow(records["x"], normals, (oriented["points"], oriented["normals"]))
    records["done"] = 1
    file.put(rows, records)
    some = in_fraction(rows, SAMPLE / file.n_rows)
    return np.bincount(records["status"], minlength=len(Status)).tolist(), records["noise"][some]


@dataclass(frozen=True, slots=True)
class Grain:
    """Resolution of the coordinates in formats that round them, and the corners of all points written."""

    step: float
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def write_file(
    path: str, first: int, count: int, target: str, rows: RowFile, level: float | None, normals: bool, grain: Grain
) -> int:
    """Write those of the ``count`` rows of ``path``, numbered from ``first`` on, that are kept; how many these are."""
    writer = {".npy": _npy, ".ply": _ply, ".parquet": _parquet, ".las": _las, ".laz": _las}[suffix_of(path)]
    normals = normals or suffix_of(path) in (".ply", ".las", ".laz")
    chunks = [Chunk(path, start, min(start + CHUNK, count), first + start) for start in range(0, count, CHUNK)]
    n_kept = sum(int(rows.found(chunk, level, False)[0].sum()) for chunk in chunks)
    with atomic_path(target) as temporary:
        writer(Path(path), temporary, ((chunk, *rows.found(chunk, level, normals)) for chunk in chunks), n_kept, grain)
    return n_kept


def target_of(path: str, out: Path) -> Path:
    """Path of the denoised rows of a file; COPC files become LAZ files, without their index."""
    name = Path(path).name
    return out / (name[: -len(".copc.laz")] + ".laz" if name.lower().endswith(".copc.laz") else name)


_NORMAL = ("nx", "ny", "nz")
Chunks = Iterator[tuple[Chunk, NDArray[np.bool_], NDArray[Any], dict[str, NDArray[Any]]]]


def _npy(path: Path, target: Path, chunks: Chunks, n_kept: int, grain: Grain) -> None:
    with open(target, "wb") as stream:
        for chunk, kept, points, columns in chunks:
            table = np.column_stack([points, *columns.values()])[kept]
            if chunk.start == 0:
                head = {"descr": "<f8", "fortran_order": False, "shape": (n_kept, table.shape[1])}
                np.lib.format.write_array_header_1_0(stream, head)  # type: ignore[no-untyped-call]
            stream.write(table.tobytes())


def _ply(path: Path, target: Path, chunks: Chunks, n_kept: int, grain: Grain) -> None:
    layout = ply_layout(path)
    assert layout.dtype.names is not None
    kinds = {"i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint", "f4": "float"}
    kind: Any = None
    with open(target, "wb") as stream:
        for chunk, kept, points, columns in chunks:
            given = ply_rows(path, chunk.start, chunk.stop)
            columns = _as_given(columns, {name: given[name] for name in _NORMAL if name in layout.dtype.names})
            replaced = {**dict(zip("xyz", points.T, strict=True)), **columns}
            if kind is None:
                own = [
                    (name, layout.dtype[name].newbyteorder("<")) for name in layout.dtype.names if name not in replaced
                ]
                fields = [(axis, np.dtype("<f8")) for axis in "xyz"] + own
                fields += [(name, np.dtype("<f8")) for name in columns]
                kind = np.dtype(fields)
                named = [(name, kinds.get(one.str[1:], "double")) for name, one in fields]
                comments = [f"comment {text}" for text in layout.comments]
                stream.write(ply_header(n_kept, named, comments=comments))
            rows = np.empty(int(kept.sum()), kind)
            for name in kind.names:
                rows[name] = (replaced[name] if name in replaced else given[name])[kept]
            stream.write(rows.tobytes())


def _parquet(path: Path, target: Path, chunks: Chunks, n_kept: int, grain: Grain) -> None:
    arrow, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    file = parquet.ParquetFile(path)
    axes = numeric_coordinates(file.schema_arrow)
    writer: Any = None
    try:
        for chunk, kept, points, columns in chunks:
            table = parquet_rows(file, chunk.start, chunk.stop)
            columns = _as_given(
                columns, {name: table[name].to_numpy() for name in _NORMAL if name in table.column_names}
            )
            for name, values in {**dict(zip(axes, points.T, strict=True)), **columns}.items():
                column = arrow.array(np.ascontiguousarray(values))
                at = table.schema.get_field_index(name)
                table = table.append_column(name, column) if at < 0 else table.set_column(at, name, column)
            table = table.filter(arrow.array(kept))
            writer = writer or parquet.ParquetWriter(target, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _las(path: Path, target: Path, chunks: Chunks, n_kept: int, grain: Grain) -> None:
    laspy = needed("laspy", "las")
    with laspy.open(path) as source:
        header = _finer(source.header, grain)
        out: Any = None
        try:
            for chunk, kept, points, columns in chunks:
                source.seek(chunk.start)
                given = source.read_points(chunk.stop - chunk.start)
                names = set(given.point_format.dimension_names)
                columns = _as_given(columns, {name: np.asarray(given[name]) for name in _NORMAL if name in names})
                if out is None:
                    known = set(header.point_format.dimension_names)
                    new = [laspy.ExtraBytesParams(name, np.float32) for name in columns if name not in known]
                    header.add_extra_dims(new)
                    compressed = suffix_of(path) == ".laz"
                    out = laspy.open(target, mode="w", header=header, do_compress=compressed)
                rows = laspy.ScaleAwarePointRecord.zeros(int(kept.sum()), header=header)
                for name in given.point_format.dimension_names:
                    if name not in "XYZ":
                        rows[name] = given[name][kept]
                rows.x, rows.y, rows.z = points[kept].T
                for name, values in columns.items():
                    rows[name] = values[kept]
                out.write_points(rows)
        finally:
            if out is not None:
                out.close()


def _as_given(columns: dict[str, NDArray[Any]], given: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """``columns`` with normals oriented as those ``given`` by the scanner, where there are some."""
    if not all(name in columns and name in given for name in _NORMAL):
        return columns
    along = np.sum([columns[name] * np.nan_to_num(given[name].astype(np.float64)) for name in _NORMAL], axis=0)
    side = np.where(along < 0.0, -1.0, 1.0)
    return {name: side * values if name in _NORMAL else values for name, values in columns.items()}


def _finer(header: Any, grain: Grain) -> Any:
    """The ``header`` with scales as fine as required, where the extent fits into 32 bits.

    The extent is the measured one: that of the header may be wrong.
    """
    made = deepcopy(header)
    made.vlrs = type(made.vlrs)(record for record in made.vlrs if record.user_id != "copc")  # its index is not valid
    step = 10.0 ** np.floor(np.log10(grain.step))
    extent = np.maximum(np.abs(grain.high - header.offsets), np.abs(grain.low - header.offsets))
    made.scales = np.where(extent / step < 2.0**31, np.minimum(header.scales, step), header.scales)
    return made
