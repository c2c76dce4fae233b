"""Pictures of clouds, bundles and geodesics, drawn far things first.

Matplotlib's own 3-D axes order whole collections, so a curve lies wholly in front of a cloud or wholly behind it.
Here a `Scene` projects everything itself (parallel projection, equal axes), cuts all dots, segments and triangles into
slices by depth and paints the slices from back to front, paler with distance: a curve passes behind a sphere as it
should.

Matplotlib is needed only when something is drawn and is used without pyplot, so no global state is touched.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subbundle._types import FloatArray
from subbundle._validation import as_integer, as_points
from subbundle.io import atomic_path

_SLICES = 64
_LIGHT = np.array([-0.45, 0.65, 0.75])  # right, up, towards the eye


class PlottingUnavailableError(ImportError):
    """Matplotlib is not installed."""


def require_matplotlib() -> None:
    """Raise, with what to install, if nothing can be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise PlottingUnavailableError(
            'drawing needs matplotlib, which is not installed. Write: pip install "subbundle[plot]"'
        ) from error


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


def save_png(figure: Any, path: str | os.PathLike[str], *, dpi: int = 160) -> Path:
    """Write ``figure`` as a PNG of 256 colours, dithered: a third the size of a full-colour one. Return its path."""
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise ValueError(f"path must end in .png; got {path.name!r}.")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    figure.set_dpi(dpi)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])
    # The palette is chosen to cover all colours, however few pixels have them, so that a small red dot stays red
    # and white, added last, stays white.
    palette = image.quantize(255, Image.Quantize.MAXCOVERAGE)
    palette.putpalette([*(palette.getpalette() or [])[: 3 * 255], 255, 255, 255])
    with atomic_path(path) as temporary:
        image.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG).save(temporary, optimize=True)
    return path


def colours_of(
    values: Any, *, low: float | None = None, high: float | None = None, name: str = "viridis"
) -> FloatArray:
    """Colours, [..., 4], for ``values`` [...] on a sequential map that colour-blind readers can follow."""
    require_matplotlib()
    from matplotlib import colormaps

    values = np.asarray(values, dtype=np.float64)
    low = float(np.nanmin(values)) if low is None else low
    high = float(np.nanmax(values)) if high is None else high
    scaled = np.nan_to_num((values - low) / (high - low if high > low else 1.0))
    return np.asarray(colormaps[name](np.clip(scaled, 0.0, 1.0)), dtype=np.float64)


