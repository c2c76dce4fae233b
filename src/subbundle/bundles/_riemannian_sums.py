"""Weights and moments of logs given as arrays, for the bundle on a general manifold.

Sums run over the observations in order and leave out those without weight, so a row's result does not depend on the
number of these. The value of the Gaussian at the reach is subtracted: it then ends continuously, where a
jump by 1e-10 would be one by 1e-5 in a difference quotient.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.kernels import exp_minus, gaussian_reach
from subbundle.local.moments import log_mass as log_mass_of


@kernel
def tangent_moments(logs, own, covectors, bandwidth, apart, centred, mean, second, log_mass, effective):
    """Mean, second moment and kernel mass of the logs at each of several points, in h-orthonormal coordinates.

    Parameters
    ----------
    logs : [rows, n, D]
        Logs of the observations at the points; NaN where undefined.
    own : [n]
        Weights of the observations.
    covectors : [rows, dim, D]
        The coordinates of a tangent vector are its products with these.
    apart : float
        Observations with |v|²/a² up to this are left out; −1 leaves nothing out.
    centred : bool
        Take the second moment about the mean of the logs.
    mean, second : [rows, dim], [rows, dim, dim]
        Results: μ = Σ w_n v_n and Σ w_n z_n z_nᵀ.
    log_mass, effective : [rows]
        Results: log Σ w_n and (Σ w_n)²/Σ w_n φ_n, w_n being φ_n times the weight.
    """
    dim = covectors.shape[1]
    vectors, weights = np.empty((logs.shape[1], dim)), np.empty((logs.shape[1], 2))
    for b in range(logs.shape[0]):
        nearest = _coordinates(logs[b], covectors[b], 1.0 / (bandwidth * bandwidth), apart, vectors, weights)
        count = _weigh(vectors, own, weights, nearest, gaussian_reach(dim))
        mass, squares = mean_log(vectors, weights, count, mean[b])
        second_moment(vectors, weights, count, mean[b], centred, second[b])
        log_mass[b] = log_mass_of(mass, nearest)
        effective[b] = mass * mass / squares if mass > 0.0 else 0.0


@kernel
def _coordinates(logs, covectors, scale, apart, vectors, t):
    """Write coordinates and t = |v|²/a²; infinite t where the log is undefined or left out. Return the smallest t."""
    dim, ambient = covectors.shape
    nearest = np.inf
    for n in range(logs.shape[0]):
        total = 0.0
        for a in range(dim):
            value = 0.0
            for j in range(ambient):
                value += covectors[a, j] * logs[n, j]
            vectors[n, a] = value
            total += value * value
        total *= scale
        # NaN compares false.
        t[n, 0] = total if total > apart else np.inf
        nearest = min(nearest, t[n, 0])
    return nearest


@kernel
def _weigh(vectors, own, t, nearest, reach):
    """Replace t by w and φ, and move observations in reach to the front, in order; return their number."""
    floor = exp_minus(0.5 * reach)
    count = 0
    for n in range(t.shape[0]):
        beyond = t[n, 0] - nearest
        if beyond < reach:
            t[count, 1] = exp_minus(0.5 * beyond) - floor
            t[count, 0] = t[count, 1] * own[n]
            for a in range(vectors.shape[1]):
                vectors[count, a] = vectors[n, a]
            count += 1
    return count


@kernel
def mean_log(vectors, weights, count, mean):
    """Write μ = Σ w_n v_n / Σ w_n of the first ``count`` logs v_n, w_n being the first column of ``weights``, φ_n the
    last; NaN without any. Returns Σ w and Σ w φ."""
    dim = mean.size
    mass = squares = 0.0
    for a in range(dim):
        mean[a] = 0.0
    for n in range(count):
        w = weights[n, 0]
        mass += w
        squares += w * weights[n, weights.shape[1] - 1]
        for a in range(dim):
            mean[a] += w * vectors[n, a]
    for a in range(dim):
        mean[a] = mean[a] / mass if mass > 0.0 else np.nan
    return mass, squares


@kernel
def second_moment(vectors, weights, count, mean, centred, sigma):
    """Write Σ w_n z_n z_nᵀ, z_n = v_n − μ if ``centred`` else v_n; return Σ w."""
    dim = mean.size
    mass = 0.0
    for i in range(dim):
        for j in range(dim):
            sigma[i, j] = 0.0
    for n in range(count):
        phi = weights[n, 0]
        mass += phi
        for i in range(dim):
            zi = vectors[n, i] - mean[i] if centred else vectors[n, i]
            for j in range(i + 1):
                zj = vectors[n, j] - mean[j] if centred else vectors[n, j]
                sigma[i, j] += phi * zi * zj
    for i in range(dim):
        for j in range(i + 1):
            sigma[i, j] = sigma[i, j] / mass if mass > 0.0 else np.nan
            sigma[j, i] = sigma[i, j]
    return mass
