"""The report as text: lines of a summary, and warnings with advice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from subbundle.diagnostics.tuning import NOISY, NOT_A_SURFACE, UNEVEN, UNSURE, WORTH_NOTING
from subbundle.selection.tuning import FAINT_GAP, UNNOTICED

if TYPE_CHECKING:
    from subbundle.diagnostics.report import Report

# Curvature times bandwidth at which the radius of curvature is one bandwidth: a quadric no longer describes it.
_BENT = 1.0


def summary(report: Report) -> list[tuple[str, str]]:
    """Names and values, in the order they are shown."""
    by_rank, by_width = report.rank_choice, report.bandwidth_choice
    rank = "given" if by_rank is None else f"chosen; {by_rank.confidence:.0%} of the sampled points agree"
    width = "given"
    if by_width is not None:
        width = f"chosen by {by_width.method}"
        if np.isfinite(by_width.flatness):
            width += f"; as good within a factor of {by_width.flatness:.2f}"
    lines = [
        ("observations", f"{report.n_points} in R^{report.dim}{_components(report)}"),
        ("rank", f"{report.rank} ({rank})"),
        ("bandwidth", f"{report.bandwidth:.4g} ({width})"),
    ]
    if by_width is not None and np.isfinite(by_width.error):
        lines.append(("error to expect", f"{by_width.error:.3g} on the ridge, root mean square"))
    if np.isfinite(report.gaps).any():
        at = float(np.interp(np.log(report.bandwidth), np.log(report.gap_ladder), np.nan_to_num(report.gaps)))
        lines.append(("eigenvalue gap", f"{at:.2f} at this bandwidth, {np.nanmax(report.gaps):.2f} at the best for it"))
    lines += [
        ("noise", f"{report.noise:.3g} ({report.noise / report.bandwidth:.2f} bandwidths)"),
        ("bending", f"{report.bending:.2f} (curvature times bandwidth)"),
        ("non-integrability", f"{report.non_integrability:.3f} (a surface stays below {NOT_A_SURFACE:g})"),
        ("connected components", f"{report.n_connected_components}"),
        ("density", f"varies {report.density_range:.1f} : 1"),
        ("outliers", f"{report.outliers:.1%}"),
        (f"laid out in R^{report.rank}", report.quality.sentence()),
    ]
    return lines


def _components(report: Report) -> str:
    return "" if report.n_components == report.dim else f", analysed in {report.n_components} principal components"


def warnings_of(report: Report, refused: str, shapeless: bool) -> Iterator[str]:
    """Warnings; ``refused`` is why there is no bundle at all, or empty; ``shapeless`` whether the eigenvalue gap is
    weak."""
    by_distance = report.bandwidth_choice is not None and report.bandwidth_choice.method == "neighbour distance"
    nothing = bool(refused) or shapeless or by_distance
    if nothing:
        yield (
            f"The data shows no shape of dimension {report.rank} that charts or distances could follow: PCA "
            f"({report.rank} components hold {report.variance_flat:.0%} of the variance) or a neighbour layout such as "
            "UMAP is the better tool for it."
        )
    elif report.variance_flat >= 1.0 - WORTH_NOTING:
        yield (
            f"The shape is nearly flat: PCA keeps {report.variance_flat:.1%} of the variance in {report.rank} "
            "components and gives the same coordinates at once."
        )
    if report.variance_kept < 1.0 - UNNOTICED:
        yield (
            f"Measured in the first {report.n_components} principal components, which hold "
            f"{report.variance_kept:.0%} of the variance: there is no flat floor of noise to leave out."
        )
    if refused:
        yield f"There is no bundle of rank {report.rank} at bandwidth {report.bandwidth:.3g}: {refused}"
    if by_distance:
        yield (
            f"No bandwidth gives a ridge of dimension {report.rank} to nine tenths of the {report.n_points} "
            "observations, so the distance to a few neighbours was taken. A few dozen are too few; else try another "
            "rank, or check for noise wider than the shape."
        )
    yield from _about_the_rank(report)
    # Of a shape that is not there nothing can be said.
    yield from () if nothing else _about_the_shape(report)
    yield from _about_the_sample(report)


def _about_the_rank(report: Report) -> Iterator[str]:
    choice = report.rank_choice
    if choice is not None and choice.confidence == 0.0:
        yield (
            "No scale shows fewer directions than the space has: this resembles pure noise, a lattice or a cloud that "
            f"fills the space. Rank {report.rank} is only the largest possible; what is learned is not reliable."
        )
    elif choice is not None and choice.confidence < UNSURE:
        yield (
            f"Only {choice.confidence:.0%} of the points have {report.rank} directions: the dimension is uncertain or "
            "varies over the cloud. Compare neighbouring ranks."
        )
    if np.isfinite(report.gaps).any() and np.nanmax(report.gaps) < FAINT_GAP:
        yield (
            f"The eigenvalue gap is weak at every scale (at most {np.nanmax(report.gaps):.2f}): there is no clear "
            f"subspace of dimension {report.rank}."
        )


def _about_the_shape(report: Report) -> Iterator[str]:
    if report.noise > NOISY * report.bandwidth:
        yield (
            f"The noise, {report.noise:.3g}, is nearly as wide as the bandwidth: sheets closer than "
            f"{3.0 * report.bandwidth:.3g} will merge. More observations would resolve more."
        )
    if report.bending > _BENT:
        yield (
            f"The radius of curvature is below one bandwidth (curvature times bandwidth {report.bending:.2f}): the "
            "shape will be rounded off there. More observations would allow a smaller bandwidth."
        )
    if report.non_integrability > NOT_A_SURFACE:
        yield (
            f"The subspaces are not integrable (non-integrability {report.non_integrability:.2f}): there may be no "
            f"submanifold of dimension {report.rank}. Distances are still defined, charts and surfaces may not be."
        )
    if report.outliers > WORTH_NOTING:
        yield (
            f"{report.outliers:.1%} of the observations lie far from the ridge. Leave out those with large "
            "ridge_project(…).outlier_scores."
        )


def _about_the_sample(report: Report) -> Iterator[str]:
    if report.n_connected_components > 1:
        yield (
            f"The cloud has {report.n_connected_components} connected components at this bandwidth: distances between "
            "them are infinite. Treat them one by one."
        )
    if report.density_range > UNEVEN:
        yield (
            f"The density varies {report.density_range:.0f} : 1, with one bandwidth for all of it: sparse regions "
            "will be noisy, dense ones smoother than necessary."
        )
    if report.duplicates > WORTH_NOTING:
        yield (
            f"{report.duplicates:.1%} of the observations repeat another one exactly. If they are copies and "
            "not counts, leave them out: np.unique(points, axis=0)."
        )
