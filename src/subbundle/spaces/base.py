"""The protocol of known manifolds, in the vocabulary of geomstats, and the base of the built-in ones.

A space N of dimension ``dim`` has its points in an ambient array space of some ``shape``: ``(3,)`` for the 2-sphere,
``(n, n)`` for matrices. Tangent vectors at x are arrays of that shape too, and h_x is the metric on them. For a
quotient (shapes modulo rotation) a point stands for its orbit, tangent vectors are the *horizontal* ones, and
`Space.vertical_basis` gives the directions along the orbit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from subbundle._numbers import EXACT, NOTICEABLE
from subbundle._types import BoolArray, FloatArray
from subbundle._validation import as_integer, as_points, check_room, readable
from subbundle.spaces.linalg import dot

CUT_TOLERANCE = EXACT
"""Angle (radians) from the cut locus below which a log counts as undefined: its direction has four digits at best."""

MEMBERSHIP_TOLERANCE = NOTICEABLE
"""Violation up to which observations count as points of a space: the rounding of single precision and of text files."""


@runtime_checkable
class Space(Protocol):
    """A known Riemannian manifold. All methods are pure and take float64 arrays ``[..., *shape]``.

    Leading axes broadcast in NumPy's manner, so ``log(points[None, :], bases[:, None])`` gives every log at every
    base. A row's result does not depend on the other rows. Rows that hold NaN give NaN and affect no other row.
    """

    @property
    def dim(self) -> int:
        """Dimension of the manifold (of the quotient, for shapes)."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array that holds one point."""

    @property
    def ambient_dim(self) -> int:
        """Number of entries of that array."""

    def exp(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """Point reached at time 1 by the geodesic that leaves ``base_point`` with velocity ``tangent_vec``."""

    def log(self, point: FloatArray, base_point: FloatArray) -> FloatArray:
        """Velocity of the shortest geodesic from ``base_point`` to ``point``; NaN at the cut locus."""

    def dist(self, point_a: FloatArray, point_b: FloatArray) -> FloatArray:
        """Length of the shortest geodesic, ``[...]``; finite at the cut locus too."""

    def inner_product(self, tangent_vec_a: FloatArray, tangent_vec_b: FloatArray, base_point: FloatArray) -> FloatArray:
        """Metric h_x(a, b) of two tangent vectors, ``[...]``."""

    def parallel_transport(self, tangent_vec: FloatArray, base_point: FloatArray, end_point: FloatArray) -> FloatArray:
        """Transport a vector along the shortest geodesic from ``base_point`` to ``end_point``; NaN at the cut locus."""

    def to_tangent(self, vector: FloatArray, base_point: FloatArray) -> FloatArray:
        """Project an ambient vector on the tangent space at ``base_point``."""

    def projection(self, point: FloatArray) -> FloatArray:
        """A point of the space near an ambient point; NaN where there is none (the centre of a sphere)."""

    def violation(self, point: FloatArray) -> FloatArray:
        """Distance of an array from the space, ``[...]``: 0 on it up to rounding, scale-free where possible."""

    def belongs(self, point: FloatArray, atol: float = MEMBERSHIP_TOLERANCE) -> BoolArray:
        """Whether an array is a point of the space up to ``atol``, ``[...]``."""

    def validate(self, points: Any, name: str = "points") -> FloatArray:
        """Return observations as a float64 array of points of the space, or raise an error with the reason."""

    def at_cut_locus(self, point: FloatArray, base_point: FloatArray) -> BoolArray:
        """Whether no single shortest geodesic leads from ``base_point`` to ``point``, ``[...]``."""

    def tangent_basis(self, base_point: FloatArray) -> FloatArray:
        """Basis of the tangent space, orthonormal in the ambient Euclidean metric, ``[..., dim, *shape]``."""

    def vertical_basis(self, base_point: FloatArray) -> FloatArray:
        """Euclidean-orthonormal basis of the directions along the orbit, ``[..., m, *shape]``; m = 0 if no quotient.

        A Hamiltonian flow on the representatives needs its force along these directions as well as along
        `tangent_basis`: the velocity is horizontal only as long as the momentum along the orbit stays zero.
        """

    def flat(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """Covector h_x v: the tangent array with ⟨flat(v), w⟩ = h_x(v, w) (entrywise product) for tangent w."""

    def random_point(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Points spread over the space, ``[n_samples, *shape]``, for tests and examples."""


class BaseSpace(ABC):
    """Base of built-in spaces, open to new ones: validation, membership, the ambient metric, no orbits."""

    dim: int
    shape: tuple[int, ...]

    @property
    @abstractmethod
    def requirement(self) -> str:
        """What a point must be, for messages: ``"unit vectors of R^3"``."""

    @abstractmethod
    def projection(self, point: FloatArray) -> FloatArray:
        """See `Space.projection`."""

    def violation(self, point: FloatArray) -> FloatArray:
        """See `Space.violation`; the distance to `projection`, in the entries."""
        x = self.coerce(point, "point")
        off = (x - self.projection(x)).reshape(*self.batch(x), math.prod(self.shape))
        return np.sqrt(dot(off, off))

    def at_cut_locus(self, point: FloatArray, base_point: FloatArray) -> BoolArray:
        """See `Space.at_cut_locus`; nowhere, as where no curvature is positive."""
        return np.zeros(self.batch(self.coerce(point, "point"), self.coerce(base_point, "base_point")), dtype=bool)

    @property
    def ambient_dim(self) -> int:
        """See `Space.ambient_dim`."""
        return math.prod(self.shape)

    def belongs(self, point: FloatArray, atol: float = MEMBERSHIP_TOLERANCE) -> BoolArray:
        """See `Space.belongs`."""
        return np.asarray(self.violation(point) <= atol)

    def validate(self, points: Any, name: str = "points") -> FloatArray:
        """See `Space.validate`; points off by at most `MEMBERSHIP_TOLERANCE` are returned as they are."""
        array = self.coerce(as_points(one_array(points, name, self.shape), name, ndim=None), name)
        bad = ~np.atleast_1d(self.belongs(array)).ravel()
        if bad.any():
            off = np.atleast_1d(self.violation(array)).ravel()
            # A NaN (no nearest point at all) counts as infinitely far.
            worst = int(np.argmax(np.nan_to_num(off, nan=np.inf)))
            raise ValueError(
                f"{name} must be {self.requirement}; the worst of {off.size}, row {worst}, is off by {off[worst]:.3g} "
                f"and {np.count_nonzero(bad)} are off by more than {MEMBERSHIP_TOLERANCE:g}. If the nearest points "
                f"are meant, write {name} = space.projection({name})."
            )
        return array

    def inner_product(self, tangent_vec_a: FloatArray, tangent_vec_b: FloatArray, base_point: FloatArray) -> FloatArray:
        """See `Space.inner_product`; the sum of the products of the entries, where the metric is the ambient one."""
        a, b = self.coerce(tangent_vec_a, "tangent_vec_a"), self.coerce(tangent_vec_b, "tangent_vec_b")
        a, batch = self.expand(a, self.coerce(base_point, "base_point")), self.batch(b)
        return dot(a.reshape(*self.batch(a), self.ambient_dim), b.reshape(*batch, self.ambient_dim))

    def flat(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """See `Space.flat`; the vector itself, where the metric is the ambient one."""
        return self.expand(self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point"))

    def vertical_basis(self, base_point: FloatArray) -> FloatArray:
        """See `Space.vertical_basis`; empty, because points are not orbits."""
        return np.empty((*self.batch(self.coerce(base_point, "base_point")), 0, *self.shape))

    def coerce(self, value: Any, name: str) -> FloatArray:
        """Return ``value`` as a C-ordered float64 array ``[..., *shape]``, or raise."""
        array = np.asarray(readable(value, name))
        if array.dtype.kind not in "fiub":
            raise TypeError(f"{name} must hold real numbers; got an array of dtype {array.dtype}.")
        # C order makes sums run in one order, so that a row gives the same bits in any batch.
        array = np.ascontiguousarray(array, dtype=np.float64)
        axes = len(self.shape)
        if array.ndim < axes or array.shape[array.ndim - axes :] != self.shape:
            expected = ", ".join(str(size) for size in self.shape)
            hint = ""
            if axes > 1 and array.shape[-1] == self.ambient_dim:
                hint = f" Write {name}.reshape(*{name}.shape[:-1], {expected})."
            raise ValueError(f"{name} must have shape (..., {expected}) for {self!r}; got shape {array.shape}.{hint}")
        return array

    def batch(self, *arrays: FloatArray) -> tuple[int, ...]:
        """Common leading shape of arrays ``[..., *shape]``."""
        axes = len(self.shape)
        return np.broadcast_shapes(*(array.shape[: array.ndim - axes] for array in arrays))

    def expand(self, array: FloatArray, *others: FloatArray) -> FloatArray:
        """``array`` repeated to the common leading shape of it and the others, as an array of its own."""
        return np.broadcast_to(array, (*self.batch(array, *others), *self.shape)).copy()


@dataclass(frozen=True)
class VectorSpace(BaseSpace):
    """Spaces whose points are vectors of dim + ``entries_more`` entries."""

    dim: int
    shape: tuple[int, ...] = field(init=False, repr=False)
    entries_more: ClassVar[int] = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", as_integer(self.dim, "dim", low=1))
        check_room(float(self.dim), "A point of this space", "Pass a smaller dim.")
        object.__setattr__(self, "shape", (self.dim + self.entries_more,))


def one_array(value: Any, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """``value`` as one array; a list of arrays of different shapes is refused with a message."""
    try:
        return np.asarray(value)
    except ValueError as error:
        shapes = sorted({np.shape(item) for item in value})
        raise ValueError(
            f"{name} must be one array of points of shape {shape}; got items of shapes "
            f"{', '.join(map(str, shapes))}. Keep the points of one shape."
        ) from error
