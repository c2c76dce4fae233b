"""Reading mesh files of strangers: nothing but the file itself is opened, and all points that it announces are there.

Mesh files may name others, with materials or pictures. They are left alone: a name can be that of a pipe which never
ends, and nothing here needs them.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

# A header ends within so many bytes, or the file is something else.
_LONGEST_HEADER = 1 << 20
_SILENT = logging.NullHandler()


def mesh_parts(path: Path) -> list[Any]:
    """The meshes and clouds with at least one vertex in a .ply, .obj, .stl or .off file, as trimesh gives them."""
    import trimesh

    # What trimesh notes about a damaged file is for those who ask for its log; the reason is in the error.
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
    """The number of vertices that a PLY header promises. None: there is no header, which the parser reports better."""
    with open(path, "rb") as stream:
        header = stream.read(_LONGEST_HEADER).partition(b"end_header")[0]
    number = re.search(rb"^[ \t]*element[ \t]+vertex[ \t]+(\d{1,18})[ \t\r]*$", header, re.M)
    return None if number is None else int(number[1])


class _NoOtherFiles:
    """What trimesh asks for the files that a mesh names: there are none."""

    def get(self, name: str) -> bytes:
        raise OSError(f"{name} is not opened")

    __getitem__ = get
