"""`read_scan`: the points of a scan with their colours and other attributes, from whatever file it came in.

Formats: ``.ply`` (ASCII, binary of either byte order), ``.obj``, ``.stl``, ``.off``, ``.xyz``, ``.csv``, ``.npy``, and
``.las`` and ``.laz`` with the extra ``las``. Rows with a number that is not finite are left out and counted: scanners
write them for rays that came back empty.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._las import read_las
from subbundle._mesh_files import mesh_parts
from subbundle._types import FloatArray
from subbundle._validation import as_integer
from subbundle.io import MESH_SUFFIXES, check_npy, unreadable

SUFFIXES = (*MESH_SUFFIXES, ".xyz", ".csv", ".npy", ".las", ".laz")
_COLOUR_NAMES = (("red", "green", "blue"), ("r", "g", "b"), ("diffuse_red", "diffuse_green", "diffuse_blue"))


@dataclass(frozen=True, slots=True)
class Scan:
    """Points and what the file says of each.

    Attributes
    ----------
    points : [n, d]
        d is 3 but for tables with more coordinates.
    attributes : dict of str to [n] or [n, 3]
        ``colors`` as uint8 where the file has colours; other columns by their names.
    n_dropped : int
        Rows left out because a coordinate was not finite.
    """

    points: FloatArray
    attributes: Mapping[str, NDArray[Any]]
    n_dropped: int


def read_scan(path: str | os.PathLike[str], dim: int | None = None) -> Scan:
    """Read a scan; the ending of ``path`` says how.

    ``dim`` is the number of coordinates in a table, ``.npy``, ``.csv`` or ``.xyz``; columns behind them are attributes.
    None takes all columns of ``.npy``; of ``.csv`` those named x, y, z or x1, x2, x3, … and otherwise the first three.
    """
    path = Path(path)
    dim = None if dim is None else as_integer(dim, "dim", low=3, why="a surface bends in at least three dimensions")
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(
            f"{path.name} must end in one of {', '.join(SUFFIXES)}; got {suffix or 'no ending'!r}. Convert it first."
        )
    if not path.is_file():
        raise FileNotFoundError(f"{path} must be an existing file; nothing readable is there. Check the path.")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} must hold at least one point; the file is empty.")
    try:
        columns, attributes = _READERS[suffix](path, dim) if suffix in _READERS else _read_solid(path, suffix, dim)
        if np.asarray(columns).dtype.kind not in "fiub":
            raise ValueError(f"points must be real numbers; it holds {np.asarray(columns).dtype}")
        points = np.ascontiguousarray(columns, dtype=np.float64)
    except Exception as error:
        if isinstance(error, ImportError) and suffix not in MESH_SUFFIXES:
            raise
        raise unreadable(path, error) from error
    if points.ndim != 2 or points.shape[1] < 3:
        raise ValueError(
            f"{path} must hold points of 3 coordinates or more; it holds an array of shape {points.shape}."
        )
    good = np.isfinite(points).all(axis=1)
    if not good.any():
        found = f"it holds {len(points)}, none of them finite" if len(points) else "none was found in it"
        raise ValueError(f"{path} must hold at least one point; {found}.")
    kept = {name: values[good] for name, values in attributes.items()}
    return Scan(points[good], kept, int(np.sum(~good)))


def _read_solid(path: Path, suffix: str, dim: int | None) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Formats whose points have three coordinates whatever is wanted."""
    if dim not in (None, 3):
        raise ValueError(f"its points have 3 coordinates, {dim} are wanted")
    return _read_las(path) if suffix in (".las", ".laz") else _read_mesh(path)


