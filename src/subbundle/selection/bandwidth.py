"""The bandwidth of least estimated risk, for the ridge or for the subspaces, and the paper's rule beside it.

The risk comes from two disjoint halves of the data, at every rung of a ladder of bandwidths: see `_ridge_risk` and
`_tangent_risk`. Its minimum is taken from the parabola through log R at the lowest rung and its two neighbours, so
that the choice does not jump from rung to rung.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray
from subbundle._validation import as_choice, as_integer
from subbundle.cloud import Cloud
from subbundle.selection._gap import mean_gaps
from subbundle.selection._ladder import flatness, least
from subbundle.selection._ridge_risk import ridge_risks
from subbundle.selection._tangent_risk import tangent_risks

# With fewer observations two halves say nothing of each other.
_LEAST_POINTS = 100
_QUERIES = 400


@dataclass(frozen=True, slots=True)
class BandwidthChoice:
    """A bandwidth and what it rests on.

    Attributes
    ----------
    bandwidth : float
    error : float
        Estimated error at this bandwidth: of the second-order ridge, root mean square, in the units of the data; with
        ``purpose="tangents"`` of the subspaces, as the sine of the angle. NaN where it could not be estimated.
    ladder, risks : [m]
        The bandwidths compared, and the estimated squared error of each, infinite where it cannot be told. With
        ``method="gap"`` one minus the mean gap.
    method : str
        ``"split-sample risk"``, ``"eigenvalue gap"``, or ``"neighbour distance"`` for clouds too small or too shapeless
        for these.
    flatness : float
        Largest over smallest bandwidth around this one with a risk within 10 % of the least: near 1 the choice
        matters, at 1.5 any value within a factor of 1.2 would do. NaN where there is no risk to compare.
    """

    bandwidth: float
    error: float
    ladder: FloatArray
    risks: FloatArray
    method: str
    flatness: float = float("nan")


def choose_bandwidth(
    points: FloatArray | Cloud,
    rank: int,
    *,
    method: str = "risk",
    purpose: str = "ridge",
    n_jobs: int | None = None,
) -> BandwidthChoice:
    """Choose a bandwidth for a subbundle of the given ``rank`` on ``points`` [N, d].

    Deterministic, and the same for any order of the rows. Clouds of fewer than 100 points, and those where no rung of
    the ladder gives a ridge to 90 % of the observations, get the median distance to the 4 (k + 1)-th neighbour
    instead. Copies of an observation count once.

    Parameters
    ----------
    method : {"risk", "gap"}
        The least estimated error, or the paper's rule: the largest average gap (λ_k − λ_{k+1})/λ_k.
    purpose : {"ridge", "tangents"}
        What the error is that of: of points carried onto the ridge (denoising, surfaces), or of the subspaces of a
        bundle built from these observations (geodesics, distances). The gap knows no such difference.

    Examples
    --------
    >>> import subbundle as sb
    >>> points = sb.datasets.torus(2000, noise=0.03).points
    >>> choice = sb.selection.choose_bandwidth(points, rank=2)
    >>> 0.1 < choice.bandwidth < 0.25, 0.003 < choice.error < 0.03
    (True, True)
    """
    cloud = points if isinstance(points, Cloud) else Cloud(points)
    if cloud.dim < 2:
        raise ValueError(
            f"points must have at least 2 coordinates for a proper subspace; got {cloud.dim}. On a line there is "
            "nothing to choose."
        )
    rank = as_integer(rank, "rank", low=1, high=cloud.dim - 1, why=f"a proper subspace of R^{cloud.dim}")
    as_choice(method, "method", ("risk", "gap"))
    as_choice(purpose, "purpose", ("ridge", "tangents"))
    distinct = np.unique(cloud.at(np.arange(cloud.n_points)), axis=0)
    if 2 <= len(distinct) < cloud.n_points:
        # Two halves that share copies of one observation share its noise.
        cloud = Cloud(distinct)
    if cloud.n_points < _LEAST_POINTS:
        return by_neighbours(cloud, rank)
    if method == "gap":
        ladder, gaps = mean_gaps(cloud, rank, n_jobs)
        return _chosen(cloud, rank, ladder, 1.0 - np.where(np.isnan(gaps), -np.inf, gaps), "eigenvalue gap")
    choice = _chosen(cloud, rank, *ridge_risks(cloud, rank, n_jobs), "split-sample risk")
    if purpose == "ridge" or choice.method == "neighbour distance":
        return choice
    return _chosen(cloud, rank, *tangent_risks(cloud, rank, choice.bandwidth, n_jobs), "split-sample risk")


def _chosen(cloud: Cloud, rank: int, ladder: FloatArray, risks: FloatArray, method: str) -> BandwidthChoice:
    if not np.isfinite(risks).any():
        return by_neighbours(cloud, rank)
    width, risk = least(ladder, risks)
    error = float(np.sqrt(risk)) if method == "split-sample risk" else float("nan")
    return BandwidthChoice(width, error, ladder, risks, method, flatness(ladder, risks))


def by_neighbours(cloud: Cloud, rank: int) -> BandwidthChoice:
    """The median distance to the 4 (k + 1)-th neighbour."""
    count = min(4 * (rank + 1), cloud.n_points - 1)
    observations = cloud.at(np.arange(cloud.n_points))
    apart = cKDTree(observations).query(cloud.at(cloud.sample(_QUERIES)), k=count + 1)[0][:, -1]
    # Duplicates can leave no distance at all.
    width = float(np.median(apart)) or float(apart.max()) or 0.1 * cloud.size
    return BandwidthChoice(width, float("nan"), np.array([width]), np.array([np.nan]), "neighbour distance")
