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
layouts = {
    "AtlasEmbedding": sb.AtlasEmbedding(n_components=2).fit_transform(X),
    "Isomap": Isomap(n_neighbors=10).fit_transform(X),
}


def rigid(found, truth):
    """``found`` after the rotation and translation that bring it nearest to ``truth``, and the error left (RMS)."""
    a, b = found - found.mean(axis=0), truth - truth.mean(axis=0)
    left, _, right = np.linalg.svd(a.T @ b)
    return a @ left @ right, np.sqrt(np.mean(np.sum((a @ left @ right - b) ** 2, axis=1)))


# %%
# Error against the true coordinates after a rigid motion, without scaling. The noise along the sheet alone gives 0.028.
figure, axes = plt.subplots(3, 1, figsize=(7.2, 6.4), layout="constrained", sharex=True)
sb.plot.embedding(truth - truth.mean(axis=0), truth[:, 0], ax=axes[0])
axes[0].set_title("truth")
for panel, (name, found) in zip(axes[1:], layouts.items(), strict=True):
    moved, error = rigid(found, truth)
    sb.plot.embedding(moved, truth[:, 0], ax=panel)
    panel.set_title(f"{name}: off by {error:.3f}")
for panel in axes:
    panel.set(aspect="equal", xlabel="", ylabel="")

# %%
# The scene: coordinates and data side by side. Hover over a row in one of them to see it in the other.
model = sb.AtlasEmbedding(n_components=2).fit(X[::2])
scene = sb.view(model, X[::2], title="a Swiss roll with a hole")
scene
