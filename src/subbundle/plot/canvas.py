"""Figures, colours and files that all plots share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from subbundle._atomic import check_target
from subbundle._types import FloatArray
from subbundle._validation import as_integer, as_points, needed
from subbundle.io import atomic_path


def require_matplotlib() -> None:
    """Raise, with what to install, if Matplotlib is missing."""
    needed("matplotlib", "plot", "drawing")


def new_figure(n_panels: int = 1, *, size: float = 4.6) -> tuple[Any, list[Any]]:
    """A figure with ``n_panels`` square panels side by side, each ``size`` inches wide, without axes lines.

    Above the panels there is room for a title, below them for a colour scale.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    n_panels = as_integer(n_panels, "n_panels", low=1)
    height = 1.16  # 0.1 below and 0.06 above the square
    figure = Figure(figsize=(size * n_panels, height * size), facecolor="white")
    panels = [figure.add_axes((i / n_panels, 0.1 / height, 1.0 / n_panels, 1.0 / height)) for i in range(n_panels)]
    for panel in panels:
        panel.set_aspect("equal")
        panel.set_axis_off()
    return figure, panels


def new_axes(ax: Any = None) -> Any:
    """``ax``, or the axes of a new figure of pyplot, which notebooks show; frameless above and to the right."""
    require_matplotlib()
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure(figsize=(6.0, 4.8), facecolor="white", layout="constrained").add_subplot()
        ax.spines[["top", "right"]].set_visible(False)
    return ax


def save_png(figure: Any, path: str | os.PathLike[str], *, dpi: int = 160) -> Path:
    """Write ``figure`` as a PNG of 256 colours, dithered: a third the size of a full-colour one. Return its path."""
    path = check_target(path, (".png",))
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    figure.set_dpi(dpi)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])
    # The palette covers all colours, also those of few pixels, so that a small red dot stays red and white, added
    # last, stays white.
    palette = image.quantize(255, Image.Quantize.MAXCOVERAGE)
    palette.putpalette([*(palette.getpalette() or [])[: 3 * 255], 255, 255, 255])
    with atomic_path(path) as temporary:
        image.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG).save(temporary, optimize=True)
    return path


def colours_of(
    values: Any, *, low: float | None = None, high: float | None = None, name: str = "viridis"
) -> FloatArray:
    """Colours, [..., 4], for ``values`` [...] on a sequential map that colour-blind readers can distinguish."""
    require_matplotlib()
    from matplotlib import colormaps

    values = np.asarray(values, dtype=np.float64)
    low = float(np.nanmin(values)) if low is None else low
    high = float(np.nanmax(values)) if high is None else high
    scaled = np.nan_to_num((values - low) / (high - low if high > low else 1.0))
    return np.asarray(colormaps[name](np.clip(scaled, 0.0, 1.0)), dtype=np.float64)


def add_scale(figure: Any, panel: Any, low: float, high: float, label: str) -> None:
    """A thin colour scale under ``panel`` for colours made by `colours_of`."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    box = panel.get_position()
    axes = figure.add_axes((box.x0 + 0.3 * box.width, 0.075, 0.4 * box.width, 0.016))
    bar = figure.colorbar(ScalarMappable(Normalize(low, high), "viridis"), cax=axes, orientation="horizontal")
    bar.set_label(label, fontsize=8, labelpad=2)
    bar.ax.tick_params(labelsize=7, length=2, pad=1)
    bar.outline.set_visible(False)


def draw_lines_of_bundle(panel: Any, points: Any, vectors: Any, *, length: float, color: str = "#3b6fb6") -> None:
    """A rank-1 bundle in the plane: at each of ``points`` [n, 2] a stroke along ``vectors`` [n, 2], centred on it.

    A line has no direction, so the strokes have no heads.
    """
    points, vectors = as_points(points, "points", dim=2), as_points(vectors, "vectors", dim=2)
    panel.quiver(
        *points.T, *(length * vectors).T, angles="xy", scale_units="xy", scale=1.0, pivot="mid", color=color,
        headlength=0, headaxislength=0, headwidth=1, width=0.0035, zorder=2,
    )  # fmt: skip


def png_of(figure: Any) -> bytes:
    """``figure`` as the bytes of a PNG file, in full colour."""
    import io

    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=110, bbox_inches="tight")
    return stream.getvalue()
