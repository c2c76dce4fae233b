"""Vertices of ``.obj`` and ``.off`` files, with their normals and colours."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle.formats.columns import Content, are_bytes, as_colors, as_normals

# The letters for normals and colours occur in either order.
_OFF_KEY = re.compile(r"([CN]*)OFF\b(?![ \t]*BINARY)", re.I)


def read_obj(path: Path) -> Content:
    """Lines ``v x y z`` (optionally with red, green, blue) and ``vn``: one per vertex, or as faces refer to them."""
    text = path.read_bytes()
    vertices = _lines(text, b"v")
    if not vertices:
        if b"\0" in text or not text.isascii():
            raise ValueError("it is not a text file")
        return Content(np.empty((0, 3)))
    table = _numbers(vertices)
    faces = b" ".join(_lines(text, b"f"))
    largest = max((int(index) for index in set(re.findall(rb"(?<![/\d])\d+", faces))), default=0)
    if largest > len(table):
        raise ValueError(f"a face names the vertex {largest}, and it holds {len(table)}")
    colours = {"colors": as_colors(table[:, 3:6])} if table.shape[1] in (6, 7) else {}
    return Content(table[:, :3], colours, _obj_normals(_lines(text, b"vn"), faces, len(table)))


def _lines(text: bytes, key: bytes) -> list[bytes]:
    return re.findall(rb"^[ \t]*" + key + rb"[ \t]+([^\r\n#]+)", text, re.M)


def _numbers(lines: list[bytes]) -> NDArray[Any]:
    """The numbers of ``lines``, as many of each as the shortest has."""
    counts = {len(line.split()) for line in lines} if len(lines) < 10_000 else {len(lines[0].split())}
    if min(counts) < 3:
        raise ValueError("a vertex must have three coordinates; one has fewer")
    return np.loadtxt(io.BytesIO(b"\n".join(lines)), ndmin=2, usecols=None if len(counts) == 1 else range(min(counts)))


def _obj_normals(lines: list[bytes], faces: bytes, n_vertices: int) -> NDArray[Any] | None:
    """Normals [n, 3] of the vertices: means of those that the corners of the faces refer to, or one per vertex."""
    if not lines:
        return None
    listed = _numbers(lines)[:, :3]
    pairs = np.array(re.findall(rb"(?<!\S)(\d+)/\d*/(\d+)(?!\S)", faces)).astype(np.int64).reshape(-1, 2) - 1
    if not len(pairs):
        return as_normals(listed) if len(listed) == n_vertices else None
    if pairs.min() < 0 or pairs[:, 1].max() >= len(listed):
        raise ValueError(f"a face names the normal {pairs[:, 1].max() + 1}, and it holds {len(listed)}")
    total = np.column_stack([np.bincount(pairs[:, 0], listed[pairs[:, 1], i], n_vertices) for i in range(3)])
    return as_normals(total)


def read_off(path: Path) -> Content:
    """Files that begin with OFF, COFF (with colours), NOFF (with normals) or CNOFF."""
    text = re.sub(r"#.*", "", path.read_text(encoding="utf-8-sig")).lstrip()
    key = _OFF_KEY.match(text)
    if key is None:
        raise ValueError("it must begin with OFF, COFF, NOFF or CNOFF, and be text")
    lines = [line for line in text[key.end() :].splitlines() if line.strip()]
    counts = lines[0].split() if lines else []
    if len(counts) < 2 or not counts[0].isdigit():
        raise ValueError("the numbers of its vertices and faces are missing")
    announced = int(counts[0])
    if announced > len(lines) - 1:
        raise ValueError(f"it announces {announced} vertices and holds at most {len(lines) - 1}")
    if announced == 0:
        return Content(np.empty((0, 3)))
    table = np.loadtxt(lines[1 : 1 + announced], ndmin=2)
    turned, coloured = "N" in key[1].upper(), "C" in key[1].upper()
    wanted = 3 + 3 * turned + 3 * coloured
    if table.shape[1] < wanted:
        raise ValueError(f"rows must have at least {wanted} numbers; they have {table.shape[1]}")
    normals, colours = table[:, 3:6], table[:, wanted - 3 : wanted]
    if turned and coloured and are_bytes(table[:, 3:6]) and not are_bytes(table[:, -3:]):
        normals, colours = table[:, -3:], table[:, 3:6]  # as MeshLab writes them
    attributes = {"colors": as_colors(colours)} if coloured else {}
    return Content(table[:, :3], attributes, as_normals(normals) if turned else None)
