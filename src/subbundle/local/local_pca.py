"""Local PCA, the local model of order 0, in up to `BLOCK_DIM` dimensions: mass, mean and eigenpairs at fixed points.

These are the frames of a bundle, and one step of the mean shift.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle.local.deviations import EFFECTIVE, LOG_MASS, OFFSET, SUPPORT, WIDTH
from subbundle.local.gather import ball
from subbundle.local.moments import eigh, log_mass, moments, uncentre
from subbundle.local.settings import COMMON, LOCAL, RECENTRED, gap_status, mass_status, width_at


@kernel
def local_pca_rows(tree, settings, own_widths, apart, cases, points, basis, values, means, numbers, status):
    """Write eigenvectors, eigenvalues, means and ``numbers`` of ``points`` [batch, d].

    Parameters
    ----------
    settings : tuple
        `Settings.numbers`.
    own_widths : [batch] or [0]
        Bandwidths of the rows, if those of the settings do not hold.
    apart : float
        As in `ball`, for the mean and the mass.
    cases : COMMON or ALL
        COMMON in three dimensions with a compact kernel, one bandwidth and one pass.
    basis, values, means, numbers, status : [batch, d, d], [batch, d], [batch, d], [batch, COLUMNS], [batch]
        As `Output` makes them. Rows without neighbours stay as they are.
    """
    dim = points.shape[1]
    found, near = np.empty(tree[0].shape[0], np.int64), np.empty((dim + 1, 0))
    sigma, shift, slope = np.empty((dim, dim)), np.empty(dim), np.empty(dim)
    widths, kernel, reach, centering, rank, log_share, min_gap = settings
    bandwidth, typical = widths[0], widths[1]
    for b in range(points.shape[0]):
        if cases is not COMMON:
            bandwidth, typical = width_at(widths, points[b], slope)
        if own_widths.size > 0:
            bandwidth = own_widths[b]
        near, count, nearest, squares, sums = ball(
            tree, points[b], bandwidth, kernel, reach, apart, None, cases, found, near
        )
        mass = moments(near, count, sums, cases, shift, sigma)
        row = numbers[b]
        row[WIDTH], row[SUPPORT] = bandwidth, np.sqrt(reach + nearest) * bandwidth
        row[LOG_MASS] = log_mass(mass, nearest) - typical
        status[b] = mass_status(row[LOG_MASS], log_share)
        if not mass > 0.0:
            continue
        row[EFFECTIVE] = mass * mass / squares
        for i in range(dim):
            means[b, i] = points[b, i] + shift[i]
        if cases is not COMMON and centering == RECENTRED:
            near, count, _, _, sums = ball(tree, means[b], bandwidth, kernel, reach, -1.0, None, cases, found, near)
            if not moments(near, count, sums, cases, shift, sigma) > 0.0:
                row[LOG_MASS] = -np.inf
                status[b] = mass_status(row[LOG_MASS], log_share)
                continue
        if centering != LOCAL:
            uncentre(shift, sigma)
        eigh(sigma, cases, values[b], basis[b])
        if status[b] == 0:
            status[b] = gap_status(values[b], rank, min_gap)
        if status[b] == 0:
            row[OFFSET] = 0.0
