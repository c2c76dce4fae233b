"""exp and log of a chart by geodesics themselves: exact where an interpolant is not accurate enough.

A search starts from the interpolant's answer, so that few geodesics lead to the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import BoolArray, FloatArray, Status
from subbundle.bundles.base import Subbundle
from subbundle.bundles.surroundings import Picture, surroundings_of
from subbundle.charts._nearest import Found
from subbundle.charts._scattered import Scattered
from subbundle.flow import integrate
from subbundle.geodesics.log import log
from subbundle.geodesics.shooting import shoot
from subbundle.geodesics.start import covectors_from_coordinates


@dataclass(frozen=True)
class Searched:
    """A chart whose every use follows geodesics of ``bundle``, accurate to ``tol``.

    They start at ``base_point`` [dim] with directions in ``frame`` [dim, k]; ``coarse`` provides the domain and the
    starts of searches.
    """

    bundle: Subbundle
    base_point: FloatArray
    frame: FloatArray
    coarse: Scattered
    tol: float

    @property
    def _picture(self) -> Picture:
        return surroundings_of(self.bundle).picture(self.base_point)

    @property
    def _duals(self) -> FloatArray | None:
        return self.bundle.frame(self.base_point[None]).duals

    @property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """The nodes inside the domain: their points [n, dim] and coordinates [n, k]."""
        return self.coarse.nodes

    @property
    def tree(self) -> cKDTree:
        """Tree of the nodes' points."""
        return self.coarse.tree

    def evaluate(self, coordinates: FloatArray) -> FloatArray:
        """Points [n, dim], relative to the base point, at ``coordinates`` [n, k]; NaN where the geodesic ends early."""
        covectors = covectors_from_coordinates(self.frame[None], coordinates, self._duals)
        start = np.repeat(self.base_point[None], len(coordinates), axis=0)
        run = integrate(self.bundle, start, covectors, np.array([1.0]), tol=self.tol)
        return self._picture.enter(run.points[:, 0])

    def jacobians(self, coordinates: FloatArray) -> FloatArray:
        """∂exp/∂v [n, dim, k] at ``coordinates`` [n, k]."""
        n, rank = coordinates.shape
        dual = [covectors_from_coordinates(self.frame[None], row[None], self._duals)[0] for row in np.eye(rank)]
        searched = np.repeat(np.stack(dual)[None], n, axis=0)
        bases = np.repeat(self.base_point[None], n, axis=0)
        shots = shoot(self.bundle, bases, searched, coordinates, self.tol, radial=True)
        return np.stack([self._picture.push(shots.ends, shots.jacobians[:, :, i]) for i in range(rank)], axis=2)

    def inside(self, coordinates: FloatArray) -> BoolArray:
        """Which ``coordinates`` [n, k] lie in the domain."""
        return self.coarse.inside(coordinates)

    def extent(self, coordinates: FloatArray) -> FloatArray:
        """ρ [n] along the directions of ``coordinates`` [n, k]."""
        return self.coarse.extent(coordinates)

    def nearest(self, targets: FloatArray) -> Found:
        """Nearest points to ``targets`` [n, dim]: coordinates, points, residuals, and whether the search converged.

        Where the interpolant's answer lies outside the domain, or no geodesic arrives, that answer stays.
        """
        found = self.coarse.nearest(targets)
        rows = np.flatnonzero(self.inside(found[0]))
        if rows.size:
            searched = log(
                self.bundle, self.base_point, self._picture.leave(targets[rows]), start=found[0][rows], tol=self.tol
            )
            arrived = np.isfinite(searched.residuals)
            new = (searched.coordinates, self._picture.enter(searched.points), searched.residuals)
            for old, part in zip(found, new, strict=False):
                old[rows[arrived]] = part[arrived]
            found[3][rows] = searched.status == Status.OK
        return found

    def nearest_on_border(self, targets: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Near points of the border to ``targets`` [n, dim]: coordinates, points and residuals."""
        return self.coarse.nearest_on_border(targets)
