"""Tables by pieces: which columns are numbers to learn from, and rows of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._sampling import in_share
from subbundle._types import FloatArray, IntArray
from subbundle.distributed._extra import needed
from subbundle.distributed.readers import naming, parquet_rows, suffix_of
from subbundle.distributed.sources import Piece, Source


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Columns of a table: ``names`` of those that are learned from, and the ``label`` that is carried along, if any."""

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
        raise ValueError(f"{path} must hold columns of numbers; it holds none of its {len(schema.names)} as numbers.")
    return TableLayout(names, label)


def read_rows(piece: Piece, layout: TableLayout) -> tuple[FloatArray, dict[str, NDArray[Any]]]:
    """Rows [n, d] of a piece, NaN where numbers are missing, and its labels."""
    if suffix_of(piece.path) == ".npy":
        return piece.read(), {}
    file = needed("pyarrow.parquet").ParquetFile(piece.path)
    wanted = [*layout.names, *([layout.label] if layout.label else [])]
    with naming(Path(piece.path)):
        table = parquet_rows(file, piece.start, piece.stop, wanted)
        values = np.column_stack([np.asarray(table[name].to_numpy(), dtype=np.float64) for name in layout.names])
    return values, {layout.label: table[layout.label].to_numpy()} if layout.label else {}


def sample_rows(piece: Piece, layout: TableLayout, share: float) -> tuple[IntArray, FloatArray]:
    """Numbers [m] and values [m, d] of the complete rows of a piece among the ``share`` with the smallest hashes."""
    values, _ = read_rows(piece, layout)
    rows = np.arange(piece.first, piece.first + len(values))
    taken = in_share(rows, share) & np.isfinite(values).all(axis=1)
    return rows[taken], values[taken]
