"""Tables of numbers in and out: ``.csv``, ``.tsv``, ``.npy``, ``.parquet``, and the points of scans."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._atomic import check_source, check_target
from subbundle._types import FloatArray
from subbundle._validation import needed
from subbundle.formats.tables import ROW_NUMBERS, no_numbers, read_columns, read_npy, write_columns
from subbundle.io import READ_SUFFIXES, atomic_path, read_points, unreadable
from subbundle.scans import SUFFIXES, read_scan

OUTPUTS = (".csv", ".npy", ".parquet")
# Tables whose columns have names.
NAMED = (".csv", ".tsv", ".parquet")
# Quantities of rows that `denoise` and `embed` write beside coordinates: a table with these is the result of one.
_QUANTITIES = ("noise", "outlier_score", "residual", "coverage", "disagreement", "distortion", "novelty", "component")
_STATUS = "status"
# Columns that a message names at most.
_LISTED = 5


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of numbers.

    Attributes
    ----------
    values : [n, d]
    left_out : list of str
        Columns of the file that hold no numbers.
    names : list of str
        Of the columns of ``values``; empty where the file has none.
    labels : dict of [n]
        Columns requested as labels, numbers or strings.
    ours : list of str
        Quantities left out, which this program has written beside the coordinates.
    """

    values: FloatArray
    left_out: list[str]
    names: list[str] = field(default_factory=list)
    labels: dict[str, NDArray[Any]] = field(default_factory=dict)
    ours: list[str] = field(default_factory=list)


def read_table(
    path: Path, *, drop: Sequence[str] = (), label: str | None = None, categorical: Sequence[str] = (),
    missing: bool = False,
) -> Table:  # fmt: skip
    """Read the columns of numbers of ``path``; columns of strings are left out, and named.

    Parameters
    ----------
    drop, label, categorical : names of columns
        Left out; kept as a label, not learned from; encoded by an indicator column for every value.
    missing : bool
        Read missing numbers as NaN instead of raising.
    """
    columns = columns_of(path)
    for option, names in (("--drop", drop), ("--label", [label] if label else []), ("--categorical", categorical)):
        check_names(option, names, columns)
    labels = {label: columns[label]} if label else {}
    used = {name: column for name, column in columns.items() if name not in drop and name != label}
    ours = [name for name in used if name in (*_QUANTITIES, _STATUS)]
    ours = ours if _STATUS in ours and len(ours) > 1 else []
    used = {name: column for name, column in used.items() if name not in ours}
    numbers: dict[str, NDArray[Any]] = {}
    for name, column in used.items():
        if name in categorical:
            numbers |= {f"{name}={value}": (column == value).astype(float) for value in np.unique(column)}
        elif column.dtype.kind in "fiub":
            numbers[name] = column.astype(np.float64)
    left_out = [name for name in used if name not in numbers and name not in (*categorical, ROW_NUMBERS)]
    if not numbers:
        raise unreadable(path, no_numbers(used)) if used else ValueError(f"--drop must leave columns of {path.name}.")
    values = np.column_stack(list(numbers.values()))
    if np.isinf(values).any():
        raise ValueError(f"every number of {path.name} must be finite; some are infinite. Leave them empty.")
    if not missing:
        _check_missing(path, numbers)
    return Table(values, left_out, list(numbers), labels, ours)


def columns_of(path: Path) -> dict[str, NDArray[Any]]:
    """Every column of a table by its name, text included; of other files the coordinates."""
    check_source(path, tuple(dict.fromkeys((*NAMED, ".npy", *SUFFIXES))))
    try:
        if path.suffix.lower() in NAMED:
            return read_columns(path)
        points = read_npy(path, None).points if path.suffix.lower() == ".npy" else None
    except ImportError:
        raise
    except Exception as error:
        raise unreadable(path, error) from error
    if points is None:
        points = read_points(path) if path.suffix.lower() in READ_SUFFIXES else read_scan(path).points
    if points.ndim != 2 or points.dtype.kind not in "fiub":
        raise ValueError(f"{path.name} must hold rows of numbers, [n, d]; it holds {points.dtype} of {points.shape}.")
    return {f"column {i + 1}": column for i, column in enumerate(points.T)}


def check_names(option: str, names: Sequence[str], columns: Mapping[str, Any]) -> None:
    unknown = [name for name in names if name not in columns]
    if unknown:
        raise ValueError(f"{option} must name columns of the table; got {unknown[0]!r}. It has: {', '.join(columns)}.")


def quoted(names: Sequence[str]) -> str:
    """``names`` as the value of an option in a shell."""
    return shlex.quote(",".join(names))


def _check_missing(path: Path, numbers: Mapping[str, NDArray[Any]]) -> None:
    """Raise with the names of the columns that have missing numbers."""
    gaps = {name: int(np.isnan(column).sum()) for name, column in numbers.items() if np.isnan(column).any()}
    if not gaps:
        return
    rows = int(np.isnan(np.column_stack(list(numbers.values()))).any(axis=1).sum())
    listed = ", ".join(f"{name} ({count})" for name, count in sorted(gaps.items(), key=lambda one: -one[1])[:_LISTED])
    more = f" and {len(gaps) - _LISTED} more" if len(gaps) > _LISTED else ""
    worst = quoted(sorted(gaps, key=lambda name: -gaps[name])[:_LISTED])
    raise ValueError(
        f"{path.name} must have no missing numbers; {rows} rows have some, in the columns {listed}{more}. "
        f"Write --drop {worst} to leave the columns out, or (embed, diagnose) --missing drop to leave these rows out, "
        "or (embed) --missing local to locate them by their observed features."
    )


def write_table(path: Path, columns: Mapping[str, NDArray[Any]]) -> Path:
    """Write named ``columns`` of equal length; ``.npy`` keeps the numbers only, as one matrix."""
    check_output(path)
    with atomic_path(path) as temporary:
        write_columns(temporary, columns)
    return path


def check_output(path: Path) -> None:
    """Raise, before any work is done, when ``path`` cannot be written to."""
    check_target(path, OUTPUTS, "the output")
    if path.suffix.lower() == ".parquet":
        needed("pyarrow", "parquet", ".parquet")
