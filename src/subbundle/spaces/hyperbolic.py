"""Hyperbolic space H^d as the upper sheet of the hyperboloid ⟨x, x⟩ = −1 in R^{d+1}, ⟨a, b⟩ = −a_0 b_0 + ā·b̄.

A point is its space part x̄; the time x_0 = √(1 + |x̄|²) follows from it. Far out, x_0 ~ e^r, the products ⟨x, y⟩ and
⟨v, w⟩ are small differences of numbers of size e^{2r}, so they are never formed. With r_x = arsinh |x̄|, the angle φ
between x̄ and ȳ, and d = y − x,

    cosh θ − 1 = (cosh(r_y − r_x) − 1) + |x̄||ȳ| (1 − cos φ)                two terms ≥ 0, nothing cancels
    sinh(r_y − r_x) = d̄·(x̄ + ȳ) / (|ȳ| x_0 + |x̄| y_0)
    |x̄||ȳ| (1 − cos φ) = |x̄| |ȳ_⊥|² / (|ȳ| + ȳ·n),   n = x̄/|x̄|, ȳ_⊥ = d̄_⊥ ⟂ n     (for cos φ ≥ 0)

and the metric on vectors tangent at x is h(v, w) = v̄_⊥·w̄_⊥ + (v̄·n)(w̄·n)/x_0².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from subbundle._elementwise import arcsinh, cosh, sinh
from subbundle._types import FloatArray
from subbundle.spaces.base import VectorSpace
from subbundle.spaces.linalg import complement, dot, ratio


@final
@dataclass(frozen=True)
class Hyperbolic(VectorSpace):
    """The hyperboloid model of curvature −1.

    Parameters
    ----------
    dim : int
        Dimension of the space. Points are arrays ``[..., dim + 1]``, the time coordinate first.

    Examples
    --------
    >>> import numpy as np
    >>> origin, point = np.array([1.0, 0.0, 0.0]), np.array([np.cosh(2.0), np.sinh(2.0), 0.0])
    >>> round(float(Hyperbolic(2).dist(origin, point)), 12)
    2.0
    """

    entries_more: ClassVar[int] = 1

    @property
    def requirement(self) -> str:
        """What a point must be."""
        return f"on the hyperboloid x_0 = sqrt(1 + x_1^2 + ... + x_{self.dim}^2) of R^{self.dim + 1}"

    def exp(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """cosh(|v|) x + sinh(|v|)/|v| v."""
        v, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        length = np.sqrt(_metric(v, v, x))[..., None]
        # A velocity beyond 710 leaves the range of float64; its row becomes infinite or NaN.
        with np.errstate(over="ignore", invalid="ignore"):
            return _lift(cosh(length) * x[..., 1:] + ratio(sinh(length), length) * v[..., 1:])

    def log(self, point: FloatArray, base_point: FloatArray) -> FloatArray:
        """(θ / sinh θ)(y − cosh θ x)."""
        y, x = self.coerce(point, "point"), self.coerce(base_point, "base_point")
        excess = _cosh_minus_one(y, x)
        sinh = np.sqrt(excess * (2.0 + excess))
        scale = ratio(2.0 * arcsinh(np.sqrt(0.5 * excess)), sinh)
        return _tangent(scale[..., None] * _direction(y, x, excess), x)

    def dist(self, point_a: FloatArray, point_b: FloatArray) -> FloatArray:
        """2 arsinh √((cosh θ − 1)/2)."""
        x, y = self.coerce(point_a, "point_a"), self.coerce(point_b, "point_b")
        return np.asarray(2.0 * arcsinh(np.sqrt(0.5 * _cosh_minus_one(y, x))))

    def inner_product(self, tangent_vec_a: FloatArray, tangent_vec_b: FloatArray, base_point: FloatArray) -> FloatArray:
        """−a_0 b_0 + ā·b̄, for vectors tangent at ``base_point``."""
        a, b = self.coerce(tangent_vec_a, "tangent_vec_a"), self.coerce(tangent_vec_b, "tangent_vec_b")
        return _metric(a, b, self.coerce(base_point, "base_point"))

    def parallel_transport(self, tangent_vec: FloatArray, base_point: FloatArray, end_point: FloatArray) -> FloatArray:
        """v + ⟨y, v⟩/(1 + cosh θ) (x + y), where ⟨y, v⟩ = h(y − cosh θ x, v)."""
        v, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        y = self.coerce(end_point, "end_point")
        excess = _cosh_minus_one(y, x)
        along = _metric(_tangent(_direction(y, x, excess), x), v, x) / (2.0 + excess)
        return _tangent(v[..., 1:] + along[..., None] * (x[..., 1:] + y[..., 1:]), y)

    def to_tangent(self, vector: FloatArray, base_point: FloatArray) -> FloatArray:
        """v + ⟨v, x⟩ x, the projection that is orthogonal for the metric."""
        v, x = self.coerce(vector, "vector"), self.coerce(base_point, "base_point")
        along = dot(v[..., 1:], x[..., 1:]) - v[..., 0] * x[..., 0]
        return _tangent(v[..., 1:] + along[..., None] * x[..., 1:], x)

    def projection(self, point: FloatArray) -> FloatArray:
        """The point with the same space part."""
        return _lift(self.coerce(point, "point")[..., 1:])

    def violation(self, point: FloatArray) -> FloatArray:
        """|x_0 − √(1 + |x̄|²)| relative to that root."""
        x = self.coerce(point, "point")
        time = _lift(x[..., 1:])[..., 0]
        return np.abs(x[..., 0] - time) / time

    def tangent_basis(self, base_point: FloatArray) -> FloatArray:
        """Complement of the Euclidean normal (−x_0, x̄)."""
        normal = _mirror(self.coerce(base_point, "base_point"))
        return complement(normal / np.sqrt(dot(normal, normal))[..., None])

    def flat(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """(−v_0, v̄) minus its part along the Euclidean normal (−x_0, x̄), which vanishes on tangent vectors."""
        v, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        along = 2.0 * v[..., 0] * x[..., 0] / dot(x, x)
        return _mirror(v) - along[..., None] * _mirror(x)

    def random_point(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Standard normal space parts."""
        return _lift(rng.standard_normal((n_samples, self.dim)))


