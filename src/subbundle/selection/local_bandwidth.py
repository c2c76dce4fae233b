"""A bandwidth that depends on the point: of least estimated risk around each of many landmarks, smoothed.

The risk of `risk` is pooled over the observations nearest to a landmark, on a grid of functions a_j(p) = a_0(p) r^j,
each with about the same number of neighbours everywhere; its minimum over the grid, from a parabola in log a and log R,
is the bandwidth there. Log bandwidths are averaged over neighbouring landmarks, and the result is the smooth function
a(p) of `subbundle.LocalBandwidth`.

On the second-order ridge of a surface the best bandwidth varies as the tenth root of the density, and for a density of
10 : 1 alone one bandwidth is better: the variance of the choice exceeds the gain. Where curvature or noise vary as well
it does not. So the risk at the chosen function is compared with that at the best single bandwidth.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from subbundle._types import FloatArray, IntArray, SubbundleWarning
from subbundle._validation import as_choice, as_integer
from subbundle.bundles.local_bandwidth import LocalBandwidth
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.cloud import Cloud
from subbundle.selection._statistics import on_the_ridge, ridge_position, tangent_projector
from subbundle.selection.bandwidth import PURPOSES, compare_bandwidths, no_shape
from subbundle.selection.ladder import FEWEST, affordable_fits, first_widths, least, risk_at, split
from subbundle.selection.risk import compare
from subbundle.selection.tuning import (
    CLIP,
    KNOWN,
    RATIO,
    SAMPLE,
    STEEPEST_WIDTH,
    SURROUNDING,
    WIDEST,
    WORTH,
)

# Number of single bandwidths compared.
_CONSTANTS = 32


@dataclass(frozen=True, slots=True)
class LocalChoice:
    """A bandwidth that depends on the point, and the estimates behind it.

    Attributes
    ----------
    bandwidth : LocalBandwidth
        a(p), for `PrincipalSubbundle`.
    error : float
        Estimated error, as in `BandwidthChoice` (for geodesics that of the subspaces); NaN where it could not be
        estimated.
    spread : float
        95 % over 5 % quantile of the bandwidths at the landmarks; 1 where it is one bandwidth.
    gain : float
        Estimated error of the best function found over that of the best single bandwidth; NaN where not estimated.
    method : str
        ``"split-sample risk"``; ``"one bandwidth"`` where the gain is above 0.93, and for clouds that are too small or
        have no ridge at most landmarks: then a(p) is the constant of `choose_bandwidth`.
    """

    bandwidth: LocalBandwidth
    error: float
    spread: float
    gain: float
    method: str


def choose_local_bandwidth(
    points: FloatArray | Cloud, rank: int, *, purpose: str = "ridge", n_jobs: int | None = None
) -> LocalChoice:
    """Choose a bandwidth a(p) for a subbundle of the given ``rank`` on ``points`` [N, d].

    Deterministic, and the same for any order of the rows. For clouds of fewer than 1000 points, and those without a
    gain, it is the constant of `choose_bandwidth`.

    Parameters
    ----------
    purpose : {"ridge", "tangents", "geodesics"}
        As in `choose_bandwidth`; the choice for tangents serves geodesics, too.

    Examples
    --------
    >>> import numpy as np, subbundle as sb
    >>> rng = np.random.default_rng(0)
    >>> radius, angle = rng.uniform(0.1, 1.0, 4000), rng.uniform(0.0, 2.0 * np.pi, 4000)
    >>> cone = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 2.0 * radius])
    >>> cone += 0.01 * rng.standard_normal(cone.shape)
    >>> width = sb.selection.choose_local_bandwidth(cone, rank=2).bandwidth
    >>> near_tip, near_rim = width([[0.2, 0.0, 0.4], [0.8, 0.0, 1.6]])
    >>> bool(near_rim > 1.2 * near_tip)
    True
    """
    cloud = points if isinstance(points, Cloud) else Cloud(points)
    rank = as_integer(rank, "rank", low=1, high=cloud.dim - 1, why=f"a proper subspace of R^{cloud.dim}")
    as_choice(purpose, "purpose", PURPOSES)
    distinct = np.unique(cloud.ordered, axis=0)
    if len(distinct) < SAMPLE:
        return _one(cloud, rank, purpose, n_jobs)
    # Halves that share copies of an observation share its noise.
    centred = Cloud(distinct) if len(distinct) < cloud.n_points else cloud
    origin = cloud.centre if centred is cloud else cloud.centre + centred.centre
    found = _field(centred, rank, "ridge", None, n_jobs)
    if found is not None and purpose != "ridge":
        found = _field(centred, rank, "tangents", found.bandwidth, n_jobs)
    if found is None:
        return _one(cloud, rank, purpose, n_jobs)
    if found.gain > WORTH:
        return replace(_one(cloud, rank, purpose, n_jobs), gain=found.gain)
    width = LocalBandwidth(found.bandwidth.points + origin, found.bandwidth.values, found.bandwidth.smoothing)
    remark = no_shape(PrincipalSubbundle(cloud, rank, width, n_jobs=n_jobs))
    if remark:
        warnings.warn(remark, SubbundleWarning, stacklevel=2)
    return replace(found, bandwidth=width)


def _one(cloud: Cloud, rank: int, purpose: str, n_jobs: int | None) -> LocalChoice:
    choice = compare_bandwidths(cloud, rank, purpose=purpose, n_jobs=n_jobs)
    if choice.remark:
        warnings.warn(choice.remark, SubbundleWarning, stacklevel=3)
    field = LocalBandwidth(cloud.centre[None], [choice.bandwidth], cloud.size)
    return LocalChoice(field, choice.error, 1.0, float("nan"), "one bandwidth")


def _field(
    cloud: Cloud, rank: int, purpose: str, on_ridge: LocalBandwidth | None, n_jobs: int | None
) -> LocalChoice | None:
    """The chosen function in the cloud's centred coordinates; None where too few landmarks have a known risk."""
    queries, *halves = split(cloud, min(SAMPLE, affordable_fits(cloud, rank)))
    landmarks = int(FEWEST / SURROUNDING)
    start = pilot(queries, np.concatenate(halves), rank, landmarks)
    statistic = (ridge_position if purpose == "ridge" else tangent_projector)(rank, n_jobs)
    if on_ridge is not None:
        queries = on_the_ridge(cloud, rank, on_ridge, queries, n_jobs)
    marks = _subsample(queries, landmarks)
    pools = _around(marks, queries)
    found = compare(statistic, halves, cloud.n_points, queries, start, WIDEST * cloud.size, pools=list(pools))
    if not found.factors.size:
        return None
    risks = found.total
    known = np.isfinite(risks).any(axis=0)
    if known.mean() < KNOWN:
        return None
    marks, risks = marks[known], risks[:, known]
    chosen = np.array([least(found.factors, risks[:, mark]) for mark in range(len(marks))])
    scale = start(marks)
    field = field_of(marks, np.log(scale * chosen[:, 0]), marks)
    widths = field(marks)
    low, high = np.quantile(widths, [0.05, 0.95])
    return LocalChoice(
        field,
        float(np.sqrt(chosen[:, 1].mean())),
        float(high / low),
        gain(found.factors, risks, scale, widths, below=-rank, above=2 * statistic.order),
        "split-sample risk",
    )


