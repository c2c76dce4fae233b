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
    scatter = np.empty((len(normals), 3, 3))
    scatter[:, i, j] = scatter[:, j, i] = products
    # Without what lies along the normal itself, the two directions left are tangents.
    beside = np.eye(3) - normals[:, :, None] * normals[:, None, :]
    values, vectors = np.linalg.eigh(beside @ scatter @ beside + 2.0 * (np.eye(3) - beside))
    turns = np.maximum(values[:, :2], 0.0) + _TURN**2
    return np.asarray((turns[:, 1] / turns[:, 0])[:, None] ** 0.375 * vectors[:, :, 0])
