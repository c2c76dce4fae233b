"""Products N_1 × … × N_r with the sum of the metrics: every operation is done factor by factor.

A point is one flat array: the entries of its factors, one after the other, each in C order. `Product.split` and
`Product.join` convert between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from subbundle._types import BoolArray, FloatArray
from subbundle._validation import as_integer
from subbundle.spaces.base import MEMBERSHIP_TOLERANCE, BaseSpace, Space


@final
@dataclass(frozen=True, init=False, repr=False)
class Product(BaseSpace):
    """The product of several spaces.

    Parameters
    ----------
    *factors : Space
        At least one. Points are arrays ``[..., D]``, D the sum of their numbers of entries.

    Examples
    --------
    >>> import numpy as np
    >>> from subbundle.spaces import SPD, Sphere
    >>> space = Product(Sphere(2), SPD(2))
    >>> point = space.join(np.array([0.0, 0.0, 1.0]), np.eye(2))
    >>> point
    array([0., 0., 1., 1., 0., 0., 1.])
    """

    factors: tuple[Space, ...]
    dim: int
    shape: tuple[int, ...]

    def __init__(self, *factors: Space) -> None:
        as_integer(len(factors), "the number of factors", low=1)
        for position, factor in enumerate(factors):
            if not isinstance(factor, Space):
                raise TypeError(
                    f"factor {position} must be a space, such as Sphere(2) or from_geomstats(space); got {factor!r}."
                )
        object.__setattr__(self, "factors", factors)
        object.__setattr__(self, "dim", sum(factor.dim for factor in factors))
        object.__setattr__(self, "shape", (sum(factor.ambient_dim for factor in factors),))

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.factors))})"

    @property
    def requirement(self) -> str:
        """What a point must be."""
        return f"points of {self!r}, the factors flattened one after the other"

    def split(self, point: FloatArray) -> list[FloatArray]:
        """The components of points ``[..., D]``, one array ``[..., *factor.shape]`` for each factor."""
        array = self.coerce(point, "point")
        ends = np.cumsum([factor.ambient_dim for factor in self.factors])
        parts = np.split(array, ends[:-1], axis=-1)
        return [part.reshape(*array.shape[:-1], *f.shape) for part, f in zip(parts, self.factors, strict=True)]

    def join(self, *parts: FloatArray) -> FloatArray:
        """Points ``[..., D]`` from one array ``[..., *factor.shape]`` for each factor; leading axes broadcast."""
        if len(parts) != len(self.factors):
            raise ValueError(f"join needs one array for each of the {len(self.factors)} factors; got {len(parts)}.")
        flat = []
        for position, (part, factor) in enumerate(zip(parts, self.factors, strict=True)):
            array = np.asarray(part, dtype=np.float64)
            leading = array.ndim - len(factor.shape)
            if leading < 0 or array.shape[leading:] != factor.shape:
                raise ValueError(
                    f"part {position} must have shape (..., {', '.join(map(str, factor.shape))}) for {factor!r}; "
                    f"got shape {array.shape}."
                )
            flat.append(array.reshape(*array.shape[:leading], factor.ambient_dim))
        batch = np.broadcast_shapes(*(array.shape[:-1] for array in flat))
        return np.concatenate([np.broadcast_to(a, (*batch, a.shape[-1])) for a in flat], axis=-1)

    def exp(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """Exp in each factor."""
        return self._joined(lambda factor: factor.exp, tangent_vec, base_point)

    def log(self, point: FloatArray, base_point: FloatArray) -> FloatArray:
        """Log in each factor; NaN in all entries where one factor has none."""
        result = self._joined(lambda factor: factor.log, point, base_point)
        result[np.isnan(result).any(axis=-1)] = np.nan
        return result

    def dist(self, point_a: FloatArray, point_b: FloatArray) -> FloatArray:
        """√(Σ dist_i²)."""
        parts = self._each(lambda factor: factor.dist, point_a, point_b)
        return np.sqrt(sum(part**2 for part in parts))

    def inner_product(self, tangent_vec_a: FloatArray, tangent_vec_b: FloatArray, base_point: FloatArray) -> FloatArray:
        """Sum of the inner products."""
        return np.asarray(sum(self._each(lambda f: f.inner_product, tangent_vec_a, tangent_vec_b, base_point)))

    def parallel_transport(self, tangent_vec: FloatArray, base_point: FloatArray, end_point: FloatArray) -> FloatArray:
        """Transport in each factor; NaN in all entries where one factor has none."""
        result = self._joined(lambda factor: factor.parallel_transport, tangent_vec, base_point, end_point)
        result[np.isnan(result).any(axis=-1)] = np.nan
        return result

    def to_tangent(self, vector: FloatArray, base_point: FloatArray) -> FloatArray:
        """Projection in each factor."""
        return self._joined(lambda factor: factor.to_tangent, vector, base_point)

    def projection(self, point: FloatArray) -> FloatArray:
        """Projection in each factor."""
        return self._joined(lambda factor: factor.projection, point)

    def violation(self, point: FloatArray) -> FloatArray:
        """The largest violation of a factor."""
        return np.asarray(np.max(self._each(lambda factor: factor.violation, point), axis=0))

    def belongs(self, point: FloatArray, atol: float = MEMBERSHIP_TOLERANCE) -> BoolArray:
        """Whether each component belongs to its factor."""
        parts = zip(self.factors, self.split(point), strict=True)
        return np.asarray(np.all([factor.belongs(part, atol) for factor, part in parts], axis=0))

    def validate(self, points: Any, name: str = "points") -> FloatArray:
        """Validate each factor; the message names the factor."""
        array = self.coerce(points, name)
        for position, (factor, part) in enumerate(zip(self.factors, self.split(array), strict=True)):
            try:
                factor.validate(part, name)
            except ValueError as error:
                raise ValueError(f"factor {position} of {self!r}: {error}") from error
        return array

    def at_cut_locus(self, point: FloatArray, base_point: FloatArray) -> BoolArray:
        """Whether some factor is at its cut locus."""
        parts = zip(self.factors, self.split(point), self.split(base_point), strict=True)
        return np.asarray(np.any([factor.at_cut_locus(y, x) for factor, y, x in parts], axis=0))

    def tangent_basis(self, base_point: FloatArray) -> FloatArray:
        """The bases of the factors, padded with zeros."""
        return self._stacked(lambda factor: factor.tangent_basis, base_point)

    def vertical_basis(self, base_point: FloatArray) -> FloatArray:
        """The vertical bases of the factors, padded with zeros."""
        return self._stacked(lambda factor: factor.vertical_basis, base_point)

    def flat(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """Flat in each factor."""
        return self._joined(lambda factor: factor.flat, tangent_vec, base_point)

    def random_point(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Independent random components."""
        return self.join(*(factor.random_point(n_samples, rng) for factor in self.factors))

    def _each(self, method: Callable[[Space], Callable[..., FloatArray]], *arrays: FloatArray) -> list[FloatArray]:
        """The method of each factor applied to its components."""
        parts = zip(*(self.split(array) for array in arrays), strict=True)
        return [method(factor)(*part) for factor, part in zip(self.factors, parts, strict=True)]

    def _joined(self, method: Callable[[Space], Callable[..., FloatArray]], *arrays: FloatArray) -> FloatArray:
        return self.join(*self._each(method, *arrays))

    def _stacked(self, method: Callable[[Space], Callable[..., FloatArray]], base_point: FloatArray) -> FloatArray:
        """Bases ``[..., m_i, *shape_i]`` of the factors as one block basis ``[..., Σ m_i, D]``."""
        x = self.coerce(base_point, "base_point")
        bases = self._each(method, x)
        batch = x.shape[:-1]
        counts = [basis.shape[len(batch)] for basis in bases]
        result = np.zeros((*batch, sum(counts), self.ambient_dim))
        row = column = 0
        for basis, count, factor in zip(bases, counts, self.factors, strict=True):
            width = factor.ambient_dim
            result[..., row : row + count, column : column + width] = basis.reshape(*batch, count, width)
            row, column = row + count, column + width
        return result
