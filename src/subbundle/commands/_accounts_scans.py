"""What was done with scans, for the reports of ``reconstruct`` and ``denoise``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subbundle._types import FloatArray, Status, count_statuses
from subbundle.commands._outliers import where
from subbundle.commands._scan_figures import mesh_figures, ridge_figures
from subbundle.commands._scans import Given
from subbundle.viewer.report import Account, Choice


def account_of_mesh(given: Given, mesh: Any, messages: Sequence[str], *, given_width: bool) -> Account:
    """Of ``reconstruct``."""
    made = mesh.summary
    sides = [] if made.orientable else ["The surface is not orientable: no choice of sides agrees everywhere."]
    why = "given" if given_width else "for normals and topology; positions have their own, chosen for every vertex"
    return Account(
        f"Surface of {given.title}",
        _came_in(given, f"{made.n_points:,} given, {made.n_used:,} used"),
        [
            Choice("bandwidth", f"{made.bandwidth:.4g}", why),
            Choice("cells", f"{made.cell:.4g}", f"points are {made.spacing:.3g} apart, noise {made.noise:.3g}"),
            *_normals_choice(given, made),
        ],
        [
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
            ("outliers", where(given.scan.points[made.outliers], made.n_points, made.bandwidth)),
            ("time", f"{sum(made.seconds.values()):.1f} s"),
        ],
        [*given.notes, *messages, *sides],
        mesh_figures(mesh, given.scan.points[made.outliers]),
    )


def account_of_ridge(
    given: Given, bundle: Any, ridge: Any, kept: NDArray[np.bool_], messages: Sequence[str], *, given_width: Any
) -> Account:
    """Of ``denoise``."""
    arrived = ridge.status == Status.OK
    reasons = {"auto": "least estimated error of the middle of the cloud", "local": "one for every place"}
    points = given.scan.points
    found = [("points", f"{np.count_nonzero(kept):,} of {len(kept):,} kept")]
    if arrived.any():
        found += [
            ("noise", f"{np.median(ridge.noise[arrived]):.4g} along each normal direction"),
            ("moved", f"{ridge.shifts[arrived].mean():.4g} on average"),
            ("standard error", _standard_error(ridge.position_error[arrived])),
        ]
    found.append(("left out as outliers", where(points[~kept], len(points), bundle.bandwidth)))
    return Account(
        f"Denoised: {given.title}",
        _came_in(given, f"{len(kept):,} in R^{ridge.points.shape[1]}"),
        [
            Choice("dimension", str(bundle.rank)),
            Choice("bandwidth", f"{bundle.bandwidth:.4g}", reasons.get(given_width, "given")),
        ],
        found,
        [
            *given.notes, *messages,
            *(f"{words}: {count} points" for words, count in count_statuses(ridge.status[~arrived]).items()),
        ],
        ridge_figures(points, ridge, kept, bundle.bandwidth),
    )  # fmt: skip


def ridge_columns(ridge: Any, kept: NDArray[np.bool_]) -> dict[str, FloatArray]:
    """What colours the denoised points."""
    return {"noise": ridge.noise[kept], "moved": ridge.shifts[kept], "curvature": ridge.curvature[kept]}


def _came_in(given: Given, count: str) -> list[tuple[str, str]]:
    held = [*(["normals"] if given.scan.normals is not None else []), *sorted(given.scan.attributes)]
    unit = [("unit", given.unit)] if given.unit else []
    return [("file", given.title), ("points", count), ("attributes", ", ".join(held) or "none"), *unit]


def _normals_choice(given: Given, made: Any) -> list[Choice]:
    if given.scan.normals is None:
        return []
    return [
        Choice("normals of the scan", "used", "neighbours look to the same side")
        if made.used_normals
        else Choice("normals of the scan", "left out", "neighbours look to different sides")
    ]


def _standard_error(errors: FloatArray | None) -> str:
    finite = np.empty(0) if errors is None else errors[np.isfinite(errors)]
    if errors is None or not finite.size:
        return "not known"
    middle, high = np.quantile(finite, [0.5, 0.95])
    without = len(errors) - len(finite)
    rest = f"; {without:,} without any, where nothing was seen" if without else ""
    return f"{middle:.3g} in the middle, {high:.3g} at the worst 5 %{rest}"


def _widths(widths: Sequence[float], bandwidth: float) -> str:
    if not widths:
        return "none"
    return f"{len(widths)}, half-width up to {max(widths) / bandwidth:.2g} bandwidths"
