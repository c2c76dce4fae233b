"""A table on a page: which rows are shown, where they are drawn, what colours them, and the graph between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray, Status
from subbundle._validation import as_real
from subbundle.cloud.tuning import BLOCK_DIM
from subbundle.graph import neighbor_graph
from subbundle.local.frames import sign_of_largest
from subbundle.plot.palette import MOST_CATEGORIES
from subbundle.viewer.scene import Graph, Panel, Quantity, Scene, in_space
from subbundle.viewer.tuning import PAGE_NEIGHBORS

# Points up to which all are shown: a file of 25 MB holds a million with a few quantities and a mesh.
MOST_POINTS = 1_000_000
# Most rows that a shape, its principal components or its neighbours are computed from interactively: more take minutes
# without a visible difference. A search in a graph of so many takes 20 ms in a browser.
ENOUGH = 20_000
# Points of a curve, enough for it to appear smooth.
CURVE_POINTS = 121
# Different strings up to which a column is a label; names and identifiers have more.
_MOST_WORDS = 200
# Numbers up to which all features are offered as colours and axes: 16-bit codes of so many are 8 MB.
_MOST_FEATURE_VALUES = 4_000_000
# Names of the leading components, by which more than three dimensions are drawn.
COMPONENTS = ("component 1", "component 2", "component 3")


@dataclass(frozen=True, slots=True)
class Shown:
    """``points`` [n, d] that are shown, their ``rows`` [n] in the input, and ``notes`` about the others."""

    points: FloatArray
    rows: IntArray
    n_total: int
    notes: tuple[str, ...]


def shown_rows(points: Any, name: str) -> Shown:
    """The rows of ``points`` [n, d] to show; raises when there is none.

    Of more than `MOST_POINTS` one random row, with a fixed seed, is taken from each of as many equal intervals before
    anything is copied (stratified sampling): neither the order nor a period of the rows biases it.
    """
    given = np.asarray(points) if not hasattr(points, "shape") else points
    if len(given.shape) != 2 or given.shape[1] == 0:
        raise ValueError(
            f"{name} must be a 2-D array of points, shape (n_points, dim); got shape {tuple(given.shape)}."
        )
    total = int(given.shape[0])
    if total == 0:
        raise ValueError(f"{name} must hold at least one point; it is empty.")
    notes = []
    rows = np.arange(total)
    if total > MOST_POINTS:
        edges = np.arange(MOST_POINTS + 1) * total // MOST_POINTS
        places = np.random.default_rng(0).random(MOST_POINTS)
        rows = edges[:-1] + (places * np.diff(edges)).astype(np.int64)
        notes.append(f"showing {MOST_POINTS:,} of {total:,} points of {name}")
    values = as_real(np.asarray(given[rows] if total > MOST_POINTS else given), name)
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        missing = int(np.count_nonzero(~finite))
        if missing == len(values):
            raise ValueError(f"{name} must hold at least one finite point; all {missing:,} rows have NaN or infinity.")
        notes.append(f"{missing:,} rows of {name} with NaN or infinity are not shown")
        rows, values = rows[finite], values[finite]
    return Shown(values, rows, total, tuple(notes))


@dataclass(slots=True)
class Spaces:
    """Map from R^d to the panels: the identity up to d = 3, above the principal components of the first points."""

    axes: dict[int, tuple[FloatArray, FloatArray]] = field(default_factory=dict)

    def panel(self, scene: Scene, points: FloatArray, names: tuple[str, ...], *, choose: bool) -> str:
        """Key of the panel for points in R^d like ``points`` [n, d], added if missing; ``choose`` other axes there."""
        dim = points.shape[1]
        if dim > 3 and dim not in self.axes:
            self._learn(scene, points)
        drawn = min(max(dim, 2), 3)
        axes = names if dim <= 3 else COMPONENTS
        shown = choose and dim > 3 and points.size <= _MOST_FEATURE_VALUES
        title = "Space" if dim <= 3 else f"R^{dim}"
        return scene.panel(
            Panel(f"space{dim}", title, drawn, axes, real=dim <= 3, choices=(*axes, *names) if shown else ())
        )

    def place(self, points: FloatArray) -> FloatArray:
        """Positions [n, 3] at which ``points`` [n, d] are drawn."""
        if points.shape[1] <= 3:
            return in_space(points)
        mean, axes = self.axes[points.shape[1]]
        return (points - mean) @ axes

    def _learn(self, scene: Scene, points: FloatArray) -> None:
        sample = points[:: max(1, len(points) // ENOUGH)]
        mean = sample.mean(axis=0)
        _, sizes, rows = np.linalg.svd(sample - mean, full_matrices=False)
        axes = np.zeros((points.shape[1], 3))
        axes[:, : min(3, len(rows))] = rows[:3].T
        # The largest entry of each axis is positive, so that the view does not flip between runs.
        axes *= sign_of_largest(axes)
        self.axes[points.shape[1]] = (mean, axes)
        held = float((sizes[:3] ** 2).sum() / max(float((sizes**2).sum()), 1e-300))
        scene.notes.append(
            f"{points.shape[1]} dimensions: the first three principal components are shown, {held:.0%} of the variance"
        )


def letters(dim: int) -> tuple[str, ...]:
    """x, y, z, or x1, x2, … for more coordinates."""
    return ("x", "y", "z")[:dim] if dim <= 3 else tuple(f"x{i + 1}" for i in range(dim))


def feature_quantities(points: FloatArray, placed: FloatArray, names: tuple[str, ...]) -> list[Quantity]:
    """Features of ``points`` [n, d] and the components they are drawn by, as quantities; none of very many."""
    if points.shape[1] <= 3 or points.size > _MOST_FEATURE_VALUES:
        return []
    components = [Quantity(name, placed[:, i]) for i, name in enumerate(COMPONENTS)]
    return components + [Quantity(name, points[:, i]) for i, name in enumerate(names)]


def _quantity_of(name: str, column: Any, rows: IntArray, n_total: int) -> Quantity | None:
    """``column`` [n_total] (or [n_total, 3] colours) at ``rows``; None for strings with too many different values."""
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
        raise TypeError(f"{name!r} must hold numbers or strings; got an array of dtype {values.dtype}.")
    return Quantity(name, values.astype(np.float64))


def quantities_of(columns: Mapping[str, Any], rows: IntArray, n_total: int) -> list[Quantity]:
    """All ``columns`` that can be shown."""
    found = [_quantity_of(str(name), column, rows, n_total) for name, column in columns.items()]
    return [quantity for quantity in found if quantity is not None]


def statuses(status: NDArray[Any]) -> Quantity | None:
    """`Status` codes [n] by their messages; None when all are the same."""
    present = np.unique(status)
    if len(present) < 2:
        return None
    return Quantity("status", np.searchsorted(present, status), tuple(Status(int(code)).message for code in present))


def _colours(name: str, values: NDArray[Any]) -> Quantity:
    if values.shape[1] not in (3, 4):
        raise ValueError(f"{name!r} must have one column, or three or four for colours; got {values.shape[1]}.")
    if values.dtype != np.uint8:
        if values.dtype.kind != "f" or np.nanmin(values) < 0.0 or np.nanmax(values) > 1.0:
            raise ValueError(f"colours {name!r} must be uint8 in 0..255 or floats in 0..1; got {values.dtype}.")
        values = np.round(255.0 * np.nan_to_num(values)).astype(np.uint8)
    return Quantity(name, values[:, :3])


def page_graph(points: FloatArray, rank: int) -> Graph | None:
    """The graph by which a page without Python measures along a shape of dimension ``rank`` through ``points`` [n, d].

    Nodes are all rows, or a sample of very many; edges and lengths are those of `subbundle.graph`. Shortest paths in it
    are a little longer than geodesics, and labelled as approximate. None for fewer than three points, or equal ones.
    """
    count = len(points)
    if count < 3 or not np.ptp(points, axis=0).any():
        return None
    if points.shape[1] > BLOCK_DIM:
        # As in a diagnosis. Few components shorten curved shapes (a strip bent in 24 dimensions: -15 % with 8, +3 %
        # with 16 and 32), many retain noise (an S in R^100, noise 0.025: +16, +33 and +56 %).
        centred = points - points.mean(axis=0)
        sample = centred[:: max(1, count // 5000)]
        points = centred @ np.linalg.svd(sample, full_matrices=False)[2][:BLOCK_DIM].T
    nodes = owner = None
    places = points
    if count > ENOUGH:
        nodes = np.sort(np.random.default_rng(0).choice(count, ENOUGH, replace=False))
        places = points[nodes]
        owner = np.asarray(cKDTree(places).query(points)[1], dtype=np.int64)
    rank = min(rank, places.shape[1])
    found = neighbor_graph(places, min(PAGE_NEIGHBORS, len(places) - 1), rank).lengths
    return Graph(found.indptr.astype(np.int64), found.indices.astype(np.int64), found.data, nodes, owner)
