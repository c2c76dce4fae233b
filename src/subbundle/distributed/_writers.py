"""Denoised rows in the format that they came in, with all that the file says of them, in the same order.

Each file is read again, piece by piece; its coordinates are replaced, and what was found is added under the names that
``subbundle denoise`` uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._atomic import atomic_path
from subbundle.distributed._extra import needed
from subbundle.distributed._ply_pieces import ply_layout, ply_rows
from subbundle.distributed.readers import coordinate_columns, parquet_rows, suffix_of
from subbundle.distributed.sources import PIECE, Piece

# Found values [n] by name for rows of a piece, with the new points [n, d] and which rows of the piece are kept.
Found = Callable[[Piece], tuple[NDArray[np.bool_], NDArray[Any], dict[str, NDArray[Any]]]]


@dataclass(frozen=True, slots=True)
class Grain:
    """How finely coordinates are to be kept, in formats that round them, and the corners of all that is written."""

    step: float
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def write_file(path: str, first: int, count: int, target: str, found: Found, n_kept: int, grain: Grain) -> int:
    """Write the ``n_kept`` rows that ``found`` keeps of the ``count`` of ``path``, numbered from ``first`` on."""
    writer = {".npy": _npy, ".ply": _ply, ".parquet": _parquet, ".las": _las, ".laz": _las}[suffix_of(path)]
    pieces = [Piece(path, start, min(start + PIECE, count), first + start) for start in range(0, count, PIECE)]
    with atomic_path(target) as temporary:
        writer(Path(path), temporary, ((piece, *found(piece)) for piece in pieces), n_kept, grain)
    return n_kept


def target_of(path: str, out: Path) -> Path:
    """Where the denoised rows of a file go; COPC files become LAZ files, which nothing here can index anew."""
    name = Path(path).name
    return out / (name[: -len(".copc.laz")] + ".laz" if name.lower().endswith(".copc.laz") else name)


_NORMAL = ("nx", "ny", "nz")
Pieces = Iterator[tuple[Piece, NDArray[np.bool_], NDArray[Any], dict[str, NDArray[Any]]]]


def _npy(path: Path, target: Path, pieces: Pieces, n_kept: int, grain: Grain) -> None:
    with open(target, "wb") as stream:
        for piece, kept, points, columns in pieces:
            table = np.column_stack([points, *columns.values()])[kept]
            if piece.start == 0:
                head = {"descr": "<f8", "fortran_order": False, "shape": (n_kept, table.shape[1])}
                np.lib.format.write_array_header_1_0(stream, head)  # type: ignore[no-untyped-call]
            stream.write(table.tobytes())


def _ply(path: Path, target: Path, pieces: Pieces, n_kept: int, grain: Grain) -> None:
    layout = ply_layout(path)
    assert layout.dtype.names is not None
    kinds = {"i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint", "f4": "float"}
    kind: Any = None
    with open(target, "wb") as stream:
        for piece, kept, points, columns in pieces:
            given = ply_rows(path, piece.start, piece.stop)
            columns = _as_given(columns, {name: given[name] for name in _NORMAL if name in layout.dtype.names})
            replaced = {**dict(zip("xyz", points.T, strict=True)), **columns}
            if kind is None:
                own = [
                    (name, layout.dtype[name].newbyteorder("<")) for name in layout.dtype.names if name not in replaced
                ]
                fields = [(axis, np.dtype("<f8")) for axis in "xyz"] + own
                fields += [(name, np.dtype("<f8")) for name in columns]
                kind = np.dtype(fields)
                head = ["ply", "format binary_little_endian 1.0", *(f"comment {text}" for text in layout.comments)]
                head.append(f"element vertex {n_kept}")
                head += [f"property {kinds.get(one.str[1:], 'double')} {name}" for name, one in fields]
                stream.write(("\n".join([*head, "end_header"]) + "\n").encode("ascii"))
            rows = np.empty(int(kept.sum()), kind)
            for name in kind.names:
                rows[name] = (replaced[name] if name in replaced else given[name])[kept]
            stream.write(rows.tobytes())


def _parquet(path: Path, target: Path, pieces: Pieces, n_kept: int, grain: Grain) -> None:
    arrow, parquet = needed("pyarrow"), needed("pyarrow.parquet")
    file = parquet.ParquetFile(path)
    axes = coordinate_columns(file.schema_arrow)
    writer: Any = None
    try:
        for piece, kept, points, columns in pieces:
            table = parquet_rows(file, piece.start, piece.stop)
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


def _las(path: Path, target: Path, pieces: Pieces, n_kept: int, grain: Grain) -> None:
    laspy = needed("laspy", "las")
    with laspy.open(path) as source:
        header = _finer(source.header, grain)
        out: Any = None
        try:
            for piece, kept, points, columns in pieces:
                source.seek(piece.start)
                given = source.read_points(piece.stop - piece.start)
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
    """``columns`` with normals on the side of those that the scanner has ``given``, where it has."""
    if not all(name in columns and name in given for name in _NORMAL):
        return columns
    along = np.sum([columns[name] * np.nan_to_num(given[name].astype(np.float64)) for name in _NORMAL], axis=0)
    side = np.where(along < 0.0, -1.0, 1.0)
    return {name: side * values if name in _NORMAL else values for name, values in columns.items()}


def _finer(header: Any, grain: Grain) -> Any:
    """The ``header`` with scales as fine as asked for, where 32 bits have room for the extent.

    The extent is the measured one: what the header says of it need not be true.
    """
    made = deepcopy(header)
    made.vlrs = type(made.vlrs)(record for record in made.vlrs if record.user_id != "copc")  # its index is no more
    step = 10.0 ** np.floor(np.log10(grain.step))
    extent = np.maximum(np.abs(grain.high - header.offsets), np.abs(grain.low - header.offsets))
    made.scales = np.where(extent / step < 2.0**31, np.minimum(header.scales, step), header.scales)
    return made
