"""Rotation matrices SO(n) with the bi-invariant metric h_x(v, w) = ½ tr(vᵀw).

The factor ½ (geomstats' choice too) makes the distance in SO(2) and SO(3) the angle of the relative rotation.
Geodesics are x exp(tΩ), Ω skew. With E = xᵀ(y − x) = R − I, where R = xᵀy, and its skew part K:

    n ≤ 3   R turns one plane:  sin θ = |K|/√2,  cos θ = 1 + tr(E)/2,   log R = (θ / sin θ) K
    n ≥ 4   the Cayley transform E (2I + E)⁻¹ = U diag(iτ) U* is skew with τ = tan(θ/2), increasing on (−π, π), so that
            its eigenvectors are those of log R even for planes with sin θ alike:   log R = U diag(2i arctan τ) U*

Forming E from the difference keeps all digits of tiny rotations. The distance alone is found from the singular values
2 sin(θ/2) of R − I and 2 cos(θ/2) of R + I, accurate up to the cut locus, where some plane is turned by π.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from subbundle._elementwise import arctan, arctan2, sin
from subbundle._types import BoolArray, FloatArray
from subbundle._validation import as_integer, check_room
from subbundle.spaces.base import CUT_TOLERANCE, BaseSpace
from subbundle.spaces.linalg import (
    dot,
    eigh,
    frobenius,
    nearest_rotation,
    ratio,
    sinc,
    svdvals,
    transpose,
    versine_ratio,
)


@final
@dataclass(frozen=True)
class SO(BaseSpace):
    """Rotations of R^n.

    Parameters
    ----------
    n : int
        Number of rows, at least 2. Points are arrays ``[..., n, n]``; ``dim`` is n (n − 1) / 2.

    Notes
    -----
    Tangent vectors at x are the matrices xΩ with Ω skew. Where xᵀy turns some plane by π the log is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> quarter_turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    >>> float(SO(2).dist(np.eye(2), quarter_turn)) / np.pi
    0.5
    """

    n: int
    dim: int = field(init=False, repr=False)
    shape: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", as_integer(self.n, "n", low=2))
        check_room(float(self.n) ** 2, "A point of this space", "Pass a smaller n.")
        object.__setattr__(self, "dim", self.n * (self.n - 1) // 2)
        object.__setattr__(self, "shape", (self.n, self.n))

    @property
    def requirement(self) -> str:
        """What a point must be."""
        return f"rotations: orthogonal {self.n} x {self.n} matrices with determinant +1"

    def exp(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """x exp(xᵀv)."""
        v, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        return x + x @ _expm1(_skew(transpose(x) @ v))

    def log(self, point: FloatArray, base_point: FloatArray) -> FloatArray:
        """x log(xᵀy)."""
        y, x = self.coerce(point, "point"), self.coerce(base_point, "base_point")
        return x @ _logarithm(transpose(x) @ (y - x))

    def dist(self, point_a: FloatArray, point_b: FloatArray) -> FloatArray:
        """√(Σ θ_i²) over the planes that xᵀy turns."""
        x, y = self.coerce(point_a, "point_a"), self.coerce(point_b, "point_b")
        if self.n <= 3:
            _, sine, cosine = _one_plane(transpose(x) @ (y - x))
            return np.asarray(arctan2(sine, cosine))
        # Singular values come in descending order; the plane with the largest sine has the smallest cosine.
        angles = 2.0 * arctan2(svdvals(y - x), svdvals(y + x)[..., ::-1])
        return np.sqrt(0.5 * dot(angles, angles))

    def inner_product(self, tangent_vec_a: FloatArray, tangent_vec_b: FloatArray, base_point: FloatArray) -> FloatArray:
        """½ tr(aᵀb)."""
        a, b = self.coerce(tangent_vec_a, "tangent_vec_a"), self.coerce(tangent_vec_b, "tangent_vec_b")
        return np.asarray(0.5 * frobenius(self.expand(a, self.coerce(base_point, "base_point")), b))

    def parallel_transport(self, tangent_vec: FloatArray, base_point: FloatArray, end_point: FloatArray) -> FloatArray:
        """x H (xᵀv) H with the half rotation H = exp(log(xᵀy)/2), so that y = x H H."""
        v, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        y = self.coerce(end_point, "end_point")
        half = np.eye(self.n) + _expm1(0.5 * _logarithm(transpose(x) @ (y - x)))
        return np.asarray(x @ half @ (transpose(x) @ v) @ half)

    def to_tangent(self, vector: FloatArray, base_point: FloatArray) -> FloatArray:
        """x times the skew part of xᵀv."""
        v, x = self.coerce(vector, "vector"), self.coerce(base_point, "base_point")
        return np.asarray(x @ _skew(transpose(x) @ v))

    def projection(self, point: FloatArray) -> FloatArray:
        """The nearest rotation in the Frobenius norm."""
        return nearest_rotation(self.coerce(point, "point"))[0]

    def at_cut_locus(self, point: FloatArray, base_point: FloatArray) -> BoolArray:
        """Whether xᵀy turns some plane by π."""
        y, x = self.coerce(point, "point"), self.coerce(base_point, "base_point")
        if self.n <= 3:
            _, sine, cosine = _one_plane(transpose(x) @ (y - x))
            return np.asarray((sine <= CUT_TOLERANCE) & (cosine < 0.0))
        return _turns_by_pi(y + x)

    def tangent_basis(self, base_point: FloatArray) -> FloatArray:
        """x (E_ij − E_ji)/√2 for i < j."""
        x = self.coerce(base_point, "base_point")
        rows, columns = np.triu_indices(self.n, 1)
        generators = np.zeros((self.dim, self.n, self.n))
        generators[np.arange(self.dim), rows, columns] = np.sqrt(0.5)
        generators[np.arange(self.dim), columns, rows] = -np.sqrt(0.5)
        return np.asarray(x[..., None, :, :] @ generators)

    def flat(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """v / 2."""
        v, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        return 0.5 * self.expand(v, x)

    def random_point(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Haar-distributed rotations: the rotation nearest to a Gaussian matrix, whose distribution is invariant."""
        return self.projection(rng.standard_normal((n_samples, self.n, self.n)))


