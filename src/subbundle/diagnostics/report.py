"""`diagnose`: estimates of rank, bandwidth, noise and other properties of a cloud, with warnings."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import gammaincinv

from subbundle._atomic import check_target, write_text
from subbundle._html import card
from subbundle._parallel import one_library_thread
from subbundle._types import FloatArray
from subbundle._validation import as_choice, as_integer, as_positive
from subbundle.atlas.atlas_distance import AtlasDistance
from subbundle.bundles.principal import PrincipalSubbundle
from subbundle.bundles.ridge_project import Ridge, ridge_project
from subbundle.cloud import Cloud
from subbundle.cloud.tuning import BLOCK_DIM
from subbundle.diagnostics.integrability import cloud_twist, largest_twist
from subbundle.diagnostics.messages import summary, warnings_of
from subbundle.diagnostics.outliers import distances_across, outlying
from subbundle.diagnostics.tuning import WORTH_NOTING
from subbundle.embedding.quality import ROWS, Quality, quality
from subbundle.embedding.table import lay_out_table
from subbundle.geodesics.connected_components import connected_components
from subbundle.selection.bandwidth import BandwidthChoice, compare_bandwidths, no_shape
from subbundle.selection.components import principal_components
from subbundle.selection.ladder import affordable_fits, mean_gaps
from subbundle.selection.rank import RankChoice, choose_rank
from subbundle.selection.tuning import SAMPLE

# The values of a cloud without a ridge.
_UNKNOWN: dict[str, Any] = {
    "noise": np.nan,
    "bending": np.nan,
    "non_integrability": np.nan,
    "n_connected_components": 1,
    "density_range": np.nan,
    "outliers": np.nan,
    "outlying": np.inf,
    "shifts": np.empty(0),
    "noise_scores": np.empty(0),
}


@dataclass(frozen=True, slots=True)
class Report:
    """The result of `diagnose`; ``print(report)`` shows it, `write` makes a page of it.

    Lengths are in the units of the data; what cannot be estimated is NaN.

    Attributes
    ----------
    n_points, dim : int
    n_components : int
        Principal components in which everything else is estimated: all coordinates up to 16; in more dimensions those
        above the noise floor that distinguish neighbours, 16 at most.
    variance_kept, variance_flat : float
        Fraction of the variance in these components; in the first ``rank``, which PCA of that dimension would keep.
    rank : int
    rank_choice : RankChoice or None
        The estimates behind the rank; None where it was given.
    bandwidth : float
    bandwidth_choice : BandwidthChoice or None
        The estimates behind the bandwidth; None where it was given.
    gap_ladder, gaps : [m]
        Bandwidths, and the mean gap (λ_k − λ_{k+1})/λ_k at each.
    noise : float
        Standard deviation of the observations about the ridge, along one normal direction, outliers left out.
    bending : float
        Bandwidth times curvature √Σ|II|², 90 % quantile: above one the curvature is not resolved by the kernel.
    non_integrability : float
        Angle by which horizontal loops fail to close, at the scale where subspaces are most distinct; zero if
        integrable, NaN where no shape stands out; see `subbundle.diagnostics.integrability`.
    n_connected_components : int
        Connected components with at least one per cent of the observations each.
    density_range : float
        Kernel mass on the ridge, 95 % quantile over 5 % quantile.
    outliers : float
        Fraction of the observations without a ridge, or further from it than the distribution of all distances allows;
        see `subbundle.diagnostics.outliers`.
    outlying : float
        Least of the ``noise_scores`` of outliers; infinite where none has one.
    duplicates : float
        Fraction of the observations that repeat another one exactly.
    quality : subbundle.embedding.quality.Quality
        Of a layout of up to a thousand observations in ``rank`` coordinates: trustworthiness, continuity, stress and
        cross-validated prediction error, and those of principal components.
    shifts, noise_scores : [n]
        Distance to the ridge of a sample of observations, and the same in units of the noise.
    warnings : tuple of str
    """

    n_points: int
    dim: int
    n_components: int
    variance_kept: float
    variance_flat: float
    rank: int
    rank_choice: RankChoice | None
    bandwidth: float
    bandwidth_choice: BandwidthChoice | None
    gap_ladder: FloatArray
    gaps: FloatArray
    noise: float
    bending: float
    non_integrability: float
    n_connected_components: int
    density_range: float
    outliers: float
    outlying: float
    duplicates: float
    quality: Quality
    shifts: FloatArray
    noise_scores: FloatArray
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([f"{name:<22}{value}" for name, value in summary(self)] + [f"! {w}" for w in self.warnings])

    def _repr_html_(self) -> str:
        return card("Report", summary(self), notes=self.warnings)

    def figure(self) -> Any:
        """A Matplotlib figure: eigenvalue gap and risk against the bandwidth, contrast of the rank, distances moved."""
        from subbundle.diagnostics.page import draw

        return draw(self)

    def html(self) -> str:
        """The report as one self-contained page, its figure inside."""
        from subbundle.diagnostics.page import page

        return page(self)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write `html` to ``path``, which must end in .html."""
        return write_text(check_target(path, (".html",)), self.html())


