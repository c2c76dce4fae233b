"""Points in tables: ``.xyz`` and its relatives, ``.csv``, ``.npy`` and ``.npz``."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._archives import read_arrays
from subbundle._validation import needed
from subbundle.formats.columns import Content, as_colors, as_normals, check_width, named, unnamed

TEXT_SUFFIXES = (".xyz", ".xyzn", ".xyzrgb", ".pts", ".asc", ".txt")
# Unnamed columns by the ending of a file.
_PROMISED = {
    ".xyzn": ["x", "y", "z", "nx", "ny", "nz"],
    ".xyzrgb": ["x", "y", "z", "r", "g", "b"],
    ".pts": ["x", "y", "z", "intensity", "r", "g", "b"],
}
_POINT_ARRAYS = ("points", "scan", "xyz", "positions", "vertices")
_COLOUR_ARRAYS = ("colors", "colours", "rgb")
# Entries that stand for a missing number, in small letters.
_MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "?")
# The name of a first column without one, as other programs write it; and ours, where it numbers the rows.
_UNNAMED = re.compile(r"|Unnamed: 0|__index_level_0__")
ROW_NUMBERS = "row"
# Lines that may stand before the first line of numbers.
_LONGEST_HEAD = 100


def read_text(path: Path, dim: int | None) -> Content:
    """Numbers separated by blanks, commas or semicolons, under a line of names, a number of points, or nothing."""
    skipped, names, delimiter = _head(path)
    table = np.loadtxt(path, ndmin=2, skiprows=skipped, delimiter=delimiter, comments=("#", "//"), encoding="utf-8-sig")
    if len(names) != table.shape[1]:
        promised = _PROMISED.get(path.suffix.lower(), [])[: table.shape[1]]
        names = promised if len(promised) == table.shape[1] else []
    return _with_names(table, names, dim) if names else unnamed(table, dim or 3)


def _head(path: Path) -> tuple[int, list[str], str | None]:
    """Lines before the numbers, the names of the columns as the last of them has them, and what separates columns."""
    names: list[str] = []
    with open(path, encoding="utf-8-sig") as stream:
        for number, line in zip(range(_LONGEST_HEAD), stream, strict=False):
            words = line.replace(",", " ").replace(";", " ").split()
            if words and all(map(is_number, words)) and len(words) > 1:
                return number, names, "," if "," in line else ";" if ";" in line else None
            text = line.strip().lstrip("#/").replace(",", " ").replace(";", " ").split()
            names = text if text and not any(map(is_number, text)) else names
    raise ValueError("it holds no line of numbers")


def read_csv(path: Path, dim: int | None) -> Content:
    """The points in a ``.csv`` or ``.tsv`` file; columns of text are left out, single words among numbers are gaps."""
    columns, headed = _text_columns(path, gaps=True)
    numbers = {name: column for name, column in _labelled(columns).items() if column.dtype.kind == "f"}
    if not numbers:
        raise no_numbers(columns)
    table = np.column_stack(list(numbers.values()))
    return _with_names(table, list(numbers), dim) if headed else unnamed(table, dim or 3)


def read_columns(path: Path) -> dict[str, NDArray[Any]]:
    """Every column of a ``.csv``, ``.tsv`` or ``.parquet`` file by its name: numbers (NaN where one lacks) or text."""
    return _labelled(_parquet_columns(path) if path.suffix.lower() == ".parquet" else _text_columns(path)[0])


def _labelled(columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """``columns`` with a name for the first where it has none.

    The numbers that other programs write before the rows are labels, however regular.
    """
    if not columns:
        raise ValueError("it holds no columns")
    first = next(iter(columns))
    if not _UNNAMED.fullmatch(first):
        return columns
    values = columns[first]
    counted = values.dtype.kind in "iuf" and len(values) > 1 and bool(np.all(np.diff(values) == 1))
    names = [ROW_NUMBERS if counted else "column 1", *list(columns)[1:]]
    held = [values.astype(np.int64).astype(str) if counted else values, *list(columns.values())[1:]]
    return dict(zip(names, held, strict=True)) if names[0] not in columns else columns


def write_columns(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write ``columns`` of equal length to a ``.csv``, ``.npy`` (the numbers only, as one matrix) or ``.parquet``."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        numbers = [c for c in map(np.asarray, columns.values()) if c.dtype.kind in "fiub"]
        np.save(path, np.column_stack([c.astype(np.float64) for c in numbers]))
    elif suffix == ".csv":
        with open(path, "w", encoding="utf-8", newline="") as text:
            writer = csv.writer(text)
            writer.writerow(columns)
            # repr keeps every bit of a float and is the shortest that does.
            writer.writerows(zip(*(c.tolist() for c in columns.values()), strict=True))
    else:
        arrow = needed("pyarrow", "parquet", ".parquet")
        import_module("pyarrow.parquet").write_table(arrow.table(dict(columns)), path)


def no_numbers(columns: Iterable[str]) -> ValueError:
    """The error for a table of which the ``columns`` that are not left out are all text."""
    found = ", ".join(columns)[:200] or "all were left out; leave out fewer"
    return ValueError(f"it must hold columns of numbers; none of its columns is numeric: {found}")


def _text_columns(path: Path, *, gaps: bool = False) -> tuple[dict[str, NDArray[Any]], bool]:
    """Columns separated by commas, semicolons, tabs or blanks; and whether a line of names stands above them.

    Lines that begin with # may stand before; the last of them has the names if it has as many as there are columns.
    """
    skipped, names, mark = _layout(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of no rows, which is found below
            table = np.loadtxt(
                path, delimiter=mark.strip(" ") or None, skiprows=skipped, ndmin=2, encoding="utf-8-sig", comments=None
            )
        columns: list[NDArray[Any]] = list(table.T) if table.size else []
    except ValueError:  # text, gaps or decimal commas among the numbers
        columns = _parsed_columns(path, skipped, mark, gaps)
    if not columns:
        raise ValueError("it holds only a line of names" if names else "it is empty")
    headed = bool(names)
    if len(names) == len(columns) - 1:
        names = ["", *names]  # as R writes the names of rows
    names = names or [f"column {i + 1}" for i in range(len(columns))]
    if len(names) != len(columns):
        raise ValueError(f"it must have as many names as columns; it has {len(names)} and {len(columns)}")
    if len(set(names)) < len(names):
        names = [f"{name} ({i + 1})" for i, name in enumerate(names)]
    return dict(zip(names, columns, strict=True)), headed


def _layout(path: Path) -> tuple[int, list[str], str]:
    """Lines before the rows, the names of the columns if there are any, and what separates columns."""
    remark, skipped = "", 0
    with open(path, encoding="utf-8-sig", newline="") as stream:
        for line in stream:
            if line.strip() and not line.startswith("#"):
                break
            remark, skipped = line.strip() and line, skipped + 1
        else:
            raise ValueError("it is empty")
        mark = separator(line)
        rows = _split(chain([line], stream), mark)
        first = [entry.strip() for entry in next(rows)]
        if not any(is_number(_decimal(entry, mark)) for entry in first):
            return skipped + getattr(rows, "line_num", 1), first, mark
    names = [name.strip() for name in next(_split([remark.lstrip("# ")], mark), [])]
    return skipped, names if len(names) == len(first) and all(names) else [], mark


def _parsed_columns(path: Path, skipped: int, mark: str, gaps: bool) -> list[NDArray[Any]]:
    """The columns, entry by entry."""
    with open(path, encoding="utf-8-sig", newline="") as stream:
        rows = [row for row in _split(islice(stream, skipped, None), mark) if row]
    width = len(rows[0]) if rows else 0
    odd = next((i for i, row in enumerate(rows) if len(row) != width), None)
    if odd is not None:
        raise ValueError(f"it must have {width} entries in every row; row {skipped + odd + 1} has {len(rows[odd])}")
    return [_column([row[i] for row in rows], mark, gaps) for i in range(width)]


def _decimal(entry: str, mark: str) -> str:
    """``entry`` with a decimal point: its comma may separate decimals where another ``mark`` separates columns."""
    return entry if mark == "," else entry.replace(",", ".")


def _column(entries: list[str], mark: str, gaps: bool) -> NDArray[Any]:
    """Numbers if all entries are numbers or missing, and not all are missing; otherwise text.

    With ``gaps`` entries of text are missing numbers where most entries are numbers.
    """
    filled = [entry.strip() for entry in entries]
    numbers = [_decimal(entry, mark) for entry in filled]
    known = [is_number(entry) for entry in numbers]
    rest = [entry for entry, is_known in zip(filled, known, strict=True) if not is_known]
    if any(known) and (all(entry.lower() in _MISSING for entry in rest) or (gaps and len(rest) < len(filled) / 2)):
        return np.array([float(entry) if is_known else np.nan for entry, is_known in zip(numbers, known, strict=True)])
    return np.array(filled, dtype=str)


def _parquet_columns(path: Path) -> dict[str, NDArray[Any]]:
    needed("pyarrow", "parquet", ".parquet")
    table = import_module("pyarrow.parquet").read_table(path)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    # Dates and times are text, as in other tables.
    return {name: values if values.dtype.kind in "fiubOU" else values.astype(str) for name, values in columns.items()}


def _with_names(table: NDArray[Any], names: list[str], dim: int | None) -> Content:
    found = coordinate_columns(names)
    places = list(range(dim)) if dim is not None else found if len(found) > 2 else [0, 1, 2]
    check_width(table, max(len(places), len(names)))
    return named(table[:, places], {names[i]: table[:, i] for i in range(len(names)) if i not in places})


def coordinate_columns(names: list[str]) -> list[int]:
    """Columns named x, y, z, or else x and a number; empty where there are none."""
    lower = [name.strip().lower() for name in names]
    if set("xyz") <= set(lower):
        return [lower.index(axis) for axis in "xyz"]
    return [i for i, name in enumerate(lower) if name[:1] == "x" and name[1:].lstrip("_").isdigit()]


def separator(line: str) -> str:
    """What separates the columns of a ``.csv`` or ``.tsv`` file, from its first line: blanks if nothing else does."""
    mark = max(",;\t", key=line.count)
    return " " if mark not in line and " " in line.strip() else mark


def _split(lines: Iterable[str], mark: str) -> Iterator[list[str]]:
    """The entries of ``lines``, which may be quoted unless blanks separate them."""
    return (line.split() for line in lines) if mark == " " else csv.reader(lines, delimiter=mark)


def is_number(entry: str) -> bool:
    """Whether ``entry`` reads as a number."""
    try:
        float(entry)
    except ValueError:
        return False
    return True


def read_npy(path: Path, dim: int | None) -> Content:
    """An array [n, d], or records with the fields x, y, z and others."""
    check_npy(path)
    table = np.load(path, allow_pickle=False)
    if table.dtype.names is not None:
        return _of_records(table)
    return Content(table) if dim is None or table.ndim != 2 else unnamed(table, dim)


def check_npy(path: Path) -> None:
    """Raise when a .npy file announces more numbers than it holds; nothing is read but the header."""
    np.load(path, mmap_mode="r", allow_pickle=False)


def _of_records(table: NDArray[Any]) -> Content:
    fields = {name: table[name] for name in table.dtype.names or () if table[name].ndim == 1}
    lower = {name.lower(): name for name in fields}
    if not set("xyz") <= set(lower):
        raise ValueError(f"its records must have the fields x, y, z; they have {', '.join(fields)[:200]}")
    points = np.column_stack([fields.pop(lower[axis]) for axis in "xyz"])
    return named(points, fields)


def read_npz(path: Path, dim: int | None) -> Content:
    """Arrays by name: ``points`` (or ``scan``, ``xyz``, ``positions``, ``vertices``), ``normals``, ``colors``, …"""
    arrays = {name: array for name, array in read_arrays(path).items() if array.dtype.kind in "fiub"}
    key = next((name for name in _POINT_ARRAYS if name in arrays), None)
    if key is None:
        held = ", ".join(arrays)[:200] or "no numbers"
        raise ValueError(f"it must hold an array called {', '.join(_POINT_ARRAYS[:-1])} or vertices; it holds {held}")
    points = arrays.pop(key)
    if points.ndim != 2 or (dim is not None and points.shape[1] != dim):
        raise ValueError(f"its array {key} must have {dim or 3} columns; its shape is {points.shape}")
    rows = {name: array for name, array in arrays.items() if array.ndim in (1, 2) and len(array) == len(points)}
    normals, colours = rows.pop("normals", None), next((n for n in _COLOUR_ARRAYS if n in rows), None)
    if colours is not None and rows[colours].shape[1:] in ((3,), (4,)):
        rows["colors"] = as_colors(rows.pop(colours)[:, :3])
    solid = normals is not None and normals.shape == (len(points), 3)
    return Content(points, rows, as_normals(normals) if solid and normals is not None else None)
