"""
A Klein bottle in four dimensions
=================================

A Klein bottle crosses itself in R³ but not in R⁴. 12000 noisy points of one in R⁴ become a closed mesh with vertices
in R⁴; so does a flat torus, a product of two circles. Pictures need three coordinates: the bottle is shown by its
first three, where it seems to cross itself although the fourth (the colour) differs; the torus by stereographic
projection from the 3-sphere it lies on.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

rng = np.random.default_rng(0)
u, v = rng.uniform(0.0, 2.0 * np.pi, (2, 12000))
# Going round once in u turns v into −v.
ring, lift = 1.0 + 0.5 * np.cos(v), 0.5 * np.sin(v)
bottle = np.column_stack([ring * np.cos(u), ring * np.sin(u), lift * np.cos(u / 2.0), lift * np.sin(u / 2.0)])
torus = np.column_stack([np.cos(u), np.sin(u), 0.6 * np.cos(v), 0.6 * np.sin(v)])
noise = 0.015 * rng.standard_normal(bottle.shape)

# %%
bottle_mesh, torus_mesh = sb.reconstruct(bottle + noise), sb.reconstruct(torus + noise)
for mesh in (bottle_mesh, torus_mesh):
    print("\n".join(mesh.report()))
print("the bottle has", "two sides" if bottle_mesh.is_orientable else "one side")
print(f"area of the torus: {torus_mesh.area:.3f}, by its formula {4.0 * np.pi**2 * 0.6:.3f}")

# %%
bare = {"aspect": "equal", "frame_on": False, "xticks": [], "yticks": []}
figure, panels = plt.subplots(1, 3, figsize=(12.0, 4.6), subplot_kw=bare, layout="constrained")
view = sb.plot.View(-115.0, 35.0)
cloud = sb.plot.Scene(view)
cloud.add_points((bottle + noise)[:, :3], color="#7d8794", size=1.5)
cloud.draw(panels[0])
panels[0].set_title("12000 points of a Klein bottle in R⁴")
sphere = torus_mesh.vertices[:, :3] / (1.0 - torus_mesh.vertices[:, 3:] / np.hypot(1.0, 0.6))
for panel, mesh, places, title in (
    (panels[1], bottle_mesh, bottle_mesh.vertices[:, :3], f"its mesh: {len(bottle_mesh.faces)} triangles, no border"),
    (panels[2], torus_mesh, sphere, "a flat torus in R⁴, projected stereographically"),
):
    picture = sb.plot.Scene(view, fog=0.2)
    fourth = mesh.vertices[mesh.faces, 3].mean(axis=1)
    picture.add_triangles(places, mesh.faces, color=sb.plot.colours_of(fourth, low=-0.6, high=0.6))
    picture.draw(panel)
    panel.set_title(title)
figure.colorbar(
    plt.cm.ScalarMappable(plt.Normalize(-0.6, 0.6), "viridis"), ax=panels[2], label="fourth coordinate", shrink=0.7
)

# %%
scene = sb.view(bottle_mesh, title="a Klein bottle, three principal components")
scene

# sphinx_gallery_start_ignore
import sys

if len(sys.argv) > 1:  # python examples/geometry/plot_ambient.py docs/images
    sb.plot.save_png(figure, f"{sys.argv[1]}/ambient.png", dpi=110)
# sphinx_gallery_end_ignore
