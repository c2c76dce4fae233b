"""A smooth map v ↦ exp(v) for k ≤ 2 from the nodes of a fan, its inverse, and the star-shaped domain where it holds.

Bicubic Hermite in (r, θ): the radial derivatives are the exact velocities, the angular ones sixth-order differences
between the geodesics. The error is of fourth order in both spacings. The domain is {r u(θ) : r ≤ ρ(θ)} with ρ linear
between the geodesics.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.spatial import cKDTree

from subbundle._elementwise import arctan2
from subbundle._numbers import NOTICEABLE
from subbundle._types import BoolArray, FloatArray, IntArray
from subbundle.charts import _interpolant_kernels as kernels
from subbundle.charts._interpolant_table import build_table
from subbundle.charts._nearest import ExpInterpolant

# Positions on each cell of the border where the search for the nearest border point may start.
_STARTS = 4


@dataclass(frozen=True)
class Interpolant(ExpInterpolant):
    """The interpolant of a fan.

    Attributes
    ----------
    points, velocities : [L, R + 1, dim]
        Nodes relative to the base point, and their velocities, continued beyond the end of each geodesic.
    counts : [L]
        How many of the nodes were reached by the geodesic itself.
    border : [L, 2]
        ρ at the two sides of the cell after each geodesic.
    step, scale : float
        h, and the length scale of the bundle.
    rank : int
        1 or 2.
    """

    points: FloatArray
    velocities: FloatArray
    counts: IntArray
    border: FloatArray
    step: float
    scale: float
    rank: int
    n_jobs: int
    _kernels: ClassVar[Any] = kernels

    @cached_property
    def table(self) -> FloatArray:
        """Points and scaled derivatives [L, R + 1, 4, dim]; see `_interpolant_kernels`."""
        return build_table(self.points, self.velocities, self.counts, self.step, self.rank)

    @property
    def _tables(self) -> tuple[Any, ...]:
        return self.table, self.step, self.scale

    @cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """The nodes inside the domain: their points [n, dim] and coordinates [n, k]."""
        distances = self.step * np.arange(self.points.shape[1])
        before = np.roll(self.border[:, 1], 1) if self.rank == 2 else self.border[:, 1]
        held = distances <= np.maximum(self.border[:, 0], before)[:, None] + NOTICEABLE * self.scale
        # The common start is one node, not one per geodesic.
        held[1:, 0] = False
        ray, node = np.nonzero(held)
        return self.points[ray, node], distances[node, None] * self._directions[ray]

    @property
    def _directions(self) -> FloatArray:
        if self.rank == 1:
            return np.array([[1.0], [-1.0]])
        angle = 2.0 * np.pi / len(self.points) * np.arange(len(self.points))
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)

    @cached_property
    def _rim(self) -> tuple[cKDTree, IntArray, FloatArray]:
        """Tree of points on the border, with the cell and the position in it of each."""
        positions = (np.arange(_STARTS) + 0.5) / _STARTS
        rays = np.repeat(np.arange(len(self.border)), _STARTS)
        starts = np.tile(positions, len(self.border))
        coordinates = np.empty((rays.size, self.rank))
        for row, ray in enumerate(rays):
            kernels.border_coordinates(self.border, ray, starts[row], coordinates[row])
        return cKDTree(self.evaluate(coordinates)), rays, starts

    def inside(self, coordinates: FloatArray) -> BoolArray:
        """Which ``coordinates`` [n, k] lie in the domain."""
        result = np.empty(len(coordinates), bool)
        kernels.inside_batch(self.border, coordinates, NOTICEABLE * self.scale, result)
        return result

    def extent(self, coordinates: FloatArray) -> FloatArray:
        """ρ [n] along the directions of ``coordinates`` [n, k]."""
        if self.rank == 1:
            return np.asarray(self.border[(coordinates[:, 0] < 0.0).astype(np.int64), 0])
        turns = arctan2(coordinates[:, 1], coordinates[:, 0]) / (2.0 * np.pi) % 1.0 * len(self.border)
        ray = np.minimum(turns.astype(np.int64), len(self.border) - 1)
        start, end = self.border[ray].T
        return np.asarray(start + (turns - ray) * (end - start))

    def nearest_on_border(self, targets: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Nearest points of the border to ``targets`` [n, dim]: coordinates, points and residuals."""
        tree, rays, starts = self._rim
        found = tree.query(targets)[1]
        n = len(targets)
        coordinates, points, residuals = np.empty((n, self.rank)), np.empty_like(targets), np.empty(n)
        kernels.border_search_batch(
            self.table, self.step, self.border, targets, rays[found], starts[found], 1.0 / _STARTS,
            coordinates, points, residuals,
        )  # fmt: skip
        return coordinates, points, residuals
