"""The bandwidth at a point: one number, or a smooth positive function of the point known at landmarks.

With landmarks l_j, values L_j = log a_j there, and v_j(p) ∝ exp(−|p − l_j|²/(2h²)), Σ v_j = 1,

    log a(p) = Σ v_j(p) L_j,        ∇a = (a/h²) Σ v_j (L_j − log a(p)) (l_j − p),

and likewise for the log of the kernel mass that is typical there, without a gradient.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel


@kernel
def width_at(widths, p, gradient):
    """Return a(p) and the typical log kernel mass at ``p``; write ∇a into ``gradient`` [d].

    ``widths`` is (a, log mass, landmarks [m, d], logs [m, 2], 1/h²). Without landmarks a and the log mass hold
    everywhere. All landmarks count, at distances relative to the nearest: nothing jumps, nor underflows far away.
    """
    bandwidth, log_mass, landmarks, logs, rate = widths
    for i in range(p.size):
        gradient[i] = 0.0
    count = landmarks.shape[0]
    if count == 0:
        return bandwidth, log_mass
    squared = np.empty(count)
    least = np.inf
    for j in range(count):
        total = 0.0
        for i in range(p.size):
            total += (landmarks[j, i] - p[i]) ** 2
        squared[j] = total
        least = min(least, total)
    mass, log_width, log_mass = 0.0, 0.0, 0.0
    for j in range(count):
        squared[j] = np.exp(-0.5 * rate * (squared[j] - least))
        mass += squared[j]
        log_width += squared[j] * logs[j, 0]
        log_mass += squared[j] * logs[j, 1]
    log_width /= mass
    width = np.exp(log_width)
    for j in range(count):
        factor = width * rate * squared[j] / mass * (logs[j, 0] - log_width)
        for i in range(p.size):
            gradient[i] += factor * (landmarks[j, i] - p[i])
    return width, log_mass / mass


@kernel
def widths_batch(widths, points, values, gradients, log_masses):
    """Write a(p) [batch], ∇a [batch, d] and typical log masses [batch] at ``points`` [batch, d]."""
    for b in range(points.shape[0]):
        values[b], log_masses[b] = width_at(widths, points[b], gradients[b])
