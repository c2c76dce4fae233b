"""Weights and moments of logs given as arrays: what the bundle on a general manifold sums over the observations.

Sums run over the observations in order and pass over those without weight, so a row's result does not depend on how
many of these come along with it. The Gaussian is lowered by its value at the reach: it then ends continuously, where a
jump by 1e-10 would be one by 1e-5 in a difference quotient.
"""

from __future__ import annotations

import math

import numpy as np

from subbundle._compiled import kernel
from subbundle.kernels import exp_minus, gaussian_reach


@kernel
def tangent_moments(logs, covectors, bandwidth, apart, centred, mean, second, log_mass, effective):
    """Mean, second moment and kernel mass of the logs at each of several points, in h-orthonormal coordinates.

    Parameters
    ----------
    logs : [rows, n, D]
        Logs of the observations at the points; NaN where undefined.
    covectors : [rows, dim, D]
        The coordinates of a tangent vector are its products with these.
    apart : float
        Observations with |v|²/a² up to this are left out; −1 leaves nothing out.
    centred : bool
        Take the second moment about the mean of the logs.
    mean, second : [rows, dim], [rows, dim, dim]
        Results: μ = Σ w_n v_n and Σ w_n z_n z_nᵀ.
    log_mass, effective : [rows]
        Results: log Σ φ_n and (Σ φ_n)²/Σ φ_n².
    """
    n_points = logs.shape[1]
    dim = covectors.shape[1]
    coordinates, phi = np.empty((n_points, dim)), np.empty(n_points)
    for b in range(logs.shape[0]):
        nearest = _coordinates(logs[b], covectors[b], 1.0 / (bandwidth * bandwidth), apart, coordinates, phi)
        mean[b], second[b] = np.nan, np.nan
        log_mass[b], effective[b] = -np.inf, 0.0
        if not np.isfinite(nearest):
            continue
        mass, squares = _weights(phi, nearest, gaussian_reach(dim))
        mean[b] = 0.0
        for n in range(n_points):
            if phi[n] > 0.0:
                for a in range(dim):
                    mean[b, a] += phi[n] * coordinates[n, a]
        mean[b] /= mass
        _second(coordinates, phi, mass, mean[b], centred, second[b])
        log_mass[b] = math.log(mass) - 0.5 * nearest
        effective[b] = mass * mass / squares


@kernel
def _coordinates(logs, covectors, scale, apart, coordinates, t):
    """Write coordinates and t = |v|²/a²; infinite t where the log is undefined or left out. Return the smallest t."""
    dim, ambient = covectors.shape
    nearest = np.inf
    for n in range(logs.shape[0]):
        total = 0.0
        for a in range(dim):
            value = 0.0
            for j in range(ambient):
                value += covectors[a, j] * logs[n, j]
            coordinates[n, a] = value
            total += value * value
        total *= scale
        # NaN compares false.
        t[n] = total if total > apart else np.inf
        nearest = min(nearest, t[n])
    return nearest


@kernel
def _weights(t, nearest, reach):
    """Turn t into φ, zero beyond the reach; return Σ φ and Σ φ²."""
    floor = exp_minus(0.5 * reach)
    mass = squares = 0.0
    for n in range(t.size):
        beyond = t[n] - nearest
        t[n] = exp_minus(0.5 * beyond) - floor if beyond < reach else 0.0
        mass += t[n]
        squares += t[n] * t[n]
    return mass, squares


@kernel
def _second(coordinates, phi, mass, mean, centred, second):
    dim = mean.size
    second[:] = 0.0
    z = np.empty(dim)
    for n in range(phi.size):
        if phi[n] > 0.0:
            for i in range(dim):
                z[i] = coordinates[n, i] - mean[i] if centred else coordinates[n, i]
            for i in range(dim):
                for j in range(i + 1):
                    second[i, j] += phi[n] * z[i] * z[j]
    for i in range(dim):
        for j in range(i + 1):
            second[i, j] /= mass
            second[j, i] = second[i, j]
