"""
Open borders, and a surface without sides
=========================================

Scans seldom cover everything. Here the top of a bumpy surface is missing: the mesh stays open there, and its border
lies where the points end. `opening` is the half-width, in bandwidths, up to which unseen patches are bridged. A Möbius
band is not orientable and has no inside; it is meshed too.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

data = sb.datasets.bumpy_sphere(20000, noise=0.02, seed=0)
scan = data.points[data.clean[:, 2] < 0.75]
mesh = sb.reconstruct(scan)
print("\n".join(mesh.report()))
measured, meshed = data.distance(scan).mean(), data.distance(mesh.vertices).mean()
print(f"off the true surface: {measured:.4f} as measured, {meshed:.4f} meshed")

# %%
# The band: radius 1, width 0.8, a half turn.
rng = np.random.default_rng(0)
t, w = rng.uniform(0.0, 2.0 * np.pi, 12000), rng.uniform(-0.4, 0.4, 12000)
ring = 1.0 + w * np.cos(0.5 * t)
clean = np.column_stack([ring * np.cos(t), ring * np.sin(t), w * np.sin(0.5 * t)])
band = sb.reconstruct(clean + 0.02 * rng.standard_normal(clean.shape))
print("sides:", "two" if band.is_orientable else "one", "- borders:", band.n_border_loops)

# %%
bare = {"aspect": "equal", "frame_on": False, "xticks": [], "yticks": []}
figure, panels = plt.subplots(1, 3, figsize=(12.0, 4.4), subplot_kw=bare, layout="constrained")
view = sb.plot.View(-60.0, 35.0)
cloud = sb.plot.Scene(view)
cloud.add_points(scan, color="#7d8794", size=1.2)
cloud.draw(panels[0])
panels[0].set_title(f"scan: {len(scan)} points, no normals")
sb.plot.mesh(mesh, view=view, ax=panels[1])
panels[1].set_title("mesh, its border in orange")
sb.plot.mesh(band, view=view, ax=panels[2])
panels[2].set_title("a Möbius band: no sides, one border")

# %%
scene = sb.view({"mesh": mesh, "scan": scan[::4]}, title="an open mesh")
scene

# sphinx_gallery_start_ignore
import sys

if len(sys.argv) > 1:  # python examples/scans/plot_surfaces.py docs/images
    sb.plot.save_png(figure, f"{sys.argv[1]}/surfaces.png")
# sphinx_gallery_end_ignore
