"""Logs and kernel weights of the observations in reach of a point, on a space of constant curvature κ = 1, 0 or −1.

With an orthonormal basis b_1..b_d of T_pN, the raw coordinates ⟨b_a, x_n − p⟩ (Minkowski product for κ = −1) of an
observation are those of (sin θ/θ) log_p(x_n) (θ/θ, sinh θ/θ), θ its distance. Their length and, on the sphere, the sign
of cos θ order the observations, so that an arc function and an exponential are taken only for those in reach.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from subbundle.kernels import exp_minus, gaussian_reach

# |κ| θ² below which (1 − θ cot θ)/θ² is summed as a series, to 1e-13: the quotient would cancel.
_SERIES = 0.05
# Sine of the angle from the antipode below which a log counts as undefined, as in `subbundle.spaces`.
_CUT = 1e-12


@nb.njit(nogil=True, cache=True)
def scratch_for(observations, dim):
    """Room for `look`: raw coordinates [dim, N], keys [3, N], v [N, dim], and φ, ψ, r, s [N, 4]."""
    n = observations.shape[1]
    return np.empty((dim, n)), np.empty((3, n)), np.empty((n, dim)), np.empty((n, 4))


@nb.njit(nogil=True, cache=True)
def look(observations, curvature, point, basis, bandwidth, apart, scratch):
    """Write v_n, φ_n, ψ_n, r_n, s_n of the observations [D, N] in reach of ``point`` into the scratch.

    Observations with θ²/a² up to ``apart`` are left out; −1 leaves nothing out.

    Returns
    -------
    count : int
        Observations in reach.
    nearest : float
        θ²/a² of the nearest one, to which φ and ψ are relative.
    lost : bool
        Whether one in reach is on the cut locus: its log is undefined, and it is left out.
    """
    raw, keys, vectors, weights = scratch
    dim, n_points = raw.shape
    _raw_coordinates(observations, curvature, point, basis, raw, keys)
    scale = 1.0 / (bandwidth * bandwidth)
    first = -1
    for n in range(n_points):
        if (first < 0 or keys[0, n] < keys[0, first]) and (apart < 0.0 or _angle(keys, n, curvature) ** 2 * scale > apart):
            first = n
    if first < 0:
        return 0, 0.0, False
    nearest = _angle(keys, first, curvature) ** 2 * scale
    reach = gaussian_reach(dim)
    limit = _key(math.sqrt((nearest + reach) / scale), curvature)
    floor = exp_minus(0.5 * reach)
    count, lost = 0, False
    for n in range(n_points):
        if keys[0, n] > limit:
            continue
        angle, sine = _angle(keys, n, curvature), math.sqrt(keys[1, n])
        t = angle * angle * scale
        if t - nearest >= reach or t <= apart:
            continue
        if curvature == 1 and sine <= _CUT and angle > 1.0:
            lost = True
            continue
        stretch = angle / sine if sine > 0.0 else 1.0
        for a in range(dim):
            vectors[count, a] = stretch * raw[a, n]
        psi = exp_minus(0.5 * (t - nearest))
        weights[count, 0], weights[count, 1] = psi - floor, psi
        weights[count, 2], weights[count, 3] = _bending(angle, curvature)
        count += 1
    return count, nearest, lost


@nb.njit(nogil=True, cache=True, fastmath={"contract"})
def _raw_coordinates(observations, curvature, point, basis, raw, keys):
    """⟨b_a, x_n − p⟩ [dim, N], and keys [3, N]: a number that grows with θ; sin² θ, θ² or sinh² θ; cos θ if κ = 1."""
    dim, ambient = basis.shape
    n_points = observations.shape[1]
    order, squares, cosines = keys[0], keys[1], keys[2]
    for a in range(dim):
        row = raw[a]
        for n in range(n_points):
            row[n] = 0.0
        for j in range(ambient):
            factor = -basis[a, j] if curvature == -1 and j == 0 else basis[a, j]
            column, offset = observations[j], point[j]
            for n in range(n_points):
                row[n] += factor * (column[n] - offset)
    for n in range(n_points):
        squares[n] = 0.0
        cosines[n] = 1.0
    for a in range(dim):
        row = raw[a]
        for n in range(n_points):
            squares[n] += row[n] * row[n]
    if curvature != 1:
        for n in range(n_points):
            order[n] = squares[n]
        return
    for j in range(ambient):
        column, offset = observations[j], point[j]
        for n in range(n_points):
            cosines[n] += offset * (column[n] - offset)
    for n in range(n_points):
        order[n] = squares[n] if cosines[n] > 0.0 else 2.0 - squares[n]


@nb.njit(nogil=True, cache=True)
def _angle(keys, n, curvature):
    """θ of observation n."""
    root = math.sqrt(keys[1, n])
    if curvature == 1:
        return math.atan2(root, keys[2, n])
    return root if curvature == 0 else math.asinh(root)


@nb.njit(nogil=True, cache=True)
def _key(angle, curvature):
    """The ordering key of θ, a little enlarged, so that rounding leaves nobody out; infinite beyond the cut locus."""
    angle *= 1.0 + 1e-7
    if curvature == 0:
        return angle * angle
    if curvature == -1:
        return math.sinh(angle) ** 2 if angle < 300.0 else np.inf
    if angle >= math.pi:
        return np.inf
    return math.sin(angle) ** 2 if angle <= 0.5 * math.pi else 2.0 - math.sin(angle) ** 2


@nb.njit(nogil=True, cache=True)
def _bending(angle, curvature):
    """r = θ cot θ and s = (1 − r)/θ² (coth for κ = −1, r = 1 for κ = 0)."""
    z = curvature * angle * angle
    if abs(z) < _SERIES:
        s = curvature * (1.0 / 3.0 + z * (1.0 / 45.0 + z * (2.0 / 945.0 + z * (1.0 / 4725.0 + z * (2.0 / 93555.0)))))
        return 1.0 - s * angle * angle, s
    r = angle / math.tan(angle) if curvature == 1 else angle / math.tanh(angle)
    return r, (1.0 - r) / (angle * angle)
