"""
A Swiss roll with a hole
========================

A rolled-up sheet with a rectangle missing. Shortest paths of a neighbour graph go around the hole, so Isomap enlarges
it; `AtlasEmbedding` aligns small charts, and the hole keeps its size.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import Isomap

import subbundle as sb

data = sb.datasets.swiss_roll(2000, noise=0.02, seed=0)
along, across = data.coordinates.T
middle = np.median(along)
keep = ~((np.abs(along - middle) < 1.2) & (np.abs(across - np.median(across)) < 0.6))
X, truth = data.points[keep], data.coordinates[keep]

# %%
# Two estimators with the scikit-learn interface. `AtlasEmbedding` chooses its neighbourhoods, and its coordinates have
# the units of the data; Isomap gets a number of neighbours that suits it here.
model = sb.AtlasEmbedding(n_components=2).fit(X)
layouts = {"AtlasEmbedding": model.embedding_, "Isomap": Isomap(n_neighbors=10).fit_transform(X)}


def rigid(found, truth):
    """``found`` after the rotation and translation that bring it nearest to ``truth``, and the error left (RMS)."""
    a, b = found - found.mean(axis=0), truth - truth.mean(axis=0)
    left, _, right = np.linalg.svd(a.T @ b)
    return a @ left @ right, np.sqrt(np.mean(np.sum((a @ left @ right - b) ** 2, axis=1)))


# %%
# Error against the true coordinates after a rigid motion, without scaling. The noise along the sheet alone gives 0.028.
figure, axes = plt.subplots(3, 1, figsize=(7.2, 6.0), layout="constrained", sharex=True, sharey=True)
drawn = {"truth": truth - truth.mean(axis=0)}
for name, found in layouts.items():
    moved, error = rigid(found, truth)
    drawn[f"{name}: off by {error:.3f}"] = moved
for panel, (title, flat) in zip(axes, drawn.items(), strict=True):
    dots = panel.scatter(*flat.T, s=4.0, c=truth[:, 0], linewidths=0.0)
    panel.set(aspect="equal", title=title)
figure.colorbar(dots, ax=axes, shrink=0.6, label="true position along the roll")

# %%
# The scene: coordinates and data side by side. Hover over a row in one of them to see it in the other.
scene = sb.view(model, X, title="a Swiss roll with a hole")
scene
