"""Tables of numbers in and out: ``.csv``, ``.tsv``, ``.npy``, ``.parquet``, and the points of scans."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._atomic import check_source, check_target
from subbundle._types import FloatArray
from subbundle._validation import as_points, needed
from subbundle.formats.tables import is_number, separator
from subbundle.io import READ_SUFFIXES, atomic_path, read_points, unreadable
from subbundle.scans import SUFFIXES, read_scan

OUTPUTS = (".csv", ".npy", ".parquet")
# Tables whose columns have names.
NAMED = (".csv", ".tsv", ".parquet")
# Entries that stand for a missing number, in small letters.
_MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "?")
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
    """

    values: FloatArray
    left_out: list[str]
    names: list[str] = field(default_factory=list)
    labels: dict[str, NDArray[Any]] = field(default_factory=dict)


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
    suffix = path.suffix.lower()
    if suffix not in NAMED:
        check_source(path, tuple(dict.fromkeys((*NAMED, ".npy", *SUFFIXES))))
        if drop or label is not None or categorical:
            raise ValueError(
                f"--drop, --label and --categorical need the names of columns; {path.name} has none. Write a .csv or "
                ".parquet file with a line of names."
            )
        return Table(read_points(path) if suffix in READ_SUFFIXES else read_scan(path).points, [])
    columns = read_columns(path)
    for option, names in (("--drop", drop), ("--label", [label] if label else []), ("--categorical", categorical)):
        _check_names(option, names, columns)
    labels = {label: columns[label]} if label else {}
    used = {name: column for name, column in columns.items() if name not in drop and name != label}
    numbers: dict[str, NDArray[Any]] = {}
    for name, column in used.items():
        if name in categorical:
            numbers |= {f"{name}={value}": (column == value).astype(float) for value in np.unique(column)}
        elif column.dtype.kind in "fiub":
            numbers[name] = column.astype(np.float64)
    left_out = [name for name in used if name not in numbers and name not in categorical]
    if not numbers:
        raise no_numbers(path, columns)
    values = np.column_stack(list(numbers.values()))
    if not missing:
        _check_missing(path, numbers)
        values = as_points(values, path.name)
    return Table(values, left_out, list(numbers), labels)


def no_numbers(path: Path, columns: Mapping[str, Any]) -> ValueError:
    """The error for a table without numbers."""
    return ValueError(
        f"{path} must hold columns of numbers; none of its columns is numeric: {', '.join(columns)[:200]}."
    )


def _check_names(option: str, names: Sequence[str], columns: Mapping[str, Any]) -> None:
    unknown = [name for name in names if name not in columns]
    if unknown:
        raise ValueError(f"{option} must name columns of the table; got {unknown[0]!r}. It has: {', '.join(columns)}.")


def _check_missing(path: Path, numbers: Mapping[str, NDArray[Any]]) -> None:
    """Raise with the names of the columns that have missing numbers."""
    gaps = {name: int(np.isnan(column).sum()) for name, column in numbers.items() if np.isnan(column).any()}
    if not gaps:
        return
    rows = int(np.isnan(np.column_stack(list(numbers.values()))).any(axis=1).sum())
    listed = ", ".join(f"{name} ({count})" for name, count in sorted(gaps.items(), key=lambda one: -one[1])[:_LISTED])
    more = f" and {len(gaps) - _LISTED} more" if len(gaps) > _LISTED else ""
    worst = ",".join(sorted(gaps, key=lambda name: -gaps[name])[:_LISTED])
    raise ValueError(
        f"{path.name} must have no missing numbers; {rows} rows have some, in the columns {listed}{more}. "
        f"Write --drop {worst} to leave the columns out, or (embed, diagnose) --missing drop to leave these rows out, "
        "or (embed) --missing local to locate them by their observed features."
    )


