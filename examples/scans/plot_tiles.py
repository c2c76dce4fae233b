"""
A scene meshed in tiles
=======================

A scene that does not fit into memory is meshed tile by tile, here in one process and small: ground with a ditch that is
partly occluded, and a boulder. Every tile is a mesh; where two meet, their vertices are identical to the bit, so the
whole has no seam.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import trimesh

import subbundle as sb

rng = np.random.default_rng(0)
x, y = rng.uniform([[-2.0], [-1.6]], [[2.0], [1.6]], (2, 12000))
ground = np.stack([x, y, 0.25 * np.sin(1.3 * x) * np.cos(1.1 * y) - 0.5 * np.exp(-(((y + 0.9) / 0.25) ** 2))], axis=1)
boulder = rng.normal(size=(3500, 3))
boulder = 0.45 * boulder / np.linalg.norm(boulder, axis=1, keepdims=True) + [1.2, 0.9, 0.8]
points = np.concatenate([ground, boulder]) + rng.normal(scale=0.008, size=(15500, 3))
# Regions without observations: spots a tenth wide.
for spot in rng.uniform([-1.8, -1.4], [1.8, 1.4], (14, 2)):
    points = points[np.hypot(*(points[:, :2] - spot).T) > 0.1]

with tempfile.TemporaryDirectory() as folder:
    made = sb.distributed.reconstruct(points, Path(folder) / "tiles", points_per_tile=3000)
    tiles = [trimesh.load(path, process=False) for path in made.paths]
print(f"{made.n_points} points in {made.n_tiles} tiles: {made.n_vertices} vertices, {made.n_components} components")
print(f"Euler characteristic {made.euler_characteristic}: a sheet has 1, a closed surface 2")

# %%
# Vertices on seams are in two tiles or more; counted once, they are as many as the whole mesh has.
corners = np.concatenate([tile.vertices for tile in tiles])
distinct, whole = np.unique(corners, axis=0, return_inverse=True)
print(f"{len(corners)} vertices in the files, {len(distinct)} of them different")
starts = np.cumsum([0] + [len(tile.vertices) for tile in tiles])
faces = whole.ravel()[np.concatenate([tile.faces + start for tile, start in zip(tiles, starts, strict=False)])]
mesh = sb.Mesh(distinct, faces)

# %%
# Left: the tiles, each in a colour. Right: the whole mesh where tiles meet; triangles continue across the seams.
number = np.repeat(np.arange(len(tiles)), [len(tile.faces) for tile in tiles])
bare = {"aspect": "equal", "frame_on": False, "xticks": [], "yticks": []}
figure, panels = plt.subplots(1, 2, figsize=(11.0, 4.4), subplot_kw=bare, layout="constrained", width_ratios=[1.5, 1.0])
view = sb.plot.View(-65.0, 40.0)
colours = plt.get_cmap("Set3")(number % 12)[:, :3]
parts = sb.plot.Scene(view)
parts.add_triangles(mesh.vertices, mesh.faces, color=colours)
parts.draw(panels[0])
panels[0].set_title(f"{len(tiles)} tiles, each in a colour")
middle = mesh.vertices[mesh.faces].mean(axis=1)
near = np.abs(middle[:, :2]).max(axis=1) < 0.45
close = sb.plot.Scene(sb.plot.View(-65.0, 60.0))
close.add_triangles(mesh.vertices, mesh.faces[near], color=colours[near])
edges = mesh.faces[near][:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
close.add_curves(mesh.vertices[edges], color="#334155", width=0.5, lift=0.02)
close.draw(panels[1])
panels[1].set_title("where tiles meet, with the edges of the triangles")

# %%
# Interactive:
scene = sb.view(mesh, title="a scene in tiles")

# sphinx_gallery_start_ignore
import sys

if len(sys.argv) > 1:  # python examples/scans/plot_tiles.py docs/images
    sb.plot.save_png(figure, f"{sys.argv[1]}/tiles.png", dpi=110)
# sphinx_gallery_end_ignore