def _lift(space: FloatArray) -> FloatArray:
    """The point with a given space part."""
    return np.concatenate([np.sqrt(1.0 + dot(space, space))[..., None], space], axis=-1)


def _tangent(space: FloatArray, x: FloatArray) -> FloatArray:
    """The vector tangent at x with a given space part: v_0 = v̄·x̄ / x_0."""
    return np.concatenate([(dot(space, x[..., 1:]) / x[..., 0])[..., None], space], axis=-1)


def _mirror(vector: FloatArray) -> FloatArray:
    """The vector with the sign of its time changed."""
    return np.concatenate([-vector[..., :1], vector[..., 1:]], axis=-1)


def _unit(space: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Direction (zero for the zero vector) and length of space parts."""
    length = np.sqrt(dot(space, space))
    return space / np.where(length == 0.0, 1.0, length)[..., None], length


def _metric(v: FloatArray, w: FloatArray, x: FloatArray) -> FloatArray:
    """v̄_⊥·w̄_⊥ + (v̄·n)(w̄·n)/x_0²."""
    n, _ = _unit(x[..., 1:])
    v_along, w_along = dot(v[..., 1:], n), dot(w[..., 1:], n)
    across = dot(v[..., 1:] - v_along[..., None] * n, w[..., 1:] - w_along[..., None] * n)
    return np.asarray(across + v_along * w_along / x[..., 0] ** 2)


def _direction(y: FloatArray, x: FloatArray, excess: FloatArray) -> FloatArray:
    """Space part of y − cosh θ x, a vector tangent at x of length sinh θ."""
    return np.asarray((y[..., 1:] - x[..., 1:]) - excess[..., None] * x[..., 1:])


def _cosh_minus_one(y: FloatArray, x: FloatArray) -> FloatArray:
    """cosh θ − 1 as the sum of its radial and angular terms (module docstring)."""
    n, x_length = _unit(x[..., 1:])
    y_length = np.sqrt(dot(y[..., 1:], y[..., 1:]))
    difference = y[..., 1:] - x[..., 1:]
    height = y_length * x[..., 0] + x_length * y[..., 0]
    radial = dot(difference, x[..., 1:] + y[..., 1:]) / np.where(height == 0.0, 1.0, height)
    radial = radial * radial
    # ȳ and d̄ have the same part across n; the shorter one gives it with the smaller rounding error.
    near = dot(difference, difference) < y_length * y_length
    shorter = np.where(near[..., None], difference, y[..., 1:])
    across = shorter - dot(shorter, n)[..., None] * n
    along = dot(y[..., 1:], n)
    # For an obtuse angle |x̄||ȳ| − x̄·ȳ is a sum of positive numbers; for an acute one the quotient is.
    acute = along > 0.0
    quotient = dot(across, across) / np.where(acute, y_length + along, 1.0)
    return np.asarray(radial / (1.0 + np.sqrt(1.0 + radial)) + x_length * np.where(acute, quotient, y_length - along))
