"""From a table of observations to a subbundle for long geodesics.

Four steps: keep the principal components above the noise floor; choose the bandwidth a; project the observations onto
the ridge of their bundle, corrected for curvature; estimate the bundle again from the projections, at 0.67 a.
Errors of the subspaces accumulate along geodesics, so noise is removed first. a minimises the estimated error of the
ridge; without projection, that of geodesics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from subbundle._types import FloatArray, Status, StatusArray
from subbundle._validation import as_choice, as_positive
from subbundle.bundles.base import LearnedSubbundle
from subbundle.bundles.local_bandwidth import LocalBandwidth
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge import carry_to_ridge
from subbundle.bundles.riemannian import RiemannianSubbundle
from subbundle.bundles.surroundings import surrounding_dim
from subbundle.charts.tuning import RESIDUAL_DEVIATIONS, TOL
from subbundle.cloud import Cloud
from subbundle.estimators import tuning
from subbundle.selection.bandwidth import compare_bandwidths
from subbundle.selection.components import Components, Spectrum, chosen_components, steps_kept
from subbundle.selection.local_bandwidth import choose_local_bandwidth

# Fraction of squared distances between neighbours lost above which a remark is made.
_MUCH = 0.05
# Most iterations to the ridge; points not converged by then are as accurate.
_STEPS = 10


@dataclass(frozen=True, slots=True)
class Prepared:
    """A subbundle in the kept components of the data.

    Attributes
    ----------
    components : Components
        Map to the kept components and back.
    bandwidth : float
        a, chosen or given; the median of a(p), where it is a function.
    bundle : PrincipalSubbundle or RiemannianSubbundle
        On the denoised cloud at 0.67 a, or on the observations themselves at a.
    local_bandwidth : LocalBandwidth or None
        The function a(p) in the kept components, where it is one.
    remark : str
        Why the result is uncertain; empty otherwise.
    """

    components: Components
    bandwidth: float
    bundle: PrincipalSubbundle | RiemannianSubbundle
    local_bandwidth: LocalBandwidth | None = None
    remark: str = ""


def prepare(
    points: FloatArray,
    rank: int,
    *,
    bandwidth: float | str,
    denoise: bool,
    reduce_dim: int | str | None,
    kernel: str,
    centering: str,
    n_jobs: int | None,
) -> Prepared:
    """Learn the bundle of the given ``rank`` from ``points`` [N, d]; see the estimators for the settings."""
    components, few = _working_components(points, rank, reduce_dim)
    cloud = Cloud(components.enter(points))
    width, fallback = _bandwidth(cloud, rank, bandwidth, "ridge" if denoise else "geodesics", n_jobs)
    bundle = PrincipalSubbundle(cloud, rank, width, kernel=kernel, centering=centering, n_jobs=n_jobs)
    local, typical = bundle.local_bandwidth, bundle.bandwidth
    if denoise:
        factor = narrower(bundle.typical_mass, rank, given=not isinstance(bandwidth, str))
        narrow = typical * factor if local is None else local.scaled(factor)
        # The mass scales with the k-th power of the bandwidth.
        fraction = min(1.0, tuning.ENOUGH_MASS / (bundle.typical_mass * factor**rank))
        some = cloud.at(cloud.sample(max(int(np.ceil(fraction * cloud.n_points)), rank + 2))) + cloud.centre
        projected = onto_ridge(bundle, some)[0]
        bundle = PrincipalSubbundle(projected, rank, narrow, kernel=kernel, centering=centering, n_jobs=n_jobs)
    return Prepared(components, typical, bundle, local, " ".join(filter(None, (few, fallback))))


def narrower(mass: float, rank: int, *, given: bool) -> float:
    """Bandwidth for a denoised cloud relative to the one that denoised it, whose typical kernel mass is ``mass``; at
    most 1 where that was ``given``, less where it was chosen."""
    required = tuning.MASS_PER_DIMENSION * max(rank, 2)
    factor = max(tuning.NARROWER, float((required / mass) ** (1.0 / rank)))
    return min(factor, 1.0 if given else tuning.WIDEST)


def onto_ridge(bundle: LearnedSubbundle, points: FloatArray) -> tuple[FloatArray, StatusArray]:
    """``points`` [n, r] projected onto the second-order ridge, the whole space in full rank, and their status [n].

    Where the ridge is too far away for the point to belong to it, the point is unchanged and has LEFT_SUPPORT.
    """
    if bundle.rank == surrounding_dim(bundle):
        return points, bundle.frame(points).status
    projected = carry_to_ridge(bundle, points, tol=TOL, max_steps=_STEPS)
    arrived = projected.arrived
    # Points belong to a shape within three standard deviations of the data; longer shifts end on another sheet.
    with np.errstate(invalid="ignore"):
        near = projected.shifts <= RESIDUAL_DEVIATIONS * (
            bundle.bandwidth_at(points) + float(np.nanmedian(projected.shifts))
        )
    status = np.where(arrived & ~near, Status.LEFT_SUPPORT, projected.status).astype(np.int8)
    return np.where((arrived & near)[:, None], projected.points, points), status


def _working_components(points: FloatArray, rank: int, reduce_dim: int | str | None) -> tuple[Components, str]:
    """The components that geodesics are integrated in, and a remark where they shorten distances between neighbours.

    With ``"auto"`` those above the noise floor that separate neighbours, up to 10 of them.
    """
    informative = 0

    def few(spectrum: Spectrum) -> int:
        nonlocal informative
        informative = spectrum.informative(rank)
        return min(informative, tuning.MOST_COMPONENTS)

    kept = chosen_components(points, rank, reduce_dim, few)
    count = kept.axes.shape[1]
    steps = 1.0 if count >= informative else steps_kept(points, kept, rank)
    if steps >= 1.0 - _MUCH:
        return kept, ""
    return kept, (
        f"The first {count} of {informative} components were used, with {kept.kept:.0%} of the variance: the most "
        f"that geodesics are integrated in. They keep {steps:.0%} of squared distances between neighbours, so lengths "
        f"are some {1.0 - steps**0.5:.0%} too short. Use subbundle.AtlasEmbedding or "
        "GeodesicDistance(method='atlas'), which use all, or pass reduce_dim."
    )


def _bandwidth(
    cloud: Cloud, rank: int, bandwidth: Any, purpose: str, n_jobs: int | None
) -> tuple[float | LocalBandwidth, str]:
    """The bandwidth, given or chosen, and a remark where it is a fallback."""
    if not isinstance(bandwidth, str):
        return as_positive(bandwidth, "bandwidth", hint="Or pass 'auto'."), ""
    as_choice(bandwidth, "bandwidth", ("auto", "local"))
    if bandwidth == "local":
        found = choose_local_bandwidth(cloud, rank, purpose=purpose, n_jobs=n_jobs)
        return (float(found.bandwidth.values[0]) if found.method == "one bandwidth" else found.bandwidth), ""
    choice = compare_bandwidths(cloud, rank, purpose=purpose, n_jobs=n_jobs)
    return choice.bandwidth, choice.fallback