def _skew(matrix: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (matrix - transpose(matrix)))


def _one_plane(excess: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Skew part, sin θ and cos θ of a rotation I + ``excess`` of R² or R³."""
    skew = _skew(excess)
    sine = np.sqrt(0.5 * frobenius(skew, skew))
    return skew, sine, 1.0 + 0.5 * np.einsum("...ii->...", excess)


def _expm1(skew: FloatArray) -> FloatArray:
    """exp(Ω) − I for skew Ω."""
    if skew.shape[-1] <= 3:
        angle = np.sqrt(0.5 * frobenius(skew, skew))[..., None, None]
        return np.asarray(sinc(angle) * skew + versine_ratio(angle) * (skew @ skew))
    angles, vectors = eigh(-1j * skew)
    half = sin(0.5 * angles)
    values = 1j * sin(angles) - 2.0 * half * half
    return _spectral(values, vectors)


def _logarithm(excess: FloatArray) -> FloatArray:
    """log(I + ``excess``), skew; NaN at the cut locus."""
    if excess.shape[-1] <= 3:
        skew, sine, cosine = _one_plane(excess)
        scale = ratio(arctan2(sine, cosine), sine)
        scale[(sine <= CUT_TOLERANCE) & (cosine < 0.0)] = np.nan
        return np.asarray(scale[..., None, None] * skew)
    identity = np.eye(excess.shape[-1])
    denominator = 2.0 * identity + excess
    cut = _turns_by_pi(denominator)
    # One singular matrix would make LAPACK refuse the whole batch.
    denominator[cut] = identity
    tangents, vectors = eigh(-1j * _skew(np.asarray(np.linalg.solve(denominator, excess), dtype=np.float64)))
    values = 2j * arctan(tangents)
    values[cut] = np.nan
    return _skew(_spectral(values, vectors))


def _turns_by_pi(total: FloatArray) -> BoolArray:
    """Whether the smallest singular value 2 cos(θ/2) of I + R vanishes. Few rows need it: |det| ≤ 2ⁿ cos²(θ/2)."""
    size = total.shape[-1]
    suspect = ~(np.abs(np.linalg.det(total)) > 2.0**size * CUT_TOLERANCE)
    cut = np.zeros(suspect.shape, dtype=bool)
    cut[suspect] = svdvals(total[suspect])[..., -1] <= CUT_TOLERANCE
    return cut


def _spectral(values: NDArray[np.complexfloating[Any, Any]], vectors: NDArray[Any]) -> FloatArray:
    """Real part of U diag(values) U*."""
    return np.asarray(((vectors * values[..., None, :]) @ np.conj(transpose(vectors))).real)
