"""Symmetric positive definite matrices with the affine-invariant metric h_x(v, w) = tr(x⁻¹ v x⁻¹ w).

With the Cholesky factor x = LLᵀ, the congruence z ↦ L⁻¹ z L⁻ᵀ is an isometry that maps x to the identity, so

    log_x(y) = L log(M) Lᵀ        exp_x(v) = L exp(L⁻¹ v L⁻ᵀ) Lᵀ        dist(x, y)² = Σ log² λ_i,   M = L⁻¹ y L⁻ᵀ

and parallel transport from x to y is v ↦ E v Eᵀ with E = L M^{1/2} L⁻¹. For y near x the eigenvalues of
M − I = L⁻¹ (y − x) L⁻ᵀ are used with log1p, so that tiny distances keep all their digits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from subbundle._elementwise import exp, expm1, log, log1p
from subbundle._numbers import EXACT
from subbundle._types import BoolArray, FloatArray
from subbundle._validation import as_integer, as_points, check_room
from subbundle.spaces._spd_kernels import MOST_ROWS, dist_rows, log_rows
from subbundle.spaces.base import MEMBERSHIP_TOLERANCE, BaseSpace, one_array
from subbundle.spaces.linalg import cholesky, dot, eigh, eigvalsh, frobenius, transpose


@final
@dataclass(frozen=True)
class SPD(BaseSpace):
    """Covariance matrices, diffusion tensors and the like: n × n, symmetric, positive definite.

    Parameters
    ----------
    n : int
        Number of rows. Points are arrays ``[..., n, n]``; ``dim`` is n (n + 1) / 2.

    Notes
    -----
    Distances do not change under x ↦ g x gᵀ for invertible g. There is no cut locus. A matrix that is not positive
    definite gives NaN in its own row.

    Examples
    --------
    >>> import numpy as np
    >>> float(SPD(2).dist(np.eye(2), np.diag([np.exp(3.0), np.exp(4.0)])))
    5.0
    """

    n: int
    dim: int = field(init=False, repr=False)
    shape: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", as_integer(self.n, "n", low=1))
        check_room(float(self.n) ** 2, "A point of this space", "Pass a smaller n.")
        object.__setattr__(self, "dim", self.n * (self.n + 1) // 2)
        object.__setattr__(self, "shape", (self.n, self.n))

    @property
    def requirement(self) -> str:
        """What a point must be."""
        return f"symmetric positive definite {self.n} x {self.n} matrices"

    def exp(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """L exp(L⁻¹ v L⁻ᵀ) Lᵀ, as x + L expm1(·) Lᵀ for short vectors and as a square BBᵀ for long ones."""
        v, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        factor, inverse = _factors(x)
        values, vectors = eigh(_congruence(inverse, v))
        frame = factor @ vectors
        with np.errstate(over="ignore", invalid="ignore"):
            root = frame * exp(0.5 * values)[..., None, :]
            far = root @ transpose(root)
            near = x + _symmetric((frame * expm1(values)[..., None, :]) @ transpose(frame))
        short = np.abs(values).max(axis=-1) < 0.5
        return np.where(short[..., None, None], near, far)

    def log(self, point: FloatArray, base_point: FloatArray) -> FloatArray:
        """L log(M) Lᵀ."""
        y, x = self.coerce(point, "point"), self.coerce(base_point, "base_point")
        if self.n <= MOST_ROWS:
            points, bases = self.expand(y, x), self.expand(x, y)
            logs = np.empty_like(points)
            log_rows(*(array.reshape(-1, *self.shape) for array in (points, bases, logs)))
            return logs
        factor, inverse = _factors(x)
        near, matrix = _relative(y, x, inverse)
        values, vectors = eigh(matrix)
        frame = factor @ vectors
        return _symmetric((frame * _logarithm(values, near)[..., None, :]) @ transpose(frame))

    def dist(self, point_a: FloatArray, point_b: FloatArray) -> FloatArray:
        """√(Σ log² λ_i(M))."""
        x, y = self.coerce(point_a, "point_a"), self.coerce(point_b, "point_b")
        if self.n <= MOST_ROWS:
            points, bases = self.expand(y, x), self.expand(x, y)
            distances = np.empty(points.shape[:-2])
            dist_rows(points.reshape(-1, *self.shape), bases.reshape(-1, *self.shape), distances.reshape(-1))
            return distances
        near, matrix = _relative(y, x, _factors(x)[1])
        logarithms = _logarithm(eigvalsh(matrix), near)
        return np.sqrt(dot(logarithms, logarithms))

    def inner_product(self, tangent_vec_a: FloatArray, tangent_vec_b: FloatArray, base_point: FloatArray) -> FloatArray:
        """tr(x⁻¹ a x⁻¹ b)."""
        a, b = self.coerce(tangent_vec_a, "tangent_vec_a"), self.coerce(tangent_vec_b, "tangent_vec_b")
        inverse = _factors(self.coerce(base_point, "base_point"))[1]
        return frobenius(_congruence(inverse, a), _congruence(inverse, b))

    def parallel_transport(self, tangent_vec: FloatArray, base_point: FloatArray, end_point: FloatArray) -> FloatArray:
        """E v Eᵀ, E = L M^{1/2} L⁻¹."""
        v, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        factor, inverse = _factors(x)
        near, matrix = _relative(self.coerce(end_point, "end_point"), x, inverse)
        values, vectors = eigh(matrix)
        root = (vectors * exp(0.5 * _logarithm(values, near))[..., None, :]) @ transpose(vectors)
        return _symmetric(_congruence(factor @ root @ inverse, v))

    def to_tangent(self, vector: FloatArray, base_point: FloatArray) -> FloatArray:
        """The symmetric part."""
        v, x = self.coerce(vector, "vector"), self.coerce(base_point, "base_point")
        return self.expand(_symmetric(v), x)

    def projection(self, point: FloatArray) -> FloatArray:
        """Symmetric part with eigenvalues below 1e-12 of the largest one (in size) raised to that value."""
        values, vectors = eigh(_symmetric(self.coerce(point, "point")))
        floor = EXACT * np.abs(values).max(axis=-1, keepdims=True)
        raised = np.maximum(values, np.where(floor == 0.0, EXACT, floor))
        return _symmetric((vectors * raised[..., None, :]) @ transpose(vectors))

    def violation(self, point: FloatArray) -> FloatArray:
        """Antisymmetric part plus, for indefinite matrices, −λ_min; both relative to the size of the matrix."""
        x = self.coerce(point, "point")
        size = np.sqrt(frobenius(x, x))
        skew = x - transpose(x)
        off = 0.5 * np.sqrt(frobenius(skew, skew)) + np.maximum(-eigvalsh(_symmetric(x))[..., 0], 0.0)
        return np.asarray(off / np.where(size == 0.0, 1.0, size))

    def belongs(self, point: FloatArray, atol: float = MEMBERSHIP_TOLERANCE) -> BoolArray:
        """Whether a matrix is symmetric up to ``atol`` (relative) and has a Cholesky factor."""
        x = self.coerce(point, "point")
        definite = np.isfinite(cholesky(_symmetric(x))).all(axis=(-2, -1))
        return np.asarray(definite & (self.violation(x) <= atol))

    def validate(self, points: Any, name: str = "points") -> FloatArray:
        """Return ``points`` as an array of positive definite matrices, or raise an error with the first that is not."""
        array = self.coerce(as_points(one_array(points, name, self.shape), name, ndim=None), name)
        matrices = array.reshape(-1, *self.shape)
        skew = np.abs(matrices - transpose(matrices)).max(axis=(-2, -1))
        relative = skew / np.maximum(np.abs(matrices).max(axis=(-2, -1)), np.finfo(np.float64).tiny)
        advice = f"If the nearest points are meant, write {name} = space.projection({name})."
        if (relative > MEMBERSHIP_TOLERANCE).any():
            worst = int(np.argmax(relative))
            raise ValueError(
                f"{name} must be {self.requirement}; matrix {worst} is not symmetric: entries across its diagonal "
                f"differ by {skew[worst]:.3g}. {advice}"
            )
        definite = np.isfinite(cholesky(_symmetric(matrices))).all(axis=(-2, -1))
        if not definite.all():
            lowest = np.where(definite, np.inf, eigvalsh(_symmetric(matrices))[..., 0])
            worst = int(np.argmin(lowest))
            raise ValueError(
                f"{name} must be {self.requirement}; {np.count_nonzero(~definite)} of {definite.size} are not positive "
                f"definite, the worst is matrix {worst} with smallest eigenvalue {lowest[worst]:.3g}. {advice}"
            )
        return array

    def tangent_basis(self, base_point: FloatArray) -> FloatArray:
        """E_ii and (E_ij + E_ji)/√2."""
        rows, columns = np.triu_indices(self.n)
        basis = np.zeros((self.dim, self.n, self.n))
        weight = np.where(rows == columns, 1.0, np.sqrt(0.5))
        basis[np.arange(self.dim), rows, columns] = weight
        basis[np.arange(self.dim), columns, rows] = weight
        batch = self.batch(self.coerce(base_point, "base_point"))
        return np.broadcast_to(basis, (*batch, *basis.shape)).copy()

    def flat(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """x⁻¹ v x⁻¹."""
        v, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        inverse = _factors(x)[1]
        return _symmetric(_congruence(transpose(inverse), _congruence(inverse, v)))

    def random_point(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Matrix exponentials of symmetric Gaussian matrices."""
        symmetric = _symmetric(rng.standard_normal((n_samples, self.n, self.n)))
        return self.exp(symmetric, np.eye(self.n))


def _symmetric(matrix: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (matrix + transpose(matrix)))


def _congruence(left: FloatArray, matrix: FloatArray) -> FloatArray:
    return np.asarray(left @ matrix @ transpose(left))


def _factors(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The Cholesky factor and its inverse, NaN where x is not positive definite."""
    factor = cholesky(x)
    return factor, np.asarray(np.linalg.inv(factor), dtype=np.float64)


def _relative(y: FloatArray, x: FloatArray, inverse: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Whether M is near I, and then M − I, otherwise M."""
    difference = _congruence(inverse, y - x)
    near = frobenius(difference, difference) < 0.25
    return near, np.where(near[..., None, None], difference, _congruence(inverse, y))


def _logarithm(values: FloatArray, near: BoolArray) -> FloatArray:
    """Logarithms of the eigenvalues of M, whichever of the two matrices they were taken from."""
    one = near[..., None]
    return np.where(one, log1p(np.where(one, values, 0.0)), log(np.where(one, 1.0, values)))
