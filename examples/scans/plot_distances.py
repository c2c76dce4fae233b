"""
Distances on a scan
===================

How far is it from one point of an object to all the others, along its surface? `GeodesicDistance` needs no mesh, and
noise does not lengthen the paths as in a neighbour graph: they run along the ridge.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

data = sb.datasets.torus(4000, noise=0.02, seed=0)
metric = sb.GeodesicDistance(rank=2, method="atlas").fit(data.points)
points = data.points[::4]
start = np.argmax(points[:, 0])
along = metric.pairwise(points[[start]], points)[0]
straight = np.linalg.norm(points - points[start], axis=1)
print(f"farthest: {along.max():.2f} along the torus, {straight.max():.2f} straight")

# %%
# A check with exact values: points of the outer equator, of radius 1.4, are an arc apart.
outer = data.clean[::4, 0] ** 2 + data.clean[::4, 1] ** 2 > 1.395**2
angle = np.abs(np.arctan2(points[outer, 1], points[outer, 0]) - np.arctan2(points[start, 1], points[start, 0]))
near = (angle > 0.1) & (angle < 0.8)
print(f"along the equator, mean relative error {np.nanmean(np.abs(along[outer][near] / (1.4 * angle[near]) - 1)):.1%}")

# %%
# Paths to four of the points are geodesics of the bundle; they start and end on its ridge.
bundle = sb.PrincipalSubbundle(data.points, rank=2, bandwidth=0.15)
ends = [
    int(np.argmin(points @ np.array(direction))) for direction in ([1, 0, 0.5], [1, 0, -0.5], [0, 1, 0], [0, -1, 0])
]
paths = [sb.geodesic_between(bundle, *sb.carry_to_ridge(bundle, points[[start, end]]).points).points for end in ends]
bare = {"aspect": "equal", "frame_on": False, "xticks": [], "yticks": []}
figure, ax = plt.subplots(figsize=(6.6, 5.4), subplot_kw=bare, layout="constrained")
scene = sb.plot.Scene(sb.plot.View(35.0, 40.0), fog=0.3)
scene.add_points(points, color=sb.plot.colours_of(along), size=16.0)
scene.add_curves(np.array(paths), color="#d55e00", width=2.4, lift=0.1)
scene.draw(ax)
figure.colorbar(
    plt.cm.ScalarMappable(plt.Normalize(0, np.nanmax(along)), "viridis"), ax=ax, label="distance along the surface"
)

# %%
# In the scene a click on two points shows the path between them.
view = sb.view(data.points[::2], columns={"height": data.points[::2, 2]}, title="a noisy torus")
view
