"""Logs and kernel weights of the observations in reach of a point, on a space of constant curvature κ = 1, 0 or −1.

The squared chord ⟨x_n − p, x_n − p⟩ (Minkowski product for κ = −1) is 2 (1 − cos θ), θ² or 2 (cosh θ − 1), θ the
distance; it orders the observations, and costs so little that no search tree is needed. For those in reach, with an
orthonormal basis b_1..b_d of T_pN, the products ⟨b_a, x_n − p⟩ are the coordinates of log_p(x_n) times sin θ/θ, 1 or
sinh θ/θ.
"""

from __future__ import annotations

import math

import numpy as np

from subbundle._compiled import kernel
from subbundle.kernels import exp_minus, gaussian_reach
from subbundle.spaces.base import CUT_TOLERANCE

# |κ| θ² below which (1 − θ cot θ)/θ² is summed as a series, to 1e-13: the quotient would cancel.
_SERIES = 0.05


@kernel
def scratch_for(observations, dim):
    """Room for `look`: squared chords [N], v [N, dim], and φ, r, s [N, 3]."""
    n = observations.shape[1]
    return np.empty(n), np.empty((n, dim)), np.empty((n, 3))


@kernel
def look(observations, curvature, point, basis, bandwidth, apart, scratch):
    """Write v_n, φ_n, r_n, s_n of the observations [D, N] in reach of ``point`` into the scratch.

    Observations with θ²/a² up to ``apart`` are left out; −1 leaves nothing out.

    Returns
    -------
    count : int
        Observations in reach.
    nearest : float
        θ²/a² of the nearest one, to which φ is relative.
    lost : bool
        Whether one in reach is on the cut locus: its log is undefined, and it is left out.
    """
    chords, vectors, weights = scratch
    dim = basis.shape[0]
    _squared_chords(observations, curvature, point, chords)
    scale = 1.0 / (bandwidth * bandwidth)
    shortest = _chord_beyond(chords, _chord_of_angle(bandwidth * math.sqrt(max(apart, 0.0)), curvature), apart >= 0.0)
    if not np.isfinite(shortest):
        return 0, 0.0, False
    nearest = _angle_of_chord(shortest, curvature) ** 2 * scale
    reach = gaussian_reach(dim)
    # Far out in hyperbolic space chords are differences of squares of the size of x_0².
    limit = _chord_of_angle(math.sqrt((nearest + reach) / scale), curvature) + 1e-12 * point[0] ** 2
    count, lost = 0, False
    for n in range(chords.size):
        if chords[n] > limit:
            continue
        angle, sine = _raw_log(observations, n, curvature, point, basis, chords[n], vectors[count])
        t = angle * angle * scale
        if t - nearest >= reach or (apart >= 0.0 and chords[n] < shortest):
            continue
        if curvature == 1 and sine <= CUT_TOLERANCE and angle > 1.0:
            lost = True
            continue
        stretch = angle / sine if sine > 0.0 else 1.0
        for a in range(dim):
            vectors[count, a] *= stretch
        weights[count, 0] = exp_minus(0.5 * (t - nearest))
        weights[count, 1], weights[count, 2] = _bending(angle, curvature)
        count += 1
    return count, nearest, lost


@kernel(fastmath={"contract"})
def _squared_chords(observations, curvature, point, chords):
    sign = -1.0 if curvature == -1 else 1.0
    column, offset = observations[0], point[0]
    for n in range(chords.size):
        chords[n] = sign * (column[n] - offset) ** 2
    for j in range(1, point.size):
        column, offset = observations[j], point[j]
        for n in range(chords.size):
            chords[n] += (column[n] - offset) ** 2


@kernel
def _raw_log(observations, n, curvature, point, basis, chord, raw):
    """Write ⟨b_a, x_n − p⟩; return θ and the length of the raw vector: sin θ, θ or sinh θ."""
    dim, ambient = basis.shape
    squares = 0.0
    for a in range(dim):
        value = 0.0
        for j in range(ambient):
            value += basis[a, j] * (observations[j, n] - point[j])
        if curvature == -1:
            value -= 2.0 * basis[a, 0] * (observations[0, n] - point[0])
        raw[a] = value
        squares += value * value
    length = math.sqrt(squares)
    if curvature == 1:
        return math.atan2(length, 1.0 - 0.5 * chord), length
    return (length if curvature == 0 else math.asinh(length)), length


@kernel
def _angle_of_chord(squared, curvature):
    half = 0.5 * math.sqrt(max(squared, 0.0))
    if curvature == 0:
        return 2.0 * half
    return 2.0 * (math.asin(min(half, 1.0)) if curvature == 1 else math.asinh(half))


@kernel
def _chord_of_angle(angle, curvature):
    """The squared chord of θ, a little enlarged, so that rounding leaves nobody out; infinite beyond the cut locus."""
    angle *= 1.0 + 1e-7
    if curvature == 0:
        return angle * angle
    if curvature == 1:
        return 4.0 * math.sin(0.5 * angle) ** 2 if angle < math.pi else np.inf
    return 4.0 * math.sinh(0.5 * angle) ** 2 if angle < 300.0 else np.inf


@kernel
def _chord_beyond(chords, excluded, excludes):
    """The smallest squared chord; if ``excludes``, of those above ``excluded``."""
    smallest = np.inf
    for n in range(chords.size):
        if chords[n] < smallest and (chords[n] > excluded or not excludes):
            smallest = chords[n]
    return smallest


@kernel
def _bending(angle, curvature):
    """r = θ cot θ and s = (1 − r)/θ² (coth for κ = −1, r = 1 for κ = 0)."""
    z = curvature * angle * angle
    if abs(z) < _SERIES:
        s = curvature * (1.0 / 3.0 + z * (1.0 / 45.0 + z * (2.0 / 945.0 + z * (1.0 / 4725.0 + z * (2.0 / 93555.0)))))
        return 1.0 - s * angle * angle, s
    r = angle / math.tan(angle) if curvature == 1 else angle / math.tanh(angle)
    return r, (1.0 - r) / (angle * angle)
