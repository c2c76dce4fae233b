"""
Saving a model and serving it
=============================

A fitted model becomes one file of numbers. It holds no code, so an untrusted file is safe to open, and a server needs
only `load` and a function.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

data = sb.datasets.s_surface(1200, noise=0.02, seed=0)
model = sb.AtlasEmbedding(n_components=2).fit(data.points)
folder = tempfile.TemporaryDirectory()
path = sb.save(model, Path(folder.name) / "model.npz")
print(f"{path.name}: {path.stat().st_size / 1024:.0f} kB")

# %%
# In another process: the results are identical to the bit.
served = sb.load(path)
fresh = sb.datasets.s_surface(300, noise=0.02, seed=1).points
assert np.array_equal(served.transform(fresh), model.transform(fresh))


# %%
# The response of a service: coordinates and novelty.
def answer(row):
    """Coordinates and novelty of one row, as plain numbers."""
    found = served.locate(np.asarray(row, dtype=float)[None])
    return {"coordinates": found["coordinates"][0].round(3).tolist(), "novelty": round(float(found["novelty"][0]), 1)}


print("a row of the same kind:", answer(fresh[0]))
print("a row off the manifold:", answer([0.0, 1.0, 0.5]))

# %%
figure, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
sb.plot.trust(served, fresh, ax=ax)
ax.set_title("300 new rows, by the distortion of lengths")
scene = sb.view(served, fresh, title="the loaded model")
folder.cleanup()
scene
