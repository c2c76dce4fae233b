"""The bandwidth of least estimated risk, for the ridge, the subspaces or geodesics, and the paper's rule.

The risk is estimated from disjoint halves of the data, over a grid of bandwidths (`risk`). Its minimum is that of the
parabola through log R at the best bandwidth and its two neighbours, so that the choice is not restricted to the grid.

A geodesic of length L starts on the ridge and keeps its initial offset; along it, errors of the subspaces accumulate.
Their bias, B_T, adds up over all of L; their noise, V_T, decorrelates over a bandwidth, and partly cancels. Relative to
L, half the size of the cloud, with R the risk of the ridge,

    R_G = R/L² + V_T/2 + B_T².

Without the first term bandwidths for geodesics around a sphere are too wide by a factor of 1.4, and their errors three
times as large (benchmarks/bandwidth).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from subbundle._html import card
from subbundle._types import FloatArray, Status, SubbundleWarning
from subbundle._validation import as_choice, as_integer
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.cloud import Cloud
from subbundle.cloud.tuning import BLOCK_DIM
from subbundle.local.reach import enough_neighbours, neighbour_distances
from subbundle.selection._statistics import on_the_ridge, ridge_position, tangent_projector
from subbundle.selection.components import principal_components
from subbundle.selection.ladder import first_width, flatness, least, mean_gaps, risk_at, subsamples
from subbundle.selection.risk import compare
from subbundle.selection.tuning import FAINT_GAP, PLACES, RATIO, UNCANCELLED, WIDEST

PURPOSES = ("ridge", "tangents", "geodesics")


@dataclass(frozen=True, slots=True)
class BandwidthChoice:
    """A bandwidth and the estimates behind it.

    Attributes
    ----------
    bandwidth : float
    error : float
        Estimated error at this bandwidth: of the second-order ridge, root mean square, in the units of the data; with
        ``purpose="tangents"`` of the subspaces, as the sine of the angle; with ``"geodesics"`` relative to their
        length. NaN where it could not be estimated.
    ladder, risks : [m]
        The grid of bandwidths, and the estimated squared error of each, infinite where it is unknown. With
        ``method="gap"`` one minus the mean gap.
    method : str
        ``"split-sample risk"``, ``"eigenvalue gap"``, or ``"neighbour distance"`` for clouds that are too small for
        these or have no ridge.
    flatness : float
        Largest over smallest bandwidth around this one with a risk within 10 % of the least: near 1 the minimum is
        sharp, at 1.5 any value within a factor of 1.2 has about the least risk. NaN where no risk was estimated.
    remark : str
        Why the choice should not be relied on; empty where it can be.
    """

    bandwidth: float
    error: float
    ladder: FloatArray
    risks: FloatArray
    method: str
    flatness: float = float("nan")
    remark: str = ""

    @property
    def fallback(self) -> str:
        """``remark`` where bandwidths could not be compared; empty otherwise."""
        return self.remark if self.method == "neighbour distance" else ""

    def _repr_html_(self) -> str:
        facts = [("bandwidth", self.bandwidth), ("error to expect", self.error), ("as good within", self.flatness)]
        return card("BandwidthChoice", [*facts, ("method", self.method)], notes=[self.remark] if self.remark else [])


def choose_bandwidth(
    points: FloatArray | Cloud, rank: int, *, method: str = "risk", purpose: str = "ridge", n_jobs: int | None = None
) -> BandwidthChoice:
    """Choose a bandwidth for a subbundle of the given ``rank`` on ``points`` [N, d].

    Deterministic, and the same for any order of the rows. Where at no bandwidth of the grid 90 % of the
    observations have a ridge and neighbours enough for it, as in clouds of a few dozen points, it is the median
    distance to the 4 (k + 1)-th neighbour instead, with a `SubbundleWarning`. Copies of an observation count once.

    Parameters
    ----------
    method : {"risk", "gap"}
        The least estimated error, or the paper's rule: the largest average gap (λ_k − λ_{k+1})/λ_k.
    purpose : {"ridge", "tangents", "geodesics"}
        The quantity whose error is minimised: points projected onto the ridge (denoising, surfaces); the subspaces of a
        bundle built from these observations; or geodesics that start on the ridge and follow these subspaces
        (distances, charts). The gap does not depend on it.

    Examples
    --------
    >>> import subbundle as sb
    >>> points = sb.datasets.torus(2000, noise=0.03).points
    >>> choice = sb.selection.choose_bandwidth(points, rank=2)
    >>> 0.1 < choice.bandwidth < 0.25, 0.003 < choice.error < 0.03
    (True, True)
    """
    choice = compare_bandwidths(points, rank, method=method, purpose=purpose, n_jobs=n_jobs)
    if choice.remark:
        warnings.warn(choice.remark, SubbundleWarning, stacklevel=2)
    return choice


def compare_bandwidths(
    points: FloatArray | Cloud, rank: int, *, method: str = "risk", purpose: str = "ridge", n_jobs: int | None = None
) -> BandwidthChoice:
    """`choose_bandwidth` without the warning; callers issue ``remark``."""
    cloud = points if isinstance(points, Cloud) else Cloud(points)
    if cloud.dim < 2:
        raise ValueError(
            f"points must have at least 2 coordinates for a proper subspace; got {cloud.dim}. Points on a line need no "
            "bandwidth."
        )
    rank = as_integer(rank, "rank", low=1, high=cloud.dim - 1, why=f"a proper subspace of R^{cloud.dim}")
    as_choice(method, "method", ("risk", "gap"))
    as_choice(purpose, "purpose", PURPOSES)
    cloud = _resolved(_distinct(cloud, rank), rank)
    if method == "gap":
        grid, gaps = mean_gaps(cloud, rank, n_jobs)
        risks = 1.0 - np.where(np.isnan(gaps), -np.inf, gaps)
        choice = replace(of_least_risk(grid, risks), method="eigenvalue gap", error=float("nan"))
    else:
        choice = _of_risk(cloud, rank, purpose, n_jobs)
    return by_neighbours(cloud, rank) if np.isnan(choice.bandwidth) else _with_remark(cloud, rank, choice, n_jobs)


def bandwidth_around(
    queries: FloatArray, observations: FloatArray, rank: int, n_points: float, widest: float
) -> BandwidthChoice:
    """The bandwidth of the ridge of least risk at ``queries`` [q, d], for clouds too large to be read as a whole.

    ``observations`` [n, d], none of them a query, are those around the queries, or a uniform sample of them; then
    ``n_points`` is their number without the sampling, and the risk is that for all of these. The bandwidth is NaN where
    most queries have no ridge at any bandwidth of the grid up to ``widest``.
    """
    order = np.random.default_rng(0).permutation(len(observations))
    halves = [observations[order[0::2]], observations[order[1::2]]]
    start = first_width(queries, halves[0], rank)
    found = compare(ridge_position(rank, None), halves, int(n_points), queries, start, widest)
    return of_least_risk(start * found.factors, found.total.sum(axis=1))


def of_least_risk(grid: FloatArray, risks: FloatArray) -> BandwidthChoice:
    """The bandwidth at the minimum of ``risks`` [m] over ``grid`` [m]; NaN where none is finite."""
    if not np.isfinite(risks).any():
        return BandwidthChoice(float("nan"), float("nan"), grid, risks, "split-sample risk")
    width, risk = least(grid, risks)
    # Observations without noise or curvature leave rounding errors, of either sign.
    error = float(np.sqrt(max(risk, 0.0)))
    return BandwidthChoice(width, error, grid, risks, "split-sample risk", flatness(risks))


def by_neighbours(cloud: Cloud, rank: int) -> BandwidthChoice:
    """The median distance to the 4 (k + 1)-th neighbour."""
    count = enough_neighbours(rank, cloud.n_points)
    apart = neighbour_distances(cloud.ordered, cloud.at(cloud.sample(PLACES)), rank)
    # Duplicates can leave no distance at all.
    width = float(np.median(apart)) or float(apart.max()) or 0.1 * cloud.size
    remark = (
        f"Bandwidths could not be compared: at none do most of the {cloud.n_points} distinct observations have a "
        f"ridge of dimension {rank}, and neighbours enough for it. The distance to the {count}-th neighbour was taken, "
        f"{width:.3g}. Check the result, or pass a bandwidth."
    )
    return BandwidthChoice(
        width, float("nan"), np.array([width]), np.array([np.nan]), "neighbour distance", remark=remark
    )


def _distinct(cloud: Cloud, rank: int) -> Cloud:
    """The cloud without copies of observations: halves that share copies share their noise."""
    distinct = np.unique(cloud.ordered, axis=0)
    if len(distinct) < rank + 2:
        raise ValueError(
            f"points must hold at least rank + 2 = {rank + 2} distinct observations to choose a bandwidth from; got "
            f"{len(distinct)}."
        )
    return cloud if len(distinct) == cloud.n_points else Cloud(distinct)


def _resolved(cloud: Cloud, rank: int) -> Cloud:
    """In many dimensions, the components that distinguish neighbours: others only cost time."""
    if cloud.dim <= BLOCK_DIM:
        return cloud
    found = principal_components(cloud)
    count = max(found.resolved(rank), rank + 1)
    if count >= cloud.dim:
        return cloud
    return Cloud(found.first(count).enter(cloud.ordered))


def _of_risk(cloud: Cloud, rank: int, purpose: str, n_jobs: int | None) -> BandwidthChoice:
    queries, samples = subsamples(cloud, rank)
    widest = WIDEST * cloud.size
    start = first_width(queries, samples[0], rank)
    ridge = compare(ridge_position(rank, n_jobs), samples, cloud.n_points, queries, start, widest)
    offsets = ridge.total.sum(axis=1)
    choice = of_least_risk(start * ridge.factors, offsets)
    if purpose == "ridge" or np.isnan(choice.bandwidth):
        return choice
    # Subspaces need another bandwidth than the ridge.
    middle = on_the_ridge(cloud, rank, choice.bandwidth, queries, n_jobs)
    widest = max(widest, choice.bandwidth * RATIO)
    tangents = compare(tangent_projector(rank, n_jobs), samples, cloud.n_points, middle, start, widest)
    if purpose == "tangents":
        return of_least_risk(start * tangents.factors, tangents.total.sum(axis=1))
    turned = (UNCANCELLED * tangents.variance + tangents.squared_bias).sum(axis=1)
    # Beyond its grid the risk of the ridge is all bias, of the fourth order.
    offset = risk_at(tangents.factors, ridge.factors, offsets, below=0.0, above=8.0) / (0.5 * cloud.size) ** 2
    return of_least_risk(start * tangents.factors, offset + turned)


def _with_remark(cloud: Cloud, rank: int, choice: BandwidthChoice, n_jobs: int | None) -> BandwidthChoice:
    """The choice, with a remark where the eigenvalue gap at this bandwidth is weak."""
    try:
        bundle = PrincipalSubbundle(cloud, rank, choice.bandwidth, min_density=0.0, n_jobs=n_jobs)
    except ValueError:
        return by_neighbours(cloud, rank)
    return replace(choice, remark=no_shape(bundle))


def no_shape(bundle: PrincipalSubbundle) -> str:
    """A remark where the eigenvalue gap of ``bundle`` is weak at most landmarks; empty otherwise."""
    frame, rank = bundle.frame(bundle.landmarks(PLACES)), bundle.rank
    # Copies of a few observations, far from all others, have no finite frame.
    gap = float(np.median(np.where(frame.status == Status.NOT_FINITE, 0.0, frame.gap))) if len(frame.gap) else 0.0
    if gap >= FAINT_GAP:
        return ""
    return (
        f"No shape of dimension {rank} stands out: at the chosen bandwidth, {bundle.bandwidth:.3g}, λ_{rank + 1} is "
        f"{1.0 - gap:.0%} of λ_{rank} for most observations. The cloud may be noise, or of another dimension."
    )
