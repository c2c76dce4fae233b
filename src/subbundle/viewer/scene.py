"""The content of a page: tables of rows, drawn as layers in one or more linked panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.plot.palette import PALETTE


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number, one category or one colour per row.

    Attributes
    ----------
    values : [n] or [n, 3]
        Numbers (NaN where there is none), rows of ``labels``, or colours as bytes.
    labels : tuple of str
        Names of categories; empty for numbers and colours.
    """

    name: str
    values: NDArray[Any]
    labels: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """``"rgb"``, ``"category"`` or ``"number"``."""
        return "rgb" if self.values.ndim == 2 else "category" if self.labels else "number"


@dataclass(frozen=True, slots=True)
class Graph:
    """Neighbour graph with lengths, for distances along a shape without Python; see `neighbours`.

    Attributes
    ----------
    starts [m + 1], ends [e], lengths [e]
        Compressed rows: the edges of node i are ``starts[i]:starts[i + 1]``.
    nodes : [m] or None
        Row of the table of each node; None when every row is a node.
    owner : [n] or None
        Nearest node of each row.
    """

    starts: IntArray
    ends: IntArray
    lengths: FloatArray
    nodes: IntArray | None = None
    owner: IntArray | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that can be drawn in several panels at once and are linked by their number.

    Attributes
    ----------
    n_total : int
        Rows that were given; more than ``len(rows)`` when a subset is shown.
    rows : [n]
        Number of each shown row in the input.
    default : str or None
        Quantity that colours the rows at first.
    features : tuple of str or None
        Quantities that are the coordinates of the rows, where a panel shows fewer of them than there are.
    images : [n, height, width] of uint8, or None
        The image of each row.
    """

    key: str
    title: str
    n_total: int
    rows: IntArray
    quantities: tuple[Quantity, ...] = ()
    default: str | None = None
    map: str = "viridis"
    features: tuple[str, ...] | None = None
    images: NDArray[np.uint8] | None = None
    graph: Graph | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One view. ``real``: its axes are coordinates of the data, so that lengths in it are lengths.

    ``choices`` names quantities that may be put on its axes instead.
    """

    key: str
    title: str
    dim: int
    axes: tuple[str, ...]
    real: bool = True
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layer:
    """Points, a mesh or lines that can be shown or hidden in a panel.

    Attributes
    ----------
    kind : {"points", "mesh", "lines"}
    positions : [n, 3]
    faces : [m, 3] or None
    border : [b, 2] or None
        Edges of a mesh that belong to one face only.
    offsets : [c + 1] or None
        Start of each curve of a lines layer.
    """

    name: str
    kind: str
    panel: str
    positions: FloatArray
    table: str | None = None
    faces: IntArray | None = None
    border: IntArray | None = None
    offsets: IntArray | None = None
    colour: str = PALETTE[0]
    size: float = 2.0
    visible: bool = True


@dataclass(frozen=True, slots=True)
class CoordinatePath:
    """A path along one coordinate, the others fixed: its ``values`` [m], and per panel the points [m, 3]."""

    name: str
    values: FloatArray
    paths: Mapping[str, FloatArray]
    images: NDArray[np.uint8] | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as PNG bytes."""

    title: str
    png: bytes


@dataclass(slots=True)
class Scene:
    """The content of a page. Built by the functions of `gathering`, then only read."""

    title: str = "subbundle"
    panels: list[Panel] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)
    coordinate_paths: list[CoordinatePath] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    spreading: bool = False

    def panel(self, wanted: Panel) -> str:
        """The key of ``wanted``, which is added unless a panel of that key is there."""
        if all(panel.key != wanted.key for panel in self.panels):
            self.panels.append(wanted)
        return wanted.key

    def next_colour(self) -> str:
        """The next colour of the palette."""
        return PALETTE[len(self.layers) % len(PALETTE)]


def in_space(points: FloatArray) -> FloatArray:
    """``points`` [n, d], d ≤ 3, with zeros as missing coordinates."""
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1])))


def point_size(n_points: int) -> float:
    """Diameter of a point in pixels: from 8 for a few points to 1.5 for a million."""
    return float(np.clip(40.0 * max(n_points, 1) ** -0.25, 1.5, 8.0))


def joined_curves(curves: Sequence[FloatArray]) -> tuple[FloatArray, IntArray]:
    """Curves [m_i, d], the rows with NaN left out, as one array, and the start of each."""
    kept = [curve[np.isfinite(curve).all(axis=1)] for curve in curves]
    kept = [curve for curve in kept if len(curve) > 1]
    offsets = np.concatenate([[0], np.cumsum([len(curve) for curve in kept])]).astype(np.int64)
    return (np.concatenate(kept) if kept else np.zeros((0, 3))), offsets
