"""Where geodesics start: base points and covectors in any of the forms that callers may pass.

A covector may be given by its D components η, or by its k coordinates v in the frame F at the base point. The latter
stand for the covector of D*_μ with η·f_i = v_i,

    η = Σ v_i f^i,        v = Fᵀ η,        2H = |v|².

The dual frame f^i is the one the bundle provides (h f_i on a manifold with metric h), otherwise F (FᵀF)⁻¹, which is F
itself when the frame is orthonormal in the Euclidean sense.

Directions spread evenly over S^(k−1), the same ones each time: ±1 for k = 1, equal angles for k = 2. For k ≥ 3 a set of
low discrepancy in the unit cube [0, 1)^(k−1) is mapped to the sphere by a map that preserves volume. The set:

    u_i = ((i + ½)/n, frac(½ + i/g), frac(½ + i/g²), …),       g > 1 the root of g^(k−1) = g + 1,

the first coordinate a regular grid, the others a Kronecker sequence on the generalised golden ratio (g = 1.618… for
k = 3, where the result is a Fibonacci lattice). The map: on S^(m−1) the first coordinate c has (1 + c)/2 distributed as
Beta((m−1)/2, (m−1)/2), and what remains is a point on a sphere S^(m−2) of radius √(1 − c²), down to the circle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from subbundle._types import FloatArray, Status
from subbundle._validation import as_bundle, as_integer, as_points
from subbundle.bundles.base import Frame, Subbundle
from subbundle.bundles.surroundings import surroundings_of
from subbundle.geodesics.tuning import ON_A_CIRCLE, PER_COEFFICIENT


@dataclass(frozen=True, slots=True)
class Start:
    """Initial conditions of a batch of geodesics.

    Attributes
    ----------
    points, covectors : [batch, dim]
    single : bool
        The caller gave one point and one covector, without a batch axis.
    """

    points: FloatArray
    covectors: FloatArray
    single: bool


def as_start(bundle: Subbundle, base_point: Any, covectors: Any) -> Start:
    """Read ``base_point`` ([dim] or [batch, dim]) and ``covectors`` ([dim] or [rank], with or without a batch axis)."""
    dim, rank = as_bundle(bundle).ambient_dim, bundle.rank
    points = _at_most_2d(as_points(base_point, "base_point", dim=dim, ndim=None), "base_point")
    points = surroundings_of(bundle).validate(points, "base_point")
    given = _at_most_2d(as_points(covectors, "covectors", ndim=None), "covectors")
    if given.shape[-1] not in (dim, rank):
        raise ValueError(
            f"covectors must have {dim} components, or {rank} coordinates in the frame at base_point; got shape "
            f"{given.shape}."
        )
    single = points.ndim == 1 and given.ndim == 1
    points, given = np.atleast_2d(points), np.atleast_2d(given)
    if len(points) != len(given) and 1 not in (len(points), len(given)):
        raise ValueError(
            f"base_point and covectors must have as many rows as each other, or one of them a single row; got "
            f"{len(points)} and {len(given)}. For all pairs use np.repeat on one and np.tile on the other."
        )
    if given.shape[-1] != dim:
        frame = defined_frame(bundle, points)
        given = covectors_from_coordinates(frame.vectors, given, frame.duals)
    return Start(*_together(points, given), single)


def defined_frame(bundle: Subbundle, points: FloatArray) -> Frame:
    """The frame at ``points`` [batch, dim], or an error with the reason why it is undefined."""
    frame = bundle.frame(points)
    bad = np.flatnonzero(frame.status != Status.OK)
    if bad.size:
        row = bad[0]
        which = "" if len(points) == 1 else f" in {bad.size} of {len(points)} rows, first in row {row}"
        raise ValueError(
            "base_point must lie where the subspace is defined, to give coordinates in its frame; it does not"
            f"{which}: {Status(int(frame.status[row])).message} (relative density {frame.density[row]:.3g}, where 1 is "
            f"typical of the data; relative eigenvalue gap {frame.gap[row]:.3g}). Use a point nearer the data, or "
            "project this one to the ridge: sb.carry_to_ridge(bundle, base_point)."
        )
    return frame


def covectors_from_coordinates(
    vectors: FloatArray, coordinates: FloatArray, duals: FloatArray | None = None
) -> FloatArray:
    """η = Σ v_i f^i for ``coordinates`` [batch or 1, rank], ``vectors`` and ``duals`` [batch or 1, dim, rank].

    Without ``duals`` (`Frame.duals` of a bundle that provides none) they are F (FᵀF)⁻¹.
    """
    if duals is None:
        gram = np.einsum("bdi,bdj->bij", vectors, vectors)
        duals = np.einsum("bdi,bij->bdj", vectors, np.linalg.inv(gram))
    batch = len(coordinates) if len(vectors) == 1 else len(vectors)
    covectors = np.zeros((batch, vectors.shape[1]))
    # Column by column, in this order for every row, so that a row's bits do not depend on the batch.
    for i in range(vectors.shape[2]):
        covectors += coordinates[:, i, None] * duals[:, :, i]
    return covectors


def _at_most_2d(array: FloatArray, name: str) -> FloatArray:
    if array.ndim > 2:
        raise ValueError(
            f"{name} must be one row, or a 2-D array with one row per geodesic; got shape {array.shape}. "
            f"Write {name}.reshape(-1, {array.shape[-1]})."
        )
    return array


def as_pairs(bundle: Subbundle, base_point: Any, targets: Any) -> tuple[FloatArray, FloatArray, bool]:
    """Base points and targets [batch, dim], broadcast against each other, and whether both are single."""
    around = surroundings_of(as_bundle(bundle))
    bases = around.validate(as_points(base_point, "base_point", dim=bundle.ambient_dim, ndim=None), "base_point")
    goals = around.validate(as_points(targets, "targets", dim=bundle.ambient_dim, ndim=None), "targets")
    single = bases.ndim == 1 and goals.ndim == 1
    bases, goals = np.atleast_2d(bases), np.atleast_2d(goals)
    if bases.ndim != 2 or goals.ndim != 2 or (len(bases) != len(goals) and 1 not in (len(bases), len(goals))):
        raise ValueError(
            "base_point and targets must be single points or 2-D arrays with as many rows as each other; got shapes "
            f"{bases.shape} and {goals.shape}. For all pairs use sb.pairwise_distance, or np.repeat and np.tile."
        )
    return *_together(bases, goals), single


def _together(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both [batch, dim]; one may have had a single row."""
    first, second = (np.ascontiguousarray(part) for part in np.broadcast_arrays(first, second))
    return first, second


