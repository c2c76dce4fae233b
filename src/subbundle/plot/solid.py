"""Plots in space: a mesh with its open border, geodesics on a cloud."""

from __future__ import annotations

from typing import Any

import numpy as np

from subbundle._scene import Scene, View
from subbundle._types import FloatArray
from subbundle.plot.canvas import colours_of, new_axes
from subbundle.plot.palette import BORDER, GREY, PALE, PALETTE
from subbundle.triangles.topology import border_edges

# Most points in a vector graphic.
_MOST_POINTS = 8000
# Shift of curves from their surface towards the viewer, as a fraction of the size.
_LIFT = 0.01


def mesh(mesh: Any, color: Any = None, *, view: View | None = None, ax: Any = None) -> Any:
    """Draw a mesh in R³, lit, its open border in orange; return the axes.

    ``color`` [n_vertices] or [n_faces]: numbers for a colour scale, pale where not finite; else one plain colour.
    """
    return _draw(mesh_scene(mesh, color, view), ax)


def mesh_scene(
    mesh: Any, color: Any, view: View | None, limits: tuple[float | None, float | None] = (None, None)
) -> Scene:
    """The scene that `mesh` draws, with ``limits`` for the colours."""
    vertices, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces)
    if vertices.shape[1] != 3:
        raise ValueError(f"mesh must lie in R³; it lies in R^{vertices.shape[1]}. View it with sb.view instead.")
    shades: Any = "#b8c4d6"
    if color is not None:
        from matplotlib.colors import to_rgba

        values = np.asarray(color, dtype=np.float64)
        if values.shape not in ((len(vertices),), (len(faces),)):
            raise ValueError(
                f"color must have one entry per vertex, {len(vertices)}, or face, {len(faces)}; got {values.shape}."
            )
        values = values[faces].mean(axis=1) if len(values) == len(vertices) else values
        unknown = ~np.isfinite(values)
        shades = colours_of(np.where(unknown, np.nan, values), low=limits[0], high=limits[1])
        shades[unknown] = to_rgba(PALE)
    scene = Scene(view, fog=0.25)
    scene.add_triangles(vertices, faces, color=shades)
    edges = border_edges(faces)
    if len(edges):
        scene.add_curves(vertices[edges], color=BORDER, width=1.6, lift=_LIFT * _size(vertices))
    return scene


def geodesics(geodesics: Any, points: Any = None, *, view: View | None = None, ax: Any = None) -> Any:
    """Draw geodesics (a `Geodesics`, or arrays [batch, times, d]) and the cloud they run through; return the axes.

    In the plane as lines, in space painted by depth; in more dimensions along the three leading principal components.
    """
    curves = np.asarray(getattr(geodesics, "points", geodesics), dtype=np.float64)
    curves = curves[None] if curves.ndim == 2 else curves
    cloud = np.empty((0, curves.shape[2])) if points is None else np.asarray(points, dtype=np.float64)
    cloud = cloud[:: max(1, len(cloud) // _MOST_POINTS)]
    if curves.shape[2] == 2:
        ax = new_axes(ax)
        ax.scatter(*cloud.T, s=3.0, color=GREY, alpha=0.6, linewidths=0.0)
        ax.plot(*np.moveaxis(curves, 2, 0).transpose(0, 2, 1), color=PALETTE[5], lw=1.4)
        ax.set_aspect("equal")
        return ax
    if curves.shape[2] > 3:
        curves, cloud = _projected(curves, cloud)
    scene = Scene(view, fog=0.5)
    scene.add_points(cloud, color="#aab4c2", size=2.5)
    known = curves.reshape(-1, 3)[np.isfinite(curves).all(axis=2).ravel()]
    scene.add_curves(curves, color=PALETTE[5], width=1.4, lift=_LIFT * _size(known))
    return _draw(scene, ax)


def _draw(scene: Scene, ax: Any) -> Any:
    ax = new_axes(ax)
    ax.set_aspect("equal")
    ax.set_axis_off()
    scene.draw(ax)
    return ax


def _size(points: FloatArray) -> float:
    return float(np.ptp(points, axis=0).max()) if len(points) else 1.0


def _projected(curves: FloatArray, cloud: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Curves [b, t, 3] and cloud [n, 3] in the leading components of both together."""
    flat = curves.reshape(-1, curves.shape[2])
    known = np.concatenate([flat[np.isfinite(flat).all(axis=1)], cloud])
    middle = known.mean(axis=0)
    axes = np.linalg.svd(known - middle, full_matrices=False)[2][:3].T
    return (curves - middle) @ axes, (cloud - middle) @ axes