def read_columns(path: Path) -> dict[str, NDArray[Any]]:
    """Every column of a ``.csv``, ``.tsv`` or ``.parquet`` file by its name, strings included."""
    check_source(path)
    return _read_parquet(path) if path.suffix.lower() == ".parquet" else _read_text(path)


def write_table(path: Path, columns: Mapping[str, NDArray[Any]]) -> Path:
    """Write named ``columns`` of equal length; ``.npy`` keeps the numbers only, as one matrix."""
    check_output(path)
    suffix = path.suffix.lower()
    with atomic_path(path) as temporary:
        if suffix == ".npy":
            with open(temporary, "wb") as stream:
                numbers = [c for c in map(np.asarray, columns.values()) if c.dtype.kind in "fiub"]
                np.save(stream, np.column_stack([c.astype(np.float64) for c in numbers]))
        elif suffix == ".csv":
            with open(temporary, "w", encoding="utf-8", newline="") as text:
                writer = csv.writer(text)
                writer.writerow(columns)
                # repr keeps every bit of a float and is the shortest that does.
                writer.writerows(zip(*(c.tolist() for c in columns.values()), strict=True))
        else:
            arrow = needed("pyarrow", "parquet", ".parquet")
            import_module("pyarrow.parquet").write_table(arrow.table(dict(columns)), temporary)
    return path


def check_output(path: Path) -> None:
    """Raise, before any work is done, when ``path`` cannot be written to."""
    check_target(path, OUTPUTS, "the output")
    if path.suffix.lower() == ".parquet":
        needed("pyarrow", "parquet", ".parquet")


def _read_text(path: Path) -> dict[str, NDArray[Any]]:
    """Columns separated by commas, semicolons or tabs, under a line of names or without."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            mark = separator(stream.readline())
            stream.seek(0)
            rows = [row for row in csv.reader(stream, delimiter=mark) if row]
    except (UnicodeError, csv.Error) as error:
        raise unreadable(path, error) from error
    if not rows:
        raise ValueError(f"{path} must hold at least one row; it is empty.")
    width = len(rows[0])
    odd = next((i for i, row in enumerate(rows) if len(row) != width), None)
    if odd is not None:
        raise ValueError(f"{path} must have {width} entries in every row; row {odd + 1} has {len(rows[odd])}.")
    headed = not any(is_number(_decimal(entry, mark)) for entry in rows[0])
    names = [name.strip() for name in rows[0]] if headed else [f"column {i + 1}" for i in range(width)]
    body = rows[1:] if headed else rows
    if not body:
        raise ValueError(f"{path} must hold at least one row of numbers; it holds only a line of names.")
    if len(set(names)) < width:
        names = [f"{name} ({i + 1})" for i, name in enumerate(names)]
    return {name: _column([row[i] for row in body], mark) for i, name in enumerate(names)}


def _decimal(entry: str, mark: str) -> str:
    """``entry`` with a decimal point: its comma may separate decimals where another ``mark`` separates columns."""
    return entry if mark == "," else entry.replace(",", ".")


def _column(entries: list[str], mark: str) -> NDArray[Any]:
    """Numbers if all entries are numbers or missing, and not all are missing; otherwise text."""
    filled = [entry.strip() for entry in entries]
    numbers = [_decimal(entry, mark) for entry in filled]
    known = [entry.lower() not in _MISSING for entry in filled]
    if any(known) and all(is_number(entry) for entry, is_known in zip(numbers, known, strict=True) if is_known):
        return np.array([float(entry) if is_known else np.nan for entry, is_known in zip(numbers, known, strict=True)])
    return np.array(filled, dtype=str)


def _read_parquet(path: Path) -> dict[str, NDArray[Any]]:
    arrow = needed("pyarrow", "parquet", ".parquet")
    try:
        table = import_module("pyarrow.parquet").read_table(path)
    except arrow.ArrowException as error:
        raise ValueError(f"{path} could not be read as .parquet: {str(error).splitlines()[0]}") from error
    return {name: table[name].to_numpy() for name in table.column_names}
