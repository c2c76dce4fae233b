"""
Images of a rotating object
===========================

120 images of one object from all directions, in no order. Each image is a row of 576 numbers, and all rows lie near a
closed curve. With one component `AtlasEmbedding` finds the order; with two it lays out the ring.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb


def picture(angle, size=24):
    """A lopsided object of four blobs in space, seen from ``angle``."""
    y, x = np.mgrid[-1 : 1 : 1j * size, -1 : 1 : 1j * size]
    blobs = [(0.6, 0.0, -0.3, 0.24), (-0.4, 0.45, 0.35, 0.2), (0.1, -0.6, 0.0, 0.3), (0.0, 0.3, 0.6, 0.14)]
    image = np.zeros((size, size))
    for a, b, height, width in blobs:
        side, depth = a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)
        image += (1.0 + 0.6 * depth) * np.exp(-((x - side) ** 2 + (y - height) ** 2) / (2.0 * width**2))
    return image.ravel()


rng = np.random.default_rng(0)
angles = rng.permutation(np.linspace(0.0, 2.0 * np.pi, 120, endpoint=False))
X = np.array([picture(angle) for angle in angles]) + rng.normal(scale=0.05, size=(120, 576))

# %%
model = sb.AtlasEmbedding(n_components=2).fit(X)
Z = model.embedding_
figure, ax = plt.subplots(figsize=(5.4, 5.0), layout="constrained")
sb.plot.embedding(Z, np.degrees(angles), label="true angle, degrees", ax=ax)
side = 0.2 * np.ptp(Z[:, 0])
for row in np.argsort(angles)[::12]:
    outward = 1.4 * (Z[row] - Z.mean(axis=0)) + Z.mean(axis=0)
    spot = ax.inset_axes([*(outward - 0.5 * side), side, side], transform=ax.transData)
    spot.imshow(X[row].reshape(24, 24), cmap="gray")
    spot.axis("off")
ax.margins(0.4)

# %%
# How well the ring keeps the order: the angle read off the two coordinates against the true one.
read = np.arctan2(*(Z - Z.mean(axis=0)).T)
turned = np.unwrap(read[np.argsort(angles)])
steps = np.diff(turned)
print(
    f"{np.mean(np.sign(steps) == np.sign(np.median(steps))):.0%} of the steps from picture to picture go the same way"
)

# %%
scene = sb.view(
    model, X, columns={"angle": np.degrees(angles)}, color="angle", image_shape=(24, 24), title="an object that turns"
)
scene
