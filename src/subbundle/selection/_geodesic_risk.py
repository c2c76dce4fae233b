"""Estimated error of geodesics at every bandwidth of a ladder, from those of the ridge and of the subspaces.

A geodesic of length L starts on the ridge and keeps the offset that it starts with; along the way it is turned aside by
the angle at which the subspaces stand to the shape. Their bias, B_T, adds up over all of L; their noise, V_T, is
another one a bandwidth further on, and some of it cancels. Relative to L, with R the risk of the ridge,

    R_G = R/L² + V_T/2 + B_T².

Half is what was best for geodesics of half the size of a cloud; between a quarter and one little changes.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray
from subbundle.selection._split_risk import Risks

# Length of geodesics relative to the size of the cloud, and the part of the noise of the subspaces that is left.
_LENGTH, _LEFT = 0.4, 0.5


def geodesic_risks(ridge: Risks, tangents: Risks, size: float) -> FloatArray:
    """R_G [m] at the rungs of ``tangents``, in a cloud of the given ``size``."""
    offset = _between(ridge, tangents.ladder) / (_LENGTH * size) ** 2
    return np.asarray(offset + _LEFT * tangents.variance + tangents.squared_bias)


def _between(risks: Risks, bandwidths: FloatArray) -> FloatArray:
    """The risk at ``bandwidths``: log R linear in log a between rungs, constant below the first, all bias above the
    last."""
    known = np.isfinite(risks.total) & (risks.total > 0.0)
    if not known.any():
        return np.zeros_like(bandwidths)
    ladder, total = risks.ladder[known], risks.total[known]
    inside = np.exp(np.interp(np.log(bandwidths), np.log(ladder), np.log(total)))
    return np.asarray(inside * np.maximum(bandwidths / ladder[-1], 1.0) ** 8)
