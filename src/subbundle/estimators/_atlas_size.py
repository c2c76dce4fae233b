"""How large the charts of an atlas are: by the bandwidth that denoises, or by neighbours where data is too thin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle._validation import as_choice, as_positive
from subbundle.cloud import Cloud
from subbundle.embedding.development import coefficients
from subbundle.local.quadrics import QuadricFitter
from subbundle.selection.carried_risk import choose_by_carrying

# Effective neighbours per coefficient of a quadratic fit: below the first curvature is mostly noise, few points get the
# second, and up to the third charts gain from more.
_THIN, _MODEST, _RICH = 1.2, 2.0, 4.0
# Clouds of so few points, in so few dimensions, get a bandwidth by their density: halves of them say little.
_FEW_POINTS, _LOW_DIM = 500, 16
# Bandwidth relative to that of least risk for the middle of the cloud: curvature, which charts are made of, suffers
# earlier from a large one.
_NARROWER = 0.75
_STEPS = 3
# λ_{k+1}/λ_k below which the neighbours of a point lie clearly along the shape, and above which they show none.
_SLIM, _ROUND = 0.15, 0.4


@dataclass(frozen=True, slots=True)
class ChartSize:
    """The ``bandwidth``, NaN where charts are to be made of neighbours; the ``reason``; whether it is only a ``guess``
    from the density of few points, to be judged by what comes of it."""

    bandwidth: float
    reason: str
    guess: bool = False


def chart_size(fitter: QuadricFitter, bandwidth: Any, charts: str, n_jobs: int | None) -> ChartSize:
    """Choose the size of the charts; see `AtlasEmbedding` for the settings."""
    rank, count = fitter.rank, fitter.cloud.n_points
    if charts == "neighbours":
        return ChartSize(float("nan"), "they were asked for")
    if not isinstance(bandwidth, str):
        return ChartSize(as_positive(bandwidth, "bandwidth", hint="Or pass 'auto'."), "the bandwidth was given")
    as_choice(bandwidth, "bandwidth", ("auto",))
    if count <= _FEW_POINTS and fitter.cloud.dim <= _LOW_DIM:
        wanted = _MODEST * coefficients(rank)
        width, gap = _by_density(fitter, wanted)
        # Where the neighbours are round, noise and not density decides.
        if gap < _SLIM:
            reach = f"of {count} observations {wanted:.0f} effective neighbours are in reach of bandwidth {width:.3g}"
            return ChartSize(width, reach, charts == "auto")
    width, effective, told = _by_risk(fitter, n_jobs)
    needed = _THIN * coefficients(rank)
    seen = f"at bandwidth {width:.3g} a point has {effective:.0f} effective neighbours"
    if charts == "bandwidth" or (told and effective >= needed):
        return ChartSize(width, f"{seen}, and curvature in {rank} dimensions needs {needed:.0f}")
    if not told:
        return ChartSize(float("nan"), f"on {count} observations no bandwidth could be told from another")
    return ChartSize(float("nan"), f"{seen}, too few for curvature in {rank} dimensions, which needs {needed:.0f}")


def _by_density(fitter: QuadricFitter, wanted: float) -> tuple[float, float]:
    """The bandwidth at which the median effective number of neighbours is ``wanted``, and λ_{k+1}/λ_k there."""
    low, high = 1e-6 * fitter.cloud.size, fitter.cloud.size
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        few = float(np.median(fitter.fit(fitter.observations, middle, steps=1).effective)) < wanted
        low, high = (middle, high) if few else (low, middle)
    return high, float(np.median(fitter.fit(fitter.observations, high, steps=2).gaps))


def _by_risk(fitter: QuadricFitter, n_jobs: int | None) -> tuple[float, float, bool]:
    """Bandwidth, effective neighbours there, and whether bandwidths could be told from each other."""
    cloud, rank = fitter.cloud, fitter.rank
    choice = choose_by_carrying(cloud, rank, partial(_carried, 1.0), n_jobs=n_jobs)
    few = cloud.at(cloud.sample(256)) + cloud.centre
    fits = fitter.fit(few, choice.bandwidth, steps=2)
    if np.median(fits.gaps) > _ROUND:
        # Far below the noise a dense cloud has no middle; points stay where they are, which looks like a small error.
        wider = choose_by_carrying(cloud, rank, partial(_carried, _ROUND), n_jobs=n_jobs)
        if wider.error < choice.error:
            choice, fits = wider, fitter.fit(few, wider.bandwidth, steps=2)
    effective = float(np.median(fits.effective))
    # The number of neighbours goes with the k-th power of the bandwidth.
    enough = (_RICH * coefficients(rank) / effective) ** (1.0 / rank)
    share = min(max(_NARROWER, enough), 1.0)
    return share * choice.bandwidth, share**rank * effective, choice.method != "neighbour distance"


def _carried(
    round_: float, half: Cloud, rank: int, bandwidth: float, queries: FloatArray, n_jobs: int | None
) -> FloatArray:
    """Where ``queries`` [q, D] come to rest on the quadratic fits to ``half``.

    NaN where these have too few points, or where the neighbours are as round as λ_{k+1} > ``round_`` · λ_k.
    """
    fits = QuadricFitter(half, rank, n_jobs=n_jobs).fit(queries, bandwidth, steps=_STEPS)
    lost = (fits.status != 0) | (fits.effective < rank + 2) | (fits.gaps > round_)
    return np.where(lost[:, None], np.nan, fits.points)
