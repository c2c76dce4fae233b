"""Shooting: exp from many base points at once, with its Jacobian.

For v in R^m, B [dim, m] the directions searched at the base point, and v = r u with |u| = 1,

    ∂/∂r  exp(B r u) = γ̇(1) / r          the end velocity: no further cost
    ∂/∂t  exp(B v)   by central differences of neighbouring geodesics, v turned by ±δ in the directions across u

so a Jacobian in m unknowns costs 2 (m − 1) geodesics besides the one itself, all in one batch. For the full search,
where some components of v do not change the speed, all m directions are differenced.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from subbundle._numbers import DIFFERENCE
from subbundle._types import FloatArray, IntArray, Status, StatusArray, all_finite
from subbundle.bundles.base import Subbundle
from subbundle.bundles.surroundings import FLAT, Surroundings, surroundings_of
from subbundle.flow import integrate
from subbundle.spaces.linalg import complement

# Angle of the neighbours. Truncation 1e-6, and noise of the steps below that at the default tolerance.
_TURN = 1e-3
# Steps after which a trial geodesic counts as ended early. Those that reach their target take fewer than 200; one with
# a huge covector turns so fast that it would never end. Where steps are expensive, `integrate` takes fewer.
_MOST_STEPS = 400
# Largest number of evaluations of the field per target, along the longest of the geodesics of each batch: 5000
# steps. Without a bound a search along a closed curve, or on noise, could take minutes.
MOST_EVALUATIONS = 30_000


@dataclass(frozen=True, slots=True)
class Shots:
    """Ends of geodesics [n, dim], Jacobians [n, dim, m], the time reached [n], of 1, and status [n].

    ``evaluations`` [n]: the largest number of evaluations of the field along the geodesic or one of its neighbours.
    ``misses`` [n, dim'] are the ends relative to the targets, filled in by `with_misses`; Jacobians are then theirs.
    """

    ends: FloatArray
    jacobians: FloatArray
    reached: FloatArray
    status: StatusArray
    misses: FloatArray
    evaluations: IntArray


def with_misses(bundle: Subbundle, shots: Shots, targets: FloatArray) -> Shots:
    """``shots`` with misses: end − target in R^D; on a manifold the end's log at the target, in an orthonormal basis.

    The Jacobian of that log is taken by differences, along the columns of the one of the end.
    """
    around = surroundings_of(bundle)
    if around is FLAT:
        return replace(shots, misses=shots.ends - targets)
    columns = [
        (_log_at(around, targets, shots.ends, step) - _log_at(around, targets, shots.ends, -step)) / (2.0 * DIFFERENCE)
        for step in np.moveaxis(DIFFERENCE * shots.jacobians, 2, 0)
    ]
    misses = _log_at(around, targets, shots.ends, np.zeros_like(targets))
    return replace(shots, misses=misses, jacobians=np.stack(columns, axis=2))


def _log_at(around: Surroundings, targets: FloatArray, points: FloatArray, vectors: FloatArray) -> FloatArray:
    return around.coordinates(targets, around.displacement(targets, around.move(points, vectors)))


def shoot(
    bundle: Subbundle, bases: FloatArray, searched: FloatArray, unknowns: FloatArray, tol: float, *, radial: bool
) -> Shots:
    """Follow exp from ``bases`` [n, dim] with covectors Σ_i v_i B_i, ``searched`` [n, m, dim], ``unknowns`` [n, m].

    ``radial``: all searched directions lie in the subspace, so that the end velocity is a derivative.
    """
    n, m = unknowns.shape
    unknowns = _away_from_zero(unknowns, 1e-9 * bundle.length_scale)
    length = np.sqrt(np.einsum("nm,nm->n", unknowns, unknowns))
    turns = _basis_with(unknowns / length[:, None]) if radial else np.broadcast_to(np.eye(m), (n, m, m))
    first = 1 if radial else 0
    width = _TURN * length
    rows = [unknowns]
    for i in range(first, m):
        rows += [unknowns + width[:, None] * turns[:, i], unknowns - width[:, None] * turns[:, i]]
    stacked = np.stack(rows, axis=1)
    covectors = np.zeros((n, stacked.shape[1], bundle.ambient_dim))
    for i in range(m):
        covectors += stacked[:, :, i, None] * searched[:, i][:, None, :]
    count = stacked.shape[1]
    run = integrate(
        bundle,
        np.repeat(bases, count, axis=0),
        covectors.reshape(n * count, bundle.ambient_dim),
        np.array([1.0]),
        tol=tol,
        max_steps=None if bundle.is_costly else _MOST_STEPS,
    )
    ends = run.points[:, 0].reshape(n, count, bundle.ambient_dim)
    reached = run.reached.reshape(n, count)
    status = run.status.reshape(n, count)[:, 0]
    columns = np.empty((n, m, bundle.ambient_dim))
    if radial:
        good = np.flatnonzero(status == Status.OK)
        velocity = np.full((n, bundle.ambient_dim), np.nan)
        velocity[good] = bundle.field(ends[good, 0], run.end_covectors.reshape(ends.shape)[good, 0]).velocity
        columns[:, 0] = velocity / length[:, None]
    for i in range(first, m):
        plus, minus = ends[:, 2 * (i - first) + 1], ends[:, 2 * (i - first) + 2]
        columns[:, i] = _difference(ends[:, 0], plus, minus, width)
    jacobians = np.einsum("nid,nij->ndj", columns, turns)
    evaluations = run.n_evaluations.reshape(n, count).max(axis=1)
    return Shots(ends[:, 0], jacobians, reached[:, 0], status, np.full_like(ends[:, 0], np.nan), evaluations)


def _away_from_zero(unknowns: FloatArray, least: float) -> FloatArray:
    """Replace vanishing rows by a tiny vector: at zero no direction is defined."""
    small = np.einsum("nm,nm->n", unknowns, unknowns) < least * least
    if small.any():
        unknowns = unknowns.copy()
        unknowns[small] = 0.0
        unknowns[small, 0] = least
    return unknowns


def _difference(middle: FloatArray, plus: FloatArray, minus: FloatArray, width: FloatArray) -> FloatArray:
    """Central difference; one-sided where a neighbour ended early, zero where both did."""
    has_plus, has_minus = all_finite(plus), all_finite(minus)
    ahead = np.where(has_plus[:, None], plus, middle)
    behind = np.where(has_minus[:, None], minus, middle)
    steps = has_plus.astype(float) + has_minus
    result: FloatArray = (ahead - behind) / np.where(steps > 0, steps * width, 1.0)[:, None]
    return result


def _basis_with(units: FloatArray) -> FloatArray:
    """Orthonormal bases [n, m, m] of R^m, as rows, whose first vectors are ``units``."""
    return np.concatenate([units[:, None], complement(units)], axis=1)
