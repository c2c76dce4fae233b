"""The map v ↦ exp(v) for k ≥ 3 and its inverse, by shooting: the nodes of a coarse fan are where the searches start.

An interpolant of exp would need a number of geodesics that grows like a power of k; a search from the nearest node
needs the fan only to come near. The domain is star-shaped, {r u : r ≤ ρ(u)}, with ρ(u) the mean over the k nearest
directions of the fan, weighted by their inverse distance; where one of them ends at a fold or a cut, the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, Status
from subbundle.bundles.base import Subbundle
from subbundle.flow import integrate
from subbundle.geodesics._shooting import shoot
from subbundle.geodesics._start import covectors_from_coordinates
from subbundle.geodesics.log import log
from subbundle.manifolds._fan import BoolArray

# Coordinates this near to the border, in length scales, are still inside: rounding.
_SLACK = 1e-6
_INSET = 1e-3


@dataclass(frozen=True)
class Search:
    """exp by geodesics, log by shooting from the nodes of a fan.

    Attributes
    ----------
    bundle, base_point, frame
        Where the geodesics start; [dim] and [dim, k].
    directions : [L, k]
    points : [L, R + 1, dim]
        Nodes relative to the base point.
    extents : [L]
        How far the domain reaches along each geodesic.
    cut : [L]
        Which of them end at a fold or a cut.
    step, tol : float
        Distance between the nodes; tolerance of geodesics and searches.
    """

    bundle: Subbundle
    base_point: FloatArray
    frame: FloatArray
    directions: FloatArray
    points: FloatArray
    extents: FloatArray
    cut: BoolArray
    step: float
    tol: float

    @cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """The nodes inside the domain: their points [n, dim] and coordinates [n, k]."""
        distances = self.step * np.arange(self.points.shape[1])
        held = np.isfinite(self.points[:, :, 0]) & (distances <= self.extents[:, None])
        held[1:, 0] = False
        ray, node = np.nonzero(held)
        return self.points[ray, node], distances[node, None] * self.directions[ray]

    @cached_property
    def tree(self) -> cKDTree:
        """Tree of the nodes' points."""
        return cKDTree(self.nodes[0])

    @cached_property
    def _compass(self) -> cKDTree:
        return cKDTree(self.directions)

    def evaluate(self, coordinates: FloatArray) -> FloatArray:
        """Points [n, dim], relative to the base point, at ``coordinates`` [n, k]; NaN where the geodesic ends early."""
        covectors = covectors_from_coordinates(self.frame[None], coordinates)
        start = np.repeat(self.base_point[None], len(coordinates), axis=0)
        return integrate(self.bundle, start, covectors, np.array([1.0]), tol=self.tol).points[:, 0] - self.base_point

    def jacobians(self, coordinates: FloatArray) -> FloatArray:
        """∂exp/∂v [n, dim, k] at ``coordinates`` [n, k]."""
        n, rank = coordinates.shape
        dual = [covectors_from_coordinates(self.frame[None], row[None])[0] for row in np.eye(rank)]
        searched = np.repeat(np.stack(dual)[None], n, axis=0)
        bases = np.repeat(self.base_point[None], n, axis=0)
        return shoot(self.bundle, bases, searched, coordinates, self.tol, radial=True).jacobians

    def inside(self, coordinates: FloatArray) -> BoolArray:
        """Which ``coordinates`` [n, k] lie in the domain."""
        distance = np.sqrt(np.einsum("nk,nk->n", coordinates, coordinates))
        unit = coordinates / np.where(distance > 0.0, distance, 1.0)[:, None]
        return np.asarray(distance <= self._border(unit) + _SLACK * self.bundle.length_scale)

    def _border(self, unit: FloatArray) -> FloatArray:
        """ρ(u) [n] at unit vectors [n, k]; any value for a zero vector, which is inside whatever it is."""
        apart, near = self._compass.query(unit, k=min(unit.shape[1], len(self.directions)))
        ends = self.extents[near]
        weights = 1.0 / np.maximum(apart, 1e-9)
        mean = np.einsum("nm,nm->n", weights, ends) / weights.sum(axis=1)
        return np.where(self.cut[near].any(axis=1), ends.min(axis=1), mean)

    def nearest(self, targets: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
        """Nearest points to ``targets`` [n, dim]: coordinates, points, residuals, and whether the search came to rest.

        A search that found no geodesic at all keeps the node it started from.
        """
        found = self.tree.query(targets)[1]
        points, coordinates = self.nodes[0][found], self.nodes[1][found]
        residuals = np.linalg.norm(points - targets, axis=1)
        searched = log(self.bundle, self.base_point, targets + self.base_point, start=coordinates, tol=self.tol)
        better = searched.residuals <= residuals
        points[better] = searched.points[better] - self.base_point
        coordinates[better], residuals[better] = searched.coordinates[better], searched.residuals[better]
        return coordinates, points, residuals, better & (searched.status == Status.OK)

    def nearest_on_border(self, targets: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Nearest ends of the fan's geodesics to ``targets`` [n, dim]: coordinates, points and residuals."""
        tree, coordinates = self._rim
        residuals, found = tree.query(targets)
        return coordinates[found], np.asarray(tree.data)[found], residuals

    @cached_property
    def _rim(self) -> tuple[cKDTree, FloatArray]:
        # A little inside: the last stretch before the end of the support may need steps that cannot be taken.
        coordinates = (1.0 - _INSET) * self.extents[:, None] * self.directions
        points = self.evaluate(coordinates)
        known = np.isfinite(points).all(axis=1)
        return cKDTree(points[known]), coordinates[known]
