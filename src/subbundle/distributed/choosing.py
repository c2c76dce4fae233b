"""Rank, bandwidth and typical kernel mass of a cloud on disk, the same for every division into tiles.

Up to `sample.SAMPLE` points they are what one machine chooses. Of more, a sample with a fraction s of the points shows
the variance of the ridge for all of them (it falls as 1/n), but nothing of bandwidths so narrow that the sample has no
neighbours within them. Where the risk is least at the narrowest bandwidth that the sample knows, a₀, the cloud is
looked at again around a few hundred places, as far as rows read with 2 a₀ and as densely as memory allows, until it is
not, or no row is left out.
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

# Points around places that are held at once.
_HELD = 2_000_000


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a cloud is seen with: dimension, bandwidth, typical kernel mass; and what is to be known about these."""

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
    # As many as a risk is averaged over on one machine.
    places = points[smallest(rows, PLACES)]
    notes: list[str] = []
    if bandwidth == "auto":
        width = _zoomed(plan, places, points, rank, client)
        if np.isnan(width):
            choice = by_neighbours(cloud, rank)
            width = choice.bandwidth
            notes.append(choice.remark)
    else:
        width = float(bandwidth)
    points, fraction = _dense(plan, places, points, halo_of(rank, plan.dim, WIDEST_TRIED * width), client)
    near = Cloud(points)
    # Raises where the bandwidth does not suit the data.
    PrincipalSubbundle(near, rank, width)
    bundle = PrincipalSubbundle(near, rank, width, min_density=0.0)
    notes += [remark for remark in [no_shape(bundle)] if remark]
    masses = bundle.masses_in_the_middle(places)
    return Chosen(rank, width, float(np.median(masses[masses > 0.0])) / fraction, tuple(notes))


def _of_all(cloud: Cloud, rank: int, bandwidth: float | str) -> Chosen:
    """The same as on one machine, which has all points."""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always", SubbundleWarning)
        width = choose_bandwidth(cloud, rank).bandwidth if bandwidth == "auto" else float(bandwidth)
    bundle = PrincipalSubbundle(cloud, rank, width)
    return Chosen(rank, width, bundle.typical_mass, tuple(str(one.message) for one in issued))


def _zoomed(plan: TilePlan, places: FloatArray, sample: FloatArray, rank: int, client: Any) -> float:
    """The bandwidth of least risk at the places, from samples as dense as needed."""
    fraction = len(sample) / plan.n_points
    # With this bandwidth rows read as far as the cloud is wide.
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
    """Whether a narrower bandwidth than the sample knows may be better still."""
    known = np.flatnonzero(np.isfinite(choice.risks))
    return bool(known.size) and int(np.argmin(choice.risks)) == known[0]


def _dense(
    plan: TilePlan, places: FloatArray, sample: FloatArray, radius: float, client: Any
) -> tuple[FloatArray, float]:
    """Points around the places, as many as can be held, and the fraction of all that they are."""
    apart = cKDTree(places).query(sample, distance_upper_bound=radius, p=np.inf)[0]
    expected = np.count_nonzero(np.isfinite(apart)) * plan.n_points / len(sample)
    fraction = min(_HELD / max(expected, 1.0), 1.0)
    return around(plan, places, radius, fraction=fraction, client=client)[1], fraction


def _without(points: FloatArray, places: FloatArray) -> FloatArray:
    """Points that are none of the places, to which they would be no judges."""
    apart = cKDTree(places).query(points, distance_upper_bound=np.finfo(float).tiny)[0]
    return np.asarray(points[apart > 0.0])