def default_count(rank: int) -> int:
    """Directions of a fan unless given: 2 for rank 1 (there are no more), 100 · 2^(k − 2) up to rank 5, then as k²."""
    if rank == 1:
        return 2
    return int(min(ON_A_CIRCLE * 2 ** (rank - 2), PER_COEFFICIENT * rank * (rank + 1) // 2))


def directions(rank: int, n: int) -> FloatArray:
    """``n`` evenly spread unit vectors [n, rank] of R^rank; for rank 1 there are two, so ``n`` must be 2.

    Examples
    --------
    >>> directions(2, 4).round(3) + 0.0
    array([[ 1.,  0.],
           [ 0.,  1.],
           [-1.,  0.],
           [ 0., -1.]])
    """
    rank = as_integer(rank, "rank", low=1)
    if rank == 1:
        as_integer(n, "n", low=2, high=2, why="in one dimension the unit vectors are -1 and 1")
        return np.array([[1.0], [-1.0]])
    n = as_integer(n, "n", low=1)
    if rank == 2:
        return _circle(np.arange(n) / n)
    return _sphere(_even_in_cube(rank - 1, n))


def _circle(turns: FloatArray) -> FloatArray:
    angle = 2.0 * np.pi * turns
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _even_in_cube(dim: int, n: int) -> FloatArray:
    """u_0..u_{n−1} [n, dim], dim ≥ 2."""
    golden = 2.0
    for _ in range(100):  # g ← (1 + g)^(1/dim) has a derivative below 1/2
        golden = (1.0 + golden) ** (1.0 / dim)
    index = np.arange(n)
    kronecker = (0.5 + index[:, None] / golden ** np.arange(1, dim)) % 1.0
    return np.concatenate([(index[:, None] + 0.5) / n, kronecker], axis=1)


def _sphere(cube: FloatArray) -> FloatArray:
    """Points [n, dim + 1] of the unit sphere from points [n, dim] of the unit cube, preserving volume."""
    from scipy.special import betaincinv  # imported here, not with the library, which it would slow down

    dim = cube.shape[1]
    points = np.empty((len(cube), dim + 1))
    radius = np.ones(len(cube))
    for i in range(dim - 1):
        shape = (dim - i) / 2.0
        half = betaincinv(shape, shape, cube[:, i])
        points[:, i] = radius * (2.0 * half - 1.0)
        radius = radius * 2.0 * np.sqrt(half * (1.0 - half))
    points[:, dim - 1 :] = radius[:, None] * _circle(cube[:, -1])
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))
