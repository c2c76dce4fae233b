"""The bundle on spaces of constant curvature κ = 1, 0, −1 (spheres, R^d, hyperbolic spaces): point after point, exact.

Points come with orthonormal bases of their tangent spaces; results are coordinates in these. What is computed stands in
`_riemannian_gradient`.
"""

from __future__ import annotations

import math

import numpy as np

from subbundle._compiled import kernel
from subbundle._types import Status
from subbundle.bundles._pointwise import _velocity_and_turn
from subbundle.bundles._riemannian_gradient import (
    carry,
    mean_log,
    moment_gradient,
    product,
    second_moment,
    through_the_mean,
)
from subbundle.bundles._riemannian_logs import look, scratch_for
from subbundle.local.moments import eigh
from subbundle.local.settings import ALL, LOCAL, RECENTRED, gap_verdict, mass_verdict

_CUT = int(Status.NOT_FINITE)


@kernel
def field_batch(observations, curvature, settings, points, bases, covectors, velocity, gradient, status):
    """Velocity and gradient of H.

    Parameters
    ----------
    observations : [D, N]
    settings : (bandwidth, centering, rank, log_floor, min_gap)
    points, covectors : [batch, D]
    bases : [batch, dim, D]
        Orthonormal bases of the tangent spaces.
    velocity, gradient : [batch, dim]
        Results, in these bases: P η and dH; NaN where ``status`` [batch] is not 0.
    """
    bandwidth, centering, rank, log_floor, min_gap = settings
    dim, ambient = bases.shape[1:]
    near, far = scratch_for(observations, dim), scratch_for(observations, dim)
    sigma, vectors, turn = np.empty((dim, dim)), np.empty((dim, dim)), np.empty((dim, dim))
    values, mean, covector = np.empty(dim), np.empty(dim), np.empty(dim)
    centre, carried = np.empty(ambient), np.empty((dim, ambient))
    scale = 1.0 / (bandwidth * bandwidth)
    for b in range(points.shape[0]):
        for a in range(dim):
            velocity[b, a] = np.nan
            gradient[b, a] = np.nan
        count, nearest, lost = look(observations, curvature, points[b], bases[b], bandwidth, -1.0, near)
        mass, _ = mean_log(near, count, mean)
        status[b] = mass_verdict(_log_mass(mass, nearest), log_floor)
        if status[b] != 0:
            continue
        there, n_there = near, count
        if centering == RECENTRED:
            carry(points[b], bases[b], mean, curvature, centre, carried)
            n_there, _, lost_there = look(observations, curvature, centre, carried, bandwidth, -1.0, far)
            there, lost = far, lost or lost_there
        mass_there = second_moment(there, n_there, mean, centering == LOCAL, sigma)
        eigh(sigma, ALL, values, vectors)
        status[b] = _verdict(values, rank, min_gap, lost)
        if status[b] != 0:
            continue
        for a in range(dim):
            covector[a] = product(bases[b, a], covectors[b])
        _velocity_and_turn(values, vectors, covector, rank, velocity[b], turn)
        moment_gradient(there, n_there, mass_there, scale, mean, centering == LOCAL, turn, gradient[b])
        if centering == RECENTRED:
            through_the_mean(near, count, mass, scale, mean, curvature, covector, velocity[b], gradient[b])
        # The frame turns with the tangent plane as p moves in R^D.
        normal = curvature * product(points[b], covectors[b])
        for a in range(dim):
            gradient[b, a] -= normal * velocity[b, a]


@kernel
def frame_batch(observations, curvature, settings, points, bases, values, vectors, mean, log_mass, status):
    """Write eigenvalues [batch, dim], eigenvectors [batch, dim, dim] (columns), μ [batch, dim] and log kernel
    masses."""
    bandwidth, centering, rank, log_floor, min_gap = settings
    dim, ambient = bases.shape[1:]
    scratch = scratch_for(observations, dim)
    sigma = np.empty((dim, dim))
    centre, carried = np.empty(ambient), np.empty((dim, ambient))
    for b in range(points.shape[0]):
        count, nearest, lost = look(observations, curvature, points[b], bases[b], bandwidth, -1.0, scratch)
        mass, _ = mean_log(scratch, count, mean[b])
        log_mass[b] = _log_mass(mass, nearest)
        if centering == RECENTRED:
            carry(points[b], bases[b], mean[b], curvature, centre, carried)
            count, _, lost_there = look(observations, curvature, centre, carried, bandwidth, -1.0, scratch)
            lost = lost or lost_there
        second_moment(scratch, count, mean[b], centering == LOCAL, sigma)
        eigh(sigma, ALL, values[b], vectors[b])
        status[b] = mass_verdict(log_mass[b], log_floor)
        if status[b] == 0:
            status[b] = _verdict(values[b], rank, min_gap, lost)


@kernel
def mass_batch(observations, curvature, bandwidth, apart, points, bases, mean, log_mass, effective, status):
    """Write μ [batch, dim], log kernel masses and effective numbers of neighbours (Σφ)²/Σφ².

    Observations with θ²/a² up to ``apart`` are left out; −1 leaves nothing out. ``status`` says only whether one in
    reach is on the cut locus.
    """
    scratch = scratch_for(observations, bases.shape[1])
    for b in range(points.shape[0]):
        count, nearest, lost = look(observations, curvature, points[b], bases[b], bandwidth, apart, scratch)
        mass, squares = mean_log(scratch, count, mean[b])
        log_mass[b] = _log_mass(mass, nearest)
        effective[b] = mass * mass / squares if squares > 0.0 else 0.0
        status[b] = _CUT if lost else 0


@kernel
def _log_mass(mass, nearest):
    return math.log(mass) - 0.5 * nearest if mass > 0.0 else -np.inf


@kernel
def _verdict(values, rank, min_gap, lost):
    """In full rank the subspace is the tangent space, whatever the eigenvalues."""
    if lost:
        return _CUT
    return gap_verdict(values, rank, min_gap) if rank < values.size else 0