def add_scale(figure: Any, panel: Any, low: float, high: float, label: str, *, name: str = "viridis") -> None:
    """A thin colour scale under ``panel`` for colours made by `colours_of`."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    box = panel.get_position()
    axes = figure.add_axes((box.x0 + 0.3 * box.width, 0.075, 0.4 * box.width, 0.016))
    bar = figure.colorbar(ScalarMappable(Normalize(low, high), name), cax=axes, orientation="horizontal")
    bar.set_label(label, fontsize=8, labelpad=2)
    bar.ax.tick_params(labelsize=7, length=2, pad=1)
    bar.outline.set_visible(False)


def draw_lines_of_bundle(panel: Any, points: Any, vectors: Any, *, length: float, color: str = "#3b6fb6") -> None:
    """A rank-1 bundle in the plane: at each of ``points`` [n, 2] a stroke along ``vectors`` [n, 2], centred on it.

    A line has no direction, so the strokes carry no heads.
    """
    points, vectors = as_points(points, "points", dim=2), as_points(vectors, "vectors", dim=2)
    panel.quiver(
        *points.T, *(length * vectors).T, angles="xy", scale_units="xy", scale=1.0, pivot="mid", color=color,
        headlength=0, headaxislength=0, headwidth=1, width=0.0035, zorder=2,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class View:
    """A camera at infinity: ``azimuth`` turns around the z axis, ``elevation`` lifts it (degrees)."""

    azimuth: float = -60.0
    elevation: float = 22.0

    @property
    def axes(self) -> FloatArray:
        """Rows: right, up, and towards the eye, as unit vectors [3, 3]."""
        a, e = np.radians(self.azimuth), np.radians(self.elevation)
        toward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        return np.stack([right, np.cross(toward, right), toward])


@dataclass(frozen=True, slots=True)
class _Items:
    """Shapes of one kind, already projected: ``flat`` [n, corners, 2], ``depth`` [n], ``colors`` [n, 4]."""

    kind: str
    flat: FloatArray
    depth: FloatArray
    colors: FloatArray
    size: float


class Scene:
    """Things in R³ to be painted by depth. Add them in any order, then `draw`.

    Rows with NaN (geodesics after their end) are left out. ``lift`` brings things nearer to the eye, in units of the
    data, so that a curve on a surface is not half buried in it.
    """

    def __init__(self, view: View | None = None, *, fog: float = 0.75) -> None:
        self._axes = (View() if view is None else view).axes
        self._fog = fog
        self._items: list[_Items] = []

    def add_points(
        self, points: Any, *, color: Any = "#7d8794", size: float = 4.0, lift: float = 0.0, normals: Any = None
    ) -> None:
        """Dots at ``points`` [n, 3]; ``color`` is one colour or one per point, ``size`` their area in points².

        With outward ``normals`` [n, 3] the dots are lit like a surface, and those on its far side are left out.
        """
        points = np.asarray(points, dtype=np.float64)
        colors = _rgba(color, len(points))
        if normals is not None:
            seen = np.asarray(normals) @ self._axes.T
            front = seen[:, 2] > 0.0
            points, colors = points[front], _lit(colors[front], seen[front], gloss=False)
        self._add("dot", points[:, None, :], colors, size, lift)

    def add_curves(self, points: Any, *, color: Any = "#c1272d", width: float = 1.2, lift: float = 0.0) -> None:
        """Curves ``points`` [curves, times, 3]; ``color`` is one colour or one per point, [curves, times, 4]."""
        points = np.asarray(points, dtype=np.float64)
        segments = np.stack([points[:, :-1], points[:, 1:]], axis=2).reshape(-1, 2, 3)
        if np.ndim(color) == 3:
            color = np.asarray(color)[:, :-1].reshape(-1, 4)
        self._add("segment", segments, color, width, lift)

    def add_arrows(self, starts: Any, vectors: Any, *, color: Any = "#3b6fb6", width: float = 1.0) -> None:
        """Arrows from ``starts`` [n, 3] along ``vectors`` [n, 3]; the heads lie in the plane of the picture."""
        starts, vectors = np.asarray(starts, dtype=np.float64), np.asarray(vectors, dtype=np.float64)
        tips = starts + vectors
        sideways = np.cross(vectors, self._axes[2])
        barbs = [np.stack([tips - 0.28 * vectors + sign * 0.14 * sideways, tips], axis=1) for sign in (-1.0, 1.0)]
        for segments in (np.stack([starts, tips], axis=1), *barbs):
            self._add("segment", segments, color, width, 0.0)

    def add_triangles(self, vertices: Any, faces: Any, *, color: Any = "#b8c4d6") -> None:
        """A surface of ``faces`` [m, 3] into ``vertices`` [n, 3], shaded; ``color`` is one colour or one per face."""
        corners = np.asarray(vertices, dtype=np.float64)[np.asarray(faces)]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) @ self._axes.T
        # Both sides of a face are lit alike: the orientation of a learned surface is arbitrary.
        normals *= np.where(normals[:, 2:] < 0.0, -1.0, 1.0)
        colors = _lit(_rgba(color, len(corners)), normals, gloss=True)
        self._add("triangle", corners, colors, 0.25, 0.0)

    def draw(self, panel: Any, *, margin: float = 0.06, layer: int = 0) -> None:
        """Paint everything into ``panel``, back to front, and fit the panel to it; a higher ``layer`` hides a lower."""
        from matplotlib.collections import LineCollection, PolyCollection

        items = [item for item in self._items if len(item.depth)]
        if not items:
            return
        low, high = (f(np.concatenate([item.depth for item in items])) for f in (np.min, np.max))
        span = max(high - low, 1e-300)
        corners = np.concatenate([item.flat.reshape(-1, 2) for item in items])
        for slice_ in range(_SLICES):
            order = slice_ + _SLICES * layer
            for item in items:
                nearness = (item.depth - low) / span
                inside = np.minimum((nearness * _SLICES).astype(int), _SLICES - 1) == slice_
                if not inside.any():
                    continue
                colors = item.colors[inside].copy()
                haze = self._fog * (1.0 - nearness[inside, None])
                colors[:, :3] += haze * (1.0 - colors[:, :3])
                flat = item.flat[inside]
                if item.kind == "dot":
                    panel.scatter(*flat[:, 0].T, s=item.size, c=colors, linewidths=0, zorder=order)
                elif item.kind == "segment":
                    style = {"colors": colors, "linewidths": item.size, "capstyle": "round", "zorder": order}
                    panel.add_collection(LineCollection(list(flat), **style), autolim=False)
                else:
                    # A hairline of the same colour closes the seams that antialiasing leaves between triangles.
                    style = {"facecolors": colors, "edgecolors": colors, "linewidths": item.size, "zorder": order}
                    panel.add_collection(PolyCollection(list(flat), **style), autolim=False)
        fit(panel, corners, margin=margin)

    def _add(self, kind: str, shapes: FloatArray, color: Any, size: float, lift: float) -> None:
        """Project ``shapes`` [n, corners, 3] and keep the finite ones."""
        projected = shapes @ self._axes.T
        finite = np.isfinite(projected).all(axis=(1, 2))
        projected, colors = projected[finite], _rgba(color, len(shapes))[finite]
        self._items.append(_Items(kind, projected[..., :2], projected[..., 2].mean(axis=1) + lift, colors, size))


def fit(panel: Any, corners: Sequence[Any] | FloatArray, *, margin: float = 0.06) -> None:
    """Set the limits of ``panel`` to a square around ``corners`` [n, 2]."""
    corners = np.asarray(corners, dtype=np.float64)
    centre = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    half = (0.5 + margin) * np.ptp(corners, axis=0).max()
    panel.set_xlim(centre[0] - half, centre[0] + half)
    panel.set_ylim(centre[1] - half, centre[1] + half)


def _rgba(color: Any, n: int) -> FloatArray:
    """``color`` as [n, 4]."""
    from matplotlib.colors import to_rgba_array

    colors = np.asarray(to_rgba_array(color), dtype=np.float64)
    return np.repeat(colors, n, axis=0) if len(colors) == 1 and n != 1 else colors.copy()


def _lit(colors: FloatArray, normals: FloatArray, *, gloss: bool) -> FloatArray:
    """``colors`` [n, 4] under a lamp: part everywhere, part by the angle of ``normals`` [n, 3] to it."""
    unit = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    lamp = _LIGHT / np.linalg.norm(_LIGHT)
    halfway = lamp + np.array([0.0, 0.0, 1.0])
    shine = 0.22 * np.clip(unit @ halfway / np.linalg.norm(halfway), 0.0, 1.0) ** 24 if gloss else np.zeros(len(unit))
    shade = 0.42 + 0.58 * np.clip(unit @ lamp, 0.0, 1.0)
    lit = colors.copy()
    lit[:, :3] = np.clip(colors[:, :3] * shade[:, None] + shine[:, None], 0.0, 1.0)
    return lit
