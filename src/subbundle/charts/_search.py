"""Searches where an interpolant is not enough: exp and log of a chart by geodesics, and the metric of a manifold.

A search by geodesics starts from the interpolant's result, so that few are needed.

The nearest point in the metric of a manifold is found from the nearest one under a local map. With y the target, Φ the
chart and e(v) = log_y(Φ(v)) in an orthonormal basis at y, |e(v)| is the distance. Gauss–Newton on |e|² moves v, with
∂e/∂v by central differences; a step is kept where it makes |e| smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._numbers import DIFFERENCE, MOST_ROUNDS, SINGULAR
from subbundle._types import BoolArray, FloatArray, IntArray, Status, all_finite
from subbundle.bundles.base import Subbundle
from subbundle.bundles.surroundings import LocalMap, Surroundings, surroundings_of
from subbundle.charts._scattered import Scattered
from subbundle.charts.interpolant import Found, Interpolant
from subbundle.flow import integrate
from subbundle.geodesics.log import log
from subbundle.geodesics.shooting import shoot
from subbundle.geodesics.start import covectors_from_coordinates


@dataclass(frozen=True)
class Searched:
    """A chart that computes geodesics of ``bundle`` at every use, accurate to ``tol``.

    They start at ``base_point`` [dim] with directions in ``frame`` [dim, k]; ``coarse`` provides the domain and the
    starts of searches.
    """

    bundle: Subbundle
    base_point: FloatArray
    frame: FloatArray
    coarse: Scattered
    tol: float

    @property
    def _local_map(self) -> LocalMap:
        return surroundings_of(self.bundle).local_map(self.base_point)

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
        return self._local_map.enter(run.points[:, 0])

    def jacobians(self, coordinates: FloatArray) -> FloatArray:
        """∂exp/∂v [n, dim, k] at ``coordinates`` [n, k]."""
        n, rank = coordinates.shape
        dual = [covectors_from_coordinates(self.frame[None], row[None], self._duals)[0] for row in np.eye(rank)]
        searched = np.repeat(np.stack(dual)[None], n, axis=0)
        bases = np.repeat(self.base_point[None], n, axis=0)
        shots = shoot(self.bundle, bases, searched, coordinates, self.tol, radial=True)
        return np.stack([self._local_map.push(shots.ends, shots.jacobians[:, :, i]) for i in range(rank)], axis=2)

    def inside(self, coordinates: FloatArray) -> BoolArray:
        """Which ``coordinates`` [n, k] lie in the domain."""
        return self.coarse.inside(coordinates)

    def extent(self, coordinates: FloatArray) -> FloatArray:
        """ρ [n] along the directions of ``coordinates`` [n, k]."""
        return self.coarse.extent(coordinates)

    def nearest(self, targets: FloatArray) -> Found:
        """Nearest points to ``targets`` [n, dim]: coordinates, points, residuals, and whether the search converged.

        Where the interpolant's result lies outside the domain, or no geodesic arrives, that result is kept.
        """
        found = self.coarse.nearest(targets)
        rows = np.flatnonzero(self.inside(found[0]))
        if rows.size:
            searched = log(
                self.bundle, self.base_point, self._local_map.leave(targets[rows]), start=found[0][rows], tol=self.tol
            )
            arrived = np.isfinite(searched.residuals)
            new = (searched.coordinates, self._local_map.enter(searched.points), searched.residuals)
            for old, part in zip(found, new, strict=False):
                old[rows[arrived]] = part[arrived]
            found[3][rows] = searched.status == Status.OK
        return found

    def nearest_on_border(self, targets: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Near points of the border to ``targets`` [n, dim]: coordinates, points and residuals."""
        return self.coarse.nearest_on_border(targets)


Model = Interpolant | Scattered | Searched


def nearest_in_metric(
    around: Surroundings,
    local_map: LocalMap,
    model: Model,
    targets: FloatArray,
    coordinates: FloatArray,
    found: FloatArray,
) -> None:
    """Move ``coordinates`` [n, k] and the images ``found`` [n, m] to the points nearest to ``targets`` [n, dim], in
    place; rows outside the domain of the chart, or without an image, are left."""
    rows = np.flatnonzero(model.inside(coordinates) & all_finite(local_map.enter(targets)))
    size = float(np.abs(model.nodes[1]).max(initial=0.0)) or 1.0

    def error_at(which: IntArray, v: FloatArray) -> FloatArray:
        ends = local_map.leave(model.evaluate(v))
        return around.coordinates(targets[which], around.displacement(targets[which], ends))

    for _ in range(MOST_ROUNDS):
        if rows.size == 0:
            return
        v = coordinates[rows]
        miss, slopes = error_at(rows, v), []
        for unit in np.eye(v.shape[1]):
            slopes.append(error_at(rows, v + DIFFERENCE * size * unit) - error_at(rows, v - DIFFERENCE * size * unit))
        jacobian = np.stack(slopes, axis=2) / (2.0 * DIFFERENCE * size)
        normal = np.einsum("nmi,nmj->nij", jacobian, jacobian)
        # Rows with a singular or undefined one take no step.
        sound = np.isfinite(normal).all(axis=(1, 2)) & all_finite(miss)
        sound[sound] = np.linalg.cond(normal[sound]) < 1e12
        rows, v, miss, jacobian, normal = rows[sound], v[sound], miss[sound], jacobian[sound], normal[sound]
        step = -np.linalg.solve(normal, np.einsum("nmi,nm->ni", jacobian, miss)[:, :, None])[:, :, 0]
        tried = v + step
        now = error_at(rows, tried)
        better = np.einsum("nm,nm->n", now, now) < np.einsum("nm,nm->n", miss, miss)
        coordinates[rows[better]] = tried[better]
        going = better & (np.abs(step).max(axis=1, initial=0.0) > SINGULAR * size)
        found[rows[better]] = model.evaluate(tried[better])
        rows = rows[going & model.inside(tried)]
