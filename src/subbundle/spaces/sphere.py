"""The unit sphere S^d in R^{d+1}.

With d = y − x, a = x·d and w = d − a x (the part of y tangent at x) one has sin θ = |w| and cos θ = 1 + a, so

    θ = atan2(|w|, 1 + a)          log_x(y) = (θ / sin θ) w

Differences of close points are exact in floating point; arccos(x·y) would lose half of the digits there. The distance
alone is θ = 2 atan2(|x − y|, |x + y|), accurate at both ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from subbundle._elementwise import arctan2, cos
from subbundle._types import BoolArray, FloatArray
from subbundle.spaces.base import CUT_TOLERANCE, VectorSpace
from subbundle.spaces.linalg import complement, dot, ratio, sinc


@final
@dataclass(frozen=True)
class Sphere(VectorSpace):
    """Unit vectors of R^{dim+1}, distances measured along great circles.

    Parameters
    ----------
    dim : int
        Dimension of the sphere: 2 for the surface of a ball in R^3. Points are arrays ``[..., dim + 1]``.

    Notes
    -----
    Antipodal points are each other's cut locus: the distance is π, the log NaN.

    Examples
    --------
    >>> import numpy as np
    >>> north, east = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    >>> Sphere(2).log(east, north) / np.pi
    array([0.5, 0. , 0. ])
    """

    entries_more: ClassVar[int] = 1

    @property
    def requirement(self) -> str:
        """What a point must be."""
        return f"unit vectors of R^{self.dim + 1}"

    def exp(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """cos(|v|) x + sin(|v|)/|v| v."""
        v, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        angle = np.sqrt(dot(v, v))[..., None]
        return np.asarray(cos(angle) * x + sinc(angle) * v)

    def log(self, point: FloatArray, base_point: FloatArray) -> FloatArray:
        """(θ / sin θ) w; NaN where ``point`` is antipodal to ``base_point``."""
        y, x = self.coerce(point, "point"), self.coerce(base_point, "base_point")
        tangent, sine, cosine = _polar(y, x)
        scale = ratio(arctan2(sine, cosine), sine)
        scale[(sine <= CUT_TOLERANCE) & (cosine < 0.0)] = np.nan
        tangent *= scale[..., None]
        return tangent

    def dist(self, point_a: FloatArray, point_b: FloatArray) -> FloatArray:
        """2 atan2(|x − y|, |x + y|)."""
        x, y = self.coerce(point_a, "point_a"), self.coerce(point_b, "point_b")
        difference, total = y - x, y + x
        return np.asarray(2.0 * arctan2(np.sqrt(dot(difference, difference)), np.sqrt(dot(total, total))))

    def parallel_transport(self, tangent_vec: FloatArray, base_point: FloatArray, end_point: FloatArray) -> FloatArray:
        """Rotate in the plane of x and y: v − 2 (d·v)/|x + y|² (x + y), where d·v = y·v since v is tangent at x."""
        v, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        y = self.coerce(end_point, "end_point")
        total = x + y
        squared = dot(total, total)
        squared = np.where(squared <= CUT_TOLERANCE**2, np.nan, squared)
        return np.asarray(v - (2.0 * dot(y - x, v) / squared)[..., None] * total)

    def to_tangent(self, vector: FloatArray, base_point: FloatArray) -> FloatArray:
        """v − (x·v) x."""
        v, x = self.coerce(vector, "vector"), self.coerce(base_point, "base_point")
        return v - dot(x, v)[..., None] * x

    def projection(self, point: FloatArray) -> FloatArray:
        """x / |x|; NaN at the centre."""
        x = self.coerce(point, "point")
        norm = np.sqrt(dot(x, x))[..., None]
        return np.asarray(x / np.where(norm == 0.0, np.nan, norm))

    def violation(self, point: FloatArray) -> FloatArray:
        """| |x| − 1 |, the distance to the sphere."""
        x = self.coerce(point, "point")
        return np.abs(np.sqrt(dot(x, x)) - 1.0)

    def at_cut_locus(self, point: FloatArray, base_point: FloatArray) -> BoolArray:
        """Whether the points are antipodal."""
        _, sine, cosine = _polar(self.coerce(point, "point"), self.coerce(base_point, "base_point"))
        return np.asarray((sine <= CUT_TOLERANCE) & (cosine < 0.0))

    def tangent_basis(self, base_point: FloatArray) -> FloatArray:
        """The rows orthogonal to x of a Householder reflection."""
        return complement(self.coerce(base_point, "base_point"))

    def random_point(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Uniform points."""
        return self.projection(rng.standard_normal((n_samples, self.dim + 1)))


def _polar(y: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The part of y tangent at x, its length sin θ, and cos θ."""
    tangent = y - x
    along = dot(x, tangent)
    tangent -= along[..., None] * x
    return tangent, np.sqrt(dot(tangent, tangent)), 1.0 + along
