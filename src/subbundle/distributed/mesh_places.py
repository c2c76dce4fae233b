"""Names of cells, owners of points and local means, the same for every division of a scene into tiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray
from subbundle.distributed.tiles import inside as between

# Bits of a cell's number along each axis; the rest of a name is for the vertices of one cell.
NAME_BITS, OF_CELL = 19, 4
# Positions with a local mean at a time: their neighbours take some thousand bytes each.
_CHUNK = 20_000


@dataclass(frozen=True, slots=True)
class Territory:
    """The box of a tile among those of its neighbours; a point belongs to the box it lies in, or to the nearest.

    Boxes without observations are left out of a plan, but noise and grid cells extend a little beyond the others.

    Attributes
    ----------
    boxes : [k, 2, 3]
        Lower and upper corners, disjoint, upper faces belonging to the next, in the order of the plan.
    own : int
        Row of the tile's own box.
    """

    boxes: FloatArray
    own: int = 0

    @property
    def box(self) -> FloatArray:
        """Corners [2, 3] of the tile."""
        corners: FloatArray = np.asarray(self.boxes, np.float64)[self.own]
        return corners

    def near(self, points: FloatArray, margin: float) -> NDArray[np.bool_]:
        """Which ``points`` [n, 3] lie within ``margin`` of the tile's box, axis by axis."""
        return inside(points, self.box, margin)

    def owns(self, points: FloatArray) -> NDArray[np.bool_]:
        """Which ``points`` [n, 3] belong to the tile; ties are resolved in favour of the first box."""
        best, owner = np.full(len(points), np.inf), np.full(len(points), -1)
        for number, box in enumerate(np.asarray(self.boxes, np.float64)):
            away = np.maximum(box[0] - points, points - box[1]).max(axis=1, initial=0.0)
            # The interior takes precedence over an upper face, where the next box begins.
            away[inside(points, box, 0.0)] = -1.0
            nearer = away < best
            best[nearer], owner[nearer] = away[nearer], number
        return np.asarray(owner == self.own)


def inside(points: FloatArray, box: FloatArray, margin: float) -> NDArray[np.bool_]:
    """Which ``points`` [n, 3] lie in the ``box`` [2, 3], widened by ``margin``; upper faces belong to the next."""
    return between(points, box[0] - margin, np.nextafter(box[1] + margin, -np.inf))


def names_of(cells: IntArray, which: IntArray | int = 0) -> IntArray:
    """One number [n] for ``cells`` [n, 3] and ``which`` (0 to 15) in a cell; sorted as the cells are."""
    shifted = cells + (1 << (NAME_BITS - 1))
    if len(shifted) and (shifted.min() < 0 or shifted.max() >= 1 << NAME_BITS):
        raise ValueError(
            f"the scene must be less than {1 << NAME_BITS} cells wide; it has cell "
            f"{cells[np.argmax(np.abs(cells).max(1))]}. Remove far outliers, or pass a larger bandwidth."
        )
    cell = (shifted[:, 0] << (2 * NAME_BITS)) | (shifted[:, 1] << NAME_BITS) | shifted[:, 2]
    named: IntArray = (cell << OF_CELL) | which
    return named


def cells_of(names: IntArray) -> IntArray:
    """The cells [n, 3] of ``names`` [n]."""
    cell = names >> OF_CELL
    mask = (1 << NAME_BITS) - 1
    return np.column_stack([cell >> (2 * NAME_BITS), (cell >> NAME_BITS) & mask, cell & mask]) - (1 << (NAME_BITS - 1))


def averaged(
    places: FloatArray, others: FloatArray, radius: float, values: FloatArray, *, weights: FloatArray | None = None,
    alike: Callable[[IntArray, IntArray], NDArray[np.bool_]] | None = None,
) -> FloatArray:  # fmt: skip
    """Means [n, m] of ``values`` [c, m] of ``others`` [c, 3] within R of ``places`` [n, 3]; NaN where there are none.

    Weights are (1 − r²/R²)², times ``weights`` [c]. Pairs of places and others that are not ``alike`` are left out.
    Sums are in the order of the others and do not depend on the other places.
    """
    tree, means = cKDTree(others), np.full((len(places), values.shape[1]), np.nan)
    for start in range(0, len(places), _CHUNK):
        part = slice(start, start + _CHUNK)
        near = cKDTree(places[part]).sparse_distance_matrix(tree, radius, output_type="coo_matrix")
        order = np.lexsort((near.col, near.row))
        rows, other = near.row[order].astype(np.int64), near.col[order].astype(np.int64)
        apart = places[part][rows] - others[other]
        square = (apart[:, 0] ** 2 + apart[:, 1] ** 2 + apart[:, 2] ** 2) / radius**2
        kernel = np.maximum(1.0 - square, 0.0) ** 2
        if weights is not None:
            kernel *= weights[other]
        if alike is not None:
            kernel *= alike(rows + start, other)
        n = len(means[part])
        total = np.bincount(rows, kernel, minlength=n)
        with np.errstate(invalid="ignore"):
            for column, value in enumerate(values.T):
                means[part, column] = np.bincount(rows, kernel * value[other], minlength=n) / total
    return means
