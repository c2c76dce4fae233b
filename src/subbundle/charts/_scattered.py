"""A smooth map v ↦ exp(v) for k ≥ 3 from a fan of scattered directions, its inverse, and its star-shaped domain.

Cubic Hermite along each geodesic, a local quadratic fit across the directions (see `_scattered_kernels`): third order
in their spacing. The domain is {r u : r ≤ ρ(u)} with ρ(u) the mean over the k nearest directions of the fan, weighted
by their inverse distance; where one of them ends at a fold or a cut, the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from subbundle._numbers import NOTICEABLE
from subbundle._types import BoolArray, FloatArray, IntArray
from subbundle.charts.interpolant import ExpInterpolant, lengths_of
from subbundle.local.tuning import PER_COEFFICIENT


def n_coefficients(rank: int) -> int:
    """Coefficients of a quadratic polynomial across the directions of R^rank."""
    return rank + (rank - 1) * rank // 2


@dataclass(frozen=True)
class Scattered(ExpInterpolant):
    """The interpolant of a fan of scattered directions.

    Attributes
    ----------
    directions : [L, k]
    points, velocities : [L, m, dim]
        Nodes relative to the base point, and their velocities, continued beyond the end of each geodesic.
    counts : [L]
        Number of nodes reached by the geodesic itself.
    extents : [L]
        ρ along each geodesic.
    cut : [L]
        Which of them end at a fold or a cut.
    step, scale : float
        Distance between nodes; length scale of the bundle.
    """

    directions: FloatArray
    points: FloatArray
    velocities: FloatArray
    counts: IntArray
    extents: FloatArray
    cut: BoolArray
    step: float
    scale: float
    n_jobs: int

    @property
    def border(self) -> FloatArray:
        """ρ [L, 2] along each geodesic, twice: directions of R^k, k ≥ 3, have no cells between them."""
        return np.repeat(self.extents[:, None], 2, axis=1)

    @cached_property
    def _tables(self) -> tuple[Any, ...]:
        """Nodes with scaled velocities, h, length scale, directions, ends and reach R of the fit, for the kernels."""
        nodes = np.asarray(np.stack([self.points, self.step * self.velocities], axis=2), dtype=np.float64)
        ends = np.asarray(self.step * (self.counts - 1), dtype=np.float64)
        count = min(PER_COEFFICIENT * n_coefficients(self.directions.shape[1]) + 1, len(self.directions))
        apart, _ = self._direction_tree.query(self.directions, k=[count])
        return nodes, self.step, self.scale, self.directions, ends, float(apart.max())

    @cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """The nodes inside the domain: their points [n, dim] and coordinates [n, k]."""
        distances = self.step * np.arange(self.points.shape[1])
        inside = (np.arange(len(distances)) < self.counts[:, None]) & (distances <= self.extents[:, None])
        # The common start is one node, not one per geodesic.
        inside[1:, 0] = False
        ray, node = np.nonzero(inside)
        return self.points[ray, node], distances[node, None] * self.directions[ray]

    @cached_property
    def _direction_tree(self) -> cKDTree:
        return cKDTree(self.directions)

    def inside(self, coordinates: FloatArray) -> BoolArray:
        """Which ``coordinates`` [n, k] lie in the domain."""
        distance, border = self._border(coordinates)
        return np.asarray(distance <= border + NOTICEABLE * self.scale)

    def extent(self, coordinates: FloatArray) -> FloatArray:
        """ρ [n] along the directions of ``coordinates`` [n, k]."""
        return self._border(coordinates)[1]

    def _border(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        """|v| [n] and ρ(v/|v|) [n]; at zero, which is inside whatever the direction, some ρ."""
        distance = lengths_of(coordinates)
        unit = coordinates / np.where(distance > 0.0, distance, 1.0)[:, None]
        apart, near = self._direction_tree.query(unit, k=unit.shape[1])
        ends = self.extents[near]
        weights = 1.0 / np.maximum(apart, 1e-9)
        mean = np.einsum("nm,nm->n", weights, ends) / weights.sum(axis=1)
        return distance, np.where(self.cut[near].any(axis=1), ends.min(axis=1), mean)

    def nearest_on_border(self, targets: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Near points of the border to ``targets`` [n, dim]: coordinates, points and residuals.

        The nearest end of a geodesic, or where the ray to the nearest point beyond crosses the border: the nearer.
        """
        ends = self.extents[:, None] * self.directions
        rim = self.evaluate(ends)
        chosen = ends[cKDTree(rim).query(targets)[1]]
        beyond = self.search(targets, chosen)[0]
        distance, border = self._border(beyond)
        crossing = beyond * (border / np.maximum(distance, 1e-300))[:, None]
        points, crossed = self.evaluate(chosen), self.evaluate(crossing)
        better = lengths_of(crossed - targets) < lengths_of(points - targets)
        chosen[better], points[better] = crossing[better], crossed[better]
        return chosen, points, lengths_of(points - targets)
