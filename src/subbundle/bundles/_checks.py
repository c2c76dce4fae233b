"""Whether bandwidth and rank suit a cloud, in R^d or on a manifold, with advice when they do not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from subbundle._numbers import EXACT, SINGULAR
from subbundle._types import FloatArray, Status, StatusArray, SubbundleWarning, all_finite, evenly
from subbundle._validation import as_integer, as_positive
from subbundle.bundles.local_bandwidth import LocalBandwidth
from subbundle.cloud import Cloud
from subbundle.kernels import gaussian_reach
from subbundle.local.reach import enough_neighbours, neighbour_distances
from subbundle.local.settings import Settings
from subbundle.spaces.base import Space
from subbundle.spaces.rows import flattened, shaped

# Points after mean shifts at which the gap is tested; each costs an eigenproblem.
_FEW = 32
# Observations whose distances to all others are computed for advice.
_SAMPLED = 64


def as_rank(rank: Any, cloud: Cloud) -> int:
    """``rank`` as an integer: a proper subspace, and at least rank + 1 observations."""
    dim = cloud.dim
    if dim < 2:
        raise ValueError(f"points must have at least 2 coordinates for a proper subspace; got {dim}.")
    rank = as_integer(rank, "rank", low=1, high=dim - 1, why=f"a proper subspace of R^{dim}")
    if cloud.n_points < rank + 1:
        raise ValueError(
            f"points must hold at least rank + 1 = {rank + 1} observations to span {rank} directions; got "
            f"{cloud.n_points}."
        )
    return int(rank)


def as_bandwidth(bandwidth: Any, cloud: Cloud) -> tuple[float, LocalBandwidth | None]:
    """One bandwidth, and the function of the point that it is the median of, where it varies."""
    if not isinstance(bandwidth, LocalBandwidth):
        hint = "It is the standard deviation of the Gaussian kernel, in the units of the data."
        width = as_positive(bandwidth, "bandwidth", hint=hint)
        check_scale(width, cloud)
        return width, None
    if bandwidth.points.shape[1] != cloud.dim:
        raise ValueError(
            f"the landmarks of bandwidth must have as many coordinates as points, {cloud.dim}; "
            f"they have {bandwidth.points.shape[1]}."
        )
    low, high = float(bandwidth.values.min()), float(bandwidth.values.max())
    check_scale(low, cloud)
    check_scale(high, cloud)
    return float(np.median(bandwidth.values)), None if low == high else bandwidth


def check_scale(bandwidth: float, cloud: Cloud) -> None:
    """Raise when the bandwidth differs by orders of magnitude from all distances in the cloud."""
    if not EXACT * cloud.size < bandwidth < cloud.size / EXACT:
        raise ValueError(
            f"bandwidth must be comparable with distances in the data; bandwidth={bandwidth:g}, but the cloud has the "
            f"diagonal {cloud.size:g}. Try bandwidths between {0.001 * cloud.size:.1g} and {0.1 * cloud.size:.1g}."
        )


def check_bandwidth(bandwidth: float, rank: int, cloud: Cloud, effective: float) -> None:
    """Raise when a typical point has too few neighbours; warn when the kernel spans the whole cloud."""
    # A cloud of k + 1 observations has as many effective neighbours only where their weights are equal.
    if effective < min(rank + 1, 0.9 * cloud.n_points):
        raise too_few(bandwidth, rank, effective, _wide_enough(cloud, rank))
    if bandwidth > cloud.size:
        warn_wide(bandwidth, f"diagonal {cloud.size:g}", "global", cloud.size)


def too_few(bandwidth: float, rank: int, effective: float, enough: float) -> ValueError:
    """The error for a typical point with too few neighbours, where a bandwidth of ``enough`` would suffice."""
    return ValueError(
        f"bandwidth must reach at least rank + 1 = {rank + 1} neighbours at a typical point; bandwidth={bandwidth:g} "
        f"gives {effective:.2g} effective neighbours. Try bandwidth={enough:.3g} or more."
    )


def warn_wide(bandwidth: float, extent: str, which: str, size: float) -> None:
    """Warn that the kernel spans the whole cloud, of this ``extent``: all subspaces are those of one PCA."""
    warnings.warn(
        f"bandwidth={bandwidth:g} is larger than the whole cloud ({extent}): all weights are nearly equal, "
        f"and the subspaces are those of one {which} PCA. Try a bandwidth below {0.1 * size:.3g}.",
        SubbundleWarning,
        stacklevel=5,
    )


def _wide_enough(cloud: Cloud, rank: int) -> float:
    """Median distance to the 4 (k + 1)-th distinct neighbour: enough neighbours, though not the best bandwidth."""
    distinct = np.unique(cloud.ordered, axis=0)
    return float(np.median(neighbour_distances(distinct, cloud.at(cloud.sample(_SAMPLED)), rank)))


def check_directions(evaluator: Any, settings: Settings, bandwidth: float, shifted: FloatArray) -> None:
    """Raise when the data has fewer directions than the rank at some of the points ``shifted`` [n, w].

    The field finds a closed gap from the leading eigenvalues. All of them, which only the message needs, would take
    minutes in a thousand dimensions.
    """
    few = np.ascontiguousarray(shifted[:: -(-len(shifted) // _FEW)])
    _, _, status = evaluator.field(settings, few, np.zeros_like(few))
    if np.mean(status == Status.GAP_CLOSED) > 0.5:
        values, _, _, _, status = evaluator.frame(settings, few)
        check_rank(bandwidth, settings.rank, values, status)


def check_rank(bandwidth: float, rank: int, values: FloatArray, status: StatusArray) -> None:
    """Raise when most neighbourhoods have fewer than ``rank`` directions; ``values`` [n, d] are their eigenvalues."""
    closed = (status == Status.GAP_CLOSED) & (values[:, rank - 1] <= SINGULAR * values[:, 0])
    if np.mean(closed) > 0.5:
        span = int(np.median(np.count_nonzero(values > SINGULAR * values[:, :1], axis=1)))
        raise ValueError(
            f"rank must not exceed the number of directions in the data; rank={rank}, but a typical neighbourhood at "
            f"bandwidth={bandwidth:g} spans only {span}. Use {f'rank={span}, or ' if span else ''}a larger bandwidth."
        )


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


def check_bandwidth_on(space: Space, bandwidth: float, rank: int, rows: FloatArray, effective: float) -> None:
    """Raise when a typical point has too few neighbours; warn when the kernel spans the whole cloud."""
    if effective >= rank + 1 and effective < 0.5 * len(rows):
        return
    some = rows[evenly(len(rows), _SAMPLED)]
    distance = np.sort([space.dist(shaped(space, rows), shaped(space, row)) for row in some], axis=1)
    if effective < rank + 1:
        enough = float(np.median(distance[:, enough_neighbours(rank, len(rows))]))
        raise too_few(bandwidth, rank, effective, enough)
    size = float(distance[:, -1].max())
    if bandwidth > size:
        warn_wide(bandwidth, f"diameter {size:.3g}", "tangent", size)
