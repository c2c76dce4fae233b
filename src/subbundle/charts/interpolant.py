"""A smooth map v ↦ exp(v) for k ≤ 2 from the nodes of a fan, its inverse, and the star-shaped domain where it holds.

Bicubic Hermite in (r, θ): the radial derivatives are the exact velocities, the angular ones sixth-order differences
between the geodesics. The error is of fourth order in both spacings. The domain is {r u(θ) : r ≤ ρ(θ)} with ρ linear
between the geodesics. Beyond the end of a geodesic the nodes continue along its last tangent: the cells on the border
of the domain need a corner there, and a search may cross the border and return.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from subbundle._elementwise import arctan2
from subbundle._numbers import NOTICEABLE
from subbundle._parallel import run_rows
from subbundle._types import BoolArray, FloatArray, IntArray
from subbundle.charts import _interpolant_kernels as kernels
from subbundle.charts._search_kernels import evaluate_batch, search_batch
from subbundle.charts.fan import Fan, angular
from subbundle.charts.fan_domain import differ
from subbundle.geodesics.start import directions

Found = tuple[FloatArray, FloatArray, FloatArray, BoolArray]


class ExpInterpolant(ABC):
    """An interpolant of exp on its domain, from nodes relative to the base point."""

    points: FloatArray
    scale: float
    n_jobs: int

    @property
    @abstractmethod
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """The nodes inside the domain: their points [n, dim] and coordinates [n, k]."""

    @abstractmethod
    def inside(self, coordinates: FloatArray) -> BoolArray:
        """Which ``coordinates`` [n, k] lie in the domain."""

    @property
    @abstractmethod
    def _tables(self) -> tuple[Any, ...]:
        """Arguments ``fan`` of the kernels; see `_search_kernels`."""

    @cached_property
    def tree(self) -> cKDTree:
        """Tree of the nodes' points."""
        return cKDTree(self.nodes[0])

    def evaluate(self, coordinates: FloatArray) -> FloatArray:
        """Points [n, dim], relative to the base point, at ``coordinates`` [n, k]."""
        return self._expand(coordinates)[0]

    def jacobians(self, coordinates: FloatArray) -> FloatArray:
        """∂exp/∂v [n, dim, k] at ``coordinates`` [n, k]."""
        return self._expand(coordinates)[1]

    def _expand(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        (n, rank), dim, tables = coordinates.shape, self.points.shape[2], self._tables
        points, jacobians = np.empty((n, dim)), np.empty((n, dim, rank))

        def work(i: int, j: int) -> None:
            evaluate_batch(*tables, coordinates[i:j], points[i:j], jacobians[i:j])

        run_rows(work, n, self.n_jobs)
        return points, jacobians

    def search(self, targets: FloatArray, starts: FloatArray) -> Found:
        """Move from coordinates ``starts`` [n, k] to the nearest points: coordinates, points, residuals, converged."""
        n, tables, coordinates = len(targets), self._tables, starts.copy()
        points, residuals, converged = np.empty_like(targets), np.empty(n), np.empty(n, bool)

        def work(i: int, j: int) -> None:
            found = coordinates[i:j], points[i:j], residuals[i:j], converged[i:j]
            search_batch(*tables, targets[i:j], *found)

        run_rows(work, n, self.n_jobs)
        return coordinates, points, residuals, converged

    def nearest(self, targets: FloatArray) -> Found:
        """Nearest points to ``targets`` [n, dim]: coordinates, points, residuals, and whether the search converged.

        From the nearest node, which selects the sheet. Where that search leaves the domain, or another sheet of the
        chart is near, as at a cut, the next nodes are tried too and the better result is kept: as many as surround a
        target, one on either side along each coordinate. Coordinates may lie outside the domain.
        """
        nodes, at = self.nodes
        _, near = self.tree.query(targets, k=np.arange(1, min(2 * at.shape[1], len(nodes)) + 1))
        # Where distances to a target overflow no node is the nearest, and any serves.
        near = np.minimum(near, len(nodes) - 1)
        first = near[:, 0]
        found = self.search(targets, at[first])
        covered = self.inside(found[0]) & found[3]
        near_cut = np.zeros(len(targets), bool)
        for other in near.T[1:]:
            away = differ(lengths_of(at[other] - at[first]), lengths_of(nodes[other] - nodes[first]), self.scale)
            rows = np.flatnonzero(~covered | (away & ~near_cut))
            near_cut |= away
            again = self.search(targets[rows], at[other[rows]])
            covered_again = self.inside(again[0]) & again[3]
            better = np.where(covered[rows] == covered_again, again[2] < found[2][rows], covered_again)
            covered[rows] |= covered_again
            for old, new in zip(found, again, strict=True):
                old[rows[better]] = new[better]
        return found


def lengths_of(vectors: FloatArray) -> FloatArray:
    """|v| [n] of ``vectors`` [n, d]."""
    length: FloatArray = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    return length


def continued(fan: Fan, n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and velocities [L, n_nodes, dim], along the last tangent beyond the end of each geodesic.

    The first node beyond the end lies on the cubic through the end and the node before the last: it is a corner of the
    last cell, whose error it would otherwise dominate.
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


def build_table(points: FloatArray, velocities: FloatArray, counts: IntArray, step: float, rank: int) -> FloatArray:
    """X, h X_r, Δ X_θ, h Δ X_rθ [L, m, 4, dim] from nodes [L, m, dim], the first ``counts`` [L] of each ray reached."""
    n_rays, n_nodes, dim = points.shape
    table = np.zeros((n_rays, n_nodes, 4, dim))
    table[:, :, 0] = points
    table[:, :, 1] = step * velocities
    if rank == 2:
        real = np.arange(n_nodes) < counts[:, None]
        width = 2.0 * np.pi / n_rays
        table[:, :, 2] = width * _everywhere(points, real)
        table[:, :, 3] = width * step * _everywhere(velocities, real)
        # The common start does not move with the angle; differences would leave its rounding.
        table[:, 0, 2] = 0.0
    return table


def _everywhere(values: FloatArray, real: BoolArray) -> FloatArray:
    """Angular derivatives [L, m, dim]: from real neighbours where there are any, else by plain central differences."""
    result = angular(values, real)
    plain = (np.roll(values, -1, axis=0) - np.roll(values, 1, axis=0)) * (len(values) / (4.0 * np.pi))
    return np.where(np.isfinite(result), result, plain)


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
        Number of nodes reached by the geodesic itself.
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
        return build_table(self.points, self.velocities, self.counts, self.step, self.rank)

    @property
    def _tables(self) -> tuple[Any, ...]:
        return self.table, self.step, self.scale, None, None, None

    @cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """The nodes inside the domain: their points [n, dim] and coordinates [n, k]."""
        distances = self.step * np.arange(self.points.shape[1])
        before = np.roll(self.border[:, 1], 1) if self.rank == 2 else self.border[:, 1]
        inside = distances <= np.maximum(self.border[:, 0], before)[:, None] + NOTICEABLE * self.scale
        # The common start is one node, not one per geodesic.
        inside[1:, 0] = False
        ray, node = np.nonzero(inside)
        return self.points[ray, node], distances[node, None] * directions(self.rank, len(self.points))[ray]

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
