"""A box bisected recursively across its longest side: tiles are nodes of this tree, rows are sorted by their paths.

The path of a point is a number, one bit for each bisection, so that a tile is an interval of paths. Sides and corners
are multiples of powers of two, so that borders of tiles depend on the data only through its extent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subbundle._atomic import atomic_path
from subbundle._types import FloatArray, IntArray
from subbundle.distributed.sources import Chunk
from subbundle.distributed.tiles import checksum, record, within

# Most bisections: points in the same cell then are not separated further.
_HALVINGS = 60
# Fraction of the extent, as a power of two, that the corners of the box are multiples of.
_LATTICE = 10


@dataclass(frozen=True, slots=True)
class Halves:
    """The box from the corner ``low`` [d] with ``sides`` [d], and its recursive bisection."""

    low: FloatArray
    sides: FloatArray

    @staticmethod
    def over(low: FloatArray, high: FloatArray) -> Halves:
        """A box that contains both corners."""
        extent = max(float((high - low).max()), float(np.abs(high).max()) * 1e-12, np.finfo(float).tiny * 1e20)
        unit = 2.0 ** (np.ceil(np.log2(extent)) - _LATTICE)
        corner = np.floor(low / unit) * unit
        # One unit more, so that the upper corner lies inside.
        return Halves(corner, unit * 2.0 ** np.ceil(np.log2(np.floor((high - corner) / unit) + 1.0)))

    def axes(self) -> list[int]:
        """The axis of every bisection: that of the longest side."""
        sides, axes = self.sides.copy(), []
        for _ in range(_HALVINGS):
            axes.append(int(np.argmax(sides)))
            sides[axes[-1]] /= 2.0
        return axes

    def paths(self, points: FloatArray) -> IntArray:
        """The path [n] of each of the ``points`` [n, d]."""
        axes = self.axes()
        left = np.bincount(axes, minlength=len(self.sides))
        places = ((points - self.low) / (self.sides / 2.0**left)).astype(np.int64)
        path = np.zeros(len(points), np.int64)
        for axis in axes:
            left[axis] -= 1
            path = path << 1 | (places[:, axis] >> left[axis] & 1)
        return path

    def box(self, path: int, depth: int) -> FloatArray:
        """Corners [2, d] of the box at ``depth``, given the first ``path`` in it."""
        low, sides = self.low.copy(), self.sides.copy()
        for number, axis in enumerate(self.axes()[:depth]):
            sides[axis] /= 2.0
            low[axis] += sides[axis] * (path >> (_HALVINGS - 1 - number) & 1)
        return np.array([low, low + sides])


def leaves_of(paths: IntArray, fraction: float, cap: int) -> list[tuple[int, int]]:
    """First path and depth of tiles of at most ``cap`` observations, of which a ``fraction`` has the given ``paths``.

    Where the fraction is below 1, three standard deviations of the estimated count are added.
    """
    paths, leaves, todo = np.sort(paths), list[tuple[int, int]](), [(0, 0)]
    while todo:
        first, depth = todo.pop()
        wide = 1 << (_HALVINGS - depth)
        count = int(np.subtract(*np.searchsorted(paths, [first + wide, first])))
        if depth == _HALVINGS or count + 3.0 * np.sqrt(count * (1.0 - fraction)) <= cap * fraction:
            leaves.append((first, depth))
        else:
            todo += [(first + wide // 2, depth + 1), (first, depth + 1)]
    return leaves


def sort_chunk(chunk: Chunk, halves: Halves, first: IntArray, box: FloatArray | None, path: str) -> IntArray:
    """Write the rows of a chunk in the order of their tiles, which begin at paths ``first`` [m]; the ends [m]."""
    points = chunk.read()
    good = within(points, box)
    records = np.empty(int(good.sum()), record(points.shape[1]))
    records["row"], records["x"] = chunk.first + np.flatnonzero(good), points[good]
    tiles = np.searchsorted(first, halves.paths(records["x"]), side="right") - 1
    _write(path, records[np.argsort(tiles, kind="stable")])
    return np.cumsum(np.bincount(tiles, minlength=len(first)))


def gather_tile(path: str, slices: list[tuple[str, int, int]]) -> int:
    """Write the records of ``slices`` (file, first record and past the last) to one tile's file; their checksum."""
    found = [np.load(one, mmap_mode="r", allow_pickle=False)[start:stop] for one, start, stop in slices]
    records = np.concatenate(found)
    records = records[np.argsort(records["row"], kind="stable")]
    _write(path, records)
    return checksum(records)


def _write(path: str, records: NDArray[np.void]) -> None:
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        np.save(stream, records)
