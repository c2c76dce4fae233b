"""
Distances on a scan
===================

How far is it from one point of an object to all the others, along its surface? `GeodesicDistance` needs no mesh, and
noise does not lengthen the paths as in a neighbour graph: they run along the ridge.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

data = sb.datasets.torus(3000, noise=0.02, seed=0)
metric = sb.GeodesicDistance(rank=2, method="atlas").fit(data.points)
mesh = sb.reconstruct(data.points)  # to draw on; its vertices are new points for the metric
start = data.points[[np.argmax(data.points @ [0.8, 0.6, 0.0])]]
along = metric.pairwise(start, mesh.vertices)[0]
straight = np.linalg.norm(mesh.vertices - start, axis=1)
print(f"farthest: {np.nanmax(along):.2f} along the torus, {straight.max():.2f} straight")

# %%
# A check with exact values: points of the outer equator, of radius 1.4, are an arc apart.
x, y, z = mesh.vertices.T
angle = np.abs(np.arctan2(y, x) - np.arctan2(start[0, 1], start[0, 0]))
near = (np.hypot(x, y) > 1.395) & (angle > 0.1) & (angle < 0.8)
print(f"along the equator, mean relative error {np.nanmean(np.abs(along[near] / (1.4 * angle[near]) - 1)):.1%}")

# %%
# Paths to four points are geodesics of the bundle; they start and end on its ridge.
bundle = sb.PrincipalSubbundle(data.points, rank=2, bandwidth=0.15)
towards = ([-0.8, -0.6, 0.7], [-0.8, 0.6, 0.5], [0.8, -0.6, 0.5], [-0.3, -0.2, 0.9])
ends = [data.points[[np.argmax(data.points @ direction)]] for direction in towards]
paths = [sb.geodesic_between(bundle, *sb.carry_to_ridge(bundle, np.vstack([start, end])).points) for end in ends]
bare = {"aspect": "equal", "frame_on": False, "xticks": [], "yticks": []}
figure, ax = plt.subplots(figsize=(6.6, 4.4), subplot_kw=bare, layout="constrained")
scene = sb.plot.Scene(sb.plot.View(35.0, 45.0), fog=0.1)
colours = sb.plot.colours_of(along[mesh.faces].mean(axis=1), low=0.0)
scene.add_triangles(mesh.vertices, mesh.faces, color=colours)
scene.add_curves(np.array([path.points for path in paths]), color="#d55e00", width=2.4, lift=0.03)
scene.draw(ax)
ax.set(ylim=(-1.25, 1.25))
scale = plt.cm.ScalarMappable(plt.Normalize(0, np.nanmax(along)), "viridis")
figure.colorbar(scale, ax=ax, label="distance along the surface")

# %%
# In the scene a click on two points shows the path between them.
view = sb.view(data.points[::2], columns={"height": data.points[::2, 2]}, title="a noisy torus")
view
