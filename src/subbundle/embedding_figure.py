"""A figure of an `AtlasEmbedding`: residuals, distortion, and its coordinate lines in the space of the data.

The coordinates, coloured by residual, and the same, coloured by the local distortion of lengths; right
the data (its first three principal components, when there are more) with lines of equal coordinates, if the data has a
shape of that dimension. Of more than two coordinates the first two are shown.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subbundle import plot
from subbundle._types import FloatArray, Status
from subbundle.estimators.atlas_messages import has_shape

if TYPE_CHECKING:
    from subbundle.estimators import AtlasEmbedding

# Points of each coordinate line; dots that can be distinguished.
_STEPS = 160
_MOST_POINTS = 6000


def draw_embedding(model: AtlasEmbedding, points: Any, path: str | os.PathLike[str], *, labels: Any = None) -> Path:
    """Write the figure for the rows of ``points`` [n, n_features] to ``path``, a ``.png``; return the path.

    ``labels`` [n], numbers or strings, colour the first panel instead of the residuals.
    """
    plot.require_matplotlib()
    from matplotlib.figure import Figure

    points = np.asarray(points, dtype=np.float64)
    every = max(1, len(points) // _MOST_POINTS)
    found = model.locate(points[::every])
    kept = found["status"] == Status.OK
    spread = np.ptp(found["coordinates"][kept], axis=0)
    wide = len(spread) == 1 or bool(spread[0] > 2.0 * spread[1])  # two strips above each other
    figure = Figure(figsize=(11.0, 5.0) if wide else (13.8, 4.4), facecolor="white", layout="constrained")
    panels = figure.subplot_mosaic("ac;bc" if wide else "abc", width_ratios=[1.4, 1.0] if wide else None)
    first = (found["residual"], "residual: distance to the shape")
    if labels is not None:
        first = (np.asarray(labels)[::every], "")
    for key, (values, label) in {"a": first, "b": (found["distortion"], "distortion of lengths, |log|")}.items():
        plot.embedding(found["coordinates"][kept], values[kept], label=label, ax=panels[key])
    panels["c"].set(aspect="equal", frame_on=False, xticks=[], yticks=[])
    _draw_lines(panels["c"], model, points[::every])
    return plot.save_png(figure, path, dpi=100)


def _draw_lines(panel: Any, model: AtlasEmbedding, points: FloatArray) -> None:
    """The data and the lines of the first two coordinates, in three dimensions."""
    middle = points.mean(axis=0)
    axes = np.eye(3)
    if points.shape[1] != 3:
        _, _, rows = np.linalg.svd(points - middle, full_matrices=False)
        axes = np.zeros((points.shape[1], 3))
        axes[:, : min(3, len(rows))] = rows[:3].T
    scene = plot.Scene(plot.View(azimuth=-58.0, elevation=18.0), fog=0.45)
    size = float(np.ptp((points - middle) @ axes, axis=0).max())
    scene.add_points((points - middle) @ axes, color="#aab4c2", size=2.0)
    lines = coordinate_lines(model) if has_shape(model) else []
    for curves, colour in zip(lines, ("#c1272d", "#1f5a9e"), strict=False):
        scene.add_curves((curves - middle) @ axes, color=colour, width=1.1, lift=0.02 * size)
    scene.draw(panel)


def coordinate_lines(model: AtlasEmbedding) -> list[FloatArray]:
    """For each of two coordinates, its coordinate lines [lines, steps, n_features]; NaN outside the charts."""
    z = model.embedding_[model.status_ == Status.OK]
    low, high = z.min(axis=0), z.max(axis=0)
    spacing = float((high - low).max()) / 12
    middle = np.median(z, axis=0)
    count = min(2, z.shape[1])
    curves = []
    for along in range(count):
        across = 1 - along if count == 2 else None
        places = np.arange(low[across] + 0.5 * spacing, high[across], spacing) if across is not None else np.zeros(1)
        lines = np.tile(middle, (len(places), _STEPS, 1))
        lines[:, :, along] = np.linspace(low[along], high[along], _STEPS)
        if across is not None:
            lines[:, :, across] = places[:, None]
        flat = lines.reshape(-1, z.shape[1])
        drawn = model.atlas_.evaluate(flat)
        drawn[model.atlas_.coverage_at(flat) < 0.15] = np.nan
        curves.append(model._components.leave(drawn).reshape(len(places), _STEPS, -1))
    return curves
