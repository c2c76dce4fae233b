"""`triangulate`: a manifold triangle mesh with given points of a surface in R^d as its corners.

Every point proposes the triangles of its star in the Delaunay triangulation on its own tangent plane (Boissonnat and
Ghosh, Manifold reconstruction using tangential Delaunay complexes, 2014). Triangles on which the stars of all three
corners agree come first. Stars disagree where four points lie nearly on a circle: their triangles are added where they
do not overlap others.

Holes are loops of edges with one triangle. At a vertex, a loop continues from one fan of triangles to the next across
the free sector between them, so that loops are defined even where several meet in one vertex. Loops narrower than the
opening are filled by ear clipping, the best shaped ears first, where they do not overlap. Where planes disagree too
much for that, a loop without repeated vertices is filled all the same: as long as no edge has more than two triangles
the mesh is a manifold, though not flat there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._parallel import resolve_jobs, run_rows
from subbundle._types import FloatArray, IntArray
from subbundle.triangles._sector_kernels import MOST_SECTORS, place, place_all
from subbundle.triangles._star_kernels import MOST_CORNERS, star_rows


def triangulate(points: FloatArray, tangents: FloatArray, opening: float, n_jobs: int | None = None) -> IntArray:
    """Faces [m, 3] of a surface through ``points`` [n, d] with ``tangents`` [n, d, 2] orthonormal.

    The points must be spread evenly, closer than the radius of curvature. Gaps narrower than ``opening`` are bridged;
    wider ones stay open, and so do borders. Sheets further apart than half of it are never joined. Faces are not
    oriented; see `finish`.
    """
    found = candidates(points, tangents, 0.5 * opening, resolve_jobs(n_jobs))
    return stitch(points, tangents, found, opening)


# Neighbours at first; cells that may have more are computed again with all.
_FEW = 32


@dataclass(frozen=True, slots=True)
class Candidates:
    """Triangles proposed by stars.

    Attributes
    ----------
    triangles : [m, 3]
        Corners ascending, each triangle once.
    votes : [m]
        Number of its corners that propose it: 1, 2 or 3.
    radii : [m]
        Circumradius in the plane of the first of these.
    """

    triangles: IntArray
    votes: IntArray
    radii: FloatArray


def candidates(points: FloatArray, tangents: FloatArray, radius: float, n_jobs: int) -> Candidates:
    """Triangles of all stars of ``points`` [n, d] with ``tangents`` [n, d, 2], of circumradius up to ``radius``."""
    tree = cKDTree(points)
    count = min(_FEW, len(points))
    far, near = tree.query(points, k=count, distance_upper_bound=2.0 * radius)
    lists = [row[good] for row, good in zip(near, np.isfinite(far), strict=True)]
    triples, radii, reach = _stars(points, tangents, lists, np.arange(len(points)), radius, n_jobs)
    known = np.where(np.isfinite(far[:, -1]), far[:, -1], np.inf)
    again = np.flatnonzero(np.minimum(reach, 2.0 * radius) > known) if count < len(points) else np.empty(0, np.int64)
    if again.size:
        around = tree.query_ball_point(points[again], 2.0 * radius)
        lists = [_nearest_first(points, row, np.array(found)) for row, found in zip(again, around, strict=True)]
        unchanged = ~np.isin(triples[:, 0], again)
        more, wider, _ = _stars(points, tangents, lists, again, radius, n_jobs)
        triples, radii = np.concatenate([triples[unchanged], more]), np.concatenate([radii[unchanged], wider])
    names = np.sort(triples, axis=1)
    triangles, first, votes = np.unique(names, axis=0, return_index=True, return_counts=True)
    return Candidates(triangles, votes, radii[first])


def _stars(
    points: FloatArray, tangents: FloatArray, lists: list[IntArray], rows: IntArray, radius: float, n_jobs: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Triangles [m, 3] with their proposer first, circumradii [m], and the reach of the cells of ``rows`` [r]."""
    lengths = np.zeros(len(points), np.int64)
    lengths[rows] = [len(found) for found in lists]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    neighbours = np.concatenate([*lists, np.empty(0, np.int64)]).astype(np.int64)
    # The lists contain the row itself.
    owner = np.repeat(np.arange(len(points)), lengths)
    kept = neighbours != owner
    starts = np.concatenate([[0], np.cumsum(kept)])[starts]
    neighbours = neighbours[kept]
    corners = np.empty((len(points), MOST_CORNERS, 2), np.int64)
    radii, counts = np.empty((len(points), MOST_CORNERS)), np.zeros(len(points), np.int64)
    reach = np.zeros(len(points))

    def work(start: int, stop: int) -> None:
        star_rows(points, tangents, starts, neighbours, radius, start, stop, corners, radii, counts, reach)

    run_rows(work, len(points), n_jobs, calls_blas=False)
    counts[lengths == 0] = 0
    used = np.arange(MOST_CORNERS) < counts[:, None]
    proposer = np.repeat(np.arange(len(points)), counts)
    return np.column_stack([proposer, corners[used]]), radii[used], reach


def _nearest_first(points: FloatArray, row: int, found: IntArray) -> IntArray:
    away = np.sum((points[found] - points[row]) ** 2, axis=1)
    ordered: IntArray = found[np.lexsort((found, away))]
    return ordered


# Most corners of the loops that may be filled: longer ones are borders.
_LONGEST_LOOP = 200


