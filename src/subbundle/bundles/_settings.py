"""What every evaluator of a principal subbundle needs to know, beside the cloud."""

from __future__ import annotations

from dataclasses import dataclass

LOCAL, RECENTRED, NONE = 0, 1, 2
CENTERINGS = {"local": LOCAL, "recentred": RECENTRED, "none": NONE}


@dataclass(frozen=True, slots=True)
class Settings:
    """Numbers and codes in the form the kernels read.

    Attributes
    ----------
    rank : int
        k.
    bandwidth : float
        a, the standard deviation of the Gaussian.
    kernel, centering : int
        Codes of `subbundle.kernels.CODES` and `CENTERINGS`.
    log_floor : float
        Log kernel mass below which a point is off the support.
    min_gap : float
        (λ_k − λ_{k+1}) / λ_k at or below which the gap counts as closed.
    """

    rank: int
    bandwidth: float
    kernel: int
    centering: int
    log_floor: float
    min_gap: float
