"""Windows that are longer where the surface bends to one side only.

Along a crest, a groove, an edge or a tube a surface goes on as it is, and across it turns away: one width for both is
too narrow along or too wide across. ⟨n nᵀ⟩ over a few edges around a vertex has as principal directions the normal, the
direction in which normals turn most and that in which they turn least, with variances κ² ℓ² for curvatures κ over a
distance ℓ. A quadric of width a misses about κ³ a⁴ of a shape that changes on the scale of its curvature: as much along
as across if

    a_along / a_across = (κ_across / κ_along)^(3/4) = ((variance + c)/(variance along + c))^(3/8),

c the variance of a turn too small to matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle.local.frames import beside

# Rounds in which normals are averaged, with a reach of about two edges, and a turn in radians that does not matter.
_ROUNDS, _TURN = 10, 0.05


def elongation(normals: FloatArray, average: Any) -> FloatArray:
    """Tangents t [n, 3] of the vertices of a mesh, along which windows are |t| ≥ 1 times as long as wide.

    ``normals`` [n, 3] are the unit normals there, ``average`` is as in `widths.neighbour_average`.
    """
    i, j = np.triu_indices(3)
    products = normals[:, i] * normals[:, j]
    for _ in range(_ROUNDS):
        products = average @ products
    # In the tangent plane: a scatter (x, z; z, y) turns most at the angle φ with cos 2φ = (x − y)/2r, least across it.
    first, second = np.moveaxis(beside(normals), 2, 0)
    weights = np.where(i == j, 1.0, 2.0)
    x, y = (np.sum(weights * products * t[:, i] * t[:, j], axis=1) for t in (first, second))
    z = np.sum(0.5 * weights * products * (first[:, i] * second[:, j] + first[:, j] * second[:, i]), axis=1)
    r = np.hypot(0.5 * (x - y), z)
    cosine = np.clip(0.5 * (x - y) / np.maximum(r, np.finfo(float).tiny), -1.0, 1.0)
    least = np.copysign(np.sqrt(0.5 * (1.0 - cosine)), z)[:, None] * first
    least -= np.sqrt(0.5 * (1.0 + cosine))[:, None] * second
    more, less = np.maximum(0.5 * (x + y) + r, 0.0), np.maximum(0.5 * (x + y) - r, 0.0)
    return np.asarray(((more + _TURN**2) / (less + _TURN**2))[:, None] ** 0.375 * least)
