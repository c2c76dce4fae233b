"""A figure of an `AtlasEmbedding`: residuals, distortion, and its coordinate lines in the space of the data.

Left the coordinates, coloured by residual; in the middle the same, coloured by the local distortion of lengths; right
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
    figure, panels = plot.new_figure(3)
    points = np.asarray(points, dtype=np.float64)
    shown = points[:: max(1, len(points) // _MOST_POINTS)]
    found = model.locate(shown)
    kept = found["status"] == Status.OK
    flat = found["coordinates"][:, :2]
    if flat.shape[1] == 1:
        flat = np.column_stack([flat, np.zeros(len(flat))])
    captions = ("residual: distance to the shape", "distortion of lengths, |log|")
    for panel, name, label in zip(panels, ("residual", "distortion"), captions, strict=False):
        # Rounded up to one digit, so that the scale has few, short numbers.
        high = float(np.quantile(found[name][kept], 0.99)) or 1.0
        digit = 10.0 ** np.floor(np.log10(high))
        high = float(np.ceil(high / digit) * digit)
        if labels is not None and name == "residual":
            given = np.asarray(labels)[:: max(1, len(points) // _MOST_POINTS)][kept]
            _draw_labels(figure, panel, flat[kept], given)
            continue
        colours = plot.colours_of(found[name][kept], low=0.0, high=high)
        panel.scatter(*flat[kept].T, c=colours, s=4.0, linewidths=0.0)
        plot.fit(panel, flat[kept])
        plot.add_scale(figure, panel, 0.0, high, label)
    _draw_lines(panels[2], model, shown)
    return plot.save_png(figure, path)


def _draw_labels(figure: Any, panel: Any, places: FloatArray, labels: Any) -> None:
    """``places`` [n, 2] in the colours of ``labels`` [n]: a legend for a few values, a scale for numbers."""
    values, which = np.unique(labels, return_inverse=True)
    numeric = labels.dtype.kind in "fiub"
    if len(values) <= len(plot.PALETTE):
        for number, value in enumerate(values):
            panel.scatter(*places[which == number].T, color=plot.PALETTE[number], s=6.0, linewidths=0.0, label=value)
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncol=4, fontsize=7, frameon=False, markerscale=2.0)
    else:
        panel.scatter(*places.T, c=plot.colours_of(labels if numeric else which), s=4.0, linewidths=0.0)
        if numeric:
            plot.add_scale(figure, panel, float(np.nanmin(labels)), float(np.nanmax(labels)), "label")
    plot.fit(panel, places)


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
