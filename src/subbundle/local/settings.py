"""What every evaluator of a principal subbundle needs to know, beside the cloud."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subbundle._types import FloatArray, IntArray, StatusArray

# What `_widths.width_at` reads: a, typical log mass, landmarks [m, d], logs [m, 2], 1/h².
Widths = tuple[float, float, FloatArray, FloatArray, float]

LOCAL, RECENTRED, NONE = 0, 1, 2
CENTERINGS = {"local": LOCAL, "recentred": RECENTRED, "none": NONE}


@dataclass(frozen=True, slots=True)
class Settings:
    """Numbers and codes in the form the kernels read.

    Attributes
    ----------
    rank : int
        k.
    widths : Widths
        The bandwidth a, the standard deviation of the Gaussian, and the typical kernel mass, at any point.
    kernel, centering : int
        Codes of `subbundle.kernels.CODES` and `CENTERINGS`.
    log_share : float
        Log of the part of the typical kernel mass below which a point is off the support.
    min_gap : float
        (λ_k − λ_{k+1}) / λ_k at or below which the gap counts as closed.
    """

    rank: int
    widths: Widths
    kernel: int
    centering: int
    log_share: float
    min_gap: float

    @property
    def bandwidth(self) -> float:
        """a, where it is the same everywhere."""
        return self.widths[0]

    @property
    def log_floor(self) -> float:
        """Log kernel mass below which a point is off the support, where it is the same everywhere."""
        return self.widths[1] + self.log_share


def constant_widths(bandwidth: float, log_mass: float, dim: int) -> Widths:
    """The same bandwidth and typical log mass everywhere in R^``dim``."""
    return bandwidth, log_mass, np.empty((0, dim)), np.empty((0, 2)), 0.0


def pairs(rank: int) -> list[tuple[int, int]]:
    """Pairs (a, b), a ≤ b, of tangent directions, in the order in which forms are stored."""
    return [(a, b) for a in range(rank) for b in range(a, rank)]


@dataclass(frozen=True, slots=True)
class Walks:
    """How points are carried onto the ridge.

    Attributes
    ----------
    order : int
        1 for the normal part of the mean shift, 2 for the height of the fitted quadric.
    tol : float
        Length of a step that ends a walk.
    max_steps : int
    reach : float
        t beyond the nearest observation at which the Gaussian is cut.
    spared : float
        Part of the kernel's mass that may be left out above `BLOCK_DIM` dimensions, the lightest observations first.
    ladder : [m]
        Falling factors of the bandwidth for the continuation; empty for none.
    wanted : float
        Effective number of neighbours below which a point takes the ladder; inf for all points.
    """

    order: int
    tol: float
    max_steps: int
    reach: float
    spared: float
    ladder: FloatArray
    wanted: float


@dataclass(frozen=True, slots=True)
class Rest:
    """Where walks came to rest, [batch, ..] in working coordinates, and what was seen where the last step began.

    Attributes
    ----------
    points : [batch, d]
    tangents : [batch, d, k]
    forms : [batch, k (k + 1)/2, d]
        II(t_a, t_b), a ≤ b, as vectors.
    log_mass, variance, effective, offsets : [batch]
        Log kernel mass relative to the typical one there, variance about the fit summed over normal directions,
        effective number of neighbours, length of the last step.
    steps, status : [batch]
    """

    points: FloatArray
    tangents: FloatArray
    forms: FloatArray
    log_mass: FloatArray
    variance: FloatArray
    effective: FloatArray
    offsets: FloatArray
    steps: IntArray
    status: StatusArray
