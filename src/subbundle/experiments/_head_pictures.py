"""Figures of the head: submanifolds coloured by distance, geodesic circles, a geodesic, a close-up of the overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from subbundle import plot
from subbundle._types import FloatArray, IntArray
from subbundle.experiments.demo import polar_faces
from subbundle.geodesics.submanifold import Submanifold

VIEWS = (plot.View(azimuth=18.0, elevation=12.0), plot.View(azimuth=75.0, elevation=22.0))
CLOUD, HIGHLIGHT = "#9a93b3", "#0b3d91"
# One sequential map per submanifold, light at the base point, that colour-blind readers can distinguish.
MAPS = ("Purples", "YlOrBr")
PLAIN = ("#8f83c4", "#e8d3a2")


def grid(piece: Submanifold) -> FloatArray:
    """Some of the points [rays, nodes, 3], by geodesic from the base point outwards."""
    curves = piece.geodesics.points
    along = max((curves.shape[1] - 1) // 60, 1)
    return np.asarray(curves[:: max(len(curves) // 160, 1), ::along])


def mesh_of(piece: Submanifold) -> tuple[FloatArray, IntArray, FloatArray]:
    """Vertices, triangles and colours by distance, of the points that were reached."""
    points = grid(piece)
    flat = np.concatenate([points[:1, 0], points[:, 1:].reshape(-1, 3)])
    faces = polar_faces(len(points), np.isfinite(flat[:, 0]))
    used, corners = np.unique(faces, return_inverse=True)
    distances = np.concatenate([[0.0], np.tile(np.linspace(0.0, piece.radius, points.shape[1])[1:], len(points))])
    colors = plot.colours_of(distances, low=-0.2 * piece.radius, high=piece.radius, name=MAPS[0])[:, :3]
    return flat[used], corners.reshape(-1, 3), colors[used]


def facing(pieces: Sequence[Submanifold]) -> tuple[plot.View, plot.View]:
    """Views of a scan of unknown pose: onto the first base point, and from the side."""
    azimuth, elevation = _angles(pieces[0].base_point)
    return plot.View(azimuth, elevation), plot.View(azimuth + 60.0, elevation)


def draw(
    points: FloatArray, pieces: Sequence[Submanifold], name: str, views: tuple[plot.View, plot.View] = VIEWS
) -> Any:
    """Two views of the cloud with the submanifolds in front."""
    figure, panels = plot.new_figure(2)
    for panel, view, title in zip(panels, views, (name, "from the side"), strict=True):
        cloud = plot.Scene(view, fog=0.35)
        cloud.add_points(points, color=CLOUD, size=1.2)
        scene = plot.Scene(view, fog=0.1)
        for i, piece in enumerate(pieces):
            _add_piece(scene, piece, MAPS[i])
            _add_circles(scene, piece)
        _add_geodesic(scene, pieces[0])
        scene.draw(panel, layer=1)
        cloud.draw(panel, margin=0.03)
        panel.set_title(title, fontsize=11)
    return figure


def draw_overlap(pieces: Sequence[Submanifold]) -> Any:
    """Close-up of both submanifolds in plain colours: the outer one is in front."""
    figure, (panel,) = plot.new_figure(1, size=6.0)
    figure.set_size_inches(6.0, 6.36)  # there is no colour scale to leave room for
    panel.set_position((0.0, 0.0, 1.0, 6.0 / 6.36))
    first, second = (piece.base_point for piece in pieces)
    view = plot.View(*_angles(first + second))
    scene = plot.Scene(view, fog=0.0)
    for piece, color in zip(pieces, PLAIN, strict=True):
        curves = piece.geodesics.points
        curves = curves[:: max(len(curves) // 1250, 1), :: max(curves.shape[1] // 150, 1)]
        scene.add_points(curves.reshape(-1, 3), color=color, size=1.6)
        _add_circles(scene, piece)
    scene.draw(panel)
    seen = np.stack([first, second]) @ view.axes[:2].T
    plot.fit(panel, np.vstack([seen + 0.1, seen - 0.1]), margin=0.0)
    panel.set_title("overlap of the two submanifolds", fontsize=11)
    return figure


def _angles(toward: FloatArray) -> tuple[float, float]:
    """Azimuth and elevation of a direction, in degrees."""
    level = float(np.hypot(toward[0], toward[1]))
    return float(np.degrees(np.arctan2(toward[1], toward[0]))), float(np.degrees(np.arctan2(toward[2], level)))


def _add_piece(scene: plot.Scene, piece: Submanifold, name: str) -> None:
    vertices, faces, _ = mesh_of(piece)
    distances = np.linalg.norm(vertices - piece.base_point, axis=1)[faces].mean(axis=1)
    color = plot.colours_of(distances, low=-0.3 * piece.radius, high=1.2 * piece.radius, name=name)
    scene.add_triangles(vertices, faces, color=color)


def _add_circles(scene: plot.Scene, piece: Submanifold) -> None:
    """Geodesic circles every 0.05: points at the same distance from the base point."""
    curves = piece.geodesics.points
    every = round(0.05 / piece.step)
    rings = curves[:: max(len(curves) // 500, 1), every::every].transpose(1, 0, 2)
    scene.add_curves(np.concatenate([rings, rings[:, :1]], axis=1), color="#3d3d3d", width=0.7, lift=0.004)
    scene.add_points(piece.base_point[None], color="#d1341f", size=26.0, lift=0.02)


def _add_geodesic(scene: plot.Scene, piece: Submanifold) -> None:
    """The geodesic of ``piece`` with the largest z, in a separate colour."""
    curves = piece.geodesics.points
    highest = int(np.nanargmax(np.where(np.isfinite(curves[:, -1, 2]), curves[:, -1, 2], -np.inf)))
    scene.add_curves(curves[highest : highest + 1], color=HIGHLIGHT, width=2.6, lift=0.006)
