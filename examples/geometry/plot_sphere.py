"""
Great circles of a noisy sphere
===============================

The first experiment of the paper: geodesics of length π around a sphere that is known only through 2000 points. On the
true sphere they are great circles that meet at the opposite pole, at radius 1 throughout.
"""

import matplotlib.pyplot as plt
import numpy as np

import subbundle as sb

bare = {"aspect": "equal", "frame_on": False, "xticks": [], "yticks": []}
figure, panels = plt.subplots(1, 2, figsize=(9.0, 4.8), subplot_kw=bare, layout="constrained")
fans = {}
for panel, noise, bandwidth in zip(panels, (0.0, 0.1), (0.08, 0.3), strict=True):
    points = sb.datasets.sphere(2000, noise=noise, seed=0).points
    bundle = sb.PrincipalSubbundle(points, rank=2, bandwidth=bandwidth)
    base = sb.carry_to_ridge(bundle, [0.0, -1.0, 0.0]).points
    fan = sb.geodesic(bundle, base, sb.geodesics.directions(2, 75), length=np.pi, n_points=200)
    fans[f"noise {noise:g}"] = fan
    norms = np.linalg.norm(fan.points[np.isfinite(fan.points).all(axis=2)], axis=-1)
    reached = np.sum(fan.status == sb.Status.OK)
    print(f"noise {noise:g}: norms {norms.mean():.4f} ± {norms.std():.4f}, {reached} of 75 reached length π")
    sb.plot.geodesics(fan, points, view=sb.plot.View(-35.0, 15.0), ax=panel)
    panel.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35))  # the same scale in both
    panel.set_title(f"noise {noise:g}: norms {norms.mean():.3f} ± {norms.std():.3f}")

# %%
scene = sb.view(fans, title="75 geodesics around a sphere")
scene
