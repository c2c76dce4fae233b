"""Columns of a table as quantities: numbers, categories or colours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._types import IntArray, Status
from subbundle.plot.palette import MOST_CATEGORIES
from subbundle.viewer.scene import Quantity

# Different words up to which a column is a label; names and identifiers have more.
_MOST_WORDS = 200


def quantity_of(name: str, column: Any, rows: IntArray, n_total: int) -> Quantity | None:
    """``column`` [n_total] (or [n_total, 3] colours) at ``rows``; None for words with too many different values."""
    values = np.asarray(column)
    if values.ndim not in (1, 2) or len(values) != n_total:
        raise ValueError(f"{name!r} must have one entry per point, {n_total}; got shape {values.shape}.")
    values = values[rows]
    if values.ndim == 2:
        return _colours(name, values)
    if values.dtype.kind in "OUSb":
        labels, codes = np.unique(values.astype(str), return_inverse=True)
        return Quantity(name, codes, tuple(labels)) if len(labels) <= _MOST_WORDS else None
    if values.dtype.kind in "iu":
        labels, codes = np.unique(values, return_inverse=True)
        if len(labels) <= MOST_CATEGORIES:
            return Quantity(name, codes, tuple(str(label) for label in labels))
    if values.dtype.kind not in "fiu":
        raise TypeError(f"{name!r} must hold numbers or words; got an array of dtype {values.dtype}.")
    return Quantity(name, values.astype(np.float64))


def quantities_of(columns: Mapping[str, Any], rows: IntArray, n_total: int) -> list[Quantity]:
    """All ``columns`` that can be shown."""
    found = [quantity_of(str(name), column, rows, n_total) for name, column in columns.items()]
    return [quantity for quantity in found if quantity is not None]


def statuses(status: NDArray[Any]) -> Quantity | None:
    """`Status` codes [n] in words; None when all are the same."""
    present = np.unique(status)
    if len(present) < 2:
        return None
    return Quantity("status", np.searchsorted(present, status), tuple(Status(int(code)).words for code in present))


def _colours(name: str, values: NDArray[Any]) -> Quantity:
    if values.shape[1] not in (3, 4):
        raise ValueError(f"{name!r} must have one column, or three or four for colours; got {values.shape[1]}.")
    if values.dtype != np.uint8:
        if values.dtype.kind != "f" or np.nanmin(values) < 0.0 or np.nanmax(values) > 1.0:
            raise ValueError(f"colours {name!r} must be uint8 in 0..255 or floats in 0..1; got {values.dtype}.")
        values = np.round(255.0 * np.nan_to_num(values)).astype(np.uint8)
    return Quantity(name, values[:, :3])
