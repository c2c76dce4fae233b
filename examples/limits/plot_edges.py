"""
Sharp edges, corners and crossings
==================================

At an edge a surface has no tangent plane. The ridge rounds it over about a bandwidth; at a crossing two directions have
equal variance, the eigenvalue gap closes, and the status of the rows reports it.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

rng = np.random.default_rng(0)
t = rng.uniform(-1.0, 1.0, 1500)
corner = np.column_stack([t, np.abs(t)])
lines = np.where((rng.random(1500) < 0.5)[:, None], np.column_stack([t, 0.6 * t]), np.column_stack([t, -0.6 * t]))
figure, panels = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained")
for panel, clean, title in zip(panels, (corner, lines), ("a corner", "a crossing"), strict=True):
    noisy = clean + rng.normal(scale=0.02, size=clean.shape)
    bundle = sb.PrincipalSubbundle(noisy, rank=1, bandwidth=0.1)
    ridge = sb.ridge_project(bundle, noisy)
    good = ridge.status == sb.Status.OK
    panel.scatter(*noisy.T, s=5, color="#c3cad4", linewidths=0, label="observed")
    panel.scatter(*ridge.points[good].T, s=5, color="#0072b2", linewidths=0, label="projected")
    panel.scatter(
        *ridge.points[~good].T, s=16, marker="x", color="#d55e00", lw=0.8, label=f"reported: {np.sum(~good)} rows"
    )
    panel.set(aspect="equal", title=title)
    panel.legend(frameon=False, loc="upper center")
    low = bundle.frame(noisy).gap
    print(f"{title}: gap {np.median(low):.2f} in general, {low.min():.2f} at its worst")

# %%
scene = sb.view(noisy, columns={"gap": low}, title="a crossing, by the gap of the eigenvalues")
scene

# sphinx_gallery_start_ignore
import sys

if len(sys.argv) > 1:  # python examples/limits/plot_edges.py docs/images
    sb.plot.save_png(figure, f"{sys.argv[1]}/limits-edges.png", dpi=110)
# sphinx_gallery_end_ignore
