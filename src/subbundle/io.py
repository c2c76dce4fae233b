"""Reading points, writing points and meshes.

Files are written to a temporary name in the target's own folder and moved into place when complete, so no incomplete
file is ever read or left.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from subbundle._atomic import atomic_path as atomic_path
from subbundle._atomic import check_source, check_target
from subbundle._types import FloatArray, IntArray
from subbundle._validation import as_points, as_real
from subbundle.formats.meshes import read_mesh
from subbundle.formats.tables import is_number, read_columns, read_npy, read_text

__all__ = ["read_points", "write_mesh", "write_ply"]

MESH_SUFFIXES = (".ply", ".obj", ".stl", ".off")
# Meshes in R^d are written to NumPy's own container: the other formats have three coordinates.
WRITTEN_SUFFIXES = (*MESH_SUFFIXES, ".npz")
READ_SUFFIXES = (*MESH_SUFFIXES, ".xyz", ".csv", ".npy")


def read_points(path: str | os.PathLike[str]) -> FloatArray:
    """Read a cloud, [n, dim], from a .ply, .obj, .stl, .off, .xyz, .csv or .npy file.

    Of meshes the vertices (each corner once, also for STL, which stores the corners of every triangle separately). Of
    tables the rows: ``.xyz`` separates numbers by blanks and may have further columns after the first three,
    which are left out; ``.csv`` separates by commas, semicolons, tabs or blanks and may start with a line of names.
    """
    path = check_source(path, READ_SUFFIXES)
    try:
        points = read_mesh(path).points if path.suffix.lower() in MESH_SUFFIXES else _read_table(path)
    except Exception as error:
        raise unreadable(path, error) from error
    points = as_points(points, path.name)
    if len(points) == 0:
        raise ValueError(f"{path} must hold at least one point; it holds none.")
    return points


def write_ply(
    path: str | os.PathLike[str],
    points: Any,
    faces: Any = None,
    *,
    normals: Any = None,
    colors: Any = None,
    attributes: Mapping[str, Any] | None = None,
    comments: Sequence[str] = (),
) -> Path:
    """Write a cloud or a triangle mesh as binary PLY and return its path.

    Parameters
    ----------
    path : path
        Must end in ``.ply``; the folder must exist.
    points : [n, 3]
        Written as float64, so that reading them back gives the same bits.
    faces : [m, 3] of int, optional
        Corners of the triangles, as rows of ``points``.
    normals : [n, 3], optional
    colors : [n, 3], optional
        Red, green, blue: uint8 in 0..255, or floats in 0..1.
    attributes : mapping of str to [n] or [n, c], optional
        Further numbers of every point, written as float64; columns of [n, c] are called name_0, name_1, …
        A name that the coordinates, normals or colours have is preceded by ``scan_``.
    comments : sequence of str
        Lines for the header, such as the unit of length.
    """
    path = check_target(path, (".ply",))
    points = as_points(points, "points", dim=3)
    columns: list[tuple[str, str, Any]] = [(name, "<f8", points[:, i]) for i, name in enumerate("xyz")]
    if normals is not None:
        normals = _same_length(as_points(normals, "normals", dim=3), "normals", len(points))
        columns += [(f"n{name}", "<f8", normals[:, i]) for i, name in enumerate("xyz")]
    if colors is not None:
        bytes_ = _same_length(_as_bytes(colors), "colors", len(points))
        columns += [(name, "u1", bytes_[:, i]) for i, name in enumerate(("red", "green", "blue"))]
    for name, values in (attributes or {}).items():
        columns += _attribute_columns(name, values, len(points), {column[0] for column in columns})
    vertices = np.empty(len(points), dtype=[(name, kind) for name, kind, _ in columns])
    for name, _, values in columns:
        vertices[name] = values
    corners = None if faces is None else _as_faces(faces, len(points))
    kinds = [(name, "double" if kind == "<f8" else "uchar") for name, kind, _ in columns]
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        stream.write(
            ply_header(len(points), kinds, None if corners is None else len(corners), _commented("comment", comments))
        )
        stream.write(vertices.tobytes())
        if corners is not None:
            stream.write(ply_faces(corners))
    return path


def ply_header(
    n_vertices: int, kinds: Sequence[tuple[str, str]], n_faces: int | None = None, comments: Sequence[str] = ()
) -> bytes:
    """Header of a binary PLY file of vertices with properties of these ``kinds`` (name, type), and of triangles."""
    lines = ["ply", "format binary_little_endian 1.0", *comments, f"element vertex {n_vertices}"]
    lines += [f"property {kind} {name}" for name, kind in kinds]
    lines += [] if n_faces is None else [f"element face {n_faces}", "property list uchar int vertex_indices"]
    return ("\n".join([*lines, "end_header"]) + "\n").encode("ascii")


def ply_faces(corners: IntArray) -> bytes:
    """Triangles with these ``corners`` [m, 3] as a binary PLY file has them."""
    triangles = np.empty(len(corners), dtype=[("count", "u1"), ("corners", "<i4", (3,))])
    triangles["count"], triangles["corners"] = 3, corners
    return triangles.tobytes()


def write_mesh(
    path: str | os.PathLike[str],
    vertices: Any,
    faces: Any,
    *,
    normals: Any = None,
    attributes: Mapping[str, Any] | None = None,
    comments: Sequence[str] = (),
) -> Path:
    """Write a triangle mesh to a .ply, .obj, .stl, .off or .npz file and return its path.

    ``.ply`` keeps everything, ``.obj`` normals and the attribute ``colors``, ``.stl`` and ``.off`` the triangles alone.
    ``.npz`` keeps everything, in any R^d: the arrays ``vertices``, ``faces``, ``normals``, and attributes by name.

    Parameters
    ----------
    vertices : [n, 3], or [n, d] for ``.npz``
    faces : [m, 3] of int
    normals : [n, 3], optional
    attributes : mapping of str to [n] or [n, c], optional
        ``colors`` (uint8 or floats in 0..1, [n, 3]) is written as red, green, blue.
    comments : sequence of str
        Lines for the header of ``.ply``, ``.obj`` and ``.off``, and the array ``comments`` of ``.npz``.
    """
    path = check_target(path, WRITTEN_SUFFIXES)
    suffix = path.suffix.lower()
    vertices = as_points(vertices, "vertices")
    check_mesh_suffix(path, vertices.shape[1])
    others = dict(attributes or {})
    if suffix == ".npz":
        return _write_npz(path, vertices, _as_faces(faces, len(vertices)), normals, others, comments)
    colors = others.pop("colors", None)
    if suffix == ".ply":
        return write_ply(path, vertices, faces, normals=normals, colors=colors, attributes=others, comments=comments)
    import trimesh

    mesh = trimesh.Trimesh(
        vertices,
        _as_faces(faces, len(vertices)),
        vertex_normals=None if normals is None else as_points(normals, "normals", dim=3),
        vertex_colors=None if colors is None else _same_length(_as_bytes(colors), "colors", len(vertices)),
        process=False,
    )
    options: dict[str, Any] = (
        {"include_normals": normals is not None, "include_color": colors is not None} if suffix == ".obj" else {}
    )
    data: Any = mesh.export(file_type=suffix[1:], **options)
    if isinstance(data, str):
        key, rest = ("OFF\n", data.partition("\n")[2]) if suffix == ".off" else ("", data)
        data = key + "".join(f"{line}\n" for line in _commented("#", comments)) + rest
    with atomic_path(path) as temporary:
        temporary.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
    return path


def unreadable(path: Path, error: Exception) -> Exception:
    """The exception to raise for an ``error`` in reading ``path``: the file's name and one line of cause.

    Parsers fail in many ways on a damaged file. Errors of the system (permissions, disks) are returned unchanged.
    """
    if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
        return error
    suffix = path.suffix.lower()
    reason = " ".join(line.strip() for line in str(error).splitlines()[:2]) or type(error).__name__
    if isinstance(error, ImportError | UnicodeError):
        # For other bytes trimesh requires a package that detects encodings.
        reason = "it is not UTF-8 text. Save it in that encoding"
    elif path.is_file() and path.stat().st_size == 0:
        reason = "it is empty"
    elif suffix == ".npy" and ("pickle" in reason or "Python objects" in reason):
        reason = "it holds Python objects, not an array of numbers. Save array.astype(float)"
    elif suffix == ".npy" and "mmap" in reason:
        reason = "it is cut off: its header announces more numbers than it holds"
    elif suffix in MESH_SUFFIXES:
        reason = f"it is cut off, damaged or of another format ({reason})"
    return ValueError(f"{path} could not be read as {suffix}: {reason}")


def check_mesh_suffix(path: str | os.PathLike[str], dim: int) -> None:
    """Raise when the format of ``path`` cannot hold vertices of ``dim`` coordinates."""
    path = Path(path)
    if dim != 3 and path.suffix.lower() in MESH_SUFFIXES:
        raise ValueError(
            f"{path.name} can only hold vertices with 3 coordinates; these have {dim}. Write {path.stem}.npz instead: "
            "arrays vertices and faces, for numpy.load."
        )


def _write_npz(
    path: Path,
    vertices: FloatArray,
    faces: Any,
    normals: Any,
    attributes: Mapping[str, Any],
    comments: Sequence[str],
) -> Path:
    arrays: dict[str, Any] = {"vertices": vertices, "faces": faces}
    if normals is not None:
        arrays["normals"] = _same_length(as_points(normals, "normals"), "normals", len(vertices))
    for name, values in attributes.items():
        name = f"scan_{name}" if name in arrays or name == "file" else name
        arrays[name] = _same_length(np.asarray(values), f"attributes[{name!r}]", len(vertices))
    if comments:
        arrays["comments"] = np.array(list(comments))
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        np.savez_compressed(stream, **arrays)
    return path


def _read_table(path: Path) -> Any:
    if path.suffix.lower() == ".npy":
        return read_npy(path, None).points
    if path.suffix.lower() == ".xyz":
        return read_text(path, 3).points
    columns = read_columns(path)
    for name, column in columns.items():
        if column.dtype.kind not in "fiub":
            word = next(str(entry) for entry in column if not is_number(entry))
            raise ValueError(f"its columns must hold numbers; {name} holds text, such as {word!r:.40}")
    return np.column_stack(list(columns.values()))


def _as_faces(faces: Any, n_points: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    corners = np.asarray(faces)
    if corners.ndim != 2 or corners.shape[1] != 3 or corners.dtype.kind not in "iu":
        raise ValueError(f"faces must be integers of shape (m, 3); got {corners.dtype} of shape {corners.shape}.")
    if corners.size and (corners.min() < 0 or corners.max() >= n_points):
        raise ValueError(f"faces must name rows 0..{n_points - 1} of points; got {corners.min()}..{corners.max()}.")
    return corners.astype(np.int64)


def _as_bytes(colors: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    array = np.asarray(colors)
    if array.dtype == np.uint8 and array.ndim == 2 and array.shape[1] == 3:
        return array
    values = as_points(array, "colors", dim=3)
    if array.dtype.kind != "f" or (values.size and (values.min() < 0.0 or values.max() > 1.0)):
        raise ValueError(
            f"colors must be uint8 in 0..255 or floats in 0..1; got {array.dtype} in {values.min()}..{values.max()}. "
            "Write colors.astype(np.uint8) or colors / 255."
        )
    return np.round(255.0 * values).astype(np.uint8)


def _attribute_columns(name: str, values: Any, n_points: int, taken: set[str]) -> list[tuple[str, str, Any]]:
    """Named columns of one attribute; blanks are not allowed in names, and none may occur twice."""
    array = _same_length(as_real(values, f"attributes[{name!r}]"), f"attributes[{name!r}]", n_points)
    word = "_".join(name.split()) or "attribute"
    columns = array.reshape(n_points, -1).T
    names = [word] if array.ndim == 1 else [f"{word}_{i}" for i in range(len(columns))]
    while taken.intersection(names):
        names = [f"scan_{name}" for name in names]
    return [(name, "<f8", column) for name, column in zip(names, columns, strict=True)]


def _commented(mark: str, comments: Sequence[str]) -> list[str]:
    """Lines of ASCII that begin with ``mark``."""
    return [f"{mark} {' '.join(text.split())}".encode("ascii", "replace").decode("ascii") for text in comments]


def _same_length(array: Any, name: str, n_points: int) -> Any:
    if len(array) != n_points:
        raise ValueError(f"{name} must have one row per point, {n_points}; got {len(array)}.")
    return array
