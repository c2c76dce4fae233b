"""Observations with normals, grouped by the direction of their normals.

Two walls closer than a window cannot be separated by position, but by normals. So the observations are assigned to
clouds by direction: the fourteen unit vectors towards the faces and corners of a cube, each with the observations whose
normals are in its half-space. A surface of normal n is estimated from the cloud of the direction nearest to n, at most
37 degrees away: it contains all observations of its own sheet whose normals are off by less than 53 degrees, and of a
sheet of opposite orientation only those that are off by more.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from subbundle._types import FloatArray, IntArray
from subbundle.surface.local import QuadricFit, WeightedCloud
from subbundle.surface.pyramid import Pyramid, quadrics_by_level

# Observations below which a direction has no cloud: they determine no quadric.
_FEWEST = 20


def cube_directions(*axes: int) -> FloatArray:
    """Directions [k, 3] from the centre of a cube to its faces (1), edges (2) and corners (3)."""
    cube = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))
    chosen = cube[np.isin(np.abs(cube).sum(axis=1), axes)]
    return np.asarray(chosen / np.linalg.norm(chosen, axis=1, keepdims=True))


class Facing:
    """``points`` [n, 3] with unit ``normals`` [n, 3], all on one side of the surface, and ``weights`` [n] or None."""

    def __init__(self, points: FloatArray, normals: FloatArray, weights: FloatArray | None, n_jobs: int) -> None:
        self.directions = cube_directions(1, 3)
        lean = normals @ self.directions.T
        self.rows = [np.flatnonzero(column > 0.0) for column in lean.T]
        self.points, self.normals, self.weights = points, normals, weights
        self.clouds = [
            WeightedCloud(points[rows], None if weights is None else weights[rows], n_jobs=n_jobs)
            if len(rows) >= _FEWEST
            else None
            for rows in self.rows
        ]

    def side_of(self, normals: FloatArray) -> IntArray:
        """The number [n] of the direction nearest to every normal."""
        return np.asarray(np.argmax(normals @ self.directions.T, axis=1))


class FacingPyramid:
    """`Pyramid` of every cloud of a `Facing`: points are projected onto the sheet oriented as their normals are."""

    def __init__(self, facing: Facing, *, side: float, spacing: float, widest: float) -> None:
        self._facing = facing
        self._levels = [
            None
            if cloud is None
            else Pyramid(
                cloud, facing.points[rows], None if facing.weights is None else facing.weights[rows],
                side=side, spacing=spacing, widest=widest,
            )
            for cloud, rows in zip(facing.clouds, facing.rows, strict=True)
        ]  # fmt: skip

    def quadric(
        self, points: FloatArray, normals: FloatArray, widths: FloatArray, cuts: FloatArray, *, rounds: int,
        along: FloatArray | None = None,
    ) -> QuadricFit:  # fmt: skip
        """As `Pyramid.quadric`; where a side has no observations the gain is infinite."""
        side = self._facing.side_of(normals)
        return quadrics_by_level(self._levels, side, points, normals, widths, cuts, rounds=rounds, along=along)
