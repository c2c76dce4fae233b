"""The ambient geometry of a bundle: displacement, exp, transport and distance in R^D or on a manifold.

The ridge, the search of the logarithm and charts use it, and are then the same for both. On a manifold N, vectors at p
are tangent arrays [n, D]; the displacement from p to q is log_p(q), and v leads to exp_p(v).

A *local map* takes N, or much of it, to some R^m, around a base point: the offset from that point in R^D for
R^d and spheres, log_base(x) in orthonormal coordinates elsewhere. It is an isometry at the base point,
but not on shapes: all representatives of one shape have one image.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from subbundle._numbers import DIFFERENCE
from subbundle._types import FloatArray
from subbundle.spaces import Euclidean, Sphere
from subbundle.spaces.base import Space
from subbundle.spaces.rows import (
    dist_rows,
    exp_rows,
    flattened,
    log_rows,
    orthonormal_bases,
    retract,
    shaped,
    transport_rows,
)


class LocalMap(Protocol):
    """A map from points to R^m, 0 at a base point, and back."""

    def enter(self, points: FloatArray) -> FloatArray:
        """Images [n, m] of ``points`` [n, D]; NaN beyond the cut locus of the base point."""

    def leave(self, images: FloatArray) -> FloatArray:
        """Points [n, D] at ``images`` [n, m]."""

    def push(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        """Images [n, m] of ``vectors`` [n, D] at ``points`` [n, D]."""

    def pull(self, images: FloatArray, vectors: FloatArray) -> FloatArray:
        """Vectors [n, D] whose images at ``images`` [n, m] are ``vectors`` [n, m]."""


class Surroundings(Protocol):
    """The space around a bundle; all arguments [n, D], a row's result does not depend on the others."""

    def validate(self, points: FloatArray, name: str) -> FloatArray:
        """``points`` [..., D] as they are, or an error with their distance from the space."""

    def displacement(self, points: FloatArray, others: FloatArray) -> FloatArray:
        """Vectors at ``points`` that lead to ``others``; NaN on the cut locus."""

    def move(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        """exp of ``vectors`` at ``points``."""

    def transport(self, vectors: FloatArray, points: FloatArray, ends: FloatArray) -> FloatArray:
        """``vectors`` at ``points`` transported in parallel to ``ends``."""

    def coordinates(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        """Coordinates [n, m] of ``vectors`` in an orthonormal basis at ``points``."""

    def distance(self, points: FloatArray, others: FloatArray) -> FloatArray:
        """Distances [n]."""

    def local_map(self, base_point: FloatArray) -> LocalMap:
        """The local map around ``base_point`` [D]."""


class _Flat:
    """R^D."""

    def validate(self, points: FloatArray, name: str) -> FloatArray:
        return points

    def displacement(self, points: FloatArray, others: FloatArray) -> FloatArray:
        return others - points

    def move(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        return points + vectors

    def transport(self, vectors: FloatArray, points: FloatArray, ends: FloatArray) -> FloatArray:
        return vectors

    def coordinates(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        return vectors

    def distance(self, points: FloatArray, others: FloatArray) -> FloatArray:
        offset = others - points
        return np.asarray(np.sqrt(np.einsum("nd,nd->n", offset, offset)))

    def local_map(self, base_point: FloatArray) -> LocalMap:
        return _Offsets(base_point)


@dataclass(frozen=True, slots=True)
class _Curved:
    """A manifold, its points as flat rows."""

    space: Space

    def validate(self, points: FloatArray, name: str) -> FloatArray:
        return flattened(self.space, self.space.validate(shaped(self.space, points), name))

    def displacement(self, points: FloatArray, others: FloatArray) -> FloatArray:
        return log_rows(self.space, points, others)

    def move(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        return exp_rows(self.space, points, vectors)

    def transport(self, vectors: FloatArray, points: FloatArray, ends: FloatArray) -> FloatArray:
        return transport_rows(self.space, vectors, points, ends)

    def coordinates(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        covectors = orthonormal_bases(self.space, points).covectors
        return np.asarray(np.einsum("nid,nd->ni", covectors, vectors))

    def distance(self, points: FloatArray, others: FloatArray) -> FloatArray:
        return dist_rows(self.space, points, others)

    def local_map(self, base_point: FloatArray) -> LocalMap:
        if isinstance(self.space, Euclidean):
            return _Offsets(base_point)
        return _Embedded(self.space, base_point) if isinstance(self.space, Sphere) else _Logs(self.space, base_point)


@dataclass(frozen=True, slots=True)
class _Offsets:
    """x − base in R^D."""

    base_point: FloatArray

    def enter(self, points: FloatArray) -> FloatArray:
        return points - self.base_point

    def leave(self, images: FloatArray) -> FloatArray:
        return images + self.base_point

    def push(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        return vectors

    def pull(self, images: FloatArray, vectors: FloatArray) -> FloatArray:
        return vectors


@dataclass(frozen=True, slots=True)
class _Embedded:
    """x − base in R^D, for a space with the metric of R^D; its inverse projects onto the space."""

    space: Space
    base_point: FloatArray

    def enter(self, points: FloatArray) -> FloatArray:
        return retract(self.space, points) - self.base_point

    def leave(self, images: FloatArray) -> FloatArray:
        return retract(self.space, images + self.base_point)

    def push(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        return vectors

    def pull(self, images: FloatArray, vectors: FloatArray) -> FloatArray:
        points = self.leave(images)
        return flattened(self.space, self.space.to_tangent(shaped(self.space, vectors), shaped(self.space, points)))


@dataclass(frozen=True, slots=True)
class _Logs:
    """Orthonormal coordinates of log_base(x)."""

    space: Space
    base_point: FloatArray

    def enter(self, points: FloatArray) -> FloatArray:
        vectors = log_rows(self.space, self.base_point, retract(self.space, points))
        return np.asarray(np.einsum("nd,id->ni", vectors, self._basis.covectors[0]))

    def leave(self, images: FloatArray) -> FloatArray:
        vectors = np.einsum("ni,id->nd", images, self._basis.vectors[0])
        return exp_rows(self.space, self.base_point, vectors)

    def push(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        """See `LocalMap`; by central differences along geodesics."""
        ends = (exp_rows(self.space, points, sign * DIFFERENCE * vectors) for sign in (1.0, -1.0))
        ahead, behind = (self.enter(end) for end in ends)
        return (ahead - behind) / (2.0 * DIFFERENCE)

    def pull(self, images: FloatArray, vectors: FloatArray) -> FloatArray:
        # By central differences, as below.
        ahead, behind = (self.leave(images + sign * DIFFERENCE * vectors) for sign in (1.0, -1.0))
        return (ahead - behind) / (2.0 * DIFFERENCE)

    @property
    def _basis(self) -> Any:
        return orthonormal_bases(self.space, self.base_point[None])


FLAT = _Flat()


def surroundings_of(bundle: Any) -> Surroundings:
    """The manifold ``space`` of a bundle that has one, or R^D."""
    return surroundings_on(getattr(bundle, "space", None))


def surroundings_on(space: Space | None) -> Surroundings:
    """The manifold ``space``, or R^D for None."""
    return FLAT if space is None else _Curved(space)


def surrounding_dim(bundle: Any) -> int:
    """Dimension of the bundle's manifold, or of R^d."""
    space: Any = getattr(bundle, "space", None)
    return int(bundle.ambient_dim if space is None else space.dim)
