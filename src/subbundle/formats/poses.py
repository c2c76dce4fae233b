"""Poses of scans: 4 × 4 matrices, and lists of scans with one for each.

A matrix is a text file (16 numbers) or JSON. Lists are ``.aln`` files, as MeshLab writes them: the number of
scans, and for each the name of its file, ``#``, the matrix, ``#``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from subbundle._atomic import check_source
from subbundle._types import FloatArray

LIST_SUFFIX = ".aln"
# Most bytes of such a file.
_LONGEST = 1 << 22
# Numbers in such files have six digits or so.
_LAST_ROW = 1e-5


def read_matrix(path: Path) -> FloatArray:
    """The matrix [4, 4] in a ``.txt`` or ``.json`` file: its numbers row by row, the last row 0 0 0 1 or left out."""
    text = _text(path)
    try:
        if path.suffix.lower() == ".json":
            held = json.loads(text)
            numbers = next((v for v in held.values() if np.size(v) in (12, 16)), []) if isinstance(held, dict) else held
            values = np.asarray(numbers, dtype=np.float64).ravel()
        else:
            values = np.array(re.sub(r"#.*|[,;\[\]]", " ", text).split(), dtype=np.float64)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} must hold the 16 numbers of a 4 × 4 matrix; it holds something else.") from error
    if values.size == 12:
        values = np.append(values, [0.0, 0.0, 0.0, 1.0])
    if values.size != 16:
        raise ValueError(f"{path} must hold the 16 numbers of a 4 × 4 matrix; it holds {values.size}.")
    return check_matrix(values.reshape(4, 4), str(path))


def check_matrix(matrix: FloatArray, name: str) -> FloatArray:
    """``matrix`` [4, 4], if it is an affine map x ↦ A x + t with an invertible A; transposed ones are recognised."""
    last = np.array([0.0, 0.0, 0.0, 1.0])
    if not np.isfinite(matrix).all():
        raise ValueError(f"the matrix in {name} must have finite numbers; some are not.")
    if np.abs(matrix[3] - last).max() > _LAST_ROW:
        transposed = np.abs(matrix[:, 3] - last).max() <= _LAST_ROW
        hint = "It appears transposed: write columns as rows" if transposed else "The last column is the translation"
        raise ValueError(f"the last row of the matrix in {name} must be 0 0 0 1; it is {_shown(matrix[3])}. {hint}.")
    if not np.linalg.cond(matrix[:3, :3]) < 1e8:
        raise ValueError(f"the matrix in {name} must be invertible; it is singular.")
    return matrix


def rotation_of(quaternion: Any) -> FloatArray:
    """The matrix [3, 3] of a nonzero quaternion (w, x, y, z)."""
    given = np.asarray(quaternion, dtype=np.float64)
    if not 0.0 < np.linalg.norm(given) < np.inf:
        raise ValueError(f"a quaternion must have a finite length above zero; got {_shown(given)}")
    return np.asarray(Rotation.from_quat(np.roll(given, -1)).as_matrix())


def read_list(path: Path) -> list[tuple[Path, FloatArray]]:
    """The scans that an ``.aln`` file names, relative to its own folder, and their matrices."""
    lines = [line.strip() for line in _text(path).splitlines()]
    try:
        found = _listed(lines)
    except IndexError as error:
        raise ValueError(f"{path} could not be read as .aln: it is cut off") from error
    except ValueError as error:
        raise ValueError(f"{path} could not be read as .aln: {error}") from error
    if not found:
        raise ValueError(f"{path} must name at least one scan; it names none.")
    return [(path.parent / name, check_matrix(matrix, f"{path}, {name}")) for name, matrix in found]


def _listed(lines: list[str]) -> list[tuple[str, FloatArray]]:
    lines = [line for line in lines if line]
    count, scans, at = int(lines[0]), [], 1
    for _ in range(min(count, len(lines))):
        if lines[at + 1] != "#":
            raise ValueError(f"a # must follow the name {lines[at][:80]!r}")
        rows = [[float(word) for word in line.split()] for line in lines[at + 2 : at + 6]]
        if [len(row) for row in rows] != [4] * 4:
            raise ValueError(f"four rows of four numbers must follow the name {lines[at][:80]!r}")
        scans.append((lines[at], np.array(rows)))
        at += 7
    if len(scans) != count:
        raise ValueError(f"it announces {count} scans and holds {len(scans)}")
    return scans


def _text(path: Path) -> str:
    check_source(path)
    if path.stat().st_size > _LONGEST:
        raise ValueError(f"{path} must be a short text with matrices; it has {path.stat().st_size} bytes.")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeError as error:
        raise ValueError(f"{path} must be a short text file with matrices; it is not text.") from error


def _shown(numbers: FloatArray) -> str:
    return " ".join(f"{number:.4g}" for number in numbers)
