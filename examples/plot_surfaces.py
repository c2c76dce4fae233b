"""
From a scan to a mesh
=====================

20000 noisy points of a closed, bumpy surface whose top was cut off, without normals: the scan, the mesh that
`subbundle.reconstruct` makes of it with its border kept open, and a Möbius band, which has no sides and is meshed all
the same.

Run it with ``python examples/plot_surfaces.py [folder]``; it needs ``pip install "subbundle[plot]"``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import subbundle as sb
from subbundle import plot
from subbundle.triangles.topology import border_edges

NOISE, TOP = 0.02, 0.75
SURFACE, BORDER, CLOUD = "#8fb3d9", "#d55e00", "#7d8794"


def open_scan() -> tuple[np.ndarray, sb.datasets.Dataset]:
    """Observations of the bumpy sphere below a plane."""
    data = sb.datasets.bumpy_sphere(20000, noise=NOISE, seed=0)
    return data.points[data.clean[:, 2] < TOP], data


def moebius_band(n: int = 12000) -> np.ndarray:
    """Observations of a Möbius band of radius 1 and width 0.8."""
    rng = np.random.default_rng(0)
    t, w = rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(-0.4, 0.4, n)
    ring = 1.0 + w * np.cos(0.5 * t)
    clean = np.column_stack([ring * np.cos(t), ring * np.sin(t), w * np.sin(0.5 * t)])
    return clean + NOISE * rng.standard_normal(clean.shape)


def draw_mesh(panel, mesh: sb.Mesh, view: plot.View, title: str) -> None:
    """The shaded mesh with its border."""
    scene = plot.Scene(view, fog=0.3)
    scene.add_triangles(mesh.vertices, mesh.faces, color=SURFACE)
    scene.add_curves(mesh.vertices[border_edges(mesh.faces)], color=BORDER, width=1.8, lift=0.02)
    scene.draw(panel)
    panel.set_title(title, fontsize=10)


def main(folder: Path) -> None:
    """Reconstruct, say what came out, draw."""
    points, data = open_scan()
    mesh = sb.reconstruct(points)
    band = sb.reconstruct(moebius_band())
    print("\n".join(mesh.report()))
    print(f"mean distance to the true surface: observations {data.distance(points).mean():.4f}, ", end="")
    print(f"vertices {data.distance(mesh.vertices).mean():.4f}")
    print("\n".join(band.report()))
    figure, panels = plot.new_figure(3, size=4.0)
    view = plot.View(-60.0, 35.0)
    scene = plot.Scene(view)
    scene.add_points(points, color=CLOUD, size=1.2)
    scene.draw(panels[0])
    panels[0].set_title(f"scan: {len(points)} points, no normals", fontsize=10)
    draw_mesh(panels[1], mesh, view, f"mesh: {len(mesh.faces)} triangles, border in orange")
    draw_mesh(panels[2], band, view, "a Möbius band: no sides, one border")
    print(f"wrote {plot.save_png(figure, folder / 'surfaces.png')}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("."))
