"""Columns of a file of points: coordinates, normals, colours, and the others by their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle.formats.tuning import UNIT_FRACTION, UNIT_TOLERANCE

_COLOURS = (
    ("red", "green", "blue"), ("r", "g", "b"), ("diffuse_red", "diffuse_green", "diffuse_blue"),
    ("colorred", "colorgreen", "colorblue"),
)  # fmt: skip
_NORMALS = (("nx", "ny", "nz"), ("normal_x", "normal_y", "normal_z"), ("normalx", "normaly", "normalz"))
_INTENSITIES = ("intensity", "i", "reflectance", "reflectivity")
# Most bytes of the header of a file of points.
LONGEST_HEADER = 1 << 20


@dataclass(frozen=True, slots=True)
class Content:
    """The rows of a file: ``points`` [n, d], ``normals`` [n, 3] or None, and attributes [n] or [n, c] by name."""

    points: NDArray[Any]
    attributes: dict[str, NDArray[Any]] = field(default_factory=dict)
    normals: NDArray[Any] | None = None


def named(points: NDArray[Any], columns: Mapping[str, NDArray[Any]]) -> Content:
    """``points`` and the ``columns`` that are no coordinates, sorted by their names into normals, colours and others.

    The prefix ``scalar_`` of exported scalar fields is removed.
    """
    rest = {name: values for name, values in columns.items() if values.dtype.kind in "fiub"}
    normals = _triple(rest, _NORMALS)
    colours = _triple(rest, _COLOURS)
    attributes = {"colors": as_colors(colours)} if colours is not None and colours.any() else {}  # zeros: not filled
    for name, values in rest.items():
        short = name[7:] if name.lower().startswith("scalar_") else name
        short = "intensity" if short.lower() in _INTENSITIES else short or name
        attributes[name if short in attributes else short] = values
    return Content(points, attributes, None if normals is None else as_normals(normals))


def unnamed(table: NDArray[Any], dim: int) -> Content:
    """The first ``dim`` columns of ``table`` [n, c]; normals and colours among the others are recognised by value."""
    check_width(table, dim)
    names, at = {}, dim
    while at < table.shape[1]:
        triple = _meaning(table[:, at : at + 3])
        for i, name in enumerate(triple or (f"column_{at + 1}",)):
            names[name if name not in names else f"column_{at + i + 1}"] = table[:, at + i]
        at += len(triple) or 1
    return named(table[:, :dim], names)


def check_width(table: NDArray[Any], dim: int) -> None:
    """Raise when rows are too short for ``dim`` coordinates."""
    if table.ndim != 2 or table.shape[1] < dim:
        width = table.shape[1] if table.ndim == 2 else 1
        raise ValueError(f"rows must have at least {dim} numbers; they have {width}")


def as_colors(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Colours as bytes; 16-bit numbers and fractions of one are scaled."""
    if values.dtype == np.uint8 or values.size == 0:
        return values.astype(np.uint8)
    top = float(np.nanmax(values))
    scale = 255.0 if values.dtype.kind == "f" and top <= 1.0 else 1.0 / 257.0 if top > 255.0 else 1.0
    return np.clip(np.rint(np.nan_to_num(values * scale)), 0, 255).astype(np.uint8)


def as_normals(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """Unit normals [n, 3], zero where there is none; None if there is none at all."""
    vectors = values.astype(np.float64)
    vectors[~np.isfinite(vectors).all(axis=1)] = 0.0
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0) if length.any() else None


def _triple(columns: dict[str, NDArray[Any]], known: tuple[tuple[str, ...], ...]) -> NDArray[Any] | None:
    """The columns [n, 3] that have the first of the ``known`` names that all occur, taken out of ``columns``."""
    lower = {name.lower(): name for name in columns}
    for names in known:
        if all(name in lower for name in names):
            return np.column_stack([columns.pop(lower[name]) for name in names])
    return None


def _meaning(values: NDArray[Any]) -> tuple[str, ...]:
    """The names of three columns [n, 3], if their values determine them."""
    if values.shape[1] < 3 or not np.isfinite(values).all():
        return ()
    length = np.linalg.norm(values, axis=1)
    if np.mean((np.abs(length - 1.0) < UNIT_TOLERANCE) | (length == 0.0)) > UNIT_FRACTION and length.any():
        return _NORMALS[0]
    return _COLOURS[0] if are_bytes(values) and values.max() > 1.0 else ()


def are_bytes(values: NDArray[Any]) -> bool:
    """Whether all ``values`` are integers in 0..255."""
    return bool(values.min() >= 0.0 and values.max() <= 255.0 and (values == np.rint(values)).all())
