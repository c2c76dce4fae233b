"""Points of the ridge with their subspaces: what paths join.

The subspaces are the tangent spaces of the quadrics that fit the data there (`ridge_project`). Those of the bundle, by
principal components, are tilted where the ridge bends at the border of sparse data, by three times as much and more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subbundle._types import BoolArray, FloatArray, IntArray, Status, all_finite
from subbundle.bundles.base import LearnedSubbundle
from subbundle.bundles.ridge_project import ridge_project
from subbundle.bundles.surroundings import FLAT, surrounding_dim, surroundings_of


class OnRidge(NamedTuple):
    """Projections of points to the ridge.

    Attributes
    ----------
    points : [n, dim]
        As given where they have no projection.
    frames : [n, dim, k]
        Orthonormal bases of the subspaces, zero where there is none; on a manifold those of the bundle.
    placed : [n]
        Whether there is a projection with a subspace.
    """

    points: FloatArray
    frames: FloatArray
    placed: BoolArray

    def at(self, rows: IntArray) -> OnRidge:
        """Those of ``rows``."""
        return OnRidge(self.points[rows], self.frames[rows], self.placed[rows])


def on_ridge(bundle: LearnedSubbundle, points: FloatArray, max_steps: int = 20) -> OnRidge:
    """``points`` [n, dim] projected to the ridge. A row's result does not depend on the others.

    A projection leads across the ridge. Where observations are sparse, at its border, wider bandwidths would move a
    point along it; it is then projected with its own.
    """
    projections, placed = points.copy(), all_finite(points)
    tangents = np.full((*points.shape, bundle.rank), np.nan)
    if bundle.rank < surrounding_dim(bundle):
        _project(bundle, points, np.flatnonzero(placed), projections, tangents, placed, max_steps, "auto")
        with np.errstate(invalid="ignore"):
            shift = points - projections
            along = ((tangents * shift[:, :, None]).sum(axis=1) ** 2).sum(axis=1)
            slid = placed & (2.0 * along > (shift * shift).sum(axis=1))
        _project(bundle, points, np.flatnonzero(slid), projections, tangents, placed, max_steps, None)
    frame = bundle.frame(projections)
    placed &= frame.status == Status.OK
    fitted = all_finite(tangents.reshape(len(tangents), -1)) & (surroundings_of(bundle) is FLAT)
    frames = np.where(fitted[:, None, None], tangents, np.nan_to_num(frame.vectors))
    return OnRidge(projections, frames, placed)


def _project(
    bundle: LearnedSubbundle, points: FloatArray, rows: IntArray, projections: FloatArray, tangents: FloatArray,
    placed: BoolArray, max_steps: int, continuation: str | None,
) -> None:  # fmt: skip
    """Write the projections of ``rows``, their tangents, and whether there is one."""
    ridge = ridge_project(bundle, points[rows], max_steps=max_steps, continuation=continuation)
    placed[rows] = ridge.arrived
    projections[rows] = np.where(ridge.arrived[:, None], ridge.points, points[rows])
    tangents[rows] = ridge.tangents
