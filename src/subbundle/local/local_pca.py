"""Local PCA, the local model of order 0: mass, mean and eigenpairs at fixed points.

These are the frames of a bundle, and one step of the mean shift.
"""

from __future__ import annotations

import numpy as np

from subbundle._compiled import kernel
from subbundle._parallel import run_rows
from subbundle._types import FloatArray, Status
from subbundle.cloud import Cloud
from subbundle.cloud.build import GROUP
from subbundle.cloud.tuning import BLOCK_DIM
from subbundle.local.deviations import EFFECTIVE, LOG_MASS, OFFSET, SUPPORT, WIDTH, Output
from subbundle.local.gather import ball
from subbundle.local.moments import eigh, log_mass, moments, uncentre
from subbundle.local.neighbours import pca_of_rows
from subbundle.local.settings import COMMON, LOCAL, RECENTRED, Settings, gap_status, mass_status, width_at, widths_batch
from subbundle.local.shifts import local_means


def local_pca(
    cloud: Cloud, points: FloatArray, settings: Settings, own_widths: FloatArray, apart: float, n_jobs: int
) -> Output:
    """Mass, mean and eigenpairs at ``points``, for any centring; see `local_pca_rows`.

    All eigenvectors in up to `BLOCK_DIM` dimensions, and the leading k above.
    """
    few = cloud.dim <= BLOCK_DIM
    out, cases = Output(points, settings.rank, cloud.dim if few else settings.rank), settings.cases(cloud.dim)

    def work(i: int, j: int) -> None:
        if few:
            rows = (array[i:j] for array in (out.points, out.basis, out.values, out.means, out.numbers, out.status))
            local_pca_rows(cloud.tree, settings.numbers, own_widths[i:j], apart, cases, *rows)
        else:
            pca_of_rows(cloud, settings, out, own_widths, apart, i, j)

    run_rows(work, len(points), n_jobs, calls_blas=not few)
    out.steps[:] = out.status == Status.OK
    return out


def mean_shift(cloud: Cloud, points: FloatArray, settings: Settings, apart: float, n_jobs: int) -> Output:
    """Mass and mean at ``points`` as `local_pca` finds them; above `BLOCK_DIM` dimensions without eigenpairs."""
    if cloud.dim <= BLOCK_DIM:
        return local_pca(cloud, points, settings, np.empty(0), apart, n_jobs)
    out = Output(points, settings.rank, 0)
    widths, log_mass, effective = np.empty((3, len(points)))
    widths_batch(settings.widths, points, widths, np.empty_like(points), log_mass)

    def work(start: int, stop: int) -> None:
        for i in range(start, stop, GROUP):
            j = min(i + GROUP, stop)
            local_means(
                cloud.rows, cloud.weights, cloud.corners, points[i:j], widths[i:j], settings.kernel, settings.reach,
                apart, out.means[i:j], log_mass[i:j], effective[i:j],
            )  # fmt: skip

    run_rows(work, len(points), n_jobs, calls_blas=False)
    out.numbers[:, LOG_MASS], out.numbers[:, EFFECTIVE] = log_mass, effective
    return out


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
        COMMON in three dimensions with one bandwidth and one pass.
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
