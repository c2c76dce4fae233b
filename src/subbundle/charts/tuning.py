"""Numbers that several files of charts and the atlas share, each with what it scales and why."""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray

# Error of a chart in length scales unless given; noise moves the ridge by more.
TOL = 1e-3
# Nodes of a geodesic per length scale: cubic Hermite interpolation is of fourth order, and with three nodes its error
# is ten times below the default tolerance of a chart.
NODES_PER_LENGTH = 3.0
# Most geodesics of a chart of rank 2 unless a tolerance is given: 0.6 length scales apart at 50 length scales.
MOST_GEODESICS = 512
# Most nodes of all geodesics of a chart: seconds, and 650 length scales with the most geodesics.
MOST_NODES = 1_000_000
# Quantile of the errors on independent geodesics that a chart reports as its interpolation error. The largest ones sit
# in the narrow cells beside folds.
ERROR_QUANTILE = 0.99
# Distance up to which points belong to a chart, in standard deviations of the data around it: three, as is usual.
RESIDUAL_DEVIATIONS = 3.0
# Nodes of a fan, the nearest to a target, from which the search for it may start. One may lie on another sheet, beside
# a fold or a cut.
START_NODES = 6
# At r = 0 the angular derivative X_θ/r is a limit; at this fraction of a step it is a number, and the point the same.
CENTRE = 1e-100


def max_residual_of(eigenvalues: FloatArray, scale: float) -> float:
    """Largest distance at which a point belongs to a chart: 3 √(a² + s²), for eigenvalues [n, D − k] across the bundle.

    s² is the median over the rows of λ_{k+1} + … + λ_D, the variance of the data across the subspaces; in many
    dimensions that is more than a², the square of the bandwidth ``scale``.
    """
    across = eigenvalues.sum(axis=1)
    known = across[np.isfinite(across)]
    variance = float(np.median(known)) if known.size else 0.0
    return RESIDUAL_DEVIATIONS * float(np.sqrt(scale**2 + variance))


def check_fan(radius: float, spacing: float, n_geodesics: int, scale: float) -> None:
    """Raise if a fan of ``n_geodesics`` of length ``radius``, with nodes ``spacing`` apart, has too many nodes."""
    if radius / spacing * n_geodesics > MOST_NODES:
        most = MOST_NODES / n_geodesics * spacing
        raise ValueError(
            f"radius must be at most {most:.3g} here, {most / scale:.3g} length scales, for a chart of {n_geodesics} "
            f"geodesics; got {radius:.3g}. Pass a smaller radius; an Atlas of many charts covers more."
        )