@one_library_thread()
def diagnose(
    points: Any, rank: int | str | None = "auto", bandwidth: float | str = "auto", *, n_jobs: int | None = None
) -> Report:
    """Diagnose ``points`` [N, d] before fitting anything; see `Report`.

    Deterministic, and the same for any order of the rows.

    Parameters
    ----------
    points : [N, d]
    rank, bandwidth : int and float, or "auto"
        Chosen from the data unless they are given.
    n_jobs : int, optional
        Threads; all cores unless given.

    See Also
    --------
    selection.choose_rank : the dimension alone.
    selection.choose_bandwidth : the bandwidth alone.

    Examples
    --------
    >>> import subbundle as sb
    >>> report = sb.diagnose(sb.datasets.torus(600, noise=0.03).points)
    >>> report.rank, report.n_connected_components, report.warnings
    (2, 1, ())
    """
    cloud = points if isinstance(points, Cloud) else Cloud(points)
    if cloud.dim < 2:
        raise ValueError(
            f"points must have at least 2 coordinates; got {cloud.dim}. On a line there are no directions to compare."
        )
    if isinstance(rank, str):
        as_choice(rank, "rank", ("auto",))
    rank_choice = choose_rank(cloud) if rank is None or isinstance(rank, str) else None
    if rank_choice is not None:
        rank = min(rank_choice.rank, cloud.dim - 1)
    rank = as_integer(rank, "rank", low=1, high=cloud.dim - 1, why=f"a proper subspace of R^{cloud.dim}")
    whole = cloud
    cloud, kept, flat = _in_components(cloud, rank)
    choice = None
    if isinstance(bandwidth, str):
        as_choice(bandwidth, "bandwidth", ("auto",))
        choice = compare_bandwidths(cloud, rank, n_jobs=n_jobs)
        bandwidth = choice.bandwidth
    bandwidth = as_positive(bandwidth, "bandwidth", hint="Or pass 'auto'.")
    about = {"dim": whole.dim, "n_components": cloud.dim, "variance_kept": kept, "variance_flat": flat}
    return _report(cloud, about, rank, rank_choice, bandwidth, choice, n_jobs)


def _in_components(cloud: Cloud, rank: int) -> tuple[Cloud, float, float]:
    """The cloud, in many dimensions in its resolved components; the fraction of the variance in it, and in the first k
    components."""
    spectrum = principal_components(cloud)
    flat = spectrum.first(rank).kept
    if cloud.dim <= BLOCK_DIM:
        return cloud, 1.0, flat
    components = spectrum.first(min(spectrum.informative(rank), max(BLOCK_DIM, rank + 1)))
    return Cloud(components.enter(cloud.ordered)), components.kept, flat


