"""Settings of the evaluators of a principal subbundle, and the bandwidth at a point.

The bandwidth is one number, or a smooth positive function of the point given at landmarks. With landmarks l_j, values
L_j = log a_j there, and v_j(p) ∝ exp(−|p − l_j|²/(2h²)), Σ v_j = 1,

    log a(p) = Σ v_j(p) L_j,        ∇a = (a/h²) Σ v_j (L_j − log a(p)) (l_j − p),

and likewise for the log of the kernel mass that is typical there, without a gradient.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from subbundle._compiled import kernel
from subbundle._numbers import SINGULAR
from subbundle._types import FloatArray, Status

# What `width_at` reads: a, typical log mass, landmarks [m, d], logs [m, 2], 1/h².
Widths = tuple[float, float, FloatArray, FloatArray, float]

# What a kernel is compiled for, its argument ``cases``: the COMMON one, R³ with one bandwidth (and rank 2, where a
# quadric is fitted), or ALL. Numba drops a branch on an argument that is None before it compiles, and
# that halves the time of a first call; hence the values.
COMMON, ALL = None, True
Cases = bool | None

LOCAL, RECENTRED, NONE = range(3)
CENTERINGS = {"local": LOCAL, "recentred": RECENTRED, "none": NONE}

_OK, _LEFT_SUPPORT, _GAP_CLOSED = int(Status.OK), int(Status.LEFT_SUPPORT), int(Status.GAP_CLOSED)


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
    def numbers(self) -> tuple[Any, ...]:
        """What the kernels of a bundle read."""
        return self.widths, self.kernel, self.reach, self.centering, self.rank, self.log_share, self.min_gap

    def cases(self, dim: int) -> Cases:
        """COMMON in three dimensions with one bandwidth and one pass, else ALL."""
        return COMMON if dim == 3 and not len(self.widths[2]) and self.centering != RECENTRED else ALL

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


def absolute(widths: Widths) -> Widths:
    """The same bandwidths, with masses relative to 1."""
    bandwidth, _, landmarks, logs, rate = widths
    return bandwidth, 0.0, landmarks, logs * [1.0, 0.0], rate


@kernel
def width_at(widths, p, gradient):
    """Return a(p) and the typical log kernel mass at ``p``; write ∇a into ``gradient`` [d].

    ``widths`` is (a, log mass, landmarks [m, d], logs [m, 2], 1/h²). Without landmarks a and the log mass hold
    everywhere. All landmarks have weights, relative to the nearest: a is smooth and does not underflow.
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


@kernel
def mass_status(log_mass, log_floor):
    """LEFT_SUPPORT where the kernel mass is at or below the floor."""
    return _OK if log_mass > log_floor else _LEFT_SUPPORT


@kernel
def gap_status(values, rank, min_gap):
    """GAP_CLOSED where λ_k − λ_{k+1} is too small to determine the subspace."""
    gap = values[rank - 1] - values[rank]
    return _OK if gap > min_gap * values[rank - 1] and gap > SINGULAR * values[0] else _GAP_CLOSED


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
    tol : float
        Length of a step that ends the iteration, in bandwidths.
    max_steps : int
    apart : float
        0 leaves observations equal to the starting point out of the first step; −1 keeps all.
    continuation, min_effective : [m], float
        Falling factors of the bandwidth for the continuation, empty for none, and the effective number of neighbours
        below which a point uses it; inf for all points.
    omitted : float
        Fraction of the kernel's mass that may be left out above `BLOCK_DIM` dimensions, the lightest rows first.
    log_share, min_gap : float
        Log of the fraction of the typical mass, and (λ_k − λ_{k+1})/λ_k, at or below which a row ends.
    errors : bool
        Whether standard errors are computed, too; the noise always is.
    """

    kernel: int
    rank: int
    codimension: int
    order: int
    reach: float
    tol: float
    max_steps: int
    apart: float = -1.0
    continuation: FloatArray = field(default_factory=lambda: np.empty(0))
    min_effective: float = 0.0
    omitted: float = 0.0
    log_share: float = -np.inf
    min_gap: float = 0.0
    errors: bool = False

    @property
    def numbers(self) -> tuple[Any, ...]:
        """What `iterate_rows` reads of it."""
        return (
            self.kernel, self.rank, self.codimension, self.order, self.reach, self.tol, self.max_steps,
            self.apart, self.min_effective, self.log_share, self.min_gap,
        )  # fmt: skip

    def without_steps(self) -> Plan:
        """The same window, order 1, no steps."""
        return replace(self, order=1, max_steps=0, errors=False)
