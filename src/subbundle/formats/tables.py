"""Points in tables: ``.xyz`` and its relatives, ``.csv``, ``.npy`` and ``.npz``."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._archives import read_arrays
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
    """Numbers separated by commas, semicolons or tabs, optionally under a line of names; text is left out."""
    with open(path, encoding="utf-8-sig", newline="") as stream:
        line = stream.readline()
    first = next(csv.reader([line], delimiter=separator(line)), [])
    headed = not all(is_number(entry) for entry in first)
    how: dict[str, Any] = {"delimiter": separator(line), "encoding": "utf-8-sig", "ndmin": 2}
    try:
        table = np.loadtxt(path, skiprows=int(headed), **how)
    except ValueError:  # text or gaps among the numbers, for the slower parser
        table = np.genfromtxt(path, skip_header=int(headed), dtype=np.float64, **how)
    return _with_names(table, [name.strip() for name in first], dim) if headed else unnamed(table, dim or 3)


def _with_names(table: NDArray[Any], names: list[str], dim: int | None) -> Content:
    found = coordinate_columns(names)
    places = list(range(dim)) if dim is not None else found if len(found) > 2 else [0, 1, 2]
    check_width(table, max(len(places), len(names)))
    rest = {names[i]: table[:, i] for i in range(len(names)) if i not in places}
    # A column of text reads as NaN throughout.
    return named(table[:, places], {name: column for name, column in rest.items() if np.isfinite(column).any()})


def coordinate_columns(names: list[str]) -> list[int]:
    """Columns named x, y, z, or else x and a number; empty where there are none."""
    lower = [name.strip().lower() for name in names]
    if set("xyz") <= set(lower):
        return [lower.index(axis) for axis in "xyz"]
    return [i for i, name in enumerate(lower) if name[:1] == "x" and name[1:].lstrip("_").isdigit()]


def separator(line: str) -> str:
    """What separates the columns of a ``.csv`` or ``.tsv`` file, from its first line."""
    return max(",;\t", key=line.count)


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