def _report(
    cloud: Cloud, about: dict[str, Any], rank: int, rank_choice: RankChoice | None, bandwidth: float,
    choice: BandwidthChoice | None, n_jobs: int | None,
) -> Report:  # fmt: skip
    """The report at the chosen values."""
    grid, gaps = mean_gaps(cloud, rank, n_jobs)
    seen = dict(_UNKNOWN)
    refused, shapeless = "", False
    try:
        bundle = PrincipalSubbundle(cloud, rank, bandwidth, n_jobs=n_jobs)
    except ValueError as error:
        # Pure noise and lattices can have no subspace at all: that is a finding, not a failure.
        refused = " ".join(str(error).split())
    else:
        queries = cloud.at(cloud.sample(min(SAMPLE, 2 * affordable_fits(cloud, rank) + 8))) + cloud.centre
        seen = _on_the_ridge(bundle, queries, ridge_project(bundle, queries))
        sizes = np.bincount(connected_components(bundle).labels) / cloud.n_points
        shapeless = bool(no_shape(bundle) if choice is None else choice.remark)
        seen["n_connected_components"] = max(int(np.count_nonzero(sizes >= WORTH_NOTING)), 1)
        if not shapeless:
            # Among components above the noise there is none to leave out.
            twist = cloud_twist if cloud.dim == about["dim"] else largest_twist
            seen["non_integrability"] = twist(cloud, rank, grid, gaps, n_jobs).angle
    distinct = len(np.unique(cloud.ordered, axis=0))
    found = Report(
        n_points=cloud.n_points, rank=rank, rank_choice=rank_choice, bandwidth=bandwidth, bandwidth_choice=choice,
        gap_ladder=grid, gaps=gaps, duplicates=1.0 - distinct / cloud.n_points,
        quality=_layout_quality(cloud, rank, n_jobs), **about, **seen,
    )  # fmt: skip
    return replace(found, warnings=tuple(warnings_of(found, refused, shapeless)))


def _on_the_ridge(bundle: PrincipalSubbundle, queries: FloatArray, ridge: Ridge) -> dict[str, Any]:
    arrived = ridge.arrived
    if not arrived.any():
        return {**_UNKNOWN, "outliers": 1.0}
    normals = max(bundle.ambient_dim - bundle.rank, 1)
    # Outliers widen the variances around them, but not the median of the distances: σ² times a χ² of so many degrees.
    by_shifts = float(np.median(ridge.shifts[arrived]) / np.sqrt(2.0 * gammaincinv(0.5 * normals, 0.5)))
    noise = min(float(np.median(ridge.noise[arrived])), by_shifts)
    shifts, scale = distances_across(bundle, queries, ridge)[arrived], noise * np.sqrt(normals)
    scores = shifts / scale if scale > 0.0 else np.zeros(len(shifts))
    fraction, least = outlying(shifts, normals, int(np.count_nonzero(~arrived)))
    low, high = np.quantile(ridge.density[arrived], [0.05, 0.95])
    return {
        **_UNKNOWN,
        "noise": noise,
        "bending": float(bundle.bandwidth * np.quantile(ridge.curvature[arrived], 0.9)),
        "density_range": float(high / low),
        "outliers": fraction,
        "outlying": least / scale if scale > 0.0 else np.inf,
        "shifts": shifts,
        "noise_scores": scores,
    }


def _layout_quality(cloud: Cloud, rank: int, n_jobs: int | None) -> Quality:
    """Figures of the layout of a sample of ``cloud`` in R^rank, and of principal components."""
    # In the order of their first appearance in the tree, so that nothing depends on the order of the input.
    rows = cloud.at(cloud.sample(ROWS))
    rows = rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]
    layout = lay_out_table(
        rows, np.ones(len(rows)), rank, metric="auto", n_neighbors=None, bandwidth="auto", n_jobs=n_jobs
    )
    coordinates = layout.atlas.locate(rows).coordinates
    along = AtlasDistance(layout.atlas.atlas, layout.path_weight)
    return quality(rows, coordinates, along.stress(rows, coordinates))
