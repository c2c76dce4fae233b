"""Subbundles in closed form: ground truth for tests, and examples.

Each gives its projector and its force by a formula. Sums over coordinates run along the last axis of one row at a
time and never through BLAS, so the bits of a row do not depend on the batch it is computed in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._types import FloatArray, Status, StatusArray
from subbundle._validation import as_integer, as_points
from subbundle.bundles._learned import as_pair
from subbundle.bundles.base import Field, Frame
from subbundle.local.frames import sign_of_largest


@dataclass(frozen=True, slots=True)
class Heisenberg:
    """The Heisenberg group: R³ with X = ∂x − y/2 ∂z and Y = ∂y + x/2 ∂z, which bracket to [X, Y] = ∂z.

    X and Y are orthonormal for the sub-Riemannian metric, not for the Euclidean one (|X|² = 1 + y²/4): `Frame.vectors`
    holds X and Y themselves. With a = η·X and b = η·Y,

        H = ½ (a² + b²),    velocity = a X + b Y,    force = ½ η_z (−b, a, 0).

    Geodesics from the origin are straight lines when η_z = 0, and helices over circles of radius √(2H)/|η_z| otherwise;
    z is the area swept by the projection to the (x, y)-plane.

    Examples
    --------
    >>> import numpy as np
    >>> Heisenberg().field(np.array([[0.0, 2.0, 0.0]]), np.array([[1.0, 0.0, 0.0]])).velocity
    array([[ 1.,  0., -1.]])
    """

    # Per unit length the planes turn by an angle of order one.
    ambient_dim, rank, length_scale, is_costly = 3, 2, 1.0, False

    def frame(self, points: FloatArray) -> Frame:
        """X and Y at ``points`` [batch, 3]."""
        points = as_points(points, "points", dim=3)
        vectors = np.zeros((len(points), 3, 2))
        vectors[:, 0, 0] = 1.0
        vectors[:, 1, 1] = 1.0
        vectors[:, 2, 0] = -0.5 * points[:, 1]
        vectors[:, 2, 1] = 0.5 * points[:, 0]
        return _frame(points, vectors, np.zeros(len(points), np.int8))

    def field(self, points: FloatArray, covectors: FloatArray) -> Field:
        """Velocity and force at ``points`` [batch, 3] and ``covectors`` [batch, 3]."""
        points, covectors = _pair(points, covectors, 3)
        x, y = points[:, 0], points[:, 1]
        along_z = covectors[:, 2]
        a = covectors[:, 0] - 0.5 * y * along_z
        b = covectors[:, 1] + 0.5 * x * along_z
        velocity = np.stack([a, b, 0.5 * (x * b - y * a)], axis=1)
        force = np.stack([-0.5 * along_z * b, 0.5 * along_z * a, np.zeros_like(a)], axis=1)
        return Field(velocity, force, np.zeros(len(points), np.int8))


@dataclass(frozen=True, slots=True)
class SphereTangent:
    """The tangent spaces of the spheres around the origin of R^(dim+1).

    With c = p·η / |p|²,

        P = I − p pᵀ/|p|²,    H = ½ (|η|² − c² |p|²),    velocity = η − c p,    force = c η − c² p.

    The bundle is integrable and its geodesics are the great circles. The origin has no tangent space: rows there have
    the status `Status.GAP_CLOSED`.

    Parameters
    ----------
    dim : int
        Dimension of the spheres, at least 1; the ambient dimension is dim + 1.
    """

    dim: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", as_integer(self.dim, "dim", low=1, why="the dimension of the spheres"))

    # The length scale is the radius of the unit sphere.
    length_scale, is_costly = 1.0, False

    @property
    def ambient_dim(self) -> int:
        """dim + 1."""
        return self.dim + 1

    @property
    def rank(self) -> int:
        """``dim``."""
        return self.dim

    def frame(self, points: FloatArray) -> Frame:
        """Orthonormal tangent bases at ``points`` [batch, dim + 1].

        The reflection I − u uᵀ/(1 + |n_D|), u = n ± e_D, takes n = p/|p| to ∓e_D (D the last axis), so its other
        columns span the tangent space.
        """
        points = as_points(points, "points", dim=self.ambient_dim)
        squared = _row_dot(points, points)
        status = _closed_at_origin(squared)
        with np.errstate(all="ignore"):
            normal = points / np.sqrt(squared)[:, None]
        last = normal[:, -1]
        mirror = normal.copy()
        mirror[:, -1] += np.where(last < 0, -1.0, 1.0)
        scaled = mirror / (1.0 + np.abs(last))[:, None]
        vectors = np.eye(self.ambient_dim)[:, : self.dim] - mirror[:, :, None] * scaled[:, None, : self.dim]
        vectors *= sign_of_largest(vectors)
        vectors[status != Status.OK] = np.nan
        return _frame(points, vectors, status)

    def field(self, points: FloatArray, covectors: FloatArray) -> Field:
        """Velocity and force at ``points`` [batch, dim + 1] and ``covectors`` [batch, dim + 1]."""
        points, covectors = _pair(points, covectors, self.ambient_dim)
        squared = _row_dot(points, points)
        status = _closed_at_origin(squared)
        with np.errstate(all="ignore"):
            c = (_row_dot(points, covectors) / squared)[:, None]
            velocity = covectors - c * points
            force = c * velocity
        velocity[status != Status.OK] = np.nan
        force[status != Status.OK] = np.nan
        return Field(velocity, force, status)


@dataclass(frozen=True, eq=False)
class Constant:
    """The same subspace at every point: P is constant, the force vanishes and geodesics are straight lines.

    Parameters
    ----------
    vectors : [dim, rank]
        Columns that span the subspace. They are orthonormalised (QR), so any basis serves.
    """

    vectors: FloatArray

    def __post_init__(self) -> None:
        given = as_points(self.vectors, "vectors")
        dim, rank = given.shape
        if not 1 <= rank <= dim:
            raise ValueError(f"vectors must have 1..{dim} columns of length {dim}; got shape {given.shape}.")
        # Columns are normalised first: only their directions matter.
        lengths = np.linalg.norm(given, axis=0)
        basis, triangle = np.linalg.qr(given / np.where(lengths > 0, lengths, 1.0))
        independent = np.abs(np.diag(triangle)) > 1e-12 * dim
        if not independent.all():
            raise ValueError(
                f"vectors must have linearly independent columns; column {int(np.argmin(independent))} is a "
                "combination of those before it. Leave it out, or pass np.linalg.qr(vectors)[0] of a full basis."
            )
        basis = np.ascontiguousarray(basis * sign_of_largest(basis))
        basis.setflags(write=False)
        object.__setattr__(self, "vectors", basis)

    # A constant subspace has no length scale.
    length_scale, is_costly = 1.0, False

    @property
    def ambient_dim(self) -> int:
        """Number of rows of ``vectors``."""
        return int(self.vectors.shape[0])

    @property
    def rank(self) -> int:
        """Number of columns of ``vectors``."""
        return int(self.vectors.shape[1])

    def frame(self, points: FloatArray) -> Frame:
        """The orthonormalised ``vectors``, once for every row of ``points`` [batch, dim]."""
        points = as_points(points, "points", dim=self.ambient_dim)
        vectors = np.repeat(self.vectors[None], len(points), axis=0)
        return _frame(points, vectors, np.zeros(len(points), np.int8))

    def field(self, points: FloatArray, covectors: FloatArray) -> Field:
        """Velocity P η and zero force at ``points`` [batch, dim] and ``covectors`` [batch, dim]."""
        points, covectors = _pair(points, covectors, self.ambient_dim)
        velocity = np.zeros_like(covectors)
        for vector in np.ascontiguousarray(self.vectors.T):
            velocity += np.einsum("bd,d->b", covectors, vector)[:, None] * vector
        return Field(velocity, np.zeros_like(covectors), np.zeros(len(points), np.int8))


def _pair(points: FloatArray, covectors: FloatArray, dim: int) -> tuple[FloatArray, FloatArray]:
    """Two arrays [batch, dim] of finite numbers."""
    return as_pair(as_points(points, "points", dim=dim), as_points(covectors, "covectors", dim=dim), dim)


def _row_dot(a: FloatArray, b: FloatArray) -> FloatArray:
    product: FloatArray = np.einsum("bd,bd->b", a, b)
    return product


def _closed_at_origin(squared: FloatArray) -> StatusArray:
    """GAP_CLOSED where |p|² is zero or has lost its digits to underflow."""
    return np.where(squared < np.finfo(np.float64).tiny, Status.GAP_CLOSED, Status.OK).astype(np.int8)


def _frame(points: FloatArray, vectors: FloatArray, status: StatusArray) -> Frame:
    """The record of a bundle without data: density 1, gap 1 where it is defined."""
    batch, dim, rank = vectors.shape
    eigenvalues = np.zeros((batch, dim))
    eigenvalues[:, :rank] = 1.0
    ones = np.ones(batch)
    gap = np.where(status == Status.OK, 1.0, 0.0)
    return Frame(vectors, eigenvalues, points.copy(), ones, gap, status)
