"""
A sheet of geodesics on a head
==============================

Many geodesics from one point, in evenly spread directions, make an ordered grid on the surface: the principal
submanifold. Every grid point has polar coordinates and its distance from the base point, exact by construction.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

data = sb.datasets.head(30000, noise=0.005, seed=0)
bundle = sb.PrincipalSubbundle(data.points, rank=2, bandwidth=0.015)
front = data.points[np.argmin(data.points[:, 1])]
base = sb.carry_to_ridge(bundle, front).points
sheet = sb.submanifold(bundle, base, radius=0.45, step=0.01, n_geodesics=90)
known = np.isfinite(sheet.points).all(axis=1)
print(f"{known.sum()} points, off the surface by {data.distance(sheet.points[known]).mean():.4f}; the noise is 0.005")

# %%
bare = {"aspect": "equal", "frame_on": False, "xticks": [], "yticks": []}
figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 5.0), subplot_kw=bare, layout="constrained")
seen = sb.plot.View(-75.0, 10.0)
cloud = sb.plot.Scene(seen)
cloud.add_points(data.points[::2], color="#7d8794", size=0.8)
cloud.draw(left)
left.set_title("30000 noisy points")
grid = sb.plot.Scene(seen, fog=0.3)
grid.add_points(data.points[::4], color="#c3cad4", size=0.8)
grid.add_points(sheet.points[known], color=sb.plot.colours_of(sheet.distances[known]), size=3.0, lift=0.02)
grid.draw(right)
right.set_title("geodesics from one point, by distance")

# %%
scene = sb.view({"sheet": sheet, "points": data.points[::6]}, title="a sheet of geodesics")
scene
