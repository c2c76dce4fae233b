"""Rows sorted into cells of a coarse grid, and cells divided into tiles: what the workers do for a plan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subbundle._atomic import atomic_path
from subbundle._types import FloatArray, IntArray
from subbundle.distributed.sources import PIECE, Piece
from subbundle.distributed.tiles import checksum, inside, record

# Halvings of the whole that a first pass makes at most: it keeps 2^9 counts a piece.
_MOST_HALVINGS = 9
# Halvings of a cell below which points are copies of each other as far as tiles go.
_DEEPEST = 60
# Part of the extent, as a power of two, that the corners of the whole are multiples of.
_LATTICE = 10

# File, first and last record of rows in the same cell.
Slice = tuple[str, int, int]
# Box, count, checksum and file of a tile.
Leaf = tuple[list[list[float]], int, int, str]


@dataclass(frozen=True, slots=True)
class Grid:
    """2^h cells of equal size, ``shape`` along the axes, from the corner ``low`` on; sides are powers of two."""

    low: tuple[float, ...]
    sides: tuple[float, ...]
    shape: tuple[int, ...]

    def cells(self, points: FloatArray) -> IntArray:
        """Number of the cell [n] of each of the ``points`` [n, d]."""
        places = np.floor((points - self.low) / self.sides).astype(np.int64)
        places = np.clip(places, 0, np.array(self.shape) - 1)
        return np.asarray(np.ravel_multi_index(tuple(places.T), self.shape))

    def box(self, cell: int) -> FloatArray:
        """Corners [2, d]."""
        place = np.array(np.unravel_index(cell, self.shape))
        low = np.array(self.low) + place * self.sides
        return np.array([low, low + self.sides])


def grid_over(low: FloatArray, high: FloatArray, tiles: float) -> Grid:
    """The grid over the box from ``low`` to ``high`` for about so many ``tiles``, as many cells."""
    extent = max(float((high - low).max()), float(np.abs(high).max()) * 1e-12, np.finfo(float).tiny * 1e20)
    unit = 2.0 ** (np.ceil(np.log2(extent)) - _LATTICE)
    corner = np.floor(low / unit) * unit
    # One unit more than reaches the upper corner, which then lies inside.
    sides = unit * 2.0 ** np.ceil(np.log2(np.floor((high - corner) / unit) + 1.0))
    # No more: a cell with too many points is halved later, but cells are not joined, and small tiles have much halo.
    halvings = int(np.clip(np.ceil(np.log2(max(tiles, 1.0))), 0, _MOST_HALVINGS))
    shape = np.ones(len(low), np.int64)
    for _ in range(halvings):
        axis = int(np.argmax(sides))
        shape[axis] *= 2
        sides[axis] /= 2.0
    return Grid(tuple(corner.tolist()), tuple(sides.tolist()), tuple(shape.tolist()))


def within(points: FloatArray, box: FloatArray | None) -> NDArray[np.bool_]:
    """Which of the ``points`` [n, d] are finite and in the ``box`` [2, d], if there is one."""
    largest = np.full(points.shape[1], np.finfo(np.float64).max)
    return inside(points, *((-largest, largest) if box is None else np.clip(box, -largest, largest)))


def sort_piece(piece: Piece, grid: Grid, box: FloatArray | None, path: str) -> list[int]:
    """Write the rows of a piece in the order of their cells; where each cell ends, with a zero before."""
    points = piece.read()
    good = within(points, box)
    records = np.empty(int(good.sum()), record(points.shape[1]))
    records["row"], records["x"] = piece.first + np.flatnonzero(good), points[good]
    cells = grid.cells(records["x"])
    _write(path, records[np.argsort(cells, kind="stable")])
    counts = np.bincount(cells, minlength=int(np.prod(grid.shape)))
    return [0, *np.cumsum(counts).tolist()]


def settle_cell(folder: str, cell: int, box: FloatArray, slices: list[Slice], cap: int) -> list[Leaf]:
    """Write the rows of ``slices`` as tiles of at most ``cap`` observations."""
    return list(_settled(Path(folder) / "sorted" / f"cell{cell}", box, slices, cap, _DEEPEST))


def _settled(stem: Path, box: FloatArray, slices: list[Slice], cap: int, depth: int) -> list[Leaf]:
    total = sum(stop - start for _, start, stop in slices)
    if total == 0:
        return []
    if total <= cap or depth == 0:
        records = np.concatenate([_read(one) for one in slices])
        records = records[np.argsort(records["row"], kind="stable")]
        _write(f"{stem}.npy", records)
        return [(box.tolist(), len(records), checksum(records), f"{stem}.npy")]
    halves = _halved(stem, box, slices)
    leaves: list[Leaf] = []
    for name, half, parts in halves:
        leaves += _settled(Path(f"{stem}{name}"), half, parts, cap, depth - 1)
        for path in {path for path, _, _ in parts}:
            Path(path).unlink()
    return leaves


def _halved(stem: Path, box: FloatArray, slices: list[Slice]) -> list[tuple[str, FloatArray, list[Slice]]]:
    """The rows on either side of the middle of the longest side, in files of their own; a piece in memory at a time."""
    axis = int(np.argmax(box[1] - box[0]))
    middle = 0.5 * (box[0, axis] + box[1, axis])
    lower, upper = box.copy(), box.copy()
    lower[1, axis] = upper[0, axis] = middle
    parts: tuple[list[Slice], list[Slice]] = ([], [])
    for number, one in enumerate(_short(slices)):
        records = _read(one)
        above = records["x"][:, axis] >= middle
        for side in (0, 1):
            some = records[above if side else ~above]
            if len(some):
                path = f"{stem}{'lu'[side]}.part{number}.npy"
                _write(path, some)
                parts[side].append((path, 0, len(some)))
    return [("l", lower, parts[0]), ("u", upper, parts[1])]


def _short(slices: list[Slice]) -> list[Slice]:
    """The same rows in slices of at most a piece."""
    return [(path, at, min(at + PIECE, stop)) for path, start, stop in slices for at in range(start, stop, PIECE)]


def _read(one: Slice) -> NDArray[np.void]:
    path, start, stop = one
    return np.array(np.load(path, mmap_mode="r", allow_pickle=False)[start:stop])


def _write(path: str, records: NDArray[np.void]) -> None:
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        np.save(stream, records)