def pilot(queries: FloatArray, observations: FloatArray, rank: int, landmarks: int) -> LocalBandwidth:
    """The `first_widths` at the queries [q, d], smoothed over space."""
    widths = first_widths(queries, observations, rank)
    return field_of(queries, np.log(widths), _subsample(queries, landmarks))


def _subsample(queries: FloatArray, most: int) -> FloatArray:
    """A regular subsample of the ``queries``, ``most`` at most."""
    return queries[:: max(-(-len(queries) // most), 1)]


def _around(landmarks: FloatArray, places: FloatArray) -> IntArray:
    """Rows [m, n] of the ``places`` nearest to each of the ``landmarks`` [m, d]."""
    count = max(int(SURROUNDING * len(places)), min(FEWEST, len(places)))
    return np.reshape(cKDTree(places).query(landmarks, k=count)[1], (len(landmarks), -1))


def field_of(places: FloatArray, logs: FloatArray, landmarks: FloatArray) -> LocalBandwidth:
    """The function whose log at each of the ``landmarks`` [m, d] is the mean of ``logs`` [n] at the nearest ``places``
    [n, d], a sixteenth of them, smoothed until its gradient is bounded."""
    values = np.exp(logs[_around(landmarks, places)].mean(axis=1))
    apart = np.reshape(cKDTree(landmarks).query(landmarks, k=min(2, len(landmarks)))[0], (len(landmarks), -1))[:, -1]
    smoothing = float(np.median(apart)) or float(apart.max()) or 1.0
    while True:
        field = LocalBandwidth(landmarks, values, smoothing)
        steepness = np.quantile(np.linalg.norm(field.with_gradient(places)[1], axis=1), CLIP)
        if steepness <= STEEPEST_WIDTH:
            return field
        smoothing *= RATIO


def gain(
    factors: FloatArray, risks: FloatArray, pilot: FloatArray, widths: FloatArray, *, below: float, above: float
) -> float:
    """Estimated error with bandwidths ``widths`` [m] at the landmarks over that with the best single one.

    ``risks`` [j, m] are those at the bandwidths ``factors`` [j] times ``pilot`` [m]. Beyond the grid they are
    extrapolated as powers of the bandwidth: variance as a^(−k), squared bias as a^(2p).
    """

    def mean_risk(queried: FloatArray) -> float:
        own = queried / pilot
        return float(np.mean([risk_at(a, factors, risk, below, above) for a, risk in zip(own, risks.T, strict=True)]))

    constants = np.geomspace(widths.min(), widths.max(), _CONSTANTS)
    return float(np.sqrt(mean_risk(widths) / min(mean_risk(np.full_like(pilot, width)) for width in constants)))
