"""Figures of the reports on scans: the mesh from three sides, a slice through a denoised cloud, distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._scene import View
from subbundle._types import FloatArray, Status
from subbundle.plot.canvas import add_scale, new_figure
from subbundle.plot.palette import BORDER, GREY, INK, PALE, PALETTE
from subbundle.plot.solid import mesh_scene

_VIEWS = (("from the front", View(-60.0, 22.0)), ("from behind", View(120.0, 22.0)), ("from above", View(-60.0, 75.0)))
_OUTLIERS = PALETTE[3]
# Outliers that are drawn, and observations in a slice.
_MOST_OUTLIERS, _IN_SLICE = 3000, 3000
# Half the thickness of a slice, in bandwidths: thin enough that a slanting sheet is a line in it.
_THICK = 0.2


def mesh_figures(mesh: Any, outliers: FloatArray) -> list[tuple[str, Any]]:
    """The mesh coloured by its standard errors, and how these are distributed; for meshes in R³."""
    if mesh.ambient_dim != 3:
        return []
    error = mesh.attributes.get("standard_error")
    known = np.zeros(len(mesh.vertices), bool) if error is None else np.isfinite(error)
    if error is None or not known.any():
        return [("the mesh from three sides", _three_views(mesh, None, 0.0, outliers))]
    high = float(np.quantile(error[known], 0.98))
    return [
        ("the mesh from three sides, coloured by standard error", _three_views(mesh, error, high, outliers)),
        ("standard errors of the vertices", _distribution(error[known], mesh.summary.noise)),
    ]


def _three_views(mesh: Any, error: FloatArray | None, high: float, outliers: FloatArray) -> Any:
    figure, panels = new_figure(3, size=4.0)
    of_face = None if error is None else error[mesh.faces].max(axis=1)
    size = float(np.ptp(mesh.vertices, axis=0).max())
    few = outliers[:: max(1, len(outliers) // _MOST_OUTLIERS)]
    near = few[(np.abs(few - mesh.vertices.mean(axis=0)) < size).all(axis=1)]
    for panel, (title, view) in zip(panels, _VIEWS, strict=True):
        scene = mesh_scene(mesh, of_face, view, (0.0, high))
        if len(near):
            scene.add_points(near, color=_OUTLIERS, size=5.0)
        scene.draw(panel)
        panel.set_title(title, fontsize=9, color=INK)
    if error is not None:
        add_scale(figure, panels[0], 0.0, high, "standard error")
    key = [(BORDER, "open border"), (PALE, "bridged, without observations"), (_OUTLIERS, "outliers")]
    for x, (color, text) in zip((0.42, 0.58, 0.82), key, strict=True):
        figure.text(x, 0.045, "■", color=color, fontsize=11, va="center")
        figure.text(x + 0.017, 0.045, text, color=INK, fontsize=9, va="center")
    return figure


def _new_axes(width: float, height: float, n_axes: int = 1) -> tuple[Any, list[Any]]:
    """A figure of so many inches and its axes, side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
    panels = list(figure.subplots(1, n_axes, squeeze=False)[0])
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def _distribution(errors: FloatArray, noise: float) -> Any:
    figure, (axes,) = _new_axes(7.0, 3.0)
    positive = errors[errors > 0.0]
    if len(positive):
        low, high = np.quantile(positive, [0.001, 0.999])
        bins = np.geomspace(low, max(high, 1.01 * low, noise), 60)
        axes.hist(np.clip(positive, bins[0], bins[-1]), bins=bins.tolist(), color=PALETTE[0])
        axes.set_xscale("log")
    if noise > 0.0:
        axes.axvline(noise, color=BORDER, lw=1.5, label=f"noise of a single point, {noise:.3g}")
        axes.legend(frameon=False, fontsize=9)
    axes.set_xlabel("standard error of a vertex along its normal")
    axes.set_ylabel("vertices")
    return figure


def ridge_figures(points: FloatArray, ridge: Any, kept: Any, bandwidth: float) -> list[tuple[str, Any]]:
    """A slice through the cloud before and after, and the distribution of the noise; in two or three dimensions."""
    if points.shape[1] > 3:
        return []
    return [("a slice through the cloud, before and after", _slice(points, ridge.points, kept, bandwidth)),
            ("noise and outlier scores", _scores(ridge))]  # fmt: skip


def _slice(points: FloatArray, moved: FloatArray, kept: Any, bandwidth: float) -> Any:
    figure, (axes,) = _new_axes(7.5, 6.0)
    inside, shown = np.ones(len(points), bool), [0, 1]
    if points.shape[1] == 3:
        across = int(np.argmax(np.ptp(points[kept], axis=0)))
        away = np.abs(moved[:, across] - np.median(moved[kept, across]))
        thickness = min(_THICK * bandwidth, float(np.sort(away)[min(_IN_SLICE, len(away) - 1)]))
        inside, shown = away <= thickness, [i for i in range(3) if i != across]
        middle = np.median(moved[kept, across])
        axes.set_title(f"points within {thickness:.3g} of {'xyz'[across]} = {middle:.4g}", fontsize=9)
    x, y = points[:, shown].T
    axes.scatter(x[inside & kept], y[inside & kept], s=7.0, color=GREY, alpha=0.6, linewidths=0.0, label="observed")
    if (inside & ~kept).any():
        axes.scatter(x[inside & ~kept], y[inside & ~kept], s=16.0, color=_OUTLIERS, marker="x", label="left out")
    x, y = moved[inside & kept][:, shown].T
    axes.scatter(x, y, s=3.0, color=PALETTE[0], linewidths=0.0, label="denoised")
    axes.set_aspect("equal")
    axes.set_xlabel("xyz"[shown[0]])
    axes.set_ylabel("xyz"[shown[1]])
    axes.legend(frameon=False, fontsize=9, markerscale=2.0, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _scores(ridge: Any) -> Any:
    figure, (left, right) = _new_axes(9.0, 3.0, 2)
    noise = ridge.noise[(ridge.status == Status.OK) & np.isfinite(ridge.noise)]
    if len(noise):
        left.hist(noise, bins=np.linspace(0.0, float(np.quantile(noise, 0.999)) or 1.0, 60), color=PALETTE[0])
    left.locator_params(axis="x", nbins=6)
    left.set_xlabel("noise around a point, along one normal direction")
    scores = ridge.outlier_scores[np.isfinite(ridge.outlier_scores)]
    right.hist(np.minimum(scores, 10.0), bins=np.linspace(0.0, 10.0, 61), color=PALETTE[0], log=True)
    right.set_xlabel("outlier score: noise levels moved (10: or more)")
    for axes in (left, right):
        axes.set_ylabel("points")
    return figure
