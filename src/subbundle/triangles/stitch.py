"""From candidates to a manifold: triangles on which stars agree first, the others where there is room, then the holes.

The holes that are left are loops of edges with one triangle. At a vertex, a loop passes from one fan of triangles to
the next through the free sector between them, so it is known how it goes on even where several meet in one vertex.
Loops that fit into the opening allowed are closed by cutting off ears, the best shaped first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, IntArray
from subbundle.triangles._sector_kernels import MOST_SECTORS, place, place_all
from subbundle.triangles.stars import Candidates

# Corners of the loops that are looked at: longer ones are borders.
_LONGEST_LOOP = 200


class Sectors:
    """The directions that triangles occupy around every one of ``points`` [n, d]; see `_sector_kernels`."""

    def __init__(self, points: FloatArray, tangents: FloatArray) -> None:
        n = len(points)
        self.points, self.tangents = points, tangents
        self.begins, self.widths = np.zeros((n, MOST_SECTORS)), np.zeros((n, MOST_SECTORS))
        self.ends, self.counts = np.zeros((n, MOST_SECTORS, 2), np.int64), np.zeros(n, np.int64)

    def place_all(self, triangles: IntArray, careful: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of ``triangles`` [m, 3] found room, taken in their order."""
        placed = np.zeros(len(triangles), np.bool_)
        place_all(
            self.points, self.tangents, triangles, careful, self.begins, self.widths, self.ends, self.counts, placed
        )  # fmt: skip
        return placed

    def place(self, a: int, b: int, c: int) -> bool:
        """Place one triangle if it fits, and say whether it did."""
        return bool(place(self.points, self.tangents, a, b, c, True, self.begins, self.widths, self.ends, self.counts))

    def loops(self) -> list[list[int]]:
        """The vertices of every loop around a hole, each loop once."""
        across = self._passages()
        loops = []
        while across:
            (vertex, before), after = next(iter(across.items()))
            loop = []
            while (vertex, before) in across:
                loop.append(vertex)
                after = across.pop((vertex, before))
                across.pop((vertex, after), None)
                vertex, before = after, vertex
            loops.append(loop)
        return loops

    def _passages(self) -> dict[tuple[int, int], int]:
        """For a vertex and the border edge on which it is reached, the border edge on which the loop goes on."""
        across: dict[tuple[int, int], int] = {}
        for v in np.flatnonzero(self.counts > 0).tolist():
            size = int(self.counts[v])
            order = np.argsort(self.begins[v, :size])
            first, last = self.ends[v, :size, 0][order].tolist(), self.ends[v, :size, 1][order].tolist()
            for s in range(size):
                after = first[(s + 1) % size]
                if last[s] != after:
                    across[v, last[s]], across[v, after] = after, last[s]
        return across


def stitch(points: FloatArray, tangents: FloatArray, found: Candidates, width: float) -> IntArray:
    """Faces [m, 3] of a manifold with the corners ``points`` [n, d]; holes narrower than ``width`` are closed."""
    order = np.lexsort((found.radii, -found.votes))
    triangles = found.triangles[order]
    sectors = Sectors(points, tangents)
    placed = sectors.place_all(triangles, found.votes[order] < 3)
    fills: list[tuple[int, int, int]] = []
    for loop in sorted(sectors.loops(), key=lambda loop: (len(loop), loop)):
        if len(loop) <= _LONGEST_LOOP and _extent(points[loop]) < width:
            fills += _fill(sectors, loop)
    return np.concatenate([triangles[placed], np.array(fills, np.int64).reshape(-1, 3)])


def _extent(corners: FloatArray) -> float:
    """Largest distance between two of ``corners`` [n, d]."""
    return float(np.sqrt(max(np.sum((corners - corner) ** 2, axis=1).max() for corner in corners)))


def _fill(sectors: Sectors, loop: list[int]) -> list[tuple[int, int, int]]:
    """Triangles inside ``loop``, as many as find room."""
    triangles: list[tuple[int, int, int]] = []
    loop = list(loop)
    while len(loop) >= 3:
        corners = sectors.points[loop]
        shape = _shapes(np.roll(corners, 1, axis=0), corners, np.roll(corners, -1, axis=0))
        for at in np.argsort(-shape, kind="stable").tolist():
            a, b, c = loop[at - 1], loop[at], loop[(at + 1) % len(loop)]
            if len({a, b, c}) == 3 and sectors.place(a, b, c):
                triangles.append((a, b, c))
                del loop[at]
                break
        else:
            break
        if len(loop) == 2:
            break
    return triangles


def _shapes(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """How well shaped the triangles are: area over the sum of squared sides, the best an equilateral one."""
    sides = [b - a, c - b, a - c]
    squares = [np.sum(side**2, axis=1) for side in sides]
    area = np.sqrt(np.maximum(squares[0] * squares[2] - np.sum(sides[0] * sides[2], axis=1) ** 2, 0.0))
    shape: FloatArray = area / np.maximum(sum(squares), 1e-300)
    return shape