class Sectors:
    """The directions that triangles occupy around every one of ``points`` [n, d]; see `_sector_kernels`."""

    def __init__(self, points: FloatArray, tangents: FloatArray) -> None:
        n = len(points)
        self.points, self.tangents = points, tangents
        self.begins, self.widths = np.zeros((n, MOST_SECTORS)), np.zeros((n, MOST_SECTORS))
        self.ends, self.counts = np.zeros((n, MOST_SECTORS, 2), np.int64), np.zeros(n, np.int64)

    def place_all(self, triangles: IntArray, careful: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Add ``triangles`` [m, 3] in their order; which were added [m]."""
        placed = np.zeros(len(triangles), np.bool_)
        place_all(
            self.points, self.tangents, triangles, careful, self.begins, self.widths, self.ends, self.counts, placed
        )
        return placed

    def place(self, a: int, b: int, c: int, last: bool = False) -> bool:
        """Add one triangle if it does not overlap, whether the ``last`` of a loop or not; return whether it was."""
        return bool(place(self.points, self.tangents, a, b, c, True, self.begins, self.widths, self.ends, self.counts))

    def holes(self) -> list[list[int]]:
        """The vertices of every loop around a hole, each loop once.

        The free sectors of n corners of a hole add up to (n − 2) π, those of an outer border to (n + 2) π.
        """
        across = self._passages()
        holes = []
        while across:
            vertex, before = next(iter(across))
            loop, free = [], 0.0
            while (vertex, before) in across:
                loop.append(vertex)
                after, angle = across.pop((vertex, before))
                across.pop((vertex, after), None)
                free += angle
                vertex, before = after, vertex
            if free < np.pi * len(loop):
                holes.append(loop)
        return holes

    def _passages(self) -> dict[tuple[int, int], tuple[int, float]]:
        """For a vertex and a border edge that ends there, the next border edge of the loop, and the free angle."""
        across: dict[tuple[int, int], tuple[int, float]] = {}
        for v in np.flatnonzero(self.counts > 0).tolist():
            size = int(self.counts[v])
            order = np.argsort(self.begins[v, :size])
            first, last = self.ends[v, :size, 0][order].tolist(), self.ends[v, :size, 1][order].tolist()
            begins = self.begins[v, :size][order]
            free = (np.roll(begins, -1) - begins - self.widths[v, :size][order]) % (2.0 * np.pi)
            for s in range(size):
                after = first[(s + 1) % size]
                if last[s] != after:
                    across[v, last[s]], across[v, after] = (after, float(free[s])), (last[s], float(free[s]))
        return across


def stitch(points: FloatArray, tangents: FloatArray, found: Candidates, width: float) -> IntArray:
    """Faces [m, 3] of a manifold with the corners ``points`` [n, d]; holes narrower than ``width`` are closed."""
    order = np.lexsort((found.radii, -found.votes))
    triangles = found.triangles[order]
    sectors = Sectors(points, tangents)
    placed = sectors.place_all(triangles, found.votes[order] < 3)
    fills: list[tuple[int, int, int]] = []
    for loop in _narrow(sectors, width):
        fills += _fill(loop, points, sectors.place)
    forced = _Forced(sectors)
    for loop in _narrow(sectors, width):
        if len(set(loop)) == len(loop):
            fills += _fill(loop, points, forced.place)
    return np.concatenate([triangles[placed], np.array(fills, np.int64).reshape(-1, 3)])


def _narrow(sectors: Sectors, width: float) -> list[list[int]]:
    """Loops narrower than ``width``, the shortest first."""
    loops = [loop for loop in sectors.holes() if 3 <= len(loop) <= _LONGEST_LOOP]
    return sorted((loop for loop in loops if _extent(sectors.points[loop]) < width), key=lambda loop: (len(loop), loop))


class _Forced:
    """Ears of loops, overlapping or not, unless their new edge exists already."""

    def __init__(self, sectors: Sectors) -> None:
        self._sectors = sectors
        self._new: set[tuple[int, int]] = set()

    def place(self, a: int, b: int, c: int, last: bool) -> bool:
        """Add the ear b with the new edge a, c, which for the ``last`` triangle of a loop exists."""
        known = (min(a, c), max(a, c)) in self._new or c in self._sectors.ends[a, : self._sectors.counts[a]]
        if known and not last:
            return False
        self._new.add((min(a, c), max(a, c)))
        return True


def _extent(corners: FloatArray) -> float:
    """Largest distance between two of ``corners`` [n, d]."""
    return float(np.sqrt(max(np.sum((corners - corner) ** 2, axis=1).max() for corner in corners)))


def _fill(
    loop: list[int], points: FloatArray, place: Callable[[int, int, int, bool], bool]
) -> list[tuple[int, int, int]]:
    """Triangles inside ``loop``, as many as ``place`` adds."""
    triangles: list[tuple[int, int, int]] = []
    loop = list(loop)
    while len(loop) >= 3:
        corners = points[loop]
        shape = _shapes(np.roll(corners, 1, axis=0), corners, np.roll(corners, -1, axis=0))
        for at in np.argsort(-shape, kind="stable").tolist():
            a, b, c = loop[at - 1], loop[at], loop[(at + 1) % len(loop)]
            if len({a, b, c}) == 3 and place(a, b, c, len(loop) == 3):
                triangles.append((a, b, c))
                del loop[at]
                break
        else:
            break
        if len(loop) == 2:
            break
    return triangles


def _shapes(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Shape quality of triangles: area over the sum of squared sides, largest for an equilateral one."""
    sides = [b - a, c - b, a - c]
    squares = [np.sum(side**2, axis=1) for side in sides]
    area = np.sqrt(np.maximum(squares[0] * squares[2] - np.sum(sides[0] * sides[2], axis=1) ** 2, 0.0))
    shape: FloatArray = area / np.maximum(sum(squares), 1e-300)
    return shape
