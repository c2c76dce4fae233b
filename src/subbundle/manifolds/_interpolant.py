"""A smooth map v ↦ exp(v) for k ≤ 2 from the nodes of a fan, its inverse, and the star-shaped domain where it holds.

Bicubic Hermite in (r, θ): the radial derivatives are the exact velocities, the angular ones sixth-order differences between
the geodesics. The error is of fourth order in both spacings. The domain is {r u(θ) : r ≤ ρ(θ)}, ρ linear between the
geodesics. Beyond the end of a geodesic the table goes on along its last tangent: the cells on the border need a corner
there, and a search that strays over the border must find its way back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from subbundle._parallel import run_rows
from subbundle._types import FloatArray, IntArray
from subbundle.manifolds import _interpolant_kernels as kernels
from subbundle.manifolds._fan import BoolArray, Fan
from subbundle.manifolds._fan_derivatives import angular
from subbundle.manifolds._fold import differ

# Rows that are worth a thread of their own.
_GRAIN = 2000
# Near nodes among which another part of the chart is looked for.
_CANDIDATES = 6
# Positions on each cell of the border where the search for the nearest border point may start.
_STARTS = 4
# Coordinates this near to the border, in length scales, are still inside: rounding.
_SLACK = 1e-6


@dataclass(frozen=True)
class Interpolant:
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

    @cached_property
    def table(self) -> FloatArray:
        """Points and scaled derivatives [L, R + 1, 4, dim]; see `_interpolant_kernels`."""
        n_rays, n_nodes, dim = self.points.shape
        table = np.zeros((n_rays, n_nodes, 4, dim))
        table[:, :, 0] = self.points
        table[:, :, 1] = self.step * self.velocities
        if self.rank == 2:
            real = np.arange(n_nodes) < self.counts[:, None]
            width = 2.0 * np.pi / n_rays
            table[:, :, 2] = width * _everywhere(self.points, real)
            table[:, :, 3] = width * self.step * _everywhere(self.velocities, real)
            table[:, 0, 2] = 0.0
        return table

    @cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """The nodes inside the domain: their points [n, dim] and coordinates [n, k]."""
        distances = self.step * np.arange(self.points.shape[1])
        before = np.roll(self.border[:, 1], 1) if self.rank == 2 else self.border[:, 1]
        held = distances <= np.maximum(self.border[:, 0], before)[:, None] + _SLACK * self.scale
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
    def tree(self) -> cKDTree:
        """Tree of the nodes' points."""
        return cKDTree(self.nodes[0])

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

    def evaluate(self, coordinates: FloatArray) -> FloatArray:
        """Points [n, dim], relative to the base point, at ``coordinates`` [n, k]."""
        return self._expand(coordinates)[0]

    def jacobians(self, coordinates: FloatArray) -> FloatArray:
        """∂exp/∂v [n, dim, k] at ``coordinates`` [n, k]."""
        return self._expand(coordinates)[1]

    def _expand(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        n, dim = len(coordinates), self.points.shape[2]
        points, jacobians, table = np.empty((n, dim)), np.empty((n, dim, self.rank)), self.table

        def work(i: int, j: int) -> None:
            kernels.evaluate_batch(table, self.step, coordinates[i:j], points[i:j], jacobians[i:j])

        run_rows(work, n, self.n_jobs, grain=_GRAIN)
        return points, jacobians

    def inside(self, coordinates: FloatArray) -> BoolArray:
        """Which ``coordinates`` [n, k] lie in the domain."""
        result = np.empty(len(coordinates), bool)
        kernels.inside_batch(self.border, coordinates, _SLACK * self.scale, result)
        return result

    def nearest(self, targets: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
        """Nearest points to ``targets`` [n, dim]: coordinates, points, residuals, and whether the search came to rest.

        From the nearest node, which chooses the sheet; where nodes of another part of the chart are near as well, as
        beside a cut, the better of two searches counts. Coordinates may end up outside the domain.
        """
        starts, others = self._starts(targets)
        found = self._search(targets, starts)
        rows = np.flatnonzero(others >= 0)
        if rows.size:
            again = self._search(targets[rows], self.nodes[1][others[rows]])
            covered, covered_again = (self.inside(part[0]) & part[3] for part in (_take(found, rows), again))
            better = np.where(covered == covered_again, again[2] < found[2][rows], covered_again)
            for old, new in zip(found, again, strict=True):
                old[rows[better]] = new[better]
        return found

    def _starts(self, targets: FloatArray) -> tuple[FloatArray, IntArray]:
        """Coordinates of the nearest nodes [n, k], and the nearest node [n] of another part of the chart (-1: none)."""
        points, coordinates = self.nodes
        count = min(_CANDIDATES, len(points))
        _, near = self.tree.query(targets, k=np.arange(1, count + 1))
        first = coordinates[near[:, 0]]
        others = np.full(len(targets), -1)
        for column in range(count - 1, 0, -1):
            candidate = near[:, column]
            apart = _length(points[candidate] - points[near[:, 0]])
            away = differ(_length(coordinates[candidate] - first), apart, self.scale)
            others[away] = candidate[away]
        return first, others

    def _search(
        self, targets: FloatArray, starts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
        n, table, coordinates = len(targets), self.table, starts.copy()
        points, residuals, resting = np.empty_like(targets), np.empty(n), np.empty(n, bool)

        def work(i: int, j: int) -> None:
            kernels.search_batch(
                table, self.step, self.scale, targets[i:j], coordinates[i:j], points[i:j], residuals[i:j], resting[i:j]
            )

        run_rows(work, n, self.n_jobs, grain=_GRAIN)
        return coordinates, points, residuals, resting

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


def _take(found: tuple[NDArray[Any], ...], rows: IntArray) -> tuple[NDArray[Any], ...]:
    return tuple(part[rows] for part in found)


def _length(vectors: FloatArray) -> FloatArray:
    length: FloatArray = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    return length


def interpolate(fan: Fan, extents: FloatArray, border: FloatArray, scale: float, n_jobs: int) -> Interpolant:
    """The interpolant of ``fan`` out to ``extents`` [L]."""
    n_nodes = int(np.ceil(extents.max() / fan.step)) + 3
    points, velocities = _continued(fan, n_nodes)
    counts = np.minimum(fan.real.sum(axis=1), n_nodes)
    return Interpolant(points, velocities, counts, border, fan.step, scale, fan.directions.shape[1], n_jobs)


def _continued(fan: Fan, n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and velocities [L, n_nodes, dim], along the last tangent beyond the end of each geodesic.

    The first node beyond the end lies on the cubic through the end and the node before the last: it is a corner of the
    last cell, whose error it would otherwise rule.
    """
    n_rays, _, dim = fan.points.shape
    points, velocities = np.full((2, n_rays, n_nodes, dim), np.nan)
    width = min(n_nodes, fan.points.shape[1])
    points[:, :width], velocities[:, :width] = fan.points[:, :width], fan.velocities[:, :width]
    counts = fan.real.sum(axis=1)
    for ray in np.flatnonzero(counts < n_nodes):
        count = counts[ray]
        before = max(count - 2, 0)
        start, length = fan.step * before, fan.reached[ray] - fan.step * before
        point, velocity = fan.ends[ray], fan.end_velocities[ray]
        beyond = fan.step * count
        if length > 0.0:
            point, velocity = _cubic(
                points[ray, before], velocities[ray, before], point, velocity, length, beyond - start
            )
        further = fan.step * np.arange(n_nodes - count)[:, None]
        points[ray, count:] = point + further * velocity
        velocities[ray, count:] = velocity
    return points, velocities


def _cubic(
    x0: FloatArray, v0: FloatArray, x1: FloatArray, v1: FloatArray, length: float, at: float
) -> tuple[FloatArray, FloatArray]:
    """Value and derivative at ``at`` of the cubic with ends x0, x1 at 0 and ``length``, and slopes v0, v1 there."""
    t = at / length
    p, dp = t * t * (3.0 - 2.0 * t), 6.0 * t * (1.0 - t) / length
    point = x0 + p * (x1 - x0) + length * (t * (1.0 - t) ** 2 * v0 + t * t * (t - 1.0) * v1)
    return point, dp * (x1 - x0) + (1.0 - t) * (1.0 - 3.0 * t) * v0 + t * (3.0 * t - 2.0) * v1


def _everywhere(values: FloatArray, real: BoolArray) -> FloatArray:
    """Angular derivatives [L, m, dim]: from real neighbours where there are any, else by plain central differences."""
    result = angular(values, real)
    plain = (np.roll(values, -1, axis=0) - np.roll(values, 1, axis=0)) * (len(values) / (4.0 * np.pi))
    return np.where(np.isfinite(result), result, plain)
