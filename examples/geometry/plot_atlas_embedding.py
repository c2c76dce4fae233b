"""
Shapes that cannot be flattened, and shapes that must be cut
============================================================

`AtlasEmbedding` of three clouds: an S-surface with a hole, which can be flattened; a spherical cap, which cannot; and a
closed band with a half turn, which has to be cut. Each picture shows the coordinates coloured by the distortion of
lengths.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

rng = np.random.default_rng(0)
sheet = sb.datasets.s_surface(6000, noise=0.025, seed=0)
t, y = sheet.coordinates.T
height, turn = rng.uniform(np.cos(1.3), 1.0, 2000), rng.uniform(0.0, 2.0 * np.pi, 2000)
cap = np.column_stack([np.sqrt(1.0 - height**2) * np.cos(turn), np.sqrt(1.0 - height**2) * np.sin(turn), height])
u, w = rng.uniform(0.0, 2.0 * np.pi, 2500), rng.uniform(-0.5, 0.5, 2500)
ring = 1.5 + w * np.cos(0.5 * u)
band = np.column_stack([ring * np.cos(u), ring * np.sin(u), w * np.sin(0.5 * u)])
shapes = {
    "hole": (sheet.points[np.hypot(t / 1.5, (y - 1.0) / 0.6) > 1.0][:3000], "rigid"),
    "cap": (cap + 0.02 * rng.standard_normal(cap.shape), "stress"),
    "moebius": (band + 0.02 * rng.standard_normal(band.shape), "rigid"),
}

# %%
# `fit` warns of shapes that are distorted or cut; the attributes of the model have the values of each row.
models = {}
for name, (points, metric) in shapes.items():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        models[name] = model = sb.AtlasEmbedding(2, metric=metric).fit(points)
    print(f"{name}: alignment residual {model.alignment_residual_:.4f}, distortion up to {model.distortion_.max():.3f}")
    for warning in caught:
        print(" ", warning.message)

# %%
titles = {"hole": "S-surface with a hole", "cap": "cap of a sphere", "moebius": "Möbius band, cut"}
figure, panels = plt.subplot_mosaic([["hole", "hole"], ["cap", "moebius"]], figsize=(8.4, 6.8), layout="constrained")
for (name, model), panel in zip(models.items(), panels.values(), strict=True):
    sb.plot.trust(model, ax=panel)
    panel.set(aspect="equal", title=titles[name])

# %%
scene = sb.view(models["moebius"], shapes["moebius"][0], title="a Möbius band, cut")
scene

# sphinx_gallery_start_ignore
import sys

if len(sys.argv) > 1:  # python examples/geometry/plot_atlas_embedding.py docs/images
    from subbundle.embedding_figure import draw_embedding

    for name, (points, _) in shapes.items():
        draw_embedding(models[name], points, f"{sys.argv[1]}/atlas-{name}.png")
# sphinx_gallery_end_ignore
