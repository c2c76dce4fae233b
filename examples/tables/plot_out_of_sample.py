"""
New rows, novelty detection, and a model in a file
==================================================

A model is fitted to half of the rows. The other half is located as accurately as the training rows, and `novelty`
detects rows off the manifold: it is their distance from it in units of the typical residual. The model is saved to one
file of numbers; it holds no code, so an untrusted file is safe to open.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

data = sb.datasets.s_surface(2000, noise=0.025, seed=0)
seen = np.arange(2000) % 2 == 0
model = sb.AtlasEmbedding(n_components=2).fit(data.points[seen])

# %%
# The same rigid motion, found on the training rows, for both halves.
a, b = model.embedding_.mean(axis=0), data.coordinates[seen].mean(axis=0)
left, _, right = np.linalg.svd((model.embedding_ - a).T @ (data.coordinates[seen] - b))
for name, part in (("training", seen), ("new", ~seen)):
    off = (model.transform(data.points[part]) - a) @ left @ right + b - data.coordinates[part]
    print(f"{name:<9} rows: error {np.sqrt(np.mean(np.sum(off**2, axis=1))):.4f}")

# %%
# Novel rows: points off the surface, at increasing distances from it. Their novelty grows in proportion; hardly any
# row of the same kind exceeds 4 (dashed).
rng = np.random.default_rng(1)
offsets = np.linspace(0.0, 0.5, 400)
normals = sb.ridge_project(model.bundle_, data.clean[~seen][:400]).normals[:, :, 0]
novel = data.clean[~seen][:400] + offsets[:, None] * normals
figure, (one, two) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
one.hist(model.novelty(data.points[~seen]), bins=40, color=sb.plot.PALETTE[0])
one.set(xlabel="novelty of new rows of the same kind", ylabel="rows")
two.plot(offsets, model.novelty(novel), ".", color=sb.plot.PALETTE[1], ms=3)
two.set(xlabel="distance off the surface (noise 0.025)", ylabel="novelty")
two.axhline(4.0, ls="--", color="0.4", lw=1.0)

# %%
# Save the model, and load it in another process: the results are identical to the bit. A service needs `load` and one
# function.
with tempfile.TemporaryDirectory() as folder:
    path = sb.save(model, Path(folder) / "model.npz")
    print(f"{path.name}: {path.stat().st_size / 1024:.0f} kB")
    served = sb.load(path)
assert np.array_equal(served.transform(novel), model.transform(novel))


def answer(row):
    """Coordinates and novelty of one row, as plain numbers."""
    found = served.locate(np.asarray(row, dtype=float)[None])
    return {"coordinates": found["coordinates"][0].round(3).tolist(), "novelty": round(float(found["novelty"][0]), 1)}


print("a row of the same kind:", answer(data.points[1]))
print("a row off the surface:", answer(novel[-1]))

# %%
scene = sb.view(model, data.points[~seen], title="rows that the model had not seen")
scene
