"""
Sheets that are too close
=========================

Two parallel sheets, seen in cross-section, with a bandwidth of 0.1. At four bandwidths they do not influence each
other. At two, points of one are projected in between; the eigenvalue gap has fallen by then, which reveals the problem.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

rng = np.random.default_rng(0)
figure, panels = plt.subplots(1, 4, figsize=(11.0, 3.4), layout="constrained", sharey=True)
for panel, distance in zip(panels, (0.5, 0.35, 0.25, 0.15), strict=True):
    side = np.where(rng.random(6000) < 0.5, 0.0, distance)
    sheets = np.column_stack([rng.uniform(-1, 1, (6000, 2)), side + rng.normal(scale=0.01, size=6000)])
    bundle = sb.PrincipalSubbundle(sheets, rank=2, bandwidth=0.1)
    slab = sheets[(np.abs(sheets[:, 1]) < 0.1) & (np.abs(sheets[:, 0]) < 0.5)]
    ridge = sb.ridge_project(bundle, slab)
    good = ridge.status == sb.Status.OK
    gap = np.median(bundle.frame(slab).gap)
    panel.scatter(slab[:, 0], slab[:, 2], s=4, color="#c3cad4", linewidths=0, label="observed")
    panel.scatter(*ridge.points[good][:, [0, 2]].T, s=4, color="#d55e00", linewidths=0, label="projected")
    panel.set(title=f"{distance / 0.1:.1f} bandwidths apart\ngap {gap:.2f}, {good.mean():.0%} converged", xlabel="x")
panels[0].set_ylabel("z")
panels[0].legend(frameon=False, markerscale=3)

# %%
# A smaller bandwidth separates them, as long as it stays above the noise.
for bandwidth in (0.1, 0.07, 0.05):
    bundle = sb.PrincipalSubbundle(sheets, rank=2, bandwidth=bandwidth)
    off = sb.ridge_project(bundle, slab).points[:, 2]
    print(
        f"bandwidth {bandwidth:g}: {np.median(np.minimum(np.abs(off), np.abs(off - 0.15))):.3f} from the nearer sheet"
    )

# %%
scene = sb.view({"sheets": sheets[::2]}, title="two sheets, 0.15 apart")
scene

# sphinx_gallery_start_ignore
import sys

if len(sys.argv) > 1:  # python examples/limits/plot_sheets_merge.py docs/images
    sb.plot.save_png(figure, f"{sys.argv[1]}/limits-sheets.png", dpi=110)
# sphinx_gallery_end_ignore
