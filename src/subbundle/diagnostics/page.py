"""The report as a figure of four panels, and as one self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from subbundle._html import document, picture, table, warned
from subbundle.diagnostics.messages import summary
from subbundle.plot import png_of, require_matplotlib

if TYPE_CHECKING:
    from subbundle.diagnostics.report import Report

_BLUE, _ORANGE, _GREY = "#0072b2", "#d55e00", "#767676"
_TITLE = "Diagnosis of a point cloud"


def page(report: Report) -> str:
    """The whole page; needs Matplotlib for its figure."""
    title = "Eigenvalue gap, estimated error, directions counted, distances to the ridge"
    shown = picture(title, png_of(report.figure()))
    return document(_TITLE, f"<h1>{_TITLE}</h1>{warned(report.warnings)}{table(summary(report))}{shown}")


def draw(report: Report) -> Any:
    """Gap against bandwidth; risk against bandwidth; contrast and count of the rank; distances to the ridge."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 6.4), facecolor="white", layout="constrained")
    gap, risk, rank, moved = figure.subplots(2, 2).ravel()
    for panel in (gap, risk, rank, moved):
        panel.spines[["top", "right"]].set_visible(False)
    _draw_gap(gap, report)
    _draw_risk(risk, report)
    _draw_rank(rank, report)
    _draw_moved(moved, report)
    return figure


def _draw_gap(panel: Any, report: Report) -> None:
    panel.set_title(f"Eigenvalue gap, rank {report.rank}")
    panel.semilogx(report.gap_ladder, report.gaps, "-", color=_BLUE)
    panel.axvline(report.bandwidth, color=_ORANGE, ls="--")
    panel.set(xlabel="bandwidth (dashed: used)", ylabel="mean of (λₖ − λₖ₊₁)/λₖ", ylim=(0.0, 1.0))
    _thin_ticks(panel)


def _draw_risk(panel: Any, report: Report) -> None:
    panel.set_title("Estimated error of the ridge")
    choice = report.bandwidth_choice
    known = np.zeros(0, bool) if choice is None else np.isfinite(choice.risks) & (choice.risks > 0.0)
    if choice is None or not known.any():
        _write(panel, "bandwidth given" if choice is None else "could not be estimated")
        return
    panel.loglog(choice.ladder[known], np.sqrt(choice.risks[known]), "o-", ms=4, color=_BLUE)
    panel.axvline(report.bandwidth, color=_ORANGE, ls="--")
    panel.set(xlabel="bandwidth", ylabel="root mean square")
    _thin_ticks(panel)


def _draw_rank(panel: Any, report: Report) -> None:
    panel.set_title("Directions counted at each scale")
    choice = report.rank_choice
    if choice is None or not choice.scales.size:
        _write(panel, "rank given" if choice is None else "could not be counted")
        return
    panel.semilogx(choice.scales, choice.counts, "s", ms=5, color=_BLUE, label="directions")
    panel.semilogx(choice.scales, np.maximum(choice.scores, 0.0), "-", color=_GREY, label="contrast")
    if choice.confidence > 0.0:
        panel.axvline(choice.scale, color=_ORANGE, ls="--")
    panel.set(xlabel="scale", ylim=(0.0, None))
    _thin_ticks(panel)
    panel.legend(frameon=False)


def _draw_moved(panel: Any, report: Report) -> None:
    panel.set_title("Distance to the ridge")
    if not report.noise_scores.size or not report.noise > 0.0:
        _write(panel, "no noise to measure" if report.noise_scores.size else "no ridge")
        return
    panel.hist(np.minimum(report.noise_scores, 6.0), bins=np.linspace(0.0, 6.0, 49), color=_BLUE)
    if np.isfinite(report.outlying):
        panel.axvline(min(report.outlying, 6.0), color=_ORANGE, ls="--")
    panel.set(xlabel="in units of the noise (dashed: outliers beyond)", ylabel="observations")


def _thin_ticks(panel: Any) -> None:
    """Plain numbers at 1, 2 and 5: all minor ticks of less than a decade would overlap."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

    panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_minor_formatter(NullFormatter())


def _write(panel: Any, text: str) -> None:
    panel.text(0.5, 0.5, text, ha="center", va="center", color=_GREY, transform=panel.transAxes)
    panel.set(xticks=[], yticks=[])
