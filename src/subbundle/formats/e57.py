"""Reading ``.e57``, the exchange format of laser scanners: several scans in one file, each with its pose.

The library that decodes it is written in C++, so it runs in a separate process (`decoder`). Coordinates are metres,
in the common frame of all scans: x = R(q) x_scan + t with the quaternion q and the translation t of each.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._validation import not_installed
from subbundle.formats.columns import Content, named
from subbundle.formats.decoder import decoded, send
from subbundle.formats.poses import rotation_of

_CARTESIAN = ("cartesianX", "cartesianY", "cartesianZ")
_SPHERICAL = ("sphericalRange", "sphericalAzimuth", "sphericalElevation")
_NORMALS = ("nor:normalX", "nor:normalY", "nor:normalZ")
_NAMES = {
    "colorRed": "red", "colorGreen": "green", "colorBlue": "blue", "intensity": "intensity",
    **dict(zip(_NORMALS, ("nx", "ny", "nz"), strict=True)),
}  # fmt: skip
_INVALID = ("cartesianInvalidState", "sphericalInvalidState")
# Most bytes of numbers per byte of the file: coordinates are packed into bits.
_PACKED = 8


def read_e57(path: Path) -> Content:
    """All scans of the file in their common frame, in metres; ``scan`` is the number of each, if there are several."""
    if find_spec("pye57") is None:
        raise not_installed("pye57", "e57", "a .e57 file")
    with open(path, "rb") as stream:
        if stream.read(8) != b"ASTM-E57":
            raise ValueError("it is cut off or no E57 file: its header is missing")
    columns = decoded("subbundle.formats.e57", path, _PACKED * path.stat().st_size)
    points = np.column_stack([columns.pop(axis) for axis in "xyz"])
    for name in ("red", "green", "blue"):
        if name in columns:
            columns[name] = np.clip(np.nan_to_num(columns[name]), 0, 65535).astype(np.uint16)
    return named(points, columns)


def _columns(path: Path) -> dict[str, NDArray[Any]]:
    libe57 = import_module("pye57.libe57")
    file = libe57.ImageFile(str(path), "r")
    scans = file.root()["data3D"]
    found = [_scan(libe57, file, scans[i]) for i in range(len(scans))]
    shared = set.intersection(*(set(columns) for columns in found)) if found else set()
    joined = {name: np.concatenate([columns[name] for columns in found]) for name in sorted(shared)}
    if len(found) > 1:
        joined["scan"] = np.repeat(np.arange(len(found)), [len(columns["x"]) for columns in found])
    return joined


def _scan(libe57: Any, file: Any, node: Any) -> dict[str, NDArray[Any]]:
    """The columns of one scan, transformed by its pose; rays without a return are NaN."""
    points = node["points"]
    prototype = libe57.StructureNode(points.prototype())
    there = {prototype.get(i).elementName() for i in range(prototype.childCount())}
    round_ = not set(_CARTESIAN) <= there
    wanted = [*(_SPHERICAL if round_ else _CARTESIAN), *(n for n in (*_NAMES, *_INVALID) if n in there)]
    count = points.childCount()
    values = {name: np.empty(count) for name in wanted}
    buffers = libe57.VectorSourceDestBuffer()
    for name, column in values.items():
        buffers.append(libe57.SourceDestBuffer(file, name, column, count, True, True))
    if count:
        points.reader(buffers).read()
    place = np.column_stack([values.pop(name) for name in wanted[:3]])
    if round_:
        far, turn, rise = place.T
        place = far[:, None] * np.column_stack([np.cos(rise) * np.cos(turn), np.cos(rise) * np.sin(turn), np.sin(rise)])
    for name in _INVALID:
        if name in values:
            place[values.pop(name) != 0.0] = np.nan
    rotation, shift = _pose(node)
    columns = {_NAMES[name]: column for name, column in values.items()}
    if {"nx", "ny", "nz"} <= set(columns):
        turned = np.column_stack([columns[name] for name in ("nx", "ny", "nz")]) @ rotation.T
        columns |= dict(zip(("nx", "ny", "nz"), turned.T, strict=True))
    return dict(zip("xyz", (place @ rotation.T + shift).T, strict=True)) | columns


def _pose(node: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rotation [3, 3] and translation [3] of a scan; none if the file has none."""
    if not node.isDefined("pose"):
        return np.eye(3), np.zeros(3)
    pose = node["pose"]
    shift = [pose["translation"][axis].value() for axis in "xyz"] if pose.isDefined("translation") else [0.0] * 3
    if not pose.isDefined("rotation"):
        return np.eye(3), np.array(shift)
    return rotation_of([pose["rotation"][axis].value() for axis in "wxyz"]), np.array(shift)


if __name__ == "__main__":
    send(_columns)
