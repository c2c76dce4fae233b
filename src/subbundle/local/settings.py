"""What every evaluator of a principal subbundle needs to know, beside the cloud."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from subbundle._types import FloatArray

# What `_widths.width_at` reads: a, typical log mass, landmarks [m, d], logs [m, 2], 1/h².
Widths = tuple[float, float, FloatArray, FloatArray, float]

# What a kernel is compiled for, its argument ``cases``: the COMMON one, R³ with a compact kernel and one bandwidth (and
# rank 2, where a quadric is fitted), or ALL. Numba drops a branch on an argument that is None before it compiles, and
# that halves the time of a first call; hence the values.
COMMON, ALL = None, True
Cases = bool | None

LOCAL, RECENTRED, NONE = range(3)
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
    reach : float
        t at which the kernel ends; see `subbundle.kernels.reach_of`.
    log_share : float
        Log of the fraction of the typical kernel mass below which a point is off the support.
    min_gap : float
        (λ_k − λ_{k+1}) / λ_k at or below which the gap counts as closed.
    """

    rank: int
    widths: Widths
    kernel: int
    reach: float
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
class Plan:
    """How a local model is fitted, in the form that the back ends read.

    Attributes
    ----------
    kernel : int
        Code of `subbundle.kernels.CODES`.
    rank, codimension : int
        k, and the number of normal directions that the data has.
    order : int
        0, 1 or 2; see `fit_local`.
    reach : float
        t at which the kernel ends, for the Gaussian beyond that of the nearest observation.
    tol, relative : float, bool
        Length of a step that ends a walk, in bandwidths if ``relative``.
    max_steps : int
    apart : float
        0 leaves observations equal to the starting point out of the first step; −1 keeps all.
    ladder, wanted : [m], float
        Falling factors of the bandwidth for the continuation, empty for none, and the effective number of neighbours
        below which a point takes it; inf for all points.
    spared : float
        Fraction of the kernel's mass that may be left out above `BLOCK_DIM` dimensions, the lightest rows first.
    log_share, min_gap : float
        Log of the fraction of the typical mass, and (λ_k − λ_{k+1})/λ_k, at or below which a row ends.
    noise : float or None
        Known standard deviation of the observations.
    errors : int
        0: no standard errors; 1: those of noise; 2: with the bias.
    """

    kernel: int
    rank: int
    codimension: int
    order: int
    reach: float
    tol: float
    relative: bool
    max_steps: int
    apart: float = -1.0
    ladder: FloatArray = field(default_factory=lambda: np.empty(0))
    wanted: float = 0.0
    spared: float = 0.0
    log_share: float = -np.inf
    min_gap: float = 0.0
    noise: float | None = None
    errors: int = 0

    def look(self) -> Plan:
        """The same window, order 1, no steps."""
        return replace(self, order=1, max_steps=0, errors=0)
