"""Semi-implicit Euler in its explicit form, order 1: first the covector, then the point with the new covector,

    η_{n+1} = η_n − h ∂H/∂p (p_n, η_n),        p_{n+1} = p_n + h P(p_n) η_{n+1}.

It is symplectic for separable Hamiltonians, T(η) + V(p), and only for those. Here H = ½ |P(p) η|² couples the two; the
symplectic scheme would need ∂H/∂p at the unknown η_{n+1}. This explicit one is therefore *not* symplectic and has no
reason to keep H better than Euler does, which is what the paper's comparison found.
"""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray
from subbundle.flow._batch import Attempt, spread


def semi_implicit_euler(attempt: Attempt, state: FloatArray, slope: FloatArray, step: FloatArray) -> FloatArray:
    """One step of length ``step`` [n] from ``state`` [2, n, dim], where the field is ``slope``."""
    h = spread(step, state.shape[-1])
    kicked = np.stack([state[0], state[1] + h * slope[1]])
    kicked[0] += h * attempt.slope(kicked)[0]
    return kicked