def _read_mesh(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    parts = mesh_parts(path)
    if not parts:
        return np.empty((0, 3)), {}
    points = np.concatenate([np.asarray(part.vertices, dtype=np.float64) for part in parts])
    if path.suffix.lower() == ".stl":
        return np.unique(points, axis=0), {}
    raw = parts[0].metadata.get("_ply_raw", {}).get("vertex", {}).get("data") if len(parts) == 1 else None
    if raw is not None:
        names = raw.dtype.names if hasattr(raw, "dtype") else list(raw)
        return points, _named({name: np.asarray(raw[name]).reshape(len(points)) for name in names}, "xyz")
    colors = [_vertex_colors(part) for part in parts]
    if any(color is None for color in colors):
        return points, {}
    return points, {"colors": np.concatenate([color for color in colors if color is not None])}


def _vertex_colors(part: Any) -> NDArray[np.uint8] | None:
    if hasattr(part, "visual"):
        if getattr(part.visual, "kind", None) != "vertex":
            return None
        return np.asarray(part.visual.vertex_colors, dtype=np.uint8)[:, :3]
    colors = np.asarray(part.colors)
    return colors[:, :3].astype(np.uint8) if colors.shape == (len(part.vertices), 4) else None


def _named(columns: Mapping[str, NDArray[Any]], coordinates: str) -> dict[str, NDArray[Any]]:
    """Columns that are no coordinates or normals, with three colour columns made one."""
    rest = {name: values for name, values in columns.items() if name.lower() not in (*coordinates, "nx", "ny", "nz")}
    lower = {name.lower(): name for name in rest}
    attributes: dict[str, NDArray[Any]] = {}
    for triple in _COLOUR_NAMES:
        if all(name in lower for name in triple):
            attributes["colors"] = _as_colors(np.column_stack([rest.pop(lower[name]) for name in triple]))
            break
    attributes |= {name: values for name, values in rest.items() if values.dtype.kind in "fiub"}
    return attributes


def _as_colors(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Colours as bytes; 16-bit numbers and shares of one are scaled."""
    if values.dtype == np.uint8 or values.size == 0:
        return values.astype(np.uint8)
    top = float(np.nanmax(values))
    scale = 255.0 if values.dtype.kind == "f" and top <= 1.0 else 1.0 / 257.0 if top > 255.0 else 1.0
    return np.clip(np.rint(np.nan_to_num(values * scale)), 0, 255).astype(np.uint8)


def _read_xyz(path: Path, dim: int | None) -> tuple[Any, dict[str, NDArray[Any]]]:
    return _split(np.loadtxt(path, ndmin=2), dim or 3)


def _split(table: NDArray[Any], dim: int) -> tuple[Any, dict[str, NDArray[Any]]]:
    """The first ``dim`` columns, and the others by their numbers."""
    _check_width(table, dim)
    return table[:, :dim], {f"column_{i + 1}": table[:, i] for i in range(dim, table.shape[1])}


def _check_width(table: NDArray[Any], dim: int) -> None:
    if table.shape[1] < dim:
        raise ValueError(f"rows must have at least {dim} numbers; they have {table.shape[1]}")


def _read_csv(path: Path, dim: int | None) -> tuple[Any, dict[str, NDArray[Any]]]:
    with open(path, encoding="utf-8-sig", newline="") as stream:
        first = next(csv.reader(stream), [])
    headed = not all(_is_number(entry) for entry in first)
    table = np.genfromtxt(path, delimiter=",", skip_header=int(headed), encoding="utf-8-sig", ndmin=2, dtype=np.float64)
    names = [name.strip() for name in first] if headed else [f"column_{i + 1}" for i in range(table.shape[1])]
    places = list(range(dim)) if dim is not None else _coordinate_columns([name.lower() for name in names])
    _check_width(table, len(places))
    rest = {names[i]: table[:, i] for i in range(table.shape[1]) if i not in places}
    # A column of words reads as NaN throughout.
    return table[:, places], _named({n: c for n, c in rest.items() if np.isfinite(c).any()}, "")


def _coordinate_columns(names: list[str]) -> list[int]:
    """Columns named x, y, z, or x and a number; the first three where there are none."""
    if set("xyz") <= set(names):
        return [names.index(axis) for axis in "xyz"]
    numbered = [i for i, name in enumerate(names) if name[:1] == "x" and name[1:].lstrip("_").isdigit()]
    return numbered if len(numbered) >= 3 else [0, 1, 2]


def _is_number(entry: str) -> bool:
    try:
        float(entry)
    except ValueError:
        return False
    return True


def _read_npy(path: Path, dim: int | None) -> tuple[Any, dict[str, NDArray[Any]]]:
    check_npy(path)
    table = np.load(path, allow_pickle=False)
    return (table, {}) if dim is None or table.ndim != 2 else _split(table, dim)


def _read_las(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    missing = '.las and .laz files need laspy with lazrs, which is not installed. Write: pip install "subbundle[las]"'
    try:
        laspy = import_module("laspy")
    except ImportError as error:
        raise ImportError(missing) from error
    if path.suffix.lower() == ".laz" and not laspy.LazBackend.detect_available():
        raise ImportError(missing)
    columns = read_las(path)
    return np.column_stack([columns.pop(axis) for axis in "xyz"]), _named(columns, "")


_READERS = {".xyz": _read_xyz, ".csv": _read_csv, ".npy": _read_npy}
