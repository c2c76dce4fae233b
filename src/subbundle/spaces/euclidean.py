"""R^d with its usual metric: straight lines, no curvature, no cut locus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from subbundle._types import FloatArray
from subbundle.spaces.base import VectorSpace
from subbundle.spaces.linalg import dot


@final
@dataclass(frozen=True)
class Euclidean(VectorSpace):
    """The vector space R^dim, exp_x(v) = x + v.

    Parameters
    ----------
    dim : int
        Its dimension; points are arrays ``[..., dim]``.

    Examples
    --------
    >>> import numpy as np
    >>> float(Euclidean(2).dist(np.array([0.0, 0.0]), np.array([3.0, 4.0])))
    5.0
    """

    @property
    def requirement(self) -> str:
        """What a point must be."""
        return f"vectors of R^{self.dim}"

    def exp(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """x + v."""
        return self.coerce(base_point, "base_point") + self.coerce(tangent_vec, "tangent_vec")

    def log(self, point: FloatArray, base_point: FloatArray) -> FloatArray:
        """y − x."""
        return self.coerce(point, "point") - self.coerce(base_point, "base_point")

    def dist(self, point_a: FloatArray, point_b: FloatArray) -> FloatArray:
        """|y − x|."""
        difference = self.coerce(point_b, "point_b") - self.coerce(point_a, "point_a")
        return np.sqrt(dot(difference, difference))

    def parallel_transport(self, tangent_vec: FloatArray, base_point: FloatArray, end_point: FloatArray) -> FloatArray:
        """The vector itself."""
        x, y = self.coerce(base_point, "base_point"), self.coerce(end_point, "end_point")
        return self.expand(self.coerce(tangent_vec, "tangent_vec"), x, y)

    def to_tangent(self, vector: FloatArray, base_point: FloatArray) -> FloatArray:
        """The vector itself."""
        return self.expand(self.coerce(vector, "vector"), self.coerce(base_point, "base_point"))

    def projection(self, point: FloatArray) -> FloatArray:
        """The point itself."""
        return self.coerce(point, "point").copy()

    def violation(self, point: FloatArray) -> FloatArray:
        """Zero: every vector is a point."""
        return np.zeros(self.batch(self.coerce(point, "point")))

    def tangent_basis(self, base_point: FloatArray) -> FloatArray:
        """The unit vectors."""
        batch = self.batch(self.coerce(base_point, "base_point"))
        return np.broadcast_to(np.eye(self.dim), (*batch, self.dim, self.dim)).copy()

    def random_point(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Standard normal points."""
        return rng.standard_normal((n_samples, self.dim))
