"""Radial kernel profiles φ(t) with t = |x − p|² / a², and their slopes.

=============  =================  ===========================  ===========================  =======================
name           φ(t)               ψ(t) = −2 φ′(t)              ends at                      what for
=============  =================  ===========================  ===========================  =======================
``auto``                                                                                    the default: compact in
                                                                                            up to 16 dimensions of
                                                                                            data, Gaussian above
``compact``    (1 − t/R²)⁶ or 0   12/R² (1 − t/R²)⁵ or 0       t = R² = 14 + k              speed
``gaussian``   exp(−t / 2)        φ(t)                         t = t_nearest + 46 (50)      the paper's; many
                                                                                            dimensions
``quartic``    (1 − t/8)⁴ or 0    (1 − t/8)³ or 0              t = 8                        ``compact`` of model
                                                                                            files of version 1
=============  =================  ===========================  ===========================  =======================

**Equal bandwidths smooth equally.** On an evenly sampled plane of dimension k the window (1 − t/R²)^m has the second
moment a² R²/(2m + k + 2) along every direction, so with R² = 2m + k + 2 it is a², that of the Gaussian: bias, tangents
and eigenvalues are the same to leading order, while the effective number of neighbours is higher by 6 % (k = 2). The
compact window reaches 4 a on a surface, where the Gaussian is followed to 6.8 a. ``quartic`` has the slope −½ at t = 0
instead and has fewer neighbours at the same bandwidth. A higher power is nearer to the Gaussian
and costs more: at each one's best bandwidth, 4, 6 and 8 have .93, .92, .92 of the Gaussian's ridge error under moderate
noise (σ = a/5), 1.10, 1.06, 1.04 of it under heavy (σ = a/2), and .94–.98 of the error of its tangents.
``python -m benchmarks kernels`` compares the two in use.

The Gaussian is taken relative to the nearest observation, φ(t − t_nearest): normalised weights are the same, and far
from the data, or in high dimension where all squared distances share a large noise term, nothing underflows. No other
profile is invariant to such a term, and in many dimensions all rows are read anyway: so there it is the default. It is
cut where it has fallen to 1e-10 of its largest value in up to three dimensions, and to 1e-11 above, where more of a
cloud can lie in the tail. A cut at 1e-8 (six bandwidths) is a quarter cheaper, but then H jumps as observations come
into reach, and drifts along geodesics by 1e-6.
"""

from __future__ import annotations

from statistics import NormalDist

from subbundle._compiled import kernel

__all__ = ["AUTO", "CODES", "GAUSSIAN", "reach_of"]

# Powers of compact profiles, zero for the Gaussian: the codes in compiled code.
GAUSSIAN = 0
CODES = {"gaussian": GAUSSIAN, "compact": 6, "quartic": 4}
AUTO = "auto"

# t of the nearest observation from which on nothing is in reach of the Gaussian: the digits of t that are left would
# not distinguish observations, and rounding could make exp(−(t − t_nearest)/2) overflow.
TOO_FAR = 1e12


@kernel
def gaussian_reach(dim):
    """t beyond that of the nearest observation at which the Gaussian is cut."""
    return 46.0 if dim <= 3 else 50.0


def reach_of(kernel: str, rank: int, dim: int) -> float:
    """t at which the kernel of this name ends, for subspaces of dimension ``rank`` of R^``dim``."""
    if kernel == "gaussian":
        return float(gaussian_reach(dim))
    return 8.0 if kernel == "quartic" else 2.0 * CODES[kernel] + rank + 2.0


def tail(rank: int, fraction: float) -> float:
    """t beyond which a Gaussian window on a plane of dimension k has this ``fraction`` of its mass: χ²'s quantile, by
    Wilson and Hilferty's approximation."""
    part = 2.0 / (9.0 * rank)
    return float(rank * (1.0 - part + NormalDist().inv_cdf(1.0 - fraction) * part**0.5) ** 3)


@kernel
def normal_area(power, reach, rank):
    """a_n²/a², a_n the standard deviation of the Gaussian that the window resembles across a plane of dimension k.

    Integrated over the plane, (1 − t/R²)^m becomes (1 − t_n/R²)^(m + k/2), whose slope at 0 is −½ (2m + k)/R².
    """
    return 1.0 if power == GAUSSIAN else reach / (2.0 * power + rank)


@kernel(inline="always")
def powers(power, u):
    """u^m and u^(m − 1) for m = 4 or 6, in a form that vectorises."""
    square = u * u
    fourth = square * square
    if power == 4:
        return fourth, square * u
    return fourth * square, fourth * u


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
