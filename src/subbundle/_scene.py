"""Points, curves and triangles in R³, drawn by the painter's algorithm.

Matplotlib's own 3-D axes order whole collections, so a curve lies wholly in front of a cloud or wholly behind it.
Here a `Scene` projects everything itself (parallel projection, equal axes), sorts all dots, segments and triangles into
slices by depth and paints the slices from back to front, paler with distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from subbundle._types import FloatArray

# Layers of depth, painted from back to front: objects in one layer are painted by kind.
_SLICES = 64
_LIGHT = np.array([-0.45, 0.65, 0.75])  # right, up, towards the eye


@dataclass(frozen=True, slots=True)
class View:
    """Direction of a parallel projection: ``azimuth`` around the z axis and ``elevation``, in degrees."""

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
    """Objects in R³ to be painted by depth. Add them in any order, then `draw`.

    Rows with NaN (geodesics after their end) are left out. ``lift`` moves objects towards the eye, in units of the
    data, so that a curve on a surface is not partly hidden by it.
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
        """Arrows from ``starts`` [n, 3] along ``vectors`` [n, 3]; the heads lie in the image plane."""
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
    """``colors`` [n, 4] under ambient and directional light, by the angle of ``normals`` [n, 3] to it."""
    unit = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    lamp = _LIGHT / np.linalg.norm(_LIGHT)
    halfway = lamp + np.array([0.0, 0.0, 1.0])
    shine = 0.22 * np.clip(unit @ halfway / np.linalg.norm(halfway), 0.0, 1.0) ** 24 if gloss else np.zeros(len(unit))
    shade = 0.42 + 0.58 * np.clip(unit @ lamp, 0.0, 1.0)
    lit = colors.copy()
    lit[:, :3] = np.clip(colors[:, :3] * shade[:, None] + shine[:, None], 0.0, 1.0)
    return lit
