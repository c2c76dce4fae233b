"""Reading mesh files of untrusted sources: only the file itself is opened, and its vertices are counted.

Mesh files may name others, with materials or images. They are not opened: a name can be that of a pipe which never
ends.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle.formats.columns import LONGEST_HEADER, Content, as_normals, named
from subbundle.formats.text_meshes import read_obj, read_off

_SILENT = logging.NullHandler()


def read_mesh(path: Path) -> Content:
    """The vertices of a .ply, .obj, .stl or .off file, each corner once, with their attributes."""
    suffix = path.suffix.lower()
    if suffix in (".obj", ".off"):
        return read_obj(path) if suffix == ".obj" else read_off(path)
    parts = _parts(path)
    if not parts:
        return Content(np.empty((0, 3)))
    return _of_stl(parts) if suffix == ".stl" else _of_ply(parts)


def read_faces(path: Path) -> tuple[Content, NDArray[np.int64]] | None:
    """The vertices of a mesh with their attributes, and its triangles [m, 3]; None where a file has no faces."""
    parts = [part for part in _parts(path) if len(getattr(part, "faces", ()))]
    if not parts:
        return None
    counts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    faces = [np.asarray(part.faces, dtype=np.int64) + first for part, first in zip(parts, counts, strict=False)]
    content = _of_ply(parts)
    if not content.attributes and all(part.visual.kind == "vertex" for part in parts):
        shades = [np.asarray(part.visual.vertex_colors, dtype=np.uint8)[:, :3] for part in parts]
        content = Content(content.points, {"colors": np.concatenate(shades)})
    return content, np.concatenate(faces)


def _of_ply(parts: list[Any]) -> Content:
    points = np.concatenate([np.asarray(part.vertices, dtype=np.float64) for part in parts])
    raw = parts[0].metadata.get("_ply_raw", {}).get("vertex", {}).get("data") if len(parts) == 1 else None
    if raw is None:
        return Content(points)
    names = raw.dtype.names if hasattr(raw, "dtype") else list(raw)
    columns = {name: np.asarray(raw[name]) for name in names if name.lower() not in ("x", "y", "z")}
    return named(points, {name: c.reshape(len(points)) for name, c in columns.items() if c.size == len(points)})


def _of_stl(parts: list[Any]) -> Content:
    """Distinct corners; the normal of each is the mean of its triangles', by area."""
    triangles = np.concatenate([np.asarray(part.triangles, dtype=np.float64) for part in parts])
    points, corner = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
    twice_area = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    across = np.repeat(twice_area, 3, axis=0)
    total = [np.bincount(corner.ravel(), across[:, i], len(points)) for i in range(3)]
    return Content(points, {}, as_normals(np.column_stack(total)))


def _parts(path: Path) -> list[Any]:
    """The meshes and clouds with at least one vertex in a file, as trimesh gives them; other files are not opened."""
    import trimesh

    # The log of trimesh about a damaged file is silenced; the reason is in the error.
    logging.getLogger("trimesh").addHandler(_SILENT)
    others: Any = _NoOtherFiles()
    announced = _announced_vertices(path) if path.suffix.lower() == ".ply" else None
    with open(path, "rb") as stream:
        loaded: Any = trimesh.load(
            stream, file_type=path.suffix.lower()[1:], process=False, resolver=others, skip_materials=True
        )
    parts = list(loaded.geometry.values()) if isinstance(loaded, trimesh.Scene) else [loaded]
    parts = [part for part in parts if len(part.vertices)]
    found = sum(len(part.vertices) for part in parts)
    if announced is not None and found != announced:
        raise ValueError(f"it announces {announced} vertices and holds {found}")
    return parts


def _announced_vertices(path: Path) -> int | None:
    """The number of vertices in a PLY header. None: there is no header, which the parser reports."""
    with open(path, "rb") as stream:
        header = stream.read(LONGEST_HEADER).partition(b"end_header")[0]
    number = re.search(rb"^[ \t]*element[ \t]+vertex[ \t]+(\d{1,18})[ \t\r]*$", header, re.M)
    return None if number is None else int(number[1])


class _NoOtherFiles:
    """Resolver of trimesh for the files that a mesh names: it opens none."""

    def get(self, name: str) -> bytes:
        raise OSError(f"{name} is not opened")

    __getitem__ = get
