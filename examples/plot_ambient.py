"""
Surfaces in four dimensions
===========================

A Klein bottle crosses itself in R³ but not in R⁴. 12000 noisy points of one in R⁴ become a closed mesh with vertices in
R⁴; so does a flat torus, a product of two circles. Pictures need three coordinates: the bottle is shown by its first
three, where it seems to cross itself at places whose fourth (the colour) differs; the torus by stereographic projection
from the 3-sphere it lies on.

Run it with ``python examples/plot_ambient.py [folder]``; it needs ``pip install "subbundle[plot]"``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import subbundle as sb
from subbundle import plot

NOISE = 0.015
RADII = (1.0, 0.6)
CLOUD = "#7d8794"


def klein_bottle(n: int = 12000) -> np.ndarray:
    """((1 + cos v / 2) e^{iu}, sin v e^{iu/2} / 2): going round once in u turns v into −v."""
    rng = np.random.default_rng(0)
    u, v = rng.uniform(0.0, 2.0 * np.pi, (2, n))
    ring, lift = 1.0 + 0.5 * np.cos(v), 0.5 * np.sin(v)
    clean = np.column_stack([ring * np.cos(u), ring * np.sin(u), lift * np.cos(u / 2.0), lift * np.sin(u / 2.0)])
    return clean + NOISE * rng.standard_normal(clean.shape)


def flat_torus(n: int = 12000) -> np.ndarray:
    """Two circles, of radius 1 and 0.6, in two planes."""
    rng = np.random.default_rng(0)
    u, v = rng.uniform(0.0, 2.0 * np.pi, (2, n))
    clean = np.column_stack([RADII[0] * np.cos(u), RADII[0] * np.sin(u), RADII[1] * np.cos(v), RADII[1] * np.sin(v)])
    return clean + NOISE * rng.standard_normal(clean.shape)


def draw_mesh(panel, places: np.ndarray, mesh: sb.Mesh, limit: float, title: str) -> None:
    """The mesh with its vertices at ``places`` [n, 3], coloured by the fourth coordinate."""
    scene = plot.Scene(plot.View(-115.0, 35.0), fog=0.2)
    fourth = mesh.vertices[mesh.faces, 3].mean(axis=1)
    scene.add_triangles(places, mesh.faces, color=plot.colours_of(fourth, low=-limit, high=limit))
    scene.draw(panel)
    panel.set_title(title, fontsize=10)


def main(folder: Path) -> None:
    """Reconstruct, say what came out, draw."""
    points = klein_bottle()
    bottle, torus = sb.reconstruct(points), sb.reconstruct(flat_torus())
    for mesh in (bottle, torus):
        print("\n".join(mesh.report()))
    print(f"area of the torus: {torus.area:.3f}, by its formula {4.0 * np.pi**2 * RADII[0] * RADII[1]:.3f}")
    figure, panels = plot.new_figure(3, size=4.0)
    scene = plot.Scene(plot.View(-115.0, 35.0))
    scene.add_points(points[:, :3], color=CLOUD, size=1.5)
    scene.draw(panels[0])
    panels[0].set_title(f"{len(points)} points of a Klein bottle in R⁴", fontsize=10)
    draw_mesh(panels[1], bottle.vertices[:, :3], bottle, 0.6, f"its mesh: {len(bottle.faces)} triangles, no border")
    radius = float(np.hypot(*RADII))
    seen = torus.vertices[:, :3] / (1.0 - torus.vertices[:, 3:] / radius)
    draw_mesh(panels[2], seen, torus, 0.6, "a flat torus in R⁴, projected stereographically")
    plot.add_scale(figure, panels[2], -0.6, 0.6, "fourth coordinate")
    print(f"wrote {plot.save_png(figure, folder / 'ambient.png', dpi=110)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("."))
