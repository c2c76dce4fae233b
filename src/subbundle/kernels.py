"""Radial kernel profiles φ(t) with t = |x − p|² / a², and their slopes.

=============  ==================  =======================  ======================
name           φ(t)                ψ(t) = −2 φ′(t)          reach
=============  ==================  =======================  ======================
``gaussian``   exp(−t / 2)         φ(t)                     t < t_nearest + reach
``compact``    (1 − t/8)⁴ or 0     (1 − t/8)³ or 0          t < 8
=============  ==================  =======================  ======================

Both have the slope −½ at t = 0, so the bandwidth a means the same for both: the standard deviation of the Gaussian that
the profile follows near the point. The compact profile is three times continuously differentiable and needs no
exponential; its support is a ball of radius 2.83 a.

The Gaussian is taken relative to the nearest observation, φ(t − t_nearest): normalised weights are the same, and far
from the data, or in high dimension where all squared distances share a large noise term, nothing underflows. It is cut
where it has fallen to 1e-10 of its largest value in up to three dimensions, and to 1e-11 above, where more of a
cloud can lie in the tail. A cut at 1e-8 (six bandwidths) is a quarter cheaper, but then H jumps as observations come
into reach, and drifts along geodesics by 1e-6.
"""

from __future__ import annotations

from subbundle._compiled import kernel

GAUSSIAN, COMPACT = 0, 1
CODES = {"gaussian": GAUSSIAN, "compact": COMPACT}
COMPACT_REACH = 8.0

# t of the nearest observation from which on nothing is in reach of the Gaussian: the digits of t that are left would
# not distinguish observations, and rounding could make exp(−(t − t_nearest)/2) overflow.
TOO_FAR = 1e12


@kernel
def gaussian_reach(dim):
    """t beyond that of the nearest observation at which the Gaussian is cut."""
    return 46.0 if dim <= 3 else 50.0


@kernel
def reach_sq(kernel, bandwidth, nearest_sq, reach):
    """Squared distance beyond which an observation has no weight; ``reach`` is where the Gaussian is cut."""
    if kernel == GAUSSIAN:
        return nearest_sq + reach * bandwidth * bandwidth
    return COMPACT_REACH * bandwidth * bandwidth


@kernel(inline="always")
def exp_minus(x):
    """exp(−x) for 0 ≤ x ≤ 25, relative error below 1e-13, in a form that vectorises.

    Taylor's series of degree 10 for exp(−x/128), squared seven times. No branch, no table, no integer conversion: a
    loop over this runs three to five times faster than one over `math.exp`.
    """
    y = x * (-1.0 / 128.0)
    s = y * (1.0 / 3628800.0) + 1.0 / 362880.0
    s = y * s + 1.0 / 40320.0
    s = y * s + 1.0 / 5040.0
    s = y * s + 1.0 / 720.0
    s = y * s + 1.0 / 120.0
    s = y * s + 1.0 / 24.0
    s = y * s + 1.0 / 6.0
    s = y * s + 0.5
    s = y * s + 1.0
    s = y * s + 1.0
    s *= s
    s *= s
    s *= s
    s *= s
    s *= s
    s *= s
    return s * s
