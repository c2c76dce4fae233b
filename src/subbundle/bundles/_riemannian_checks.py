"""Whether observations, bandwidth and space suit each other, with advice when they do not."""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray, all_finite, evenly
from subbundle.bundles._checks import too_few, warn_wide
from subbundle.kernels import gaussian_reach
from subbundle.spaces.base import Space
from subbundle.spaces.rows import flattened, shaped

# Observations whose distances to all others are looked at for advice.
_LOOKED_AT = 64


def aligned(space: Space, rows: FloatArray) -> FloatArray:
    """On a quotient: of each orbit the representative nearest to that of the first row; elsewhere the rows
    themselves."""
    points = shaped(space, rows)
    if space.vertical_basis(points[0]).shape[0] == 0:
        return rows
    turned = flattened(space, space.exp(space.log(points, points[0]), points[0]))
    return np.where(all_finite(turned)[:, None], turned, rows)


def check_cut_locus(space: Space, bandwidth: float, rows: FloatArray, row: FloatArray) -> None:
    """Raise because an observation, ``row`` [D], has others of ``rows`` [N, D] in reach on its cut locus."""
    points, point = shaped(space, rows), shaped(space, row)
    cut = np.flatnonzero(space.at_cut_locus(points, point))
    distance = float(space.dist(points[cut], point).min())
    enough = distance / np.sqrt(gaussian_reach(space.dim))
    raise ValueError(
        f"points must not lie on each other's cut locus within reach of the kernel, where no single shortest geodesic "
        f"joins them (antipodes, on a sphere); two observations at distance {distance:.3g} do, for "
        f"bandwidth={bandwidth:g}. Use a bandwidth below {enough:.3g}, or leave one of them out."
    )


def check_bandwidth(space: Space, bandwidth: float, rank: int, rows: FloatArray, effective: float) -> None:
    """Raise when a typical point has too few neighbours; warn when the kernel spans the whole cloud."""
    if effective >= rank + 1 and effective < 0.5 * len(rows):
        return
    some = rows[evenly(len(rows), _LOOKED_AT)]
    distance = np.sort([space.dist(shaped(space, rows), shaped(space, row)) for row in some], axis=1)
    if effective < rank + 1:
        raise too_few(bandwidth, rank, effective, float(np.median(distance[:, min(4 * (rank + 1), len(rows) - 1)])))
    size = float(distance[:, -1].max())
    if bandwidth > size:
        warn_wide(bandwidth, f"diameter {size:.3g}", "tangent", size)
