"""The record of a projection onto the ridge."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from subbundle._html import card, dots, endings
from subbundle._types import BoolArray, FloatArray, IntArray, Status, StatusArray
from subbundle.local.frames import completed


@dataclass(frozen=True, slots=True)
class Ridge:
    """Points on the ridge with the local model there, in the order of the given rows.

    Of a single point given to `carry_to_ridge` nothing has a batch axis.

    Rows whose status is neither OK nor NOT_CONVERGED hold the point as it was given, NaN for estimates, and an infinite
    outlier score.

    Attributes
    ----------
    points : [batch, d]
    tangents : [batch, d, k]
        Orthonormal basis of the tangent space of the ridge, on a known manifold in its metric.
    second_form : [batch, k, k, d]
        II(t_a, t_b), vectors of the normal space (1/length), on a known manifold of that within it.
    density : [batch]
        Kernel mass relative to its typical value on the data: 1/2 on a straight border.
    curvature : [batch]
        √Σ_ab |II(t_a, t_b)|²: on a surface in R³, √(κ₁² + κ₂²).
    noise : [batch]
        Standard deviation of the observations about the ridge, along one normal direction.
    position_error : [batch]
        Standard error of the point across the manifold, from noise and bias: the true offset is at most 1.96 of it
        long at 95 % of the points. This and the next: NaN where they were not computed, in full rank, and for bundles
        known only by their frames.
    tangent_error : [batch]
        Standard error of the tangent space from noise: root mean square of the angle's sine, of all angles together.
    outlier_scores : [batch]
        Distance moved over the noise times √(d − k): about one for observations, large for outliers.
    shifts, offsets : [batch]
        Distance moved, and length of the last step.
    support_radius : [batch]
        Distance from the given point beyond which no observation had a weight; NaN above 16 dimensions of data, and for
        bundles known only by their frames.
    neighbours : [batch]
        Effective number of neighbours (Σφ)²/Σφ²; NaN for bundles known only by their frames.
    steps, status : [batch]
        Steps taken; OK where ``offsets`` are at most ``tol`` bandwidths.
    """

    points: FloatArray
    tangents: FloatArray
    second_form: FloatArray
    density: FloatArray
    curvature: FloatArray
    noise: FloatArray
    position_error: FloatArray
    tangent_error: FloatArray
    outlier_scores: FloatArray
    shifts: FloatArray
    offsets: FloatArray
    support_radius: FloatArray
    neighbours: FloatArray
    steps: IntArray
    status: StatusArray

    def _repr_html_(self) -> str:
        known = self.noise[np.isfinite(self.noise)]
        points = np.atleast_2d(self.points)
        facts: list[tuple[str, object]] = [("points", f"{len(points)} in R^{points.shape[1]}")]
        facts += [("noise, median", float(np.median(known)))] if known.size else []
        return card("Ridge", [*facts, *endings(self.status)], picture=dots(points))

    @property
    def arrived(self) -> BoolArray:
        """Whether each row has a point of the ridge, [batch], even if its last step was longer than requested."""
        return np.asarray((self.status == Status.OK) | (self.status == Status.NOT_CONVERGED))

    @property
    def normals(self) -> FloatArray:
        """Orthonormal basis [batch, d, d − k] of the normal space, computed on each call.

        Its memory grows with d²; where that is too much, use (I − T Tᵀ) v with T = ``tangents`` instead. A hypersurface
        has one normal, up to a sign that is chosen row by row: they are not oriented.
        """
        *batch, dim, k = self.tangents.shape
        return completed(self.tangents.reshape(-1, dim, k))[:, :, k:].reshape(*batch, dim, dim - k)

    @property
    def mean_curvature(self) -> FloatArray:
        """Mean curvature vectors Σ_a II(t_a, t_a)/k, [batch, d]."""
        return np.asarray(np.einsum("...aad->...d", self.second_form) / self.tangents.shape[-1])

    @property
    def principal_curvatures(self) -> FloatArray:
        """Principal curvatures [batch, k], falling, with respect to ``normals``; for hypersurfaces only."""
        dim, k = self.tangents.shape[-2:]
        if dim - k != 1:
            raise ValueError(
                f"principal curvatures need a hypersurface, rank = d − 1; rank is {k} in R^{dim}. "
                "Use second_form or curvature instead."
            )
        shape = np.einsum("...abd,...d->...ab", self.second_form, self.normals[..., 0])
        known = np.isfinite(shape).all(axis=(-2, -1))
        values = np.full(shape.shape[:-1], np.nan)
        values[known] = np.linalg.eigvalsh(shape[known])[:, ::-1]
        return values

    def first(self) -> Ridge:
        """The record of the first row alone."""
        rows: dict[str, Any] = {each.name: getattr(self, each.name)[0] for each in fields(self)}
        return Ridge(**rows | {"status": Status(int(self.status[0]))})
