"""`read_scan`: the points of a scan with normals, colours and other attributes, from files of many formats.

Formats: ``.ply`` (ASCII, binary of either byte order), ``.obj``, ``.stl``, ``.off``, ``.pcd``; tables ``.xyz`` (also
``.xyzn``, ``.xyzrgb``, ``.pts``, ``.asc``, ``.txt``), ``.csv``, ``.tsv``, ``.npy`` and ``.npz``; ``.las`` and ``.laz``
with the extra ``las``, ``.e57`` with the extra ``e57``. Rows with a coordinate that is not finite are left out and
counted: scanners write them for rays without a return.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._atomic import check_source
from subbundle._html import card, dots
from subbundle._types import FloatArray
from subbundle._validation import as_integer
from subbundle.formats.columns import Content
from subbundle.formats.e57 import read_e57
from subbundle.formats.las import read_las
from subbundle.formats.meshes import read_mesh
from subbundle.formats.pcd import read_pcd
from subbundle.formats.tables import TEXT_SUFFIXES, read_csv, read_npy, read_npz, read_text
from subbundle.io import MESH_SUFFIXES, unreadable

_TABLES = {
    **dict.fromkeys(TEXT_SUFFIXES, read_text), ".csv": read_csv, ".tsv": read_csv, ".npy": read_npy, ".npz": read_npz,
}  # fmt: skip
# Formats with three coordinates only.
_SOLID = {
    **dict.fromkeys(MESH_SUFFIXES, read_mesh), ".pcd": read_pcd, ".e57": read_e57, ".las": read_las, ".laz": read_las,
}  # fmt: skip
SUFFIXES = (*MESH_SUFFIXES, *_TABLES, ".pcd", ".e57", ".las", ".laz")


@dataclass(frozen=True, slots=True)
class Scan:
    """Points and their attributes.

    Attributes
    ----------
    points : [n, d]
        d is 3 except for tables with more coordinates.
    attributes : dict of str to [n] or [n, 3]
        ``colors`` as uint8 where the file has colours, ``intensity``; other columns by their names.
    n_dropped : int
        Rows left out because a coordinate was not finite.
    normals : [n, 3] or None
        Of length 1, or 0 where the file has none for a point.
    """

    points: FloatArray
    attributes: Mapping[str, NDArray[Any]]
    n_dropped: int
    normals: FloatArray | None = None

    def _repr_html_(self) -> str:
        normals = [] if self.normals is None else ["normals"]
        facts = [("points", f"{len(self.points)} in R^{self.points.shape[1]}"), ("rows left out", self.n_dropped)]
        return card("Scan", [*facts, ("also", ", ".join([*normals, *self.attributes]))], picture=dots(self.points))

    def take(self, rows: Any) -> Scan:
        """The points at ``rows``, numbers or a mask, with normals and attributes."""
        kept = {name: values[rows] for name, values in self.attributes.items()}
        return Scan(self.points[rows], kept, self.n_dropped, None if self.normals is None else self.normals[rows])

    def moved(self, matrix: FloatArray) -> Scan:
        """The scan transformed by ``matrix`` [4, 4]: points x ↦ A x + t, normals n ↦ A⁻ᵀ n / |A⁻ᵀ n|."""
        linear, shift = matrix[:3, :3], matrix[:3, 3]
        normals = None
        if self.normals is not None:
            turned = self.normals @ np.linalg.inv(linear)
            length = np.linalg.norm(turned, axis=1, keepdims=True)
            normals = turned / np.where(length > 0.0, length, 1.0)
        return replace(self, points=self.points @ linear.T + shift, normals=normals)


def read_scan(path: str | os.PathLike[str], dim: int | None = None) -> Scan:
    """Read a scan; the ending of ``path`` determines the format.

    ``dim`` is the number of coordinates in a table, ``.npy``, ``.csv`` or ``.xyz``; columns after them are attributes.
    None: all columns of ``.npy``; of others those named x, y, z or x1, x2, x3, … and otherwise the first three.
    Columns without names are normals if their rows have length 1, and colours if they are whole numbers up to 255.
    """
    dim = None if dim is None else as_integer(dim, "dim", low=3, why="a curved surface needs three dimensions")
    path = check_source(path, SUFFIXES)
    suffix = path.suffix.lower()
    if path.stat().st_size == 0:
        raise ValueError(f"{path} must hold at least one point; the file is empty.")
    try:
        content = _TABLES[suffix](path, dim) if suffix in _TABLES else _read_solid(path, suffix, dim)
        if content.points.dtype.kind not in "fiub":
            raise ValueError(f"points must be real numbers; it holds {content.points.dtype}")
        points = np.ascontiguousarray(content.points, dtype=np.float64)
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
    whole = Scan(points, content.attributes, int(np.sum(~good)), content.normals)
    return whole if good.all() else whole.take(good)


def _read_solid(path: Path, suffix: str, dim: int | None) -> Content:
    if dim not in (None, 3):
        raise ValueError(f"its points have 3 coordinates, {dim} are required")
    return _SOLID[suffix](path)


def join_scans(scans: Sequence[Scan]) -> tuple[Scan, list[str]]:
    """Several scans as one, with the attribute ``scan``, the number of each; and names of the attributes left out.

    Normals and attributes are kept if every scan has them.
    """
    if len(scans) == 1:
        return scans[0], []
    dims = {scan.points.shape[1] for scan in scans}
    if len(dims) > 1:
        raise ValueError(f"all scans must have the same dimension; they have {', '.join(map(str, sorted(dims)))}.")
    shapes = [{name: values.shape[1:] for name, values in scan.attributes.items()} for scan in scans]
    shared = [name for name, shape in shapes[0].items() if all(other.get(name) == shape for other in shapes)]
    attributes = {name: np.concatenate([scan.attributes[name] for scan in scans]) for name in shared}
    attributes["scan"] = np.repeat(np.arange(len(scans)), [len(scan.points) for scan in scans])
    normals = [scan.normals for scan in scans if scan.normals is not None]
    lost = sorted({name for shape in shapes for name in shape} - set(shared) - {"scan"})
    lost += ["normals"] if 0 < len(normals) < len(scans) else []
    joined = Scan(
        np.concatenate([scan.points for scan in scans]), attributes, sum(scan.n_dropped for scan in scans),
        np.concatenate(normals) if len(normals) == len(scans) else None,
    )  # fmt: skip
    return joined, lost
