"""The option ``--report page.html``: input, choices and results of each command."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from subbundle import plot
from subbundle._atomic import check_target, write_text
from subbundle._types import BoolArray, FloatArray, Status, count_statuses
from subbundle.commands._figures import mesh_figures, ridge_figures
from subbundle.commands._scans import Given, describe_outliers
from subbundle.commands.messages import translated
from subbundle.estimators.atlas_messages import fit_message
from subbundle.viewer.front import view
from subbundle.viewer.page import library
from subbundle.viewer.report import Account, Choice, report

# Rows among which distances are drawn.
_MOST_DRAWN = 600
# Choices, results, warnings, and the caption of the figure.
_Facts = tuple[list[Choice], list[tuple[str, str]], list[str], str]
_LEAST_ERROR = "least estimated error of the ridge"


def check_report(path: Path | None) -> None:
    """Raise, before any work is done, when the page cannot be written."""
    if path is None:
        return
    check_target(path, (".html",), "--report")
    library()


def write_report(options: argparse.Namespace, account: Account, obj: Any, rows: Any = None, **shown: Any) -> None:
    """Write the page with a scene of ``obj`` (``rows`` and ``shown`` are passed to `view`), and print its name."""
    page = report(account, view(obj, rows, title=account.title, **shown), command=shlex.join(options.typed))
    print(f"wrote {write_text(options.report, page)}")


def account_of_embedding(path: Path, model: Any, values: FloatArray, found: Mapping[str, Any]) -> Account:
    """Of ``embed``; ``found``: the quantities of each row."""
    choices, results, warnings, caption = _of_coordinates(model, values, found)
    figures = [(caption, plot.trust(model).figure)]
    return Account(f"Coordinates of {path.name}", _table_in(path, values), choices, results, warnings, figures)


def lines_of_embedding(model: Any, values: FloatArray, found: Mapping[str, Any]) -> list[str]:
    """The same as lines of text."""
    choices, results, warnings, _ = _of_coordinates(model, values, found)
    lines = [f"{len(values)} rows, {values.shape[1]} features", *(f"{c.name}: {c.value} ({c.why})" for c in choices)]
    return lines + [f"{name}: {value}" for name, value in results] + [f"note: {warning}" for warning in warnings]


def _of_coordinates(model: Any, values: FloatArray, found: Mapping[str, Any]) -> _Facts:
    choices, results, warnings, caption = (_of_chart if model.normal_coordinates else _of_atlas)(model, found)
    rank = _dimension(model.n_components, model.n_components_)
    return [rank, *choices, _components(model, values)], results, warnings, caption


def _of_atlas(model: Any, found: Mapping[str, Any]) -> _Facts:
    why = "given" if model.n_neighbors != "auto" else "rows are predicted best from the coordinates of others"
    count, message = model.n_denoising_neighbors_, translated(fit_message(model))
    reason = "least estimated error" if count else "rows as they are have the least estimated error"
    if model.metric_ == "linear":
        reason = "all: principal components keep neighbourhoods and predict rows better"
    choices = [
        Choice("chart size", f"{model.n_neighbors_} neighbours each", why),
        Choice("rows averaged over", str(count), reason if model.bandwidth == "auto" else "given"),
    ]
    results = [
        ("charts", f"{len(model.atlas_.bases)}, in {model.n_connected_components_} connected component(s)"),
        ("rows inside the charts", f"{np.mean(found['status'] == Status.OK):.1%}"),
        ("residual", f"{np.mean(found['residual']):.4g} on average"),
        ("distortion of lengths", f"{np.mean(found['distortion']):.3g} on average, |log| of the factor"),
        ("alignment residual of the charts", f"{model.alignment_residual_:.2%} of their size"),
        ("quality", model.quality_.sentence()),
    ]
    return choices, results, [message] if message else [], "reliability of the coordinates"


def _of_chart(model: Any, found: Mapping[str, Any]) -> _Facts:
    status = found["status"]
    reached = "given" if model.radius != "auto" else "as far as the data and the geodesics allow"
    choices = [_bandwidth(model), Choice("radius", f"{model.radius_:.4g}", reached)]
    results = [
        ("rows inside the chart", f"{np.mean(status == Status.OK):.1%}"),
        ("residual", f"{np.nanmean(found['residual']):.4g} on average"),
    ]
    outside = count_statuses(status[status != Status.OK])
    return choices, results, [f"outside the chart, {why}: {n} rows" for why, n in outside.items()], "coordinates"


def account_of_distances(
    path: Path, metric: Any, values: FloatArray, sources: FloatArray, targets: FloatArray, matrix: FloatArray,
    messages: Sequence[str],
) -> Account:  # fmt: skip
    """Of ``distance``."""
    finite, lost = matrix[np.isfinite(matrix)], int(np.count_nonzero(np.isnan(matrix)))
    straight = np.linalg.norm(sources[:_MOST_DRAWN, None] - targets[None, :_MOST_DRAWN], axis=2)
    return Account(
        f"Distances along {path.name}",
        _table_in(path, values),
        [_dimension(metric.rank, metric.rank_), _bandwidth(metric), _components(metric, values)],
        [
            ("distances", f"{matrix.shape[0]} × {matrix.shape[1]}"),
            ("largest", f"{finite.max():.4g}" if finite.size else "none"),
            ("not connected", str(np.count_nonzero(np.isinf(matrix)))),
        ],
        [*messages, *([f"{lost} distances were not found"] if lost else [])],
        [("along the shape, and straight", plot.distances(matrix[:_MOST_DRAWN, :_MOST_DRAWN], straight).figure)],
    )


def account_of_mesh(given: Given, mesh: Any, messages: Sequence[str], *, given_width: bool) -> Account:
    """Of ``reconstruct``."""
    made, outliers = mesh.summary, given.scan.points[mesh.summary.outliers]
    sides = [] if made.orientable else ["The surface is not orientable: normals are inconsistent along some curve."]
    why = "given" if given_width else "for normals and topology; positions have their own, chosen for every vertex"
    choices = [
        Choice("bandwidth", f"{made.bandwidth:.4g}", why),
        Choice("cells", f"{made.cell:.4g}", f"spacing of the points {made.spacing:.3g}, noise {made.noise:.3g}"),
    ]
    if given.scan.normals is not None:
        used, kind = ("used", "consistent") if made.used_normals else ("left out", "inconsistent")
        choices.append(Choice("normals of the scan", used, f"those of neighbours are {kind}"))
    results = [
        ("mesh", f"{len(mesh.vertices):,} vertices, {len(mesh.faces):,} faces"),
        ("area", f"{mesh.area:.5g}"),
        ("border", "closed" if mesh.is_closed else f"{mesh.border_length:.4g} in {mesh.n_border_loops} loop(s)"),
        ("connected components", str(mesh.n_components)),
        ("Euler characteristic", str(mesh.euler_characteristic)),
        ("noise", f"{made.noise:.4g} across the surface"),
        ("standard error", _standard_error(mesh.attributes.get("standard_error"))),
        ("openings bridged", _widths(made.bridged, made.bandwidth)),
        ("openings left", _widths(made.left_open, made.bandwidth)),
        ("handles cut", str(len(made.handles_cut))),
        ("outliers", describe_outliers(outliers, made.n_points, made.bandwidth)),
        ("time", f"{sum(made.seconds.values()):.1f} s"),
    ]
    source = _scan_in(given, f"{made.n_points:,} given, {made.n_used:,} used")
    warnings = [*given.notes, *messages, *sides]
    return Account(f"Surface of {given.title}", source, choices, results, warnings, mesh_figures(mesh, outliers))


def account_of_ridge(
    given: Given, bundle: Any, ridge: Any, kept: BoolArray, messages: Sequence[str], *, given_width: Any
) -> Account:
    """Of ``denoise``."""
    arrived = ridge.status == Status.OK
    reasons = {"auto": _LEAST_ERROR, "local": "a function of the point"}
    points = given.scan.points
    choices = [
        Choice("dimension", str(bundle.rank)),
        Choice("bandwidth", f"{bundle.bandwidth:.4g}", reasons.get(given_width, "given")),
    ]
    results = [("points", f"{np.count_nonzero(kept):,} of {len(kept):,} kept")]
    if arrived.any():
        results += [
            ("noise", f"{np.median(ridge.noise[arrived]):.4g} along each normal direction"),
            ("moved", f"{ridge.shifts[arrived].mean():.4g} on average"),
            ("standard error", _standard_error(ridge.position_error[arrived])),
        ]
    results.append(("left out as outliers", describe_outliers(points[~kept], len(points), bundle.bandwidth)))
    failed = [f"{why}: {count} points" for why, count in count_statuses(ridge.status[~arrived]).items()]
    source = _scan_in(given, f"{len(kept):,} in R^{ridge.points.shape[1]}")
    figures = ridge_figures(points, ridge, kept, bundle.bandwidth)
    return Account(f"Denoised: {given.title}", source, choices, results, [*given.notes, *messages, *failed], figures)


def _table_in(path: Path, values: FloatArray) -> list[tuple[str, str]]:
    return [("file", path.name), ("rows", f"{len(values):,}"), ("features", str(values.shape[1]))]


def _scan_in(given: Given, count: str) -> list[tuple[str, str]]:
    held = [*(["normals"] if given.scan.normals is not None else []), *sorted(given.scan.attributes)]
    unit = [("unit", given.unit)] if given.unit else []
    return [("file", given.title), ("points", count), ("attributes", ", ".join(held) or "none"), *unit]


def _dimension(wanted: Any, found: int) -> Choice:
    return Choice("dimension", str(found), "estimated from the data" if wanted == "auto" else "given")


def _bandwidth(model: Any) -> Choice:
    why = _LEAST_ERROR if model.bandwidth in ("auto", "local") else "given"
    return Choice("bandwidth", f"{model.bandwidth_:.4g}", why)


def _components(model: Any, values: FloatArray) -> Choice:
    features = values.shape[1]
    kept = min(model.axes_.shape[1], features)  # a full table gains an empty direction
    why = "all features" if kept == features else "those above the noise floor"
    return Choice("principal components", f"{kept} of {features}", why)


def _standard_error(errors: FloatArray | None) -> str:
    finite = np.empty(0) if errors is None else errors[np.isfinite(errors)]
    if errors is None or not finite.size:
        return "unknown"
    middle, high = np.quantile(finite, [0.5, 0.95])
    without = len(errors) - len(finite)
    rest = f"; unknown at {without:,} without nearby observations" if without else ""
    return f"median {middle:.3g}, 95 % quantile {high:.3g}{rest}"


def _widths(widths: Sequence[float], bandwidth: float) -> str:
    if not widths:
        return "none"
    return f"{len(widths)}, half-width up to {max(widths) / bandwidth:.2g} bandwidths"
