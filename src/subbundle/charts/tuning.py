"""Tuned numbers of charts, by the file that reads them; benchmarks/round_trip.py and benchmarks/embedding.py check
them."""

from __future__ import annotations

import numpy as np

from subbundle._types import FloatArray

# chart_build
# Error of a chart in length scales unless given, and for k ≥ 3, where nodes are 1.5 times as far apart and directions
# are expensive; noise moves the ridge by more.
TOL, TOL_SCATTERED = 1e-3, 1e-2
# Nodes of a geodesic per length scale: cubic Hermite interpolation is of fourth order, and with three nodes its error
# is ten times below the default tolerance of a chart.
NODES_PER_LENGTH = 3.0
# Most geodesics of a chart of rank 2 unless a tolerance is given: 0.6 length scales apart at 50 length scales.
MOST_GEODESICS = 512
# Largest distance between the initial geodesics, in length scales, at the size of the data; also the distance within
# which another geodesic is compared with one: nodes of another sheet are then found.
GEODESICS_APART = 0.75
# Fewest geodesics that resolve exp in all directions. Half as many suffice in the small charts of an atlas, of which
# several are blended, and to check the interpolant, in every other cell, for a 99 % quantile over all their nodes.
FEWEST_GEODESICS = 64
# Distance up to which points belong to a chart, in standard deviations of the data around it: three, as is usual.
RESIDUAL_DEVIATIONS = 3.0

# fan_domain
# Smallest spread of neighbouring geodesics, relative to the flat one: its inverse amplifies noise in coordinates.
LEAST_SPREAD = 0.1
# Lead, in length scales, that another geodesic must have to be a short cut.
LEAST_LEAD = 0.2
# Two nodes lie on different sheets of the fan when their coordinates are this many times further apart than they are,
# and half a length scale more.
SHEETS_APART = 3.0
# The border between two geodesics that end at different distances is straight, but rises no more than this (in length
# scales) above the shorter one: beyond the border of the data there are fewer nodes to interpolate, beyond a cut the
# next geodesics may differ. At a fold the shorter one determines it.
RISE = 0.5

# Not tuned, shared with the atlas. Most nodes of all geodesics of a chart: seconds, and 650 length scales with the most
# geodesics. Quantile of the errors on independent geodesics that a chart reports as its interpolation error: the
# largest ones occur in the narrow cells at folds.
MOST_NODES, ERROR_QUANTILE = 1_000_000, 0.99
# At r = 0 the angular derivative X_θ/r is a limit; at this fraction of a step it is a number, and the point the same.
CENTRE = float(np.sqrt(np.finfo(np.float64).tiny))


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
