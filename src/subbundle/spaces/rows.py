"""Points of a space as flat rows [batch, D], as flow and geodesics use them: checks, bases, retraction, gauge.

Points off N (the stages of an integrator) are first projected onto it, so frame and field are constant along the
normals. For the force to be the gradient of H in R^D, that projection must be orthogonal to N in the Euclidean sense,
to first order. `Space.projection` need not be (hyperbolic space keeps the space part); one step along N corrects it:

    p = projection(x),        retract(x) = exp_p( P_T (x − p) ),        P_T orthogonal on T_pN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from subbundle._numbers import ROUNDING, SINGULAR
from subbundle._types import FloatArray
from subbundle.spaces import Euclidean, Kendall, Sphere
from subbundle.spaces.base import Space, one_array

# Spaces whose metric is that of R^D on their tangent arrays, and whose projection is orthogonal.
_AMBIENT = (Euclidean, Kendall, Sphere)


@dataclass(frozen=True, slots=True)
class Bases:
    """Bases [batch, dim, D] of tangent spaces: ``vectors`` b_i, orthonormal in the metric h, and ``covectors`` h b_i,
    tangent arrays too: the coordinates of a tangent vector are its products with these."""

    vectors: FloatArray
    covectors: FloatArray


def shaped(space: Space, rows: FloatArray) -> FloatArray:
    """[..., D] as [..., *shape]."""
    return rows.reshape(*rows.shape[:-1], *space.shape)


def flattened(space: Space, points: FloatArray) -> FloatArray:
    """[..., *shape] as [..., D]."""
    return points.reshape(*points.shape[: points.ndim - len(space.shape)], space.ambient_dim)


def log_rows(space: Space, points: FloatArray, others: FloatArray) -> FloatArray:
    """log_p(x) [..., D] of ``others`` at ``points``, rows [..., D] that broadcast; NaN on the cut locus."""
    return flattened(space, space.log(shaped(space, others), shaped(space, points)))


def exp_rows(space: Space, points: FloatArray, vectors: FloatArray) -> FloatArray:
    """exp_p(v) [..., D]."""
    return flattened(space, space.exp(shaped(space, vectors), shaped(space, points)))


def transport_rows(space: Space, vectors: FloatArray, points: FloatArray, ends: FloatArray) -> FloatArray:
    """``vectors`` at ``points`` transported in parallel to ``ends``, [..., D]."""
    return flattened(space, space.parallel_transport(*(shaped(space, rows) for rows in (vectors, points, ends))))


def dist_rows(space: Space, points: FloatArray, others: FloatArray) -> FloatArray:
    """Distances [...] of rows [..., D]."""
    return np.asarray(space.dist(shaped(space, others), shaped(space, points)))


def check_space(space: Any) -> None:
    """Raise when ``space`` is not a manifold that observations can lie on."""
    if not isinstance(space, Space):
        hint = (
            "Write space=sb.spaces.from_geomstats(space)."
            if type(space).__module__.startswith("geomstats")
            else "Pass for example space=sb.spaces.Sphere(2)."
        )
        raise TypeError(f"space must be a manifold of sb.spaces; got {space!r}. {hint}")


def as_observations(points: Any, space: Any) -> FloatArray:
    """Observations of a space, ``[N, *shape]`` or ``[N, D]``, as flat rows [N, D] on it."""
    check_space(space)
    array = one_array(points, "points", space.shape)
    axes = 1 + len(space.shape)
    if axes > 2 and array.ndim == 2 and array.shape[1] == space.ambient_dim:
        array = array.reshape(-1, *space.shape)
    valid = space.validate(array, "points")
    if valid.ndim != axes:
        expected = ", ".join(map(str, space.shape))
        raise ValueError(f"points must hold observations of {space!r}, shape (N, {expected}); got shape {valid.shape}.")
    loose = space.violation(valid) > SINGULAR
    if loose.any():
        valid = valid.copy()
        valid[loose] = space.projection(valid[loose])
    return np.ascontiguousarray(flattened(space, valid))


def tangent_rows(space: Space, points: FloatArray) -> FloatArray:
    """Euclidean-orthonormal tangent bases [batch, dim, D] at ``points`` [batch, D]."""
    return flattened(space, space.tangent_basis(shaped(space, points)))


def vertical_rows(space: Space, points: FloatArray) -> FloatArray:
    """Euclidean-orthonormal bases [batch, m, D] of the directions along the orbit at ``points`` [batch, D]."""
    return flattened(space, space.vertical_basis(shaped(space, points)))


def orthonormal_bases(space: Space, points: FloatArray) -> Bases:
    """Bases at ``points`` [batch, D], from the Cholesky factor LLᵀ of the Gram matrix of `Space.tangent_basis`.

    With U the Euclidean-orthonormal basis as rows, h(U, U) = LLᵀ: vectors L⁻¹ U, covectors Lᵀ U.
    """
    basis = tangent_rows(space, points)
    if isinstance(space, _AMBIENT):
        return Bases(basis, basis)
    x = shaped(space, points)[:, None]
    flat = flattened(space, space.flat(shaped(space, basis), x))
    gram = np.einsum("bid,bjd->bij", basis, flat)
    # A point without a metric (a singular shape, an overflow) must not affect the others in LAPACK.
    good = np.isfinite(gram).all(axis=(1, 2))
    gram[~good] = np.eye(space.dim)
    gram = 0.5 * (gram + np.swapaxes(gram, 1, 2))
    # Nor must one where rounding has made the metric singular.
    values = np.linalg.eigvalsh(gram)
    good &= values[:, 0] > ROUNDING * values[:, -1]
    gram[~good] = np.eye(space.dim)
    factor = np.linalg.cholesky(gram)
    vectors = np.einsum("bij,bjd->bid", np.linalg.inv(factor), basis)
    covectors = np.einsum("bji,bjd->bid", factor, basis)
    vectors[~good], covectors[~good] = np.nan, np.nan
    return Bases(vectors, covectors)


def retract(space: Space, points: FloatArray) -> FloatArray:
    """Points of N [batch, D] near ``points`` [batch, D]; points of N stay where they are, up to rounding."""
    near = flattened(space, space.projection(shaped(space, points)))
    if not isinstance(space, _AMBIENT):
        offset = points - near
        # Rows with NaN compare false and stay NaN.
        rows = np.flatnonzero(np.abs(offset).max(axis=1) > ROUNDING * np.maximum(np.abs(points).max(axis=1), 1e-300))
        near[rows] = _correct(space, near[rows], offset[rows]) if rows.size else near[rows]
    return near


def _correct(space: Space, near: FloatArray, offset: FloatArray) -> FloatArray:
    """Move points of N [n, D] by the tangent part of ``offset`` [n, D], where it is more than rounding."""
    basis = np.concatenate([tangent_rows(space, near), vertical_rows(space, near)], axis=1)
    step = np.einsum("bid,bi->bd", basis, np.einsum("bid,bd->bi", basis, offset))
    size = np.abs(step).max(axis=1)
    rounding = size <= ROUNDING * np.maximum(np.abs(near).max(axis=1), 1e-300)
    return np.where(rounding[:, None], near, exp_rows(space, near, step))


def tangent_part(space: Space, points: FloatArray, covectors: FloatArray) -> FloatArray:
    """Euclidean-orthogonal projection of ``covectors`` [batch, D] on the (horizontal) tangent spaces at ``points``."""
    basis = tangent_rows(space, points)
    return np.asarray(np.einsum("bid,bi->bd", basis, np.einsum("bid,bd->bi", basis, covectors)))
