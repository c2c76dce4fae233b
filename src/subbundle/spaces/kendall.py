"""Kendall's shape space: configurations of landmarks modulo translation, scale and rotation.

A *pre-shape* is a centred k × m matrix x of norm 1; pre-shapes form a sphere, rotations R in SO(m) act by x ↦ xR, and a
shape is an orbit. The metric is the one that makes the quotient map a Riemannian submersion:

    vertical at x      {xA : A skew}                  along the orbit, of no length in shape space
    horizontal at x    xᵀv symmetric                  the tangent vectors of shape space
    log_x(y)           spherical log of yR, R the rotation that brings y closest to x (then the log is horizontal)

A vector v has the vertical part xA with SA + AS = xᵀv − vᵀx, S = xᵀx.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from subbundle._types import BoolArray, FloatArray
from subbundle._validation import as_integer, check_room
from subbundle.spaces._shape_transport import transport_general, transport_planar
from subbundle.spaces.base import CUT_TOLERANCE, BaseSpace
from subbundle.spaces.linalg import eigh, frobenius, nearest_rotation, ratio, transpose
from subbundle.spaces.sphere import Sphere


@final
@dataclass(frozen=True, init=False, repr=False)
class Kendall(BaseSpace):
    """Shapes of labelled landmarks. Points are pre-shapes; every pre-shape of an orbit stands for the same shape.

    Parameters
    ----------
    landmarks : int
        Number k of landmarks, at least 3.
    dim : int
        Number m of coordinates of each, 2 ≤ m ≤ k. Points are arrays ``[..., k, m]``.

    Notes
    -----
    The attribute ``dim`` is the dimension of shape space, (k − 1) m − 1 − m (m − 1)/2; m is ``landmark_dim``.
    Distances lie in [0, π/2]. The log is NaN where the best rotation is not unique; for planar shapes that is exactly
    at distance π/2. Landmarks that span m − 2 dimensions or fewer (a line, for m = 3) are singular points of the
    quotient: every log there is NaN. For k = m all shapes are flat and these form a border, at which geodesics are
    reflected. `exp` is the one of the pre-shape sphere, so it also moves along
    `vertical_basis`. The rotation rounds at 1e-16, so tiny distances are accurate to that, not relatively.

    Examples
    --------
    >>> import numpy as np
    >>> space = Kendall(3, 2)
    >>> triangle = space.projection(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> turned = triangle @ np.array([[0.0, -1.0], [1.0, 0.0]])
    >>> bool(space.dist(triangle, turned) < 1e-15)
    True
    """

    landmarks: int
    landmark_dim: int
    dim: int
    shape: tuple[int, ...]

    def __init__(self, landmarks: int, dim: int) -> None:
        k = as_integer(landmarks, "landmarks", low=3)
        why = "one coordinate leaves no rotation, more coordinates than landmarks leave all shapes flat"
        m = as_integer(dim, "dim", low=2, high=k, why=why)
        check_room(float(k) * m, "A point of this space", "Pass fewer landmarks.")
        object.__setattr__(self, "landmarks", k)
        object.__setattr__(self, "landmark_dim", m)
        object.__setattr__(self, "dim", (k - 1) * m - 1 - m * (m - 1) // 2)
        object.__setattr__(self, "shape", (k, m))

    def __repr__(self) -> str:
        return f"Kendall({self.landmarks}, {self.landmark_dim})"

    @property
    def requirement(self) -> str:
        """What a point must be."""
        k, m = self.shape
        return f"pre-shapes: {k} x {m} matrices whose columns have mean 0 and whose entries have sum of squares 1"

    def align(self, point: FloatArray, base_point: FloatArray) -> FloatArray:
        """The pre-shape yR of the orbit of y that is closest to x; NaN where it is not unique."""
        y, x = self.coerce(point, "point"), self.coerce(base_point, "base_point")
        return np.asarray(y @ _rotation(y, x))

    def exp(self, tangent_vec: FloatArray, base_point: FloatArray) -> FloatArray:
        """Great circle of the pre-shape sphere."""
        v, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        return self._unflatten(self._sphere.exp(self._flatten(v), self._flatten(x)))

    def log(self, point: FloatArray, base_point: FloatArray) -> FloatArray:
        """Spherical log of the aligned pre-shape."""
        x = self.coerce(base_point, "base_point")
        return self._unflatten(self._sphere.log(self._flatten(self.align(point, x)), self._flatten(x)))

    def dist(self, point_a: FloatArray, point_b: FloatArray) -> FloatArray:
        """Spherical distance of the aligned pre-shapes."""
        x, y = self.coerce(point_a, "point_a"), self.coerce(point_b, "point_b")
        # Any of several best rotations gives the distance.
        aligned = y @ _best_rotation(y, x)[0]
        return self._sphere.dist(self._flatten(x), self._flatten(aligned))

    def parallel_transport(self, tangent_vec: FloatArray, base_point: FloatArray, end_point: FloatArray) -> FloatArray:
        """Transport to the aligned end point (closed form for planar shapes), then rotate back to ``end_point``."""
        w, x = self.coerce(tangent_vec, "tangent_vec"), self.coerce(base_point, "base_point")
        y = self.coerce(end_point, "end_point")
        rotation = _rotation(y, x)
        direction = self._sphere.log(self._flatten(y @ rotation), self._flatten(x))
        transport = transport_planar if self.landmark_dim == 2 else transport_general
        return np.asarray(transport(w, x, self._unflatten(direction)) @ transpose(rotation))

    def to_tangent(self, vector: FloatArray, base_point: FloatArray) -> FloatArray:
        """Centre, then subtract the component along x and the vertical one."""
        v, x = self.coerce(vector, "vector"), self.coerce(base_point, "base_point")
        v = v - v.mean(axis=-2, keepdims=True)
        v = v - frobenius(x, v)[..., None, None] * x
        return np.asarray(v - x @ _vertical_generator(v, x))

    def projection(self, point: FloatArray) -> FloatArray:
        """Centre and scale; NaN if all landmarks coincide."""
        x = self.coerce(point, "point")
        centred = x - x.mean(axis=-2, keepdims=True)
        return self._unflatten(self._sphere.projection(self._flatten(centred)))

    def at_cut_locus(self, point: FloatArray, base_point: FloatArray) -> BoolArray:
        """Whether more than one rotation is best."""
        y, x = self.coerce(point, "point"), self.coerce(base_point, "base_point")
        return np.asarray(_best_rotation(y, x)[1] <= CUT_TOLERANCE)

    def tangent_basis(self, base_point: FloatArray) -> FloatArray:
        """Basis of the horizontal space."""
        normal = 1 + self.landmark_dim * (self.landmark_dim - 1) // 2
        return self._orthonormal(base_point)[..., normal:, :, :].copy()

    def vertical_basis(self, base_point: FloatArray) -> FloatArray:
        """Basis of the directions xA, A skew, along the orbit."""
        normal = 1 + self.landmark_dim * (self.landmark_dim - 1) // 2
        return self._orthonormal(base_point)[..., 1:normal, :, :].copy()

    def random_point(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Uniform pre-shapes."""
        return self.projection(rng.standard_normal((n_samples, *self.shape)))

    @property
    def _sphere(self) -> Sphere:
        return Sphere(self.ambient_dim - 1)

    def _flatten(self, array: FloatArray) -> FloatArray:
        return array.reshape(*array.shape[:-2], self.ambient_dim)

    def _unflatten(self, array: FloatArray) -> FloatArray:
        return array.reshape(*array.shape[:-1], *self.shape)

    def _orthonormal(self, base_point: FloatArray) -> FloatArray:
        """Orthonormal basis of the centred matrices: x, the vertical directions, the horizontal ones."""
        x = self.coerce(base_point, "base_point")
        k, m = self.shape
        centred = _helmert(k)
        spanning = np.concatenate([x[..., None, :, :], x[..., None, :, :] @ _skew_generators(m)], axis=-3)
        columns = transpose((centred @ spanning).reshape(*x.shape[:-2], spanning.shape[-3], (k - 1) * m))
        basis = transpose(np.linalg.qr(columns, mode="complete")[0])
        return np.asarray(centred.T @ basis.reshape(*basis.shape[:-1], k - 1, m))


def _helmert(k: int) -> FloatArray:
    """Orthonormal basis of the vectors of R^k with sum 0, ``[k-1, k]``: row j is (1, …, 1, −j, 0, …, 0)/√(j(j+1))."""
    j = np.arange(1.0, k)[:, None]
    column = np.arange(k)[None, :]
    return np.asarray(np.where(column < j, 1.0, np.where(column == j, -j, 0.0)) / np.sqrt(j * (j + 1.0)))


def _skew_generators(m: int) -> FloatArray:
    """The matrices E_ij − E_ji for i < j."""
    rows, columns = np.triu_indices(m, 1)
    generators = np.zeros((rows.size, m, m))
    generators[np.arange(rows.size), rows, columns] = 1.0
    generators[np.arange(rows.size), columns, rows] = -1.0
    return generators


def _best_rotation(y: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A rotation R with the largest tr((yR)ᵀx), and the gap that is 0 where it is not unique."""
    matrix = transpose(y) @ x
    if matrix.shape[-1] > 2:
        return nearest_rotation(matrix)
    cosine = matrix[..., 0, 0] + matrix[..., 1, 1]
    sine = matrix[..., 0, 1] - matrix[..., 1, 0]
    gap = np.sqrt(cosine * cosine + sine * sine)
    # Where all rotations are equally good, the result is undefined.
    cosine, sine = ratio(cosine, gap), np.where(gap == 0.0, 0.0, ratio(sine, gap))
    return np.stack([cosine, sine, -sine, cosine], axis=-1).reshape(*gap.shape, 2, 2), gap


def _rotation(y: FloatArray, x: FloatArray) -> FloatArray:
    """The best rotation, NaN where it is not unique."""
    rotation, gap = _best_rotation(y, x)
    return np.where((gap <= CUT_TOLERANCE)[..., None, None], np.nan, rotation)


def _vertical_generator(v: FloatArray, x: FloatArray) -> FloatArray:
    """The skew A with SA + AS = xᵀv − vᵀx, S = xᵀx: xA is the vertical part of v."""
    product = transpose(x) @ v
    values, vectors = eigh(transpose(x) @ x)
    sums = values[..., :, None] + values[..., None, :]
    # A sum of zero belongs to a rotation that fixes x: its component is zero.
    safe = np.where(sums > CUT_TOLERANCE, sums, np.inf)
    turned = transpose(vectors) @ (product - transpose(product)) @ vectors
    return np.asarray(vectors @ (turned / safe) @ transpose(vectors))
