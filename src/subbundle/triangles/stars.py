"""Candidates for the triangles of a surface: the tangential Delaunay complex.

Every point proposes the triangles of its star in the Delaunay triangulation that it sees on its own tangent plane
(Boissonnat and Ghosh, Manifold reconstruction using tangential Delaunay complexes, 2014). Where the stars of all three
corners agree, the triangle belongs to the mesh. They disagree where four points lie nearly on a circle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._parallel import run_rows
from subbundle._types import FloatArray, IntArray
from subbundle.triangles._star_kernels import MOST_CORNERS, star_rows

# Neighbours given at first; cells that may have more are made again with as many as they can have.
_FEW = 32


@dataclass(frozen=True, slots=True)
class Candidates:
    """Triangles proposed by stars.

    Attributes
    ----------
    triangles : [m, 3]
        Corners in rising order, each triangle once.
    votes : [m]
        How many of its corners propose it: 1, 2 or 3.
    radii : [m]
        Circumradius, as its first proposer sees it.
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
        settled = ~np.isin(triples[:, 0], again)
        more, wider, _ = _stars(points, tangents, lists, again, radius, n_jobs)
        triples, radii = np.concatenate([triples[settled], more]), np.concatenate([radii[settled], wider])
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
    # The row itself is among its neighbours, and no neighbour.
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
