"""
Walking along a coordinate
==========================

The inverse transform gives a row for any coordinates, also between those of the training rows. Images of a disc that
moves and grows: two parameters, 400 pixels. A path through the coordinates generates new images.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation

import subbundle as sb

y, x = np.mgrid[-1:1:20j, -1:1:20j]
rng = np.random.default_rng(0)
place, radius = rng.uniform(-0.5, 0.5, 500), rng.uniform(0.3, 0.6, 500)
X = np.array([1.0 / (1.0 + np.exp(9.0 * (np.hypot(x - p, y) - r))) for p, r in zip(place, radius, strict=True)])
X = X.reshape(500, 400) + rng.normal(scale=0.03, size=(500, 400))
model = sb.AtlasEmbedding(n_components=2).fit(X)

# %%
# An ellipse in the middle of the coordinates, and the pictures along it.
Z = model.embedding_
turn = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
reach = 0.3 * np.ptp(Z, axis=0)
walk = np.median(Z, axis=0) + reach * np.column_stack([np.cos(turn), np.sin(turn)])
rows = model.inverse_transform(walk)
print(f"novelty of the new rows: {model.novelty(rows).max():.1f} at most; 1 is what the data itself has")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.4), dpi=72, layout="constrained")
sb.plot.embedding(Z, radius, label="true radius", ax=left)
left.plot(*np.vstack([walk, walk[:1]]).T, color=sb.plot.PALETTE[5], lw=1.2)
(dot,) = left.plot(*walk[0], "o", color=sb.plot.PALETTE[5], ms=9)
image = right.imshow(rows[0].reshape(20, 20), cmap="gray", vmin=0.0, vmax=1.0)
right.axis("off")
right.set_title("inverse_transform(the orange dot)", fontsize=10)


def step(frame):
    """Move the dot and show the picture there."""
    dot.set_data([walk[frame, 0]], [walk[frame, 1]])
    image.set_data(rows[frame].reshape(20, 20))
    return dot, image


animation = FuncAnimation(figure, step, frames=len(walk), interval=120)

# %%
scene = sb.view(
    model, X, columns={"radius": radius, "place": place}, color="radius", image_shape=(20, 20), title="discs"
)
scene
