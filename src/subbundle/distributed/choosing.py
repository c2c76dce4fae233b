"""Rank, bandwidth and typical kernel mass of a cloud on disk, the same for every division into tiles.

Up to `sample.SAMPLE` points they are chosen as in memory. Of more, a sample with a fraction s of the points gives the
variance of the ridge for all of them (it falls as 1/n), but only for bandwidths at which the sample has neighbours.
Where the risk is least at the narrowest of these, a₀, it is estimated again at a few hundred positions, from points as
far around as a fit with 2 a₀ reads and as densely as memory allows, until the minimum is interior or all points are
used.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from subbundle._sampling import smallest
from subbundle._types import FloatArray, SubbundleWarning
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.cloud import Cloud
from subbundle.distributed.denoising import halo_of
from subbundle.distributed.sample import around, read_sample
from subbundle.distributed.tiles import TilePlan
from subbundle.distributed.tuning import WIDEST_TRIED
from subbundle.selection import choose_bandwidth, choose_rank
from subbundle.selection.bandwidth import BandwidthChoice, bandwidth_around, by_neighbours, no_shape
from subbundle.selection.tuning import PLACES

# Most points around these positions in memory at once.
_HELD = 2_000_000


@dataclass(frozen=True, slots=True)
class Chosen:
    """Dimension, bandwidth and typical kernel mass of a cloud, and remarks on these."""

    rank: int
    bandwidth: float
    typical_mass: float
    notes: tuple[str, ...]


def choose(plan: TilePlan, rank: int | str = 2, bandwidth: float | str = "auto", *, client: Any = None) -> Chosen:
    """Dimension and bandwidth where they are ``"auto"``, and the typical kernel mass."""
    rows, points = read_sample(plan.folder)
    cloud = Cloud(points)
    rank = choose_rank(cloud, max_rank=max(cloud.dim - 1, 1)).rank if rank == "auto" else int(rank)
    if len(rows) == plan.n_points:
        return _of_all(cloud, rank, bandwidth)
    # As many as a risk is averaged over in memory.
    places = points[smallest(rows, PLACES)]
    notes: list[str] = []
    if bandwidth == "auto":
        width = _refined(plan, places, points, rank, client)
        if np.isnan(width):
            choice = by_neighbours(cloud, rank)
            width = choice.bandwidth
            notes.append(choice.remark)
    else:
        width = float(bandwidth)
    points, fraction = _dense(plan, places, points, halo_of(rank, plan.dim, WIDEST_TRIED * width), client)
    near = Cloud(points)
    # Raises where the bandwidth is too small or too large for the data.
    PrincipalSubbundle(near, rank, width)
    bundle = PrincipalSubbundle(near, rank, width, min_density=0.0)
    notes += [remark for remark in [no_shape(bundle)] if remark]
    masses = bundle.masses_after_shifts(places)
    return Chosen(rank, width, float(np.median(masses[masses > 0.0])) / fraction, tuple(notes))


def _of_all(cloud: Cloud, rank: int, bandwidth: float | str) -> Chosen:
    """The choice from all points, as in memory."""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always", SubbundleWarning)
        width = choose_bandwidth(cloud, rank).bandwidth if bandwidth == "auto" else float(bandwidth)
    bundle = PrincipalSubbundle(cloud, rank, width)
    return Chosen(rank, width, bundle.typical_mass, tuple(str(one.message) for one in issued))


def _refined(plan: TilePlan, places: FloatArray, sample: FloatArray, rank: int, client: Any) -> float:
    """The bandwidth of least risk at the positions, from successively denser samples."""
    fraction = len(sample) / plan.n_points
    # At this bandwidth a fit reads the whole cloud.
    widest = float(np.linalg.norm(np.ptp(sample, axis=0))) / halo_of(rank, plan.dim, 1.0)
    near = sample
    while True:
        others = _without(near, places)
        choice = bandwidth_around(places, others, rank, len(others) / fraction, widest)
        if fraction == 1.0 or not _at_the_narrowest(choice):
            return choice.bandwidth
        widest = WIDEST_TRIED * choice.bandwidth
        near, denser = _dense(plan, places, sample, halo_of(rank, plan.dim, widest), client)
        if denser <= fraction:
            return choice.bandwidth
        fraction = denser


def _at_the_narrowest(choice: BandwidthChoice) -> bool:
    """Whether the risk is least at the narrowest bandwidth with an estimate."""
    known = np.flatnonzero(np.isfinite(choice.risks))
    return bool(known.size) and int(np.argmin(choice.risks)) == known[0]


def _dense(
    plan: TilePlan, places: FloatArray, sample: FloatArray, radius: float, client: Any
) -> tuple[FloatArray, float]:
    """Points around the positions, as many as memory allows, and the fraction of all points there."""
    apart = cKDTree(places).query(sample, distance_upper_bound=radius, p=np.inf)[0]
    expected = np.count_nonzero(np.isfinite(apart)) * plan.n_points / len(sample)
    fraction = min(_HELD / max(expected, 1.0), 1.0)
    return around(plan, places, radius, fraction=fraction, client=client)[1], fraction


def _without(points: FloatArray, places: FloatArray) -> FloatArray:
    """Points other than the positions at which the risk is evaluated."""
    apart = cKDTree(places).query(points, distance_upper_bound=np.finfo(float).tiny)[0]
    return np.asarray(points[apart > 0.0])
