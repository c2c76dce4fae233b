"""How to move and measure around the points of a bundle: by straight lines in R^D, or by geodesics of a manifold.

What needs more of the surrounding space than frame and field (the ridge, the search of the logarithm, charts) asks
here, and is then the same for both. On a manifold N, vectors at p are tangent arrays [n, D]; the displacement from p
to q is log_p(q), the way along v is exp_p(v).

A *picture* is a map of N, or of much of it, to some R^m, around a base point: the offset from that point in R^D for
R^d and spheres, log_base(x) in orthonormal coordinates elsewhere. It is an isometry at the base point, and there is
none on shapes: all representatives of one shape have one picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from subbundle._numbers import DIFFERENCE
from subbundle._types import FloatArray
from subbundle.spaces import Euclidean, Sphere
from subbundle.spaces.base import Space
from subbundle.spaces.rows import flattened, orthonormal_bases, retract, shaped


class Picture(Protocol):
    """A map from points to R^m, 0 at a base point, and back."""

    def enter(self, points: FloatArray) -> FloatArray:
        """Pictures [n, m] of ``points`` [n, D]; NaN beyond the cut locus of the base point."""

    def leave(self, pictures: FloatArray) -> FloatArray:
        """Points [n, D] at ``pictures`` [n, m]."""

    def push(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        """Pictures [n, m] of ``vectors`` [n, D] at ``points`` [n, D]."""

    def pull(self, pictures: FloatArray, vectors: FloatArray) -> FloatArray:
        """Vectors [n, D] whose pictures at ``pictures`` [n, m] are ``vectors`` [n, m]."""


class Surroundings(Protocol):
    """The space around a bundle; all arguments [n, D], a row's result does not depend on the others."""

    def validate(self, points: FloatArray, name: str) -> FloatArray:
        """``points`` [..., D] as they are, or an error with how far they are from where the bundle lives."""

    def displacement(self, points: FloatArray, others: FloatArray) -> FloatArray:
        """Vectors at ``points`` that lead to ``others``; NaN on the cut locus."""

    def move(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        """Where ``vectors`` at ``points`` lead to."""

    def transport(self, vectors: FloatArray, points: FloatArray, ends: FloatArray) -> FloatArray:
        """``vectors`` at ``points`` transported in parallel to ``ends``."""

    def coordinates(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        """Coordinates [n, m] of ``vectors`` in an orthonormal basis at ``points``."""

    def distance(self, points: FloatArray, others: FloatArray) -> FloatArray:
        """Distances [n]."""

    def picture(self, base_point: FloatArray) -> Picture:
        """The picture around ``base_point`` [D]."""


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

    def picture(self, base_point: FloatArray) -> Picture:
        return _Offsets(base_point)


@dataclass(frozen=True, slots=True)
class _Curved:
    """A manifold, its points as flat rows."""

    space: Space

    def validate(self, points: FloatArray, name: str) -> FloatArray:
        return flattened(self.space, self.space.validate(shaped(self.space, points), name))

    def displacement(self, points: FloatArray, others: FloatArray) -> FloatArray:
        return flattened(self.space, self.space.log(shaped(self.space, others), shaped(self.space, points)))

    def move(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        return flattened(self.space, self.space.exp(shaped(self.space, vectors), shaped(self.space, points)))

    def transport(self, vectors: FloatArray, points: FloatArray, ends: FloatArray) -> FloatArray:
        space = self.space
        return flattened(
            space, space.parallel_transport(shaped(space, vectors), shaped(space, points), shaped(space, ends))
        )

    def coordinates(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        covectors = orthonormal_bases(self.space, points).covectors
        return np.asarray(np.einsum("nid,nd->ni", covectors, vectors))

    def distance(self, points: FloatArray, others: FloatArray) -> FloatArray:
        return np.asarray(self.space.dist(shaped(self.space, others), shaped(self.space, points)))

    def picture(self, base_point: FloatArray) -> Picture:
        if isinstance(self.space, Euclidean):
            return _Offsets(base_point)
        return _Embedded(self.space, base_point) if isinstance(self.space, Sphere) else _Logs(self.space, base_point)


@dataclass(frozen=True, slots=True)
class _Offsets:
    """x − base in R^D."""

    base_point: FloatArray

    def enter(self, points: FloatArray) -> FloatArray:
        return points - self.base_point

    def leave(self, pictures: FloatArray) -> FloatArray:
        return pictures + self.base_point

    def push(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        return vectors

    def pull(self, pictures: FloatArray, vectors: FloatArray) -> FloatArray:
        return vectors


@dataclass(frozen=True, slots=True)
class _Embedded:
    """x − base in R^D, for a space whose metric is that of R^D; the way back ends on the space."""

    space: Space
    base_point: FloatArray

    def enter(self, points: FloatArray) -> FloatArray:
        return retract(self.space, points) - self.base_point

    def leave(self, pictures: FloatArray) -> FloatArray:
        return retract(self.space, pictures + self.base_point)

    def push(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        return vectors

    def pull(self, pictures: FloatArray, vectors: FloatArray) -> FloatArray:
        points = self.leave(pictures)
        return flattened(self.space, self.space.to_tangent(shaped(self.space, vectors), shaped(self.space, points)))


@dataclass(frozen=True, slots=True)
class _Logs:
    """Orthonormal coordinates of log_base(x)."""

    space: Space
    base_point: FloatArray

    def enter(self, points: FloatArray) -> FloatArray:
        logs = _Curved(self.space).displacement(self.base_point[None], retract(self.space, points))
        return np.asarray(np.einsum("nd,id->ni", logs, self._basis.covectors[0]))

    def leave(self, pictures: FloatArray) -> FloatArray:
        vectors = np.einsum("ni,id->nd", pictures, self._basis.vectors[0])
        return _Curved(self.space).move(self.base_point[None], vectors)

    def push(self, points: FloatArray, vectors: FloatArray) -> FloatArray:
        """See `Picture`; by central differences along geodesics."""
        move = _Curved(self.space).move
        ahead, behind = (self.enter(move(points, sign * DIFFERENCE * vectors)) for sign in (1.0, -1.0))
        return (ahead - behind) / (2.0 * DIFFERENCE)

    def pull(self, pictures: FloatArray, vectors: FloatArray) -> FloatArray:
        # By central differences, as below.
        ahead, behind = (self.leave(pictures + sign * DIFFERENCE * vectors) for sign in (1.0, -1.0))
        return (ahead - behind) / (2.0 * DIFFERENCE)

    @property
    def _basis(self) -> Any:
        return orthonormal_bases(self.space, self.base_point[None])


FLAT = _Flat()


def surroundings_of(bundle: Any) -> Surroundings:
    """The manifold that a bundle names as its ``space``, or R^D."""
    return surroundings_on(getattr(bundle, "space", None))


def surroundings_on(space: Space | None) -> Surroundings:
    """The manifold ``space``, or R^D for None."""
    return FLAT if space is None else _Curved(space)


def surrounding_dim(bundle: Any) -> int:
    """Dimension of the manifold that the bundle lives on, or of R^d."""
    space: Any = getattr(bundle, "space", None)
    return int(bundle.ambient_dim if space is None else space.dim)
